/**
 * The register of lossy points: every place where two dialects do not say the same, what becomes of it, and the proof.
 * `docs/fidelity.md` prints the stories; `register.test.ts` runs the proofs.
 */
import { ANSWERS } from './register/answers.ts';
import { CONTENT } from './register/content.ts';
import { OPAQUE } from './register/opaque.ts';
import type { Row } from './register/row.ts';
import { SETTINGS } from './register/settings.ts';
import { TOOLS } from './register/tools.ts';

export type { Row } from './register/row.ts';

export const REGISTER: Readonly<Record<number, Row>> = {
  ...OPAQUE,
  ...SETTINGS,
  ...CONTENT,
  ...TOOLS,
  ...ANSWERS,
};

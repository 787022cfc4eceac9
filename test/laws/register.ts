/**
 * The register of lossy points: where two dialects cannot express the same, what the gateway does there, and vectors that prove it.
 * `docs/fidelity.md` prints the summaries.
 */

import { CONTENT } from './register/content.ts';
import { IMAGES } from './register/images.ts';
import { OPAQUE } from './register/opaque.ts';
import { REPLIES } from './register/replies.ts';
import type { Row } from './register/row.ts';
import { SETTINGS } from './register/settings.ts';
import { TOOLS } from './register/tools.ts';

export const REGISTER: Readonly<Record<number, Row>> = {
  ...OPAQUE,
  ...SETTINGS,
  ...CONTENT,
  ...TOOLS,
  ...REPLIES,
  ...IMAGES,
};

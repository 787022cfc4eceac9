/** Queries and bodies of the console's operations, for the reference. */
import type { z } from 'zod';
import type { ConsoleOperation } from '../rules/index.ts';
import { KEY_SCHEMAS } from './keys.ts';
import { LINK_SCHEMAS } from './links.ts';
import { ME_SCHEMAS } from './me.ts';
import { MODEL_SCHEMAS } from './models.ts';
import { REQUEST_SCHEMAS } from './requests.ts';
import { SIGN_IN_SCHEMAS } from './session.ts';
import { REPORT_SCHEMAS } from './usage.ts';
import { OWN_VIDEO_SCHEMAS } from './videos.ts';
import { OWN_WARNING_SCHEMAS } from './warnings.ts';

interface ConsoleSchemas {
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
}

/** Operations that are not here take neither. */
export const CONSOLE_SCHEMAS: Readonly<Partial<Record<ConsoleOperation, ConsoleSchemas>>> = {
  ...SIGN_IN_SCHEMAS,
  ...LINK_SCHEMAS,
  ...ME_SCHEMAS,
  ...KEY_SCHEMAS,
  ...MODEL_SCHEMAS,
  ...REPORT_SCHEMAS,
  ...REQUEST_SCHEMAS,
  ...OWN_VIDEO_SCHEMAS,
  ...OWN_WARNING_SCHEMAS,
};

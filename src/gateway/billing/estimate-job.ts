/** The exact estimate of a request as a job, for those that are held in the database before they are sent. */
import type { ThreadJob } from '../../platform/threads/index.ts';
import type { Dialect } from '../../rules/index.ts';
import { LARGE_BODY_BYTES } from '../request-scan.ts';
import { estimateBytes } from './request-tokens.ts';

export const estimateJob: ThreadJob<{ readonly bytes: Buffer; readonly dialect: Dialect }, number> = {
  module: import.meta.url,
  name: 'estimateJob',
  inlineBytes: LARGE_BODY_BYTES,
  run: ({ bytes, dialect }, steps) => estimateBytes(dialect, bytes, steps),
};

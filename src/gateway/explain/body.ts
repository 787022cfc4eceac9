/** The body of a call that is explained: that of the operator with the model in question, or a minimal one. */
import { valueAt } from '../../core/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import type { Dialect } from '../../rules/index.ts';
import { withModel } from '../native/request.ts';
import { asJson, MODEL_MEMBER, scanRequest } from '../request-scan.ts';

/** Replaces the model of a body. Throws what the client of a call with this body would get. */
export const modelJob: ThreadJob<{ readonly bytes: Buffer; readonly model: string }, Uint8Array> = {
  module: import.meta.url,
  name: 'modelJob',
  run({ bytes, model }, steps) {
    const span = scanRequest(bytes, MODEL_MEMBER, { steps }).get('model');
    const named = asJson(() => valueAt(bytes, span));
    return withModel(bytes, span, typeof named === 'string' ? named : undefined, model);
  },
};

const TEXT = 'Hello';
const MINIMAL: Readonly<Record<Dialect, object>> = {
  messages: { max_tokens: 1024, messages: [{ role: 'user', content: TEXT }] },
  chat: { messages: [{ role: 'user', content: TEXT }] },
  responses: { input: TEXT },
  generate: { contents: [{ role: 'user', parts: [{ text: TEXT }] }] },
};

/** Generate-content requests have their model in the path. */
export const minimalBody = (dialect: Dialect, model: string): Buffer =>
  Buffer.from(JSON.stringify(dialect === 'generate' ? MINIMAL[dialect] : { model, ...MINIMAL[dialect] }));

/**
 * The work of a token count beside its decoding, as jobs:
 * finding what the request continues, and writing it for a provider.
 */
import { type PackedJson, valueAt } from '../../core/index.ts';
import * as dialects from '../../dialects/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import type { Dialect, InferenceOperation } from '../../rules/index.ts';
import { asJson, scanRequest } from '../request-scan.ts';
import { requestOfText, textOfRequest } from './json-body.ts';

/** The earlier response that a body names, as it names it. */
export const previousIdJob: ThreadJob<{ readonly bytes: Buffer; readonly operation: InferenceOperation }, unknown> = {
  module: import.meta.url,
  name: 'previousIdJob',
  run({ bytes, operation }, steps) {
    const members = scanRequest(bytes, PREVIOUS, { operation, steps });
    return asJson(() => valueAt(bytes, members.get('previous_response_id')));
  },
};
const PREVIOUS: ReadonlySet<string> = new Set(['previous_response_id']);

interface CountEncoding {
  readonly request: dialects.HubRequest;
  readonly to: Dialect;
  readonly target: dialects.UpstreamTarget;
}
interface EncodedCount {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export const encodeCountJob: ThreadJob<
  CountEncoding,
  EncodedCount,
  Omit<CountEncoding, 'request'> & { readonly json: PackedJson }
> = {
  module: import.meta.url,
  name: 'encodeCountJob',
  run({ request, to, target }) {
    const { body, headers } = dialects.codecOf(to).upstream.encodeRequest(request, target);
    const counted = COUNTED[to === 'generate' ? 'generate' : 'messages'](target.model, body);
    return { headers, bytes: new Uint8Array(Buffer.from(JSON.stringify(counted))) };
  },
  toMessage: ({ request, ...input }) => ({ ...input, json: textOfRequest(request) }),
  fromMessage: ({ json, ...input }) => ({ ...input, request: requestOfText(json) }),
  memoryOf: ({ bytes }) => [bytes.buffer],
};

const COUNTED_MEMBERS = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking'];
const COUNTED = {
  messages: (_model: string, body: object): object =>
    Object.fromEntries(Object.entries(body).filter(([name]) => COUNTED_MEMBERS.includes(name))),
  generate: (model: string, body: object): object => ({
    generateContentRequest: { model: `models/${model}`, ...body },
  }),
} as const;

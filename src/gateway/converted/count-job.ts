/** The work of a token count as jobs: reading a request with its estimate, and writing it for a provider. Large ones run in a thread. */
import { type PackedJson, type StepBudget, valueAt } from '../../core/index.ts';
import * as dialects from '../../dialects/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import type { CountedDialect, Dialect, InferenceOperation } from '../../rules/index.ts';
import { estimateRequest } from '../billing/request-tokens.ts';
import { asJson, LARGE_BODY_BYTES, scanRequest } from '../request-scan.ts';
import { type StoredReferences, type StoredTurns, storedReferencesIn, withStoredTurns } from '../stored/references.ts';
import { parseBody, requestOfText, textOfRequest } from './json-body.ts';
import { dropForged, type SignedFor, signerFor } from './opaque-signer.ts';

export interface CountInput {
  readonly bytes: Buffer;
  readonly from: CountedDialect;
  readonly head: dialects.ClientRequestHead;
  readonly opaqueKey: Uint8Array;
  readonly signedFor: SignedFor;
  /** Undefined until it is known whether the body refers to any. */
  readonly stored?: StoredTurns | undefined;
}

export type ReadCount =
  | { readonly refersTo: StoredReferences }
  | {
      readonly refersTo?: undefined;
      readonly model: unknown;
      readonly request: dialects.HubRequest;
      readonly estimate: number;
    };
type CountReply =
  | { readonly refersTo: StoredReferences }
  | (Omit<Extract<ReadCount, { refersTo?: undefined }>, 'request'> & { readonly request: PackedJson });

export const countJob: ThreadJob<CountInput, ReadCount, CountInput, CountReply> = {
  module: import.meta.url,
  name: 'countJob',
  inlineBytes: LARGE_BODY_BYTES,
  run: readCount,
  toReply: (read) => (read.refersTo ? read : { ...read, request: textOfRequest(read.request) }),
  fromReply: (reply) => (reply.refersTo ? reply : { ...reply, request: requestOfText(reply.request) }),
};

function readCount({ bytes, from, head, opaqueKey, signedFor, stored }: CountInput, steps: StepBudget): ReadCount {
  const sent = parseBody(bytes, steps);
  const refersTo = from === 'responses' && !stored ? storedReferencesIn(sent) : undefined;
  if (refersTo && (refersTo.previousId !== undefined || refersTo.itemIds.length > 0)) return { refersTo };
  const { body } = stored ? withStoredTurns(sent, stored) : { body: sent };
  const request = dialects.openSummaries(
    dropForged(dialects.decodeCount(from, body, head), signerFor(opaqueKey, signedFor)),
  );
  return { model: body.model, request, estimate: estimateRequest(request, undefined, steps) };
}

/** The earlier response that a body names, as it names it. */
export const previousIdJob: ThreadJob<{ readonly bytes: Buffer; readonly operation: InferenceOperation }, unknown> = {
  module: import.meta.url,
  name: 'previousIdJob',
  inlineBytes: LARGE_BODY_BYTES,
  run({ bytes, operation }, steps) {
    const span = scanRequest(bytes, PREVIOUS, { operation, steps }).get('previous_response_id');
    return span && asJson(() => valueAt(bytes, span));
  },
};
const PREVIOUS: ReadonlySet<string> = new Set(['previous_response_id']);

export interface CountEncoding {
  readonly request: dialects.HubRequest;
  readonly to: Dialect;
  readonly target: dialects.UpstreamTarget;
}
export type EncodedCount = {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array<ArrayBuffer>;
};

export const encodeCountJob: ThreadJob<
  CountEncoding,
  EncodedCount,
  Omit<CountEncoding, 'request'> & { readonly json: PackedJson }
> = {
  module: import.meta.url,
  name: 'encodeCountJob',
  inlineBytes: LARGE_BODY_BYTES,
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

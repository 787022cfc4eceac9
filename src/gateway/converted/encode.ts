/**
 * Encoding of a request for an account, in a thread when the request is large: its JSON text then comes back as bytes.
 */
import { bufferOf, type PackedJson, type StepBudget } from '../../core/index.ts';
import * as dialects from '../../dialects/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import type { UpstreamDialect } from '../../rules/index.ts';
import { withoutMembers } from '../rejected-options/lessons.ts';
import type { EncodedFor } from './context.ts';
import { requestOfText, textOfRequest } from './json-body.ts';
import { sizeOfItems } from './reply-error.ts';

export interface EncodeInput {
  readonly request: dialects.HubRequest;
  readonly to: UpstreamDialect;
  readonly target: dialects.UpstreamTarget;
  readonly removed: readonly string[];
  readonly dropped: readonly dialects.HubField[];
}

type EncodeMessage = Omit<EncodeInput, 'request'> & { readonly json: PackedJson };

export const encodeJob: ThreadJob<EncodeInput, EncodedFor, EncodeMessage, EncodedReply> = {
  module: import.meta.url,
  name: 'encodeJob',
  run: encode,
  toMessage: ({ request, ...input }) => ({ ...input, json: textOfRequest(request) }),
  fromMessage: ({ json, ...input }) => ({ ...input, request: requestOfText(json) }),
  toReply({ encoded: { body: _, ...encoded }, body, ...rest }) {
    return { ...rest, encoded, body: new Uint8Array(Buffer.from(body)) };
  },
  fromReply({ encoded, ...rest }) {
    const body = bufferOf(rest.body);
    return { ...rest, body, encoded: { ...encoded, ...lazyBody(body) } };
  },
  memoryOf: ({ body }) => [body.buffer],
};

interface EncodedReply extends Omit<EncodedFor, 'encoded' | 'body'> {
  readonly encoded: Omit<dialects.ConvertedRequest, 'body'>;
  readonly body: Uint8Array<ArrayBuffer>;
}

function encode({ request, to, target, removed, dropped }: EncodeInput, steps: StepBudget): EncodedFor {
  steps.take(sizeOfItems(request.items) + request.tools.length);
  const pair = dialects.pairOf({ client: request.dialect, upstream: to });
  const encoded = dialects.encodeRequestFor(pair, request, target);
  const names = dropped
    .filter((field) => dialects.isPresent(field, request))
    .map((field) => pair.client.fieldNames[field]);
  const body = withoutMembers(encoded.body, removed);
  const changed = { ...encoded, body, dropped: [...new Set([...encoded.dropped, ...names])] };
  const { model, capabilities } = target;
  return { encoded: changed, model, body: JSON.stringify(body), capabilities };
}

/** The body of a large request as values, which only the classification of a rejection reads. */
const lazyBody = (bytes: Buffer): { readonly body: dialects.JsonObject } => ({
  get body() {
    return JSON.parse(bytes.toString('utf8'));
  },
});

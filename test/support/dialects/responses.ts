/** For tests of this folder: requests and answers in short form, and a reader of what the encoder writes. */

import type { DecodeContext, ReplyContext, StreamEncoder, UpstreamTarget } from '../../../src/dialects/codec.ts';
import type { HubEvent, HubRequest, JsonObject } from '../../../src/dialects/hub/types.ts';
import { openDecoder } from '../../../src/dialects/responses/upstream/stream-decoder.ts';
import { capabilitiesOf } from '../../../src/rules/index.ts';
import { answerContext, CONTEXT, decodeAll, hubRequest, readVectors, type WireEvent } from './codecs.ts';

export { CONTEXT };
export const STORIES = readVectors('responses');

export const decode = (events: readonly WireEvent[], context: DecodeContext = CONTEXT): HubEvent[] =>
  decodeAll(openDecoder(context), events);

export const aRequest = (over: Partial<HubRequest> = {}): HubRequest =>
  hubRequest({
    model: 'demo',
    stream: true,
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }],
    ...over,
  });

export const aTarget = (over: Partial<UpstreamTarget> = {}, flags = {}): UpstreamTarget => ({
  model: 'gpt-6',
  capabilities: capabilitiesOf('responses', 'gpt-5', flags),
  ...over,
});

export const anAnswer = (over: Partial<ReplyContext> = {}): ReplyContext =>
  answerContext({ request: aRequest({ dialect: 'responses' }), ...over });

/** The events that an encoder wrote, comments left out. */
export function written(encoder: StreamEncoder, events: readonly HubEvent[]): JsonObject[] {
  const text = events.map((event) => encoder.push(event)).join('');
  return text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => JSON.parse(block.slice(block.indexOf('data: ') + 'data: '.length)) as JsonObject);
}

/** Fixtures for tests of the responses dialect: requests, targets, reply contexts, and a reader of encoded streams. */
import type { DecodeContext, ReplyContext, StreamEncoder, UpstreamTarget } from '../../../src/dialects/codec.ts';
import {
  type HubEvent,
  type HubItem,
  type HubReply,
  type HubRequest,
  type HubStop,
  type JsonObject,
  NO_USAGE,
} from '../../../src/dialects/hub/types.ts';
import { openDecoder } from '../../../src/dialects/responses/upstream/stream-decoder.ts';
import { capabilitiesOf } from '../../../src/rules/index.ts';
import { CONTEXT, decodeAll, hubRequest, readVectors, replyContext, type WireEvent } from './codecs.ts';

export { CONTEXT };
export const VECTORS = readVectors('responses');

export const decodeStream = (events: readonly WireEvent[], context: DecodeContext = CONTEXT): HubEvent[] =>
  decodeAll(openDecoder(context), events);

export const aRequest = (changes: Partial<HubRequest> = {}): HubRequest =>
  hubRequest({
    model: 'demo',
    stream: true,
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }],
    ...changes,
  });

export const aTarget = (changes: Partial<UpstreamTarget> = {}, flags = {}): UpstreamTarget => ({
  model: 'gpt-6',
  capabilities: capabilitiesOf('responses', 'gpt-5', flags),
  ...changes,
});

export const aReplyContext = (changes: Partial<ReplyContext> = {}): ReplyContext =>
  replyContext({ request: aRequest({ dialect: 'responses' }), ...changes });

export const aReply = (items: readonly HubItem[], stop: HubStop = 'end', more: Partial<HubReply> = {}): HubReply => ({
  id: 'msg_0123456789',
  model: 'upstream-name',
  items,
  stop,
  usage: { ...NO_USAGE, input: 7, output: 3 },
  ...more,
});
export const textMessage = (text: string): HubItem => ({
  kind: 'message',
  role: 'assistant',
  parts: [{ kind: 'text', text }],
});
export const aCall = (name: string, args: string, form: 'function' | 'custom' = 'function'): HubItem => ({
  kind: 'tool_call',
  callId: `call_${name}`,
  name,
  form,
  args,
});

/** Pushes hub events to an encoder and returns the wire events it writes, without comments. */
export function pushAll(encoder: StreamEncoder, events: readonly HubEvent[]): JsonObject[] {
  const text = events.map((event) => encoder.push(event)).join('');
  return text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => JSON.parse(block.slice(block.indexOf('data: ') + 'data: '.length)) as JsonObject);
}

/** The terminal event. */
export const terminalEvent = (events: readonly JsonObject[]) =>
  events.at(-1) as { type: string; response: JsonObject & { output: JsonObject[] } };

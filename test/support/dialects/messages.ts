/** Builders and shortcuts for tests of the messages dialect. */

import Anthropic from '@anthropic-ai/sdk';
import type { ReplyContext, UpstreamTarget } from '../../../src/dialects/codec.ts';
import type {
  HubEvent,
  HubItem,
  HubPart,
  HubReply,
  HubRequest,
  HubTool,
  JsonObject,
} from '../../../src/dialects/hub/types.ts';
import { openEncoder } from '../../../src/dialects/messages/client/stream-encoder.ts';
import { encodeRequest } from '../../../src/dialects/messages/upstream/encode-request.ts';
import { type CapabilityOverrides, capabilitiesOf, type Style } from '../../../src/rules/index.ts';
import { hubRequest, replyContext } from './codecs.ts';

export const target = (flags: CapabilityOverrides = {}, more: Partial<UpstreamTarget> = {}): UpstreamTarget => ({
  model: 'claude-x',
  capabilities: capabilitiesOf('messages', 'claude-x', { sampling: 'full', ...flags }),
  ...more,
});
export const text = (value: string): HubPart => ({ kind: 'text', text: value });
export const message = (role: 'user' | 'assistant' | 'system', ...parts: (string | HubPart)[]): HubItem => ({
  kind: 'message',
  role,
  parts: parts.map((part) => (typeof part === 'string' ? text(part) : part)),
});
export const call = (callId: string, args = '{}', more: Partial<HubItem> = {}): HubItem =>
  ({ kind: 'tool_call', callId, name: 'find', form: 'function', args, ...more }) as HubItem;
export const result = (callId: string, ...parts: (string | HubPart)[]): HubItem => ({
  kind: 'tool_result',
  callId,
  form: 'function',
  parts: parts.map((part) => (typeof part === 'string' ? text(part) : part)),
});
const request = (more: Partial<HubRequest> = {}): HubRequest =>
  hubRequest({ dialect: 'responses', model: 'alias', items: [message('user', 'Hi')], ...more });

export const encode = (more: Partial<HubRequest>, to = target()) => encodeRequest(request(more), to);
export const bodyOf = (more: Partial<HubRequest>, to = target()): JsonObject => encode(more, to).body;
export const turns = (items: readonly HubItem[], to = target()) =>
  bodyOf({ items }, to).messages as { role: string; content: JsonObject[] }[];
export const textBlock = (value: string): JsonObject => ({ type: 'text', text: value });
export const functionTool = (name: string, more: Partial<HubTool> = {}): HubTool =>
  ({ kind: 'function', name, schema: { type: 'object', properties: {} }, ...more }) as HubTool;

// ---------------------------------------------------------------- replies

export const USAGE = { input: 100, cacheRead: 60, cacheWrite: 10, output: 5 };

export const hubReply = (items: readonly HubItem[], more: Partial<HubReply> = {}): HubReply => ({
  id: 'resp_abcdef',
  model: 'upstream',
  items,
  stop: 'end',
  usage: USAGE,
  ...more,
});

export const clientContext = (issuer: Style = 'responses'): ReplyContext =>
  replyContext({ model: 'alias', requestId: 'req_9', issuer });

export function encodeStream(events: Iterable<HubEvent>, issuer?: Style): string {
  const encoder = openEncoder(clientContext(issuer));
  let out = '';
  for (const event of events) out += encoder.push(event);
  return out;
}

/** Returns the message that the official SDK accumulates from a stream. */
export async function accumulate(wire: string): Promise<JsonObject> {
  const client = new Anthropic({
    apiKey: 'k',
    maxRetries: 0,
    fetch: async () => new Response(wire, { headers: { 'content-type': 'text/event-stream' } }),
  });
  const stream = client.messages.stream({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] });
  // The SDK adds `parsed_output`.
  const { parsed_output: _, ...accumulated } = JSON.parse(JSON.stringify(await stream.finalMessage())) as JsonObject;
  return accumulated;
}

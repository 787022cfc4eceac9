/** For tests of this folder: short ways to write hub requests. */

import type { UpstreamTarget } from '../../../src/dialects/codec.ts';
import type { HubItem, HubPart, HubRequest, HubTool, JsonObject } from '../../../src/dialects/hub/types.ts';
import { encodeRequest } from '../../../src/dialects/messages/upstream/encode-request.ts';
import { type CapabilityOverrides, capabilitiesOf } from '../../../src/rules/index.ts';
import { hubRequest } from './codecs.ts';

export const target = (flags: CapabilityOverrides = {}, more: Partial<UpstreamTarget> = {}): UpstreamTarget => ({
  model: 'claude-x',
  capabilities: capabilitiesOf('messages', 'claude-x', { sampling: 'full', ...flags }),
  ...more,
});
export const text = (value: string): HubPart => ({ kind: 'text', text: value });
export const say = (role: 'user' | 'assistant' | 'system', ...parts: (string | HubPart)[]): HubItem => ({
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
export const request = (more: Partial<HubRequest> = {}): HubRequest =>
  hubRequest({ dialect: 'responses', model: 'alias', items: [say('user', 'Hi')], ...more });

export const encode = (more: Partial<HubRequest>, to = target()) => encodeRequest(request(more), to);
export const bodyOf = (more: Partial<HubRequest>, to = target()): JsonObject => encode(more, to).body;
export const turns = (items: readonly HubItem[], to = target()) =>
  bodyOf({ items }, to).messages as { role: string; content: JsonObject[] }[];
export const t = (value: string): JsonObject => ({ type: 'text', text: value });
export const fn = (name: string, more: Partial<HubTool> = {}): HubTool =>
  ({ kind: 'function', name, schema: { type: 'object', properties: {} }, ...more }) as HubTool;

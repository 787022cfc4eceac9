/** For tests of this folder: short ways to write hub items, a target and an answer. */

import type { DecodeContext, ReplyContext, UpstreamTarget } from '../../../src/dialects/codec.ts';
import { openDecoder } from '../../../src/dialects/generate/upstream/stream-decoder.ts';
import type { HubEvent, HubItem, HubRequest } from '../../../src/dialects/hub/types.ts';
import { type CapabilityOverrides, capabilitiesOf } from '../../../src/rules/index.ts';
import { answerContext, CONTEXT, decodeAll, hubRequest, readVectors, type WireEvent } from './codecs.ts';

export { CONTEXT, hubRequest };
export const vectors = readVectors('generate');

export const decode = (events: readonly WireEvent[], context: DecodeContext = CONTEXT): HubEvent[] =>
  decodeAll(openDecoder(context), events);

export const target = (overrides: CapabilityOverrides = {}, model = 'gemini-3-pro'): UpstreamTarget => ({
  model,
  capabilities: capabilitiesOf('generate-content', model, overrides),
});

export const answer = (changes: Partial<HubRequest> = {}): ReplyContext =>
  answerContext({ request: hubRequest(changes), created: 1 });

export const user = (text: string): HubItem => ({ kind: 'message', role: 'user', parts: [{ kind: 'text', text }] });
export const model = (text: string): HubItem => ({
  kind: 'message',
  role: 'assistant',
  parts: [{ kind: 'text', text }],
});
export const call = (callId: string, name = 'f', args = '{}'): HubItem => ({
  kind: 'tool_call',
  callId,
  name,
  form: 'function',
  args,
});
export const result = (callId: string, text = 'ok'): HubItem => ({
  kind: 'tool_result',
  callId,
  form: 'function',
  parts: [{ kind: 'text', text }],
});

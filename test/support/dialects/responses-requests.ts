/** Fixtures for tests of responses requests: hub items in short form, encoding, decoding, and rejections. */
import { ApiError } from '../../../src/core/index.ts';
import type { HubItem, HubPart, HubRequest, JsonObject, Opaque } from '../../../src/dialects/hub/types.ts';
import { decodeRequest } from '../../../src/dialects/responses/client/decode-request.ts';
import { encodeRequest } from '../../../src/dialects/responses/upstream/encode-request.ts';
import { aRequest, aTarget } from './responses.ts';

export const text = (content: string, more = {}): HubPart => ({ kind: 'text', text: content, ...more });
export const user = (...parts: HubPart[]): HubItem => ({ kind: 'message', role: 'user', parts });
export const assistant = (content: string): HubItem => ({ kind: 'message', role: 'assistant', parts: [text(content)] });
export const call = (callId: string, more = {}): HubItem => ({
  kind: 'tool_call',
  callId,
  name: 'f',
  form: 'function',
  args: '{"a":1}',
  ...more,
});
export const result = (callId: string, parts: HubPart[], more = {}): HubItem => ({
  kind: 'tool_result',
  callId,
  form: 'function',
  parts,
  ...more,
});
export const reasoning = (data: string, more: Partial<Opaque> = {}): HubItem => ({
  kind: 'reasoning',
  summary: ['S'],
  opaque: { issuer: 'responses', kind: 'reasoning', id: `rs_${data}`, data, ...more },
});

export const encodeWith = (changes: Partial<HubRequest>, target = aTarget()) =>
  encodeRequest(aRequest(changes), target);
export const encodeBody = (changes: Partial<HubRequest>, target = aTarget()) => encodeWith(changes, target).body;
/** Encodes items followed by a user message, because a conversation must not end with the assistant. */
export const encodeInput = (items: HubItem[], target = aTarget()) =>
  encodeBody({ items: [...items, user(text('.'))] }, target).input as JsonObject[];

export const decodeBody = (body: object, headers = {}): HubRequest =>
  decodeRequest({ model: 'm', input: 'Hi', ...body }, { headers });
export const decodeItems = (...input: unknown[]) => decodeBody({ input }).items;

/** Returns code and param of the rejection of a body. */
export function rejectionOf(body: unknown): [string, string | undefined] {
  try {
    decodeRequest(body, { headers: {} });
  } catch (error) {
    if (error instanceof ApiError) return [error.code, error.details.param];
    throw error;
  }
  return ['accepted', undefined];
}
export const rejectionOfFields = (body: object) => rejectionOf({ model: 'm', input: 'Hi', ...body });
export const rejectionOfItem = (item: unknown) => rejectionOfFields({ input: [item] });

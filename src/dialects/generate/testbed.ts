/** Shared by the tests of this folder: a plain request, a target, frozen input, and the vectors. */
import { readdirSync, readFileSync } from 'node:fs';
import { type CapabilityOverrides, capabilitiesOf } from '../../rules/index.ts';
import type { AnswerContext, Target } from '../codec.ts';
import type { HubEvent, HubItem, HubReply, HubRequest, JsonObject } from '../hub.ts';
import { openDecoder } from './decoder.ts';

export function hubRequest(changes: Partial<HubRequest> = {}): HubRequest {
  return freeze({
    dialect: 'messages',
    model: 'asked-for',
    stream: false,
    system: [],
    items: [user('hi')],
    tools: [],
    toolChoice: { kind: 'auto' },
    reasoning: {},
    output: { format: { kind: 'text' } },
    limits: {},
    sampling: {},
    cache: {},
    state: {},
    meta: {},
    unknown: [],
    wants: {},
    ...changes,
  });
}

export const target = (overrides: CapabilityOverrides = {}, model = 'gemini-3-pro'): Target => ({
  model,
  capabilities: capabilitiesOf('generate-content', model, overrides),
});

export const answer = (changes: Partial<HubRequest> = {}): AnswerContext => ({
  request: hubRequest(changes),
  model: 'asked-for',
  requestId: 'req_1',
  home: 'messages',
  created: 1,
});

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

/** Encoders may not touch what they are given. */
export function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) freeze(member);
  }
  return value;
}

export interface Vector {
  readonly file: string;
  readonly about: string;
  readonly events: readonly { readonly data: JsonObject | string }[];
  readonly unary?: JsonObject;
  readonly reply?: HubReply;
  readonly error?: { readonly code: string };
}

const FOLDER = new URL('../vectors/', import.meta.url);

export const vectors: readonly Vector[] = readdirSync(FOLDER)
  .filter((file) => file.startsWith('generate-') && file.endsWith('.json'))
  .map((file) => ({ file, ...(JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Omit<Vector, 'file'>) }));

export const CONTEXT = { requestId: 'req_test' };

export function decode(
  events: Vector['events'],
  context: { requestId: string; account?: string } = CONTEXT,
): HubEvent[] {
  const decoder = openDecoder(context);
  const told = events.flatMap(({ data }) => decoder.push(typeof data === 'string' ? data : JSON.stringify(data)));
  return [...told, ...decoder.end()];
}

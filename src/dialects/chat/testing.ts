/** Shared by the tests of this folder: transcripts, contexts, and requests that are complete without saying much. */
import { readdirSync, readFileSync } from 'node:fs';
import { capabilitiesOf } from '../../rules/index.ts';
import type { AnswerContext, Target, UpstreamContext } from '../codec.ts';
import type { HubEvent, HubReply, HubRequest } from '../hub.ts';
import { decodeRequest } from './decode-request.ts';
import { openDecoder } from './decoder.ts';

export interface Vector {
  readonly name: string;
  readonly about: string;
  readonly events: readonly { readonly data: unknown }[];
  readonly unary?: unknown;
  readonly reply?: HubReply;
  readonly error?: { readonly code: string };
}

const FOLDER = new URL('../vectors/', import.meta.url);
export const VECTORS: readonly Vector[] = readdirSync(FOLDER)
  .filter((name) => name.startsWith('chat-'))
  .map((name) => ({ name, ...JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) }));

export const CONTEXT: UpstreamContext = { requestId: 'req_1' };

const textOf = (data: unknown): string => (typeof data === 'string' ? data : JSON.stringify(data));

/** All events that a decoder makes of these, the end included. */
export function decodeAll(events: readonly { readonly data: unknown }[], context = CONTEXT): HubEvent[] {
  const decoder = openDecoder(context);
  return [...events.flatMap(({ data }) => decoder.push(textOf(data))), ...decoder.end()];
}

export const decode = (body: object): HubRequest =>
  decodeRequest({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...body }, { headers: {} });

export const answerFor = (body: object, home: AnswerContext['home'] = 'messages'): AnswerContext => ({
  request: decode(body),
  model: 'asked-for',
  requestId: 'req_1',
  home,
  created: 1_700_000_000,
});

export const target = (flags: object = {}, more: Partial<Target> = {}): Target => ({
  model: 'up-model',
  capabilities: { ...capabilitiesOf('responses', 'demo-model'), ...flags },
  ...more,
});

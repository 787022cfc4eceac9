/** Plays manners: changes what a polite provider would send, layer by layer. */
import type { Chance } from '../chance.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { inParts } from '../wire/recorded-response.ts';
import type { Manner, Message, StreamEvent } from './manner.ts';
import { MANNERS } from './table.ts';

/** Which manners, and the seed of their choices. */
export interface Behaviour {
  names: readonly string[];
  chance: Chance;
}

/** What is sent: a body in pieces, or the frames of a socket. */
export interface Played {
  headers: Record<string, string>;
  pieces: Buffer[];
}

const named = ({ names }: Behaviour): Manner[] => names.flatMap((name) => MANNERS[name] ?? []);

export function play(behaviour: Behaviour, message: Message): Played {
  const { chance } = behaviour;
  const manners = named(behaviour);
  const text = message.body.toString('utf8');
  const changed = text.startsWith('{') ? playReply(text, manners, chance) : playStream(text, manners, chance);
  const sent = manners.reduce<Message>((before, { message: change }) => change?.(before, chance) ?? before, {
    headers: message.headers,
    body: Buffer.from(changed),
  });
  const whole = encoded(sent, manners);
  const pieces = manners.findLast((manner) => manner.pieces)?.pieces;
  return { headers: sized(whole), pieces: pieces?.(whole.body, chance) ?? inParts(whole.body) };
}

/** Frames are the events of a stream. */
export function playFrames(behaviour: Behaviour, frames: readonly string[]): Buffer[] {
  const events = frames.map((frame) => ({ data: JSON.parse(frame) as JsonObject }));
  return playEvents(events, named(behaviour), behaviour.chance)
    .filter(({ data }) => isObject(data))
    .map(({ data }) => Buffer.from(JSON.stringify(data)));
}

function encoded(message: Message, manners: readonly Manner[]): Message {
  const encoding = manners.findLast((manner) => manner.encoding)?.encoding;
  if (!encoding || message.body.length === 0) return message;
  const { headers, body } = message;
  return { headers: { ...headers, 'content-encoding': encoding.name }, body: encoding.encode(body) };
}

const sized = ({ headers, body }: Message): Record<string, string> =>
  headers['content-length'] === undefined ? headers : { ...headers, 'content-length': String(body.length) };

function playReply(text: string, manners: readonly Manner[], chance: Chance): string {
  const reply: Json = JSON.parse(text);
  if (!isObject(reply)) return text;
  return JSON.stringify(manners.reduce((before, { reply: change }) => change?.(before, chance) ?? before, reply));
}

function playStream(text: string, manners: readonly Manner[], chance: Chance): string {
  if (text.startsWith('[')) return JSON.stringify(eventsOfList(text, manners, chance));
  const events = playEvents(readEvents(text), manners, chance);
  return manners.reduce((before, { spelling }) => spelling?.(before, chance) ?? before, writeEvents(events));
}

function eventsOfList(text: string, manners: readonly Manner[], chance: Chance): (JsonObject | string)[] {
  const list = JSON.parse(text) as JsonObject[];
  const events = list.map((data) => ({ data }));
  return playEvents(events, manners, chance).flatMap(({ data }) => (isObject(data) ? [data] : []));
}

const playEvents = (events: StreamEvent[], manners: readonly Manner[], chance: Chance): StreamEvent[] =>
  manners.reduce((before, { events: change }) => change?.(before, chance) ?? before, events);

// ---------------------------------------------------------------- server-sent events, as the simulated provider writes them

export function readEvents(text: string): StreamEvent[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const [, name, data = ''] = /^(?:event: (.*)\n)?data: (.*)$/s.exec(block) ?? [];
      return { ...(name !== undefined && { name }), data: data === '[DONE]' ? data : (JSON.parse(data) as JsonObject) };
    });
}

export const writeEvents = (events: readonly StreamEvent[]): string =>
  events
    .map(({ name, data }) => {
      const text = typeof data === 'string' ? data : JSON.stringify(data);
      return `${name === undefined ? '' : `event: ${name}\n`}data: ${text}\n\n`;
    })
    .join('');

/** Reads the SSE framing of a client stream, and helpers for the grammars. Shares no code with the writers. */
import { type Json, type JsonObject, objectOf } from '../json.ts';

/** The stream breaks a rule of its dialect. */
export class Violation extends Error {}

export function demand(holds: boolean, complaint: string): asserts holds {
  if (!holds) throw new Violation(complaint);
}

export interface Block {
  readonly event?: string;
  readonly data: string;
}

/** The accumulated response, or the error that ended the stream. */
export type StreamResult =
  | { readonly end: 'complete'; readonly body: JsonObject }
  | { readonly end: 'error'; readonly error: JsonObject };

export interface Framing {
  /** Every event has an `event:` line. */
  readonly named: boolean;
  /** Comments are allowed as separate blocks between events. */
  readonly comments: boolean;
}

/** Every block ends with a blank line and has one `data:` line; comments never share a block with data. */
export function blocksOf(text: string, { named, comments }: Framing): Block[] {
  demand(text === '' || text.endsWith('\n\n'), 'the last block is not terminated');
  const blocks: Block[] = [];
  for (const block of text.split('\n\n').slice(0, -1)) {
    if (block.startsWith(':')) {
      demand(comments && !block.includes('\n'), 'a comment must stand alone');
      continue;
    }
    const lines = block.split('\n');
    const event = lines[0]?.startsWith('event: ') ? lines.shift()?.slice('event: '.length) : undefined;
    demand(named === (event !== undefined), named ? 'an event has no name line' : 'an event has a name line');
    const [line = ''] = lines;
    demand(lines.length === 1 && line.startsWith('data: '), `not one line of data: ${block.slice(0, 80)}`);
    blocks.push({ data: line.slice('data: '.length), ...(event !== undefined && { event }) });
  }
  return blocks;
}

export function parse(data: string): JsonObject {
  try {
    const value: unknown = JSON.parse(data);
    demand(typeof value === 'object' && value !== null && !Array.isArray(value), 'data is not an object');
    return value as JsonObject;
  } catch (error) {
    throw error instanceof Violation ? error : new Violation(`data is not JSON: ${data.slice(0, 80)}`);
  }
}

export const text = (holder: JsonObject, name: string): string => {
  const value = holder[name];
  demand(typeof value === 'string', `${name} is not a string`);
  return value;
};

export const count = (holder: JsonObject, name: string): number => {
  const value = holder[name];
  demand(typeof value === 'number' && Number.isSafeInteger(value) && value >= 0, `${name} is not a count`);
  return value;
};

export const object = (holder: JsonObject, name: string): JsonObject => {
  const value = holder[name];
  demand(typeof value === 'object' && value !== null && !Array.isArray(value), `${name} is not an object`);
  return objectOf(value);
};

export const list = (holder: JsonObject, name: string): Json[] => {
  const value = holder[name];
  demand(Array.isArray(value), `${name} is not a list`);
  return value;
};

export const only = (holder: JsonObject, names: readonly string[], what: string): void => {
  for (const name of Object.keys(holder)) demand(names.includes(name), `${what} has a member ${name}`);
};

/** Deep equality regardless of member order. */
export function same(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && same((a as JsonObject)[name], (b as JsonObject)[name]));
}

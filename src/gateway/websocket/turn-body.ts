/** A turn of a WebSocket as the body of a request, with the items before it, in a thread where it is large. */
import { parseJson } from '../../core/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import { inputItems } from '../stored/references.ts';
import { bodyOf, type JsonFrame } from './frames.ts';

interface TurnInput {
  readonly create: JsonFrame;
  readonly text: string;
  /** Items before those of the turn, as a JSON list; undefined where a stored response holds them. */
  readonly earlier: Uint8Array | undefined;
  /** The stored response that precedes all items. */
  readonly base: string | undefined;
}

type TurnBody = Readonly<Record<'body' | 'items', Uint8Array<ArrayBuffer>>>;
type TurnMessage = Omit<TurnInput, 'create' | 'text'> & { readonly bytes: Buffer };

export const turnJob: ThreadJob<TurnInput, TurnBody, TurnMessage> = {
  module: import.meta.url,
  name: 'turnJob',
  movesBytes: true,
  run({ create: { generate: _, input, ...request }, earlier, base }) {
    const added = jsonList(inputItems(input));
    const items = earlier ? joinLists(earlier, added) : added;
    const settings = JSON.stringify({ ...request, previous_response_id: base, stream: true }).slice(0, -1);
    // What is no list goes as it came: a string, or what its reader rejects by name.
    const sent = earlier || Array.isArray(input) ? items : Buffer.from(JSON.stringify(input) ?? '');
    const name = Buffer.from(sent.length > 0 ? ',"input":' : '');
    const body = Buffer.concat([Buffer.from(settings), name, sent, Buffer.from('}')]);
    return { body: new Uint8Array(body), items: new Uint8Array(items) };
  },
  toMessage: ({ text, earlier, base }) => ({ bytes: Buffer.from(text), earlier, base }),
  fromMessage({ bytes, ...rest }) {
    const text = bytes.toString();
    return { create: bodyOf(parseJson(text, 'client') as JsonFrame), text, ...rest };
  },
  memoryOf: ({ body, items }) => [body.buffer, items.buffer],
};

export const jsonList = (items: readonly unknown[]): Buffer => Buffer.from(JSON.stringify(items));

export function joinLists(first: Uint8Array, second: Uint8Array): Buffer {
  if (first.length <= EMPTY.length || second.length <= EMPTY.length)
    return Buffer.from(first.length <= EMPTY.length ? second : first);
  return Buffer.concat([first.subarray(0, -1), Buffer.from(','), second.subarray(1)]);
}
const EMPTY = '[]';

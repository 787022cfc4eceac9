/** What is known of an answer while its blocks arrive: which blocks are open, which hub items they have become. */
import type { DecodeContext } from '../../codec.ts';
import type { HubEvent, HubItem, HubText, JsonObject } from '../../hub/types.ts';

/** What no reading can make an answer of. */
export class MalformedStream extends Error {}
export const outOfOrder = (): MalformedStream =>
  new MalformedStream('The provider sent its events in an impossible order.');

export interface BlockState {
  readonly context: DecodeContext;
  /** Blocks by their place on the wire; closed ones stay, as null, so that nothing can be added to them. */
  readonly open: Map<number, Growing | null>;
  /** Hub items that have not ended, in order. */
  readonly items: Map<number, Ending>;
  /** Hosted calls by id, until their result comes. */
  readonly servers: Map<string, Server>;
  /** The message that the next text block joins. */
  message?: Message | undefined;
  nextItem: number;
  lastPlace: number;
  readonly callIds: Set<string>;
}

export const startBlocks = (context: DecodeContext): BlockState => ({
  context,
  open: new Map(),
  items: new Map(),
  servers: new Map(),
  nextItem: 0,
  lastPlace: -1,
  callIds: new Set(),
});

export interface Message {
  readonly index: number;
  readonly parts: HubText[];
  /** Text blocks of it that have not closed. */
  growing: number;
  cut: boolean;
}

export interface Server {
  readonly index: number;
  use(): JsonObject;
}

/** The item as it stands now. */
export type Ending = () => HubItem;

export function beginItem(skeleton: HubItem, ending: Ending, state: BlockState, out: HubEvent[]): number {
  const index = state.nextItem;
  state.nextItem += 1;
  state.items.set(index, ending);
  out.push({ kind: 'item', index, item: skeleton });
  return index;
}

export function endItem(index: number, item: HubItem, state: BlockState, out: HubEvent[]): void {
  if (state.items.delete(index)) out.push({ kind: 'item_end', index, item });
}

/** A block that has opened and not closed. */
export interface Growing {
  grow(delta: JsonObject, out: HubEvent[]): void;
  close(out: HubEvent[]): void;
}
/** A block that came whole. */
export const COMPLETE: Growing = { grow: () => undefined, close: () => undefined };

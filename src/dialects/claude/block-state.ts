/** State of a reply while its blocks arrive: the open blocks and the hub items they became. */
import type { DecodeContext } from '../codec.ts';
import type { HubEvent, HubItem, HubText, JsonObject } from '../hub/types.ts';

/** Thrown for events that cannot be part of a valid reply. */
export class MalformedStreamError extends Error {}
export const outOfOrderError = (): MalformedStreamError =>
  new MalformedStreamError('The provider sent events in an invalid order.');

/** Reads one event. Malformed input ends the stream with one error event. */
export function readEvent<S extends { done: boolean }>(
  read: (wire: JsonObject, state: S, out: HubEvent[]) => void,
  wire: JsonObject,
  state: S,
): HubEvent[] {
  const out: HubEvent[] = [];
  try {
    read(wire, state, out);
  } catch (error) {
    if (!(error instanceof MalformedStreamError)) throw error;
    out.push(failStream(state, error.message));
  }
  return out;
}

export function failStream(state: { done: boolean }, message: string): HubEvent {
  state.done = true;
  return { kind: 'error', error: { code: 'upstream_error', message } };
}

export interface BlockState {
  readonly context: DecodeContext;
  /** Blocks by wire index. Closed blocks stay as undefined, so that a later delta for them is an error. */
  readonly blocks: Map<number, OpenBlock | undefined>;
  /** Hub items that have not ended, by index. */
  readonly items: Map<number, ItemSnapshot>;
  /** Hosted calls without a result, by id. */
  readonly serverCalls: Map<string, { readonly index: number; use(): JsonObject }>;
  /** The hub message that takes the next text block. */
  message?: OpenMessage | undefined;
  /** Ends a call without arguments. Only what follows shows whether it has none, or was cut before the first. */
  endEmptyCall?: ((isCut: boolean, out: HubEvent[]) => void) | undefined;
  nextItem: number;
  lastIndex: number;
  readonly callIds: Set<string>;
}

export const newBlockState = (context: DecodeContext): BlockState => ({
  context,
  blocks: new Map(),
  items: new Map(),
  serverCalls: new Map(),
  nextItem: 0,
  lastIndex: -1,
  callIds: new Set(),
});

export interface OpenMessage {
  readonly index: number;
  readonly parts: HubText[];
  /** Number of its text blocks that have not closed. */
  openParts: number;
  isTruncated: boolean;
}

/** Returns the item with the content received so far. */
type ItemSnapshot = () => HubItem;

export function beginItem(skeleton: HubItem, snapshot: ItemSnapshot, state: BlockState, out: HubEvent[]): number {
  const index = state.nextItem;
  state.nextItem += 1;
  state.items.set(index, snapshot);
  out.push({ kind: 'item', index, item: skeleton });
  return index;
}

export function endItem(index: number, item: HubItem, state: BlockState, out: HubEvent[]): void {
  if (state.items.delete(index)) out.push({ kind: 'item_end', index, item });
}

/** A block between `content_block_start` and `content_block_stop`. */
export interface OpenBlock {
  append(delta: JsonObject, out: HubEvent[]): void;
  close(out: HubEvent[]): void;
}
/** A block that was complete when it opened. */
export const COMPLETE_BLOCK: OpenBlock = { append: () => undefined, close: () => undefined };

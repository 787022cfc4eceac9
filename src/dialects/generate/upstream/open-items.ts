/** The items of an answer while it is being read: what is known so far, which item is open, how one is begun and ended. */
import type { DecodeContext } from '../../codec.ts';
import type {
  HubEvent,
  HubItem,
  HubPart,
  HubServerCall,
  HubStop,
  HubToolCall,
  JsonObject,
  Opaque,
} from '../../hub/types.ts';
import type { Counts } from '../usage.ts';
import { annotationsOf } from './grounding.ts';
import type { PartialArgs } from './partial-args.ts';

export type Draft<T> = { -readonly [K in keyof T]: T[K] };
type TextDraft = Draft<Extract<HubPart, { kind: 'text' }>>;

export type Open =
  | { readonly kind: 'reasoning'; readonly index: number; text: string; opaque?: Opaque }
  | { readonly kind: 'message'; readonly index: number; readonly parts: HubPart[] }
  | {
      readonly kind: 'call';
      readonly index: number;
      readonly item: Draft<HubToolCall>;
      partial?: PartialArgs | undefined;
    }
  | { readonly kind: 'code'; readonly index: number; readonly item: Draft<HubServerCall>; readonly raw: unknown[] };

export interface State {
  readonly context: DecodeContext;
  readonly counts: Counts;
  /** The last report of them. */
  usage?: JsonObject;
  readonly callIds: Set<string>;
  started: boolean;
  done: boolean;
  /** A candidate was seen, even an empty one. */
  candidate: boolean;
  id: string;
  model: string;
  /** The index of the next item. */
  next: number;
  open?: Open | undefined;
  finishReason?: string;
  finishMessage?: string;
  blocked?: string;
  grounding?: JsonObject;
}

export const begin = (context: DecodeContext): State => ({
  context,
  counts: {},
  callIds: new Set(),
  started: false,
  done: false,
  candidate: false,
  id: context.requestId,
  model: '',
  next: 0,
});

export function openItem(item: HubItem, state: State, out: HubEvent[]): number {
  const index = state.next;
  state.next += 1;
  out.push({ kind: 'item', index, item });
  return index;
}

export function openMessage(state: State, out: HubEvent[]): Extract<Open, { kind: 'message' }> {
  if (state.open?.kind === 'message') return state.open;
  close(state, out);
  const index = openItem({ kind: 'message', role: 'assistant', parts: [] }, state, out);
  const open: Open = { kind: 'message', index, parts: [] };
  state.open = open;
  return open;
}

/** The text part that grows, and its place. */
export function openText(parts: HubPart[]): [TextDraft, number] {
  const last = parts.at(-1);
  if (last?.kind === 'text') return [last, parts.length - 1];
  const draft: TextDraft = { kind: 'text', text: '' };
  parts.push(draft);
  return [draft, parts.length - 1];
}

export function openReasoning(state: State, out: HubEvent[]): Extract<Open, { kind: 'reasoning' }> {
  if (state.open?.kind === 'reasoning' && !state.open.opaque) return state.open;
  close(state, out);
  const open: Open = {
    kind: 'reasoning',
    index: openItem({ kind: 'reasoning', summary: [] }, state, out),
    text: '',
  };
  state.open = open;
  return open;
}

export function close(state: State, out: HubEvent[], stop?: HubStop): void {
  const { open } = state;
  if (open === undefined) return;
  if (open.kind === 'call') completeCall(open, out);
  state.open = undefined;
  const item = open.kind === 'message' ? closeMessage(open, state, out, stop) : finished(open);
  out.push({ kind: 'item_end', index: open.index, item });
}

/** All of the arguments are there, or all that will come. */
export function completeCall(open: Extract<Open, { kind: 'call' }>, out: HubEvent[]): void {
  if (!open.partial) return;
  open.item.args = JSON.stringify(open.partial.root);
  open.partial = undefined;
  out.push({ kind: 'args', index: open.index, text: open.item.args });
}

/** A call is open whose arguments are not all there. */
export const isCallPartial = ({ open }: State): boolean => open?.kind === 'call' && open.partial !== undefined;

function finished(open: Exclude<Open, { kind: 'message' }>): HubItem {
  if (open.kind === 'call') return open.item;
  if (open.kind === 'code') return { ...open.item, raw: open.raw };
  const summary = open.text === '' ? [] : [open.text];
  return open.opaque ? { kind: 'reasoning', summary, opaque: open.opaque } : { kind: 'reasoning', summary };
}

function closeMessage(
  open: Extract<Open, { kind: 'message' }>,
  state: State,
  out: HubEvent[],
  stop: HubStop | undefined,
): HubItem {
  const parts = [...open.parts];
  for (const { part, annotation } of state.grounding ? annotationsOf(parts, state.grounding) : []) {
    const text = parts[part];
    if (text?.kind !== 'text') continue;
    parts[part] = { ...text, annotations: [...(text.annotations ?? []), annotation] };
    out.push({ kind: 'annotation', index: open.index, part, annotation });
  }
  const message: HubItem = { kind: 'message', role: 'assistant', parts };
  return stop === 'length' ? { ...message, incomplete: true } : message;
}

export function breakOff(state: State, out: HubEvent[], message: string): void {
  state.done = true;
  out.push({ kind: 'error', error: { code: 'upstream_error', message } });
}

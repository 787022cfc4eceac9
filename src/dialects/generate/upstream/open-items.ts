/** Decoder state of one reply: counts so far, the open item, and how items begin and end. */
import type { DecodeContext } from '../../codec.ts';
import type * as hub from '../../hub/types.ts';
import { withCarrier } from '../../tools/hosted.ts';
import type { UsageCounts } from '../usage.ts';
import { annotationsOf, recitationsOf } from './grounding.ts';
import type { PartialArgs } from './partial-args.ts';

type Draft<T> = { -readonly [K in keyof T]: T[K] };
type TextDraft = Draft<Extract<hub.HubPart, { kind: 'text' }>>;

export type OpenItem =
  | { readonly kind: 'reasoning'; readonly index: number; text: string; opaque?: hub.Opaque }
  | { readonly kind: 'message'; readonly index: number; readonly parts: hub.HubPart[] }
  | {
      readonly kind: 'call';
      readonly index: number;
      readonly item: Draft<hub.HubToolCall>;
      partial?: PartialArgs | undefined;
    }
  | { readonly kind: 'code'; readonly index: number; readonly item: Draft<hub.HubServerCall>; readonly raw: unknown[] };

export interface DecoderState {
  readonly context: DecodeContext;
  readonly counts: UsageCounts;
  /** The last usage report, not yet merged into `counts`. */
  usage?: hub.JsonObject;
  readonly callIds: Set<string>;
  started: boolean;
  done: boolean;
  /** A candidate arrived, possibly empty. */
  hasCandidate: boolean;
  id: string;
  model: string;
  nextIndex: number;
  open?: OpenItem | undefined;
  finishReason?: string;
  /** The content of the last chunk with a finish reason. */
  end?: string | undefined;
  finishMessage?: string;
  continuationToken?: string;
  blockMessage?: string;
  grounding?: hub.JsonObject;
  recitation?: hub.JsonObject;
  fetched?: hub.JsonObject;
  hasLogprobs?: boolean;
}

export const newDecoderState = (context: DecodeContext): DecoderState => ({
  context,
  counts: {},
  callIds: new Set(),
  started: false,
  done: false,
  hasCandidate: false,
  id: context.requestId,
  model: '',
  nextIndex: 0,
});

export function openItem(item: hub.HubItem, state: DecoderState, out: hub.HubEvent[]): number {
  const index = state.nextIndex;
  state.nextIndex += 1;
  out.push({ kind: 'item', index, item });
  return index;
}

export function openMessage(state: DecoderState, out: hub.HubEvent[]): Extract<OpenItem, { kind: 'message' }> {
  if (state.open?.kind === 'message') return state.open;
  closeItem(state, out);
  const index = openItem({ kind: 'message', role: 'assistant', parts: [] }, state, out);
  const open: OpenItem = { kind: 'message', index, parts: [] };
  state.open = open;
  return open;
}

/** Returns the text part that takes the next delta, and its index. */
export function openTextPart(parts: hub.HubPart[]): [TextDraft, number] {
  const last = parts.at(-1);
  if (last?.kind === 'text') return [last, parts.length - 1];
  const draft: TextDraft = { kind: 'text', text: '' };
  parts.push(draft);
  return [draft, parts.length - 1];
}

export function openReasoning(state: DecoderState, out: hub.HubEvent[]): Extract<OpenItem, { kind: 'reasoning' }> {
  if (state.open?.kind === 'reasoning' && !state.open.opaque) return state.open;
  closeItem(state, out);
  const open: OpenItem = {
    kind: 'reasoning',
    index: openItem({ kind: 'reasoning', summary: [] }, state, out),
    text: '',
  };
  state.open = open;
  return open;
}

export function closeItem(state: DecoderState, out: hub.HubEvent[], stop?: hub.HubStop): void {
  const { open } = state;
  if (open === undefined) return;
  if (open.kind === 'call') completeCall(open, out);
  state.open = undefined;
  const item = open.kind === 'message' ? closeMessage(open, state, out, stop) : completeItem(open, state);
  out.push({ kind: 'item_end', index: open.index, item });
}

/** Emits the arguments of a call once all pieces have arrived or the reply has ended. */
export function completeCall(open: Extract<OpenItem, { kind: 'call' }>, out: hub.HubEvent[]): void {
  if (!open.partial) return;
  open.item.args = JSON.stringify(open.partial.root);
  open.partial = undefined;
  out.push({ kind: 'args', index: open.index, text: open.item.args });
}

/** Returns whether the open call still lacks pieces of its arguments. */
export const isCallPartial = ({ open }: DecoderState): boolean => open?.kind === 'call' && open.partial !== undefined;

function completeItem(open: Exclude<OpenItem, { kind: 'message' }>, { context }: DecoderState): hub.HubItem {
  if (open.kind === 'call') return open.item;
  if (open.kind === 'code') return withCarrier({ ...open.item, raw: open.raw }, context.account);
  const summary = open.text === '' ? [] : [open.text];
  return open.opaque ? { kind: 'reasoning', summary, opaque: open.opaque } : { kind: 'reasoning', summary };
}

function closeMessage(
  open: Extract<OpenItem, { kind: 'message' }>,
  state: DecoderState,
  out: hub.HubEvent[],
  stop: hub.HubStop | undefined,
): hub.HubItem {
  const parts = [...open.parts];
  const located = [
    ...(state.grounding ? annotationsOf(parts, state.grounding) : []),
    ...(state.recitation ? recitationsOf(parts, state.recitation) : []),
  ];
  for (const { part, annotation } of located) {
    const text = parts[part];
    if (text?.kind !== 'text') continue;
    parts[part] = { ...text, annotations: [...(text.annotations ?? []), annotation] };
    out.push({ kind: 'annotation', index: open.index, part, annotation });
  }
  const message: hub.HubItem = { kind: 'message', role: 'assistant', parts };
  return stop === 'length' ? { ...message, incomplete: true } : message;
}

export function failStream(state: DecoderState, out: hub.HubEvent[], message: string): void {
  state.done = true;
  out.push({ kind: 'error', error: { code: 'upstream_error', message } });
}

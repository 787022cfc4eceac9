/**
 * Streaming of message parts and reasoning summaries: a part opens
 * before its first delta and closes before the next part.
 */
import type { HubAnnotation, JsonObject } from '../../hub/types.ts';
import { encodeSummary, encodeText, type ItemBuilder } from '../output-items.ts';
import { buildDeltaFrame, type DeltaFrame, emit, emitDelta, emitItemAdded, type Writer } from './event-writer.ts';

/** An item that grows by parts. `outputIndex` is -1 and `id` is empty until its `added` event. */
export interface GrowingItem {
  readonly builder: ItemBuilder;
  id: string;
  outputIndex: number;
  keys: JsonObject;
  partCount: number;
  openPart?: Part | undefined;
}

interface Part {
  readonly kind: PartKind;
  readonly hubIndex: number;
  /** Differs from `hubIndex` when the hub item has parts that this dialect does not stream. */
  readonly wireIndex: number;
  text: string;
  readonly annotations: HubAnnotation[];
  readonly frame: DeltaFrame;
}

export const newGrowingItem = (builder: ItemBuilder): GrowingItem => ({
  builder,
  id: '',
  outputIndex: -1,
  keys: {},
  partCount: 0,
});

export type PartKind = 'text' | 'refusal' | 'think';

export interface PartDelta {
  /** Index of the part in the hub item. */
  readonly part: number;
  readonly text: string;
}

/** Emits a delta; announces the item and opens the part first where needed. */
export function emitPartDelta(writer: Writer, item: GrowingItem, kind: PartKind, delta: PartDelta): void {
  const { part: hubIndex, text } = delta;
  if (text === '') return;
  if (item.outputIndex < 0) Object.assign(item, emitItemAdded(writer, item.builder));
  const events = PART_EVENTS[kind];
  let part = item.openPart;
  if (!part || part.hubIndex !== hubIndex || part.kind !== kind) {
    closePart(writer, item);
    const keys = { ...item.keys, [events.index]: item.partCount };
    const frame = buildDeltaFrame(`response.${events.type}.delta`, keys, events.extra);
    part = { kind, hubIndex, wireIndex: item.partCount++, text: '', annotations: [], frame };
    item.openPart = part;
    emit(writer, `response.${events.part}.added`, { ...keys, part: events.wire('', []) });
  }
  part.text += text;
  emitDelta(writer, part.frame, text);
}

export function closePart(writer: Writer, item: GrowingItem): void {
  const part = item.openPart;
  if (!part) return;
  item.openPart = undefined;
  const events = PART_EVENTS[part.kind];
  const keys = { ...item.keys, [events.index]: part.wireIndex };
  emit(writer, `response.${events.type}.done`, { ...keys, [events.field]: part.text, ...events.extra });
  emit(writer, `response.${events.part}.done`, { ...keys, part: events.wire(part.text, part.annotations) });
}

/** Events and members of one kind of part. */
interface PartEvents {
  /** What the events that open and close the part are called by, and those of its text. */
  readonly part: 'content_part' | 'reasoning_summary_part';
  readonly type: 'output_text' | 'refusal' | 'reasoning_summary_text';
  readonly index: 'content_index' | 'summary_index';
  /** Member of the `done` event that holds the text. */
  readonly field: 'text' | 'refusal';
  /** Typed SDKs require the list of log probabilities, even if empty. */
  readonly extra?: JsonObject;
  wire(text: string, annotations: readonly HubAnnotation[]): JsonObject | undefined;
}

const PART_EVENTS: Readonly<Record<PartKind, PartEvents>> = {
  text: {
    part: 'content_part',
    type: 'output_text',
    index: 'content_index',
    field: 'text',
    extra: { logprobs: [] },
    wire: (text, annotations) => encodeText({ kind: 'text', text, annotations }),
  },
  refusal: {
    part: 'content_part',
    type: 'refusal',
    index: 'content_index',
    field: 'refusal',
    wire: (refusal) => ({ type: 'refusal', refusal }),
  },
  think: {
    part: 'reasoning_summary_part',
    type: 'reasoning_summary_text',
    index: 'summary_index',
    field: 'text',
    wire: encodeSummary,
  },
};

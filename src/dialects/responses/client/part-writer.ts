/** Streaming of message parts and reasoning summaries: a part opens before its first delta and closes before the next part. */
import type { HubAnnotation, JsonObject } from '../../hub/types.ts';
import { encodePart, encodeSummary, type ItemBuilder } from '../output-items.ts';
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
    const frame = buildDeltaFrame(events.delta, keys, events.extra);
    part = { kind, hubIndex, wireIndex: item.partCount++, text: '', annotations: [], frame };
    item.openPart = part;
    emit(writer, events.added, { ...keys, part: events.empty });
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
  emit(writer, events.done, { ...keys, [events.field]: part.text, ...events.extra });
  emit(writer, events.closed, { ...keys, part: events.finished(part) });
}

/** Event types and members of one kind of part. */
interface PartEvents {
  readonly added: string;
  readonly delta: string;
  readonly done: string;
  readonly closed: string;
  readonly index: 'content_index' | 'summary_index';
  /** Member of the `done` event that holds the text. */
  readonly field: 'text' | 'refusal';
  readonly empty: JsonObject;
  /** Typed SDKs require the list of log probabilities, even if empty. */
  readonly extra?: JsonObject;
  finished(part: Part): JsonObject | undefined;
}

const PART_EVENTS: Readonly<Record<PartKind, PartEvents>> = {
  text: {
    added: 'response.content_part.added',
    delta: 'response.output_text.delta',
    done: 'response.output_text.done',
    closed: 'response.content_part.done',
    index: 'content_index',
    field: 'text',
    empty: { type: 'output_text', text: '', annotations: [], logprobs: [] },
    extra: { logprobs: [] },
    finished: ({ text, annotations }) => encodePart({ kind: 'text', text, annotations }),
  },
  refusal: {
    added: 'response.content_part.added',
    delta: 'response.refusal.delta',
    done: 'response.refusal.done',
    closed: 'response.content_part.done',
    index: 'content_index',
    field: 'refusal',
    empty: { type: 'refusal', refusal: '' },
    finished: ({ text }) => encodePart({ kind: 'refusal', text }),
  },
  think: {
    added: 'response.reasoning_summary_part.added',
    delta: 'response.reasoning_summary_text.delta',
    done: 'response.reasoning_summary_text.done',
    closed: 'response.reasoning_summary_part.done',
    index: 'summary_index',
    field: 'text',
    empty: { type: 'summary_text', text: '' },
    finished: ({ text }) => encodeSummary(text),
  },
};

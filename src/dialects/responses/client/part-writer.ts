/** Parts of messages and summaries while they grow in a stream: opened before their first delta, closed before the next part. */
import type { HubAnnotation, JsonObject } from '../../hub/types.ts';
import { encodePart, encodeSummary, type Form } from '../output-items.ts';
import { addItem, type DeltaFrame, deltaFrame, emit, emitDelta, type Writer } from './event-writer.ts';

/** An item that grows by parts. It takes its place when it is announced. */
export interface Growing {
  readonly form: Form;
  id: string;
  place: number;
  at: JsonObject;
  /** How many parts were opened. */
  parts: number;
  part?: Part | undefined;
}

interface Part {
  readonly kind: Kind;
  /** Its number in the hub, and its place among the parts of the wire: the hub may count parts that are not told here. */
  readonly hub: number;
  readonly place: number;
  text: string;
  readonly notes: HubAnnotation[];
  /** A delta but for its number and text: most events of a stream are deltas, and the rest of them never changes. */
  readonly delta: DeltaFrame;
}

export const growing = (form: Form): Growing => ({ form, id: '', place: -1, at: {}, parts: 0 });

type Kind = 'text' | 'refusal' | 'think';

export function addDelta(writer: Writer, grow: Growing, kind: Kind, hub: number, text: string): void {
  if (text === '') return;
  if (grow.place < 0) Object.assign(grow, addItem(writer, grow.form));
  const row = ROWS[kind];
  let { part } = grow;
  if (!part || part.hub !== hub || part.kind !== kind) {
    closePart(writer, grow);
    const here = { ...grow.at, [row.index]: grow.parts };
    part = { kind, hub, place: grow.parts++, text: '', notes: [], delta: deltaFrame(row.delta, here, row.extra) };
    grow.part = part;
    emit(writer, row.added, { ...here, part: row.empty });
  }
  part.text += text;
  emitDelta(writer, part.delta, text);
}

export function closePart(writer: Writer, grow: Growing): void {
  const { part } = grow;
  if (!part) return;
  grow.part = undefined;
  const row = ROWS[part.kind];
  const here = { ...grow.at, [row.index]: part.place };
  emit(writer, row.done, { ...here, [row.field]: part.text, ...row.extra });
  emit(writer, row.closed, { ...here, part: row.whole(part) });
}

interface Row {
  readonly added: string;
  readonly delta: string;
  readonly done: string;
  readonly closed: string;
  readonly index: 'content_index' | 'summary_index';
  /** Where the `done` event puts the text. */
  readonly field: 'text' | 'refusal';
  readonly empty: JsonObject;
  /** Typed readers require the list of log probabilities, empty or not. */
  readonly extra?: JsonObject;
  whole(part: Part): JsonObject | undefined;
}

const ROWS: Readonly<Record<Kind, Row>> = {
  text: {
    added: 'response.content_part.added',
    delta: 'response.output_text.delta',
    done: 'response.output_text.done',
    closed: 'response.content_part.done',
    index: 'content_index',
    field: 'text',
    empty: { type: 'output_text', text: '', annotations: [], logprobs: [] },
    extra: { logprobs: [] },
    whole: ({ text, notes }) => encodePart({ kind: 'text', text, annotations: notes }),
  },
  refusal: {
    added: 'response.content_part.added',
    delta: 'response.refusal.delta',
    done: 'response.refusal.done',
    closed: 'response.content_part.done',
    index: 'content_index',
    field: 'refusal',
    empty: { type: 'refusal', refusal: '' },
    whole: ({ text }) => encodePart({ kind: 'refusal', text }),
  },
  think: {
    added: 'response.reasoning_summary_part.added',
    delta: 'response.reasoning_summary_text.delta',
    done: 'response.reasoning_summary_text.done',
    closed: 'response.reasoning_summary_part.done',
    index: 'summary_index',
    field: 'text',
    empty: { type: 'summary_text', text: '' },
    whole: ({ text }) => encodeSummary(text),
  },
};

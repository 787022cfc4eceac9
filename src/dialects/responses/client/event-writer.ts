/** Writes events of this dialect: numbering, places of items, snapshots, and items that are told at one go. */
import { sse } from '../../../core/index.ts';
import type { ReplyContext } from '../../codec.ts';
import type { JsonObject } from '../../hub/types.ts';
import { maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { type Declared, declaredIn, type Form, placeId } from '../output-items.ts';
import { settingsOf } from './encode-reply.ts';

export interface Writer {
  readonly answer: ReplyContext;
  readonly declared: Declared;
  /** The echo of the request, as text: it is in every snapshot and may be large. */
  readonly settings: string;
  /** Finished items by place; a place stays empty while its item grows. */
  readonly output: JsonObject[];
  places: number;
  sequence: number;
  id: string;
  /** SSE blocks of the current push. */
  text: string;
  /** JSON texts of the current push; undefined while events are written as SSE blocks. */
  events: string[] | undefined;
  /** The body of the terminal event, without the settings. */
  finalBody: JsonObject | undefined;
}

export const writer = (answer: ReplyContext): Writer => ({
  answer,
  declared: declaredIn(answer.request),
  settings: JSON.stringify(settingsOf(answer)),
  output: [],
  places: 0,
  sequence: 0,
  id: '',
  text: '',
  events: undefined,
  finalBody: undefined,
});

export const emit = (writer: Writer, type: string, fields: JsonObject): void =>
  writeEvent(writer, type, JSON.stringify({ type, sequence_number: writer.sequence++, ...fields }));

function writeEvent(writer: Writer, type: string, json: string): void {
  if (writer.events) writer.events.push(json);
  else writer.text += sse(json, type);
}

/** The constant text of a delta event. `head` ends before the sequence number, `middle` before the delta. */
export interface DeltaFrame {
  readonly json: DeltaEnds;
  readonly sse: DeltaEnds;
  readonly middle: string;
}
interface DeltaEnds {
  readonly head: string;
  readonly tail: string;
}

export function deltaFrame(type: string, before: JsonObject, after: JsonObject = {}): DeltaFrame {
  const members = (fields: JsonObject): string => JSON.stringify(fields).slice(1, -1);
  const last = members(after);
  const json = { head: `{"type":"${type}","sequence_number":`, tail: last === '' ? '}' : `,${last}}` };
  return {
    json,
    sse: { head: `event: ${type}\ndata: ${json.head}`, tail: `${json.tail}\n\n` },
    middle: `,${members(before)},"delta":`,
  };
}

/** Most events of a stream are deltas: one concatenation writes the whole block. */
export function emitDelta(writer: Writer, frame: DeltaFrame, delta: string): void {
  const { head, tail } = writer.events ? frame.json : frame.sse;
  const text = head + writer.sequence++ + frame.middle + JSON.stringify(delta) + tail;
  if (writer.events) writer.events.push(text);
  else writer.text += text;
}

export function emitResponse(writer: Writer, type: string, body: JsonObject): void {
  const response = `${JSON.stringify(body).slice(0, -1)},${writer.settings.slice(1)}`;
  writeEvent(writer, type, `{"type":"${type}","sequence_number":${writer.sequence++},"response":${response}}`);
}

/** Emits the terminal event. */
export function emitFinal(writer: Writer, type: string, body: JsonObject): void {
  emitResponse(writer, type, body);
  writer.finalBody = body;
}

/** The response object of the terminal event; undefined before it. Built on demand: few callers keep it. */
export const finalResponse = ({ finalBody, answer }: Writer): JsonObject | undefined =>
  finalBody && { ...finalBody, ...settingsOf(answer) };

export interface Placed {
  readonly id: string;
  readonly place: number;
  /** The keys that every event of the item carries. */
  readonly at: JsonObject;
}

export function addItem(writer: Writer, form: Form): Placed {
  const place = writer.places++;
  const item = form.build(placeId(form, writer.id, place), 'in_progress');
  const id = maybeString(item.id) ?? '';
  emit(writer, 'response.output_item.added', { output_index: place, item });
  return { id, place, at: { item_id: id, output_index: place } };
}

export function doneItem(writer: Writer, { place }: { readonly place: number }, item: JsonObject): void {
  writer.output[place] = item;
  emit(writer, 'response.output_item.done', { output_index: place, item });
}

/** An item that arrived whole, with the events that readers of its kind expect in between. */
export function emitWholeItem(writer: Writer, form: Form): void {
  const placed = addItem(writer, form);
  const item = form.build(placed.id, 'completed');
  WHOLE.get(maybeString(item.type) ?? '')?.(writer, item, placed);
  doneItem(writer, placed, item);
}

export interface CallEvents {
  readonly name: string;
  readonly field: 'arguments' | 'input';
}
export const CALL_EVENTS = {
  function_call: { name: 'response.function_call_arguments', field: 'arguments' },
  custom_tool_call: { name: 'response.custom_tool_call_input', field: 'input' },
} as const satisfies Record<string, CallEvents>;

type Between = (writer: Writer, item: JsonObject, placed: Placed) => void;

const call =
  ({ name, field }: CallEvents): Between =>
  (writer, item, { at }) => {
    emit(writer, `${name}.delta`, { ...at, delta: item[field] });
    emit(writer, `${name}.done`, { ...at, name: item.name, [field]: item[field] });
  };
const stages =
  (...types: string[]): Between =>
  (writer, _, { at }) => {
    for (const type of types) emit(writer, type, at);
  };

const WHOLE: ReadonlyMap<string, Between> = new Map<string, Between>([
  ['function_call', call(CALL_EVENTS.function_call)],
  ['custom_tool_call', call(CALL_EVENTS.custom_tool_call)],
  ['message', refusalParts],
  [
    'web_search_call',
    stages(
      'response.web_search_call.in_progress',
      'response.web_search_call.searching',
      'response.web_search_call.completed',
    ),
  ],
  [
    'image_generation_call',
    stages(
      'response.image_generation_call.in_progress',
      'response.image_generation_call.generating',
      'response.image_generation_call.completed',
    ),
  ],
]);

/** The only messages told at one go are refusals that the provider did not stream. */
function refusalParts(writer: Writer, item: JsonObject, { at }: Placed): void {
  for (const [content_index, one] of maybeList(item.content).entries()) {
    const part = maybeObject(one);
    const here = { ...at, content_index };
    emit(writer, 'response.content_part.added', { ...here, part: { ...part, refusal: '' } });
    emit(writer, 'response.refusal.delta', { ...here, delta: part.refusal });
    emit(writer, 'response.refusal.done', { ...here, refusal: part.refusal });
    emit(writer, 'response.content_part.done', { ...here, part });
  }
}

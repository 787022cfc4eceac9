/**
 * Writer of responses events: sequence numbers without gaps, output
 * indexes, snapshots, and items that are emitted at once.
 */
import { sse } from '../../../core/index.ts';
import type { ReplyContext } from '../../codec.ts';
import type { JsonObject } from '../../hub/types.ts';
import { maybeList, maybeObject, maybeString, tableOf } from '../../wire/read.ts';
import { type ItemBuilder, type NonFunctionTools, nonFunctionTools, outputItemId } from '../output-items.ts';
import { echoSettings } from './encode-reply.ts';

export interface Writer {
  readonly context: ReplyContext;
  readonly nonFunctionTools: NonFunctionTools;
  /**
   * Echoed request settings as JSON text. Every snapshot contains them
   * and they may be large, so they are serialized once.
   */
  readonly settings: string;
  /** Finished items by output index; the slot of an open item is empty. */
  readonly output: JsonObject[];
  itemCount: number;
  sequence: number;
  /** Response id; empty before the first event. */
  id: string;
  /** SSE blocks of the current push. */
  text: string;
  /** JSON texts of the current push; undefined while events are written as SSE blocks. */
  events: string[] | undefined;
  /** The body of the terminal event, without the settings. */
  finalBody: JsonObject | undefined;
}

export const openWriter = (context: ReplyContext): Writer => ({
  context,
  nonFunctionTools: nonFunctionTools(context.request),
  settings: JSON.stringify(echoSettings(context)),
  output: [],
  itemCount: 0,
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

export function buildDeltaFrame(type: string, before: JsonObject, after: JsonObject = {}): DeltaFrame {
  const members = (fields: JsonObject): string => JSON.stringify(fields).slice(1, -1);
  const last = members(after);
  const json = { head: `{"type":"${type}","sequence_number":`, tail: last === '' ? '}' : `,${last}}` };
  return {
    json,
    sse: { head: `event: ${type}\ndata: ${json.head}`, tail: `${json.tail}\n\n` },
    middle: `,${members(before)},"delta":`,
  };
}

/** Emits a delta with one concatenation, because most events of a stream are deltas. */
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

export function emitFinal(writer: Writer, type: string, body: JsonObject): void {
  emitResponse(writer, type, body);
  writer.finalBody = body;
}

/**
 * Returns the response object of the terminal event, undefined
 * before it. Built on demand because few callers need it.
 */
export const finalResponse = ({ finalBody, context }: Writer): JsonObject | undefined =>
  finalBody && { ...finalBody, ...echoSettings(context) };

export interface AddedItem {
  readonly id: string;
  readonly outputIndex: number;
  /** Members that every event of the item carries. */
  readonly keys: JsonObject;
}

export function emitItemAdded(writer: Writer, builder: ItemBuilder): AddedItem {
  const outputIndex = writer.itemCount++;
  const item = builder.build(outputItemId(builder, writer.id, outputIndex), 'in_progress');
  const id = maybeString(item.id) ?? '';
  emit(writer, 'response.output_item.added', { output_index: outputIndex, item });
  return { id, outputIndex, keys: { item_id: id, output_index: outputIndex } };
}

export function emitItemDone(writer: Writer, { outputIndex }: Pick<AddedItem, 'outputIndex'>, item: JsonObject): void {
  writer.output[outputIndex] = item;
  emit(writer, 'response.output_item.done', { output_index: outputIndex, item });
}

/** Emits a finished item all at once, with the events that clients expect between `added` and `done`. */
export function emitWholeItem(writer: Writer, builder: ItemBuilder): void {
  const added = emitItemAdded(writer, builder);
  const item = builder.build(added.id, 'completed');
  INNER_EVENTS.get(maybeString(item.type) ?? '')?.(writer, item, added);
  emitItemDone(writer, added, item);
}

export interface CallEvents {
  /** Event type without `.delta` or `.done`. */
  readonly prefix: string;
  readonly field: 'arguments' | 'input';
}
export const CALL_EVENTS = {
  function_call: { prefix: 'response.function_call_arguments', field: 'arguments' },
  custom_tool_call: { prefix: 'response.custom_tool_call_input', field: 'input' },
} as const satisfies Record<string, CallEvents>;

type InnerEvents = (writer: Writer, item: JsonObject, added: AddedItem) => void;

const callEvents =
  ({ prefix, field }: CallEvents): InnerEvents =>
  (writer, item, { keys }) => {
    emit(writer, `${prefix}.delta`, { ...keys, delta: item[field] });
    emit(writer, `${prefix}.done`, { ...keys, name: item.name, [field]: item[field] });
  };
const stageEvents =
  (...stages: string[]): InnerEvents =>
  (writer, { type }, { keys }) => {
    for (const stage of stages) emit(writer, `response.${type}.${stage}`, keys);
  };

/**
 * Code and arguments of hosted calls have deltas; SDKs build the item
 * from them. `running`: what they are called while they run.
 */
const inputEvents =
  (type: string, input: string, field: string, running?: string): InnerEvents =>
  (writer, item, { keys }) => {
    const text = maybeString(item[field]) ?? '';
    emit(writer, `${type}.in_progress`, keys);
    if (text !== '') emit(writer, `${type}_${input}.delta`, { ...keys, delta: text });
    emit(writer, `${type}_${input}.done`, { ...keys, [field]: text });
    if (running) emit(writer, `${type}.${running}`, keys);
    // A code interpreter that fails is completed too.
    emit(writer, `${type}.${item.status === 'failed' && !running ? 'failed' : 'completed'}`, keys);
  };

const INNER_EVENTS = tableOf<InnerEvents>({
  function_call: callEvents(CALL_EVENTS.function_call),
  custom_tool_call: callEvents(CALL_EVENTS.custom_tool_call),
  message: refusalEvents,
  code_interpreter_call: inputEvents('response.code_interpreter_call', 'code', 'code', 'interpreting'),
  mcp_call: inputEvents('response.mcp_call', 'arguments', 'arguments'),
  mcp_list_tools: stageEvents('in_progress', 'completed'),
  file_search_call: stageEvents('in_progress', 'searching', 'completed'),
  web_search_call: stageEvents('in_progress', 'searching', 'completed'),
  image_generation_call: stageEvents('in_progress', 'generating', 'completed'),
});

/** Only refusals that the provider did not stream are messages emitted all at once. */
function refusalEvents(writer: Writer, item: JsonObject, { keys: itemKeys }: AddedItem): void {
  for (const [content_index, value] of maybeList(item.content).entries()) {
    const part = maybeObject(value);
    const keys = { ...itemKeys, content_index };
    emit(writer, 'response.content_part.added', { ...keys, part: { ...part, refusal: '' } });
    emit(writer, 'response.refusal.delta', { ...keys, delta: part.refusal });
    emit(writer, 'response.refusal.done', { ...keys, refusal: part.refusal });
    emit(writer, 'response.content_part.done', { ...keys, part });
  }
}

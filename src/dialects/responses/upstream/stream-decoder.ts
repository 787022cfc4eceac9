/**
 * An upstream's stream, as hub events: one row per wire event. Deltas are told as they come; the finished item decides what is
 * still missing and never contradicts what was told. What no row knows is ignored; what cannot be read ends in one error.
 */
import type { DecodeContext, StreamDecoder } from '../../codec.ts';
import { type HubError, type JsonObject, NO_USAGE } from '../../hub/types.ts';
import { isObject, maybeCount, maybeList, maybeObject, maybeString, parseObject } from '../../wire/read.ts';
import { tierUsed } from '../../wire/service-tiers.ts';
import { decodeAnnotation } from '../annotations.ts';
import { readError } from '../errors.ts';
import { contentOf } from '../read-output.ts';
import { decodeUsage } from '../usage.ts';
import { failureOf, stopOf } from './decode-reply.ts';
import {
  addArgs,
  addNote,
  addText,
  endItem,
  fillText,
  type Open,
  openItem,
  openStream,
  partFor,
  type StreamState,
} from './open-items.ts';

export function openDecoder(context: DecodeContext): StreamDecoder {
  const state: State = { ...openStream(context), started: false, over: false, byPlace: new Map(), byId: new Map() };
  return {
    push(data) {
      if (state.over || data === '' || data === '[DONE]') return [];
      state.out = [];
      const event = parseObject(data);
      if (event) ON.get(maybeString(event.type) ?? '')?.(event, state);
      else broken(state, 'The upstream sent something that is no event.');
      if (state.confused && !state.over) contradiction(state);
      return state.out;
    },
    end() {
      if (state.over) return [];
      state.out = [];
      broken(state, 'The upstream closed the stream before completion.');
      return state.out;
    },
  };
}

interface State extends StreamState {
  started: boolean;
  /** Finish or error is told; nothing may follow. */
  over: boolean;
  readonly byPlace: Map<number, Open>;
  /** For relays that leave `output_index` out. */
  readonly byId: Map<string, Open>;
}

type Row = (event: JsonObject, state: State) => void;

type Kind = 'text' | 'refusal' | 'think';

const text =
  (kind: Kind, type: string, place: string, field: string): Row =>
  (event, state) => {
    const open = live(event, state, type);
    if (open) addText(state, partFor(open, kind, event[place]), maybeString(event[field]) ?? '');
  };
/** A finished text tells what its deltas left out. */
const textDone =
  (kind: Kind, type: string, place: string, field: string): Row =>
  (event, state) => {
    const open = live(event, state, type);
    if (open) fillText(state, partFor(open, kind, event[place]), maybeString(event[field]) ?? '');
  };
const args =
  (type: string): Row =>
  (event, state) => {
    const open = live(event, state, type);
    if (open) addArgs(state, open, maybeString(event.delta) ?? '');
  };
const argsDone =
  (type: string, field: string): Row =>
  (event, state) => {
    const open = live(event, state, type);
    if (!open) return;
    // Some servers tell the name only here.
    if (!open.wire.name && maybeString(event.name)) open.wire = { ...open.wire, name: event.name };
    openItem(state, open);
    const whole = maybeString(event[field]) ?? '';
    if (whole.startsWith(open.args)) addArgs(state, open, whole.slice(open.args.length));
  };

const start: Row = (event, state) => begin(state, maybeObject(event.response));
const ignored: Row = () => {};
const ping: Row = (_, state) => {
  if (state.started) state.out.push({ kind: 'ping' });
};

const ON: ReadonlyMap<string, Row> = new Map<string, Row>([
  ['response.created', start],
  ['response.queued', start],
  ['response.in_progress', start],
  ['response.output_item.added', added],
  ['response.content_part.added', ignored],
  ['response.content_part.done', ignored],
  ['response.output_text.delta', text('text', 'message', 'content_index', 'delta')],
  ['response.output_text.done', textDone('text', 'message', 'content_index', 'text')],
  ['response.output_text.annotation.added', note],
  ['response.refusal.delta', text('refusal', 'message', 'content_index', 'delta')],
  ['response.refusal.done', textDone('refusal', 'message', 'content_index', 'refusal')],
  ['response.reasoning_summary_text.delta', text('think', 'reasoning', 'summary_index', 'delta')],
  ['response.reasoning_summary_text.done', textDone('think', 'reasoning', 'summary_index', 'text')],
  ['response.reasoning_text.delta', rawThought('delta')],
  ['response.reasoning_text.done', rawThought('text')],
  ['response.function_call_arguments.delta', args('function_call')],
  ['response.function_call_arguments.done', argsDone('function_call', 'arguments')],
  ['response.custom_tool_call_input.delta', args('custom_tool_call')],
  ['response.custom_tool_call_input.done', argsDone('custom_tool_call', 'input')],
  ['response.output_item.done', done],
  ['response.completed', terminal('completed')],
  ['response.incomplete', terminal('incomplete')],
  ['response.failed', terminal('failed')],
  // What some relays call every terminal.
  ['response.done', terminal('completed')],
  [
    'error',
    (event, state) =>
      failed(state, readError(isObject(event.error) ? event.error : event, maybeCount(event.status)).error),
  ],
  ['keepalive', ping],
]);

function begin(state: State, response: JsonObject): void {
  if (state.started) return;
  state.started = true;
  const tier = tierUsed(maybeString(response.service_tier));
  state.out.push({
    kind: 'start',
    id: maybeString(response.id) ?? '',
    model: maybeString(response.model) ?? '',
    ...(tier !== undefined && tier !== 'standard' && { usage: { ...NO_USAGE, tier } }),
  });
}

/** The item an event belongs to. One that was never announced is taken for what its event says it must be. */
function itemAt(event: JsonObject, state: State, type: string): Open {
  begin(state, {});
  const id = maybeString(event.item_id) ?? '';
  const place = maybeCount(event.output_index) ?? state.byId.get(id)?.place ?? state.byPlace.size;
  return state.byPlace.get(place) ?? announce(state, place, { type, id });
}

/** The item of a delta, if it can still grow and is of the kind that such a delta is about. */
function live(event: JsonObject, state: State, type: string): Open | undefined {
  const open = itemAt(event, state, type);
  return open.ended || open.wire.type !== type ? undefined : open;
}

function announce(state: State, place: number, wire: JsonObject): Open {
  const open: Open = { place, index: -1, wire, parts: new Map(), args: '', ended: false };
  state.byPlace.set(place, open);
  const id = maybeString(wire.id);
  if (id) state.byId.set(id, open);
  const callId = maybeString(wire.call_id);
  if (callId) state.byId.set(callId, open);
  return open;
}

function added(event: JsonObject, state: State): void {
  begin(state, {});
  const wire = maybeObject(event.item);
  const place = maybeCount(event.output_index) ?? state.byPlace.size;
  const known = state.byPlace.get(place);
  if (known?.ended) return;
  const open = known ?? announce(state, place, wire);
  if (!isSame(open, wire)) return contradiction(state);
  open.wire = wire;
  // A message waits for its first words: it may have none.
  if (wire.type !== 'message') openItem(state, open);
}

function rawThought(field: 'delta' | 'text'): Row {
  const tell = field === 'delta' ? addText : fillText;
  return (event, state) => {
    const open = live(event, state, 'reasoning');
    if (open) tell(state, partFor(open, 'think', event.content_index, 'raw'), maybeString(event[field]) ?? '');
  };
}

function note(event: JsonObject, state: State): void {
  const open = live(event, state, 'message');
  const annotation = decodeAnnotation(event.annotation);
  if (open && annotation) addNote(state, partFor(open, 'text', event.content_index), annotation);
}

function done(event: JsonObject, state: State): void {
  const wire = maybeObject(event.item);
  const open = itemAt({ ...event, item_id: wire.id }, state, maybeString(wire.type) ?? '');
  if (!open.ended) settle(state, open, wire);
}

/** The finished item: tells what is missing, then ends it. */
function settle(state: State, open: Open, wire: JsonObject): void {
  if (!isSame(open, wire)) return contradiction(state);
  open.wire = wire;
  if (wire.type === 'message') {
    for (const [place, one] of maybeList(wire.content).entries()) settleContent(state, open, place, maybeObject(one));
  }
  if (wire.type === 'reasoning') settleThoughts(state, open, wire);
  endItem(state, open);
}

/** An item that was told of cannot become another kind of item. */
const isSame = (open: Open, wire: JsonObject): boolean =>
  (open.index < 0 && open.args === '') || open.wire.type === wire.type;
const contradiction = (state: State): void => broken(state, 'The upstream contradicted itself about an item.');

function settleThoughts(state: State, open: Open, { summary, content }: JsonObject): void {
  for (const [place, one] of maybeList(summary).entries()) {
    fillText(state, partFor(open, 'think', place), maybeString(maybeObject(one).text) ?? '');
  }
  for (const [place, one] of maybeList(content).entries()) {
    fillText(state, partFor(open, 'think', place, 'raw'), maybeString(maybeObject(one).text) ?? '');
  }
}

function settleContent(state: State, open: Open, place: number, wire: JsonObject): void {
  const content = contentOf(wire);
  if (!content) return;
  const part = partFor(open, content.kind, place);
  fillText(state, part, content.text);
  const notes = maybeList(wire.annotations).flatMap((one) => decodeAnnotation(one) ?? []);
  for (const annotation of notes.slice(part.notes.length)) addNote(state, part, annotation);
}

// ---------------------------------------------------------------- the end

function terminal(word: string): Row {
  return (event, state) => {
    const told = maybeObject(event.response);
    const response = { usage: event.usage, ...told, status: maybeString(told.status) ?? word };
    // A failure before anything else is told as nothing but that: another account may still be tried.
    if (state.started || !failureOf(response, false)) {
      begin(state, response);
      adopt(state, response);
    }
    if (state.over) return;
    const error = failureOf(response, state.opened > 0);
    if (error) return failed(state, error);
    // Items that never ended are whole if the response is, else cut.
    const status = response.status === 'completed' ? 'completed' : 'incomplete';
    for (const open of state.byPlace.values()) {
      if (open.ended) continue;
      open.wire = { ...open.wire, status };
      endItem(state, open);
    }
    state.over = true;
    state.out.push({ kind: 'finish', ...stopOf(response, state.items), usage: decodeUsage(response, state.items) });
  };
}

/** Items that only the terminal tells, and the ends of those that had none. Terminals may list few items, or none. */
function adopt(state: State, response: JsonObject): void {
  for (const [place, one] of maybeList(response.output).entries()) {
    const wire = maybeObject(one);
    const known = find(state, wire, place);
    if (known?.ended || state.over) continue;
    settle(state, known ?? announce(state, state.byPlace.has(place) ? nextPlace(state) : place, wire), wire);
  }
}

/** By id first; some servers change ids between events, so the same kind of item at the same place is the same item. */
function find(state: State, wire: JsonObject, place: number): Open | undefined {
  const known = state.byId.get(maybeString(wire.id) ?? '') ?? state.byId.get(maybeString(wire.call_id) ?? '');
  if (known) return known;
  const there = state.byPlace.get(place);
  return there?.wire.type === wire.type ? there : undefined;
}

const nextPlace = (state: State): number => Math.max(...state.byPlace.keys()) + 1;

function failed(state: State, error: HubError): void {
  state.over = true;
  state.out.push({ kind: 'error', error });
}

const broken = (state: State, message: string): void => failed(state, { code: 'upstream_error', message });

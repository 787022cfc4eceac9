/**
 * A stream to a client of this dialect: one row per hub event. Numbers every event without gaps, opens a part before its first
 * delta, and ends with the whole output. Calls whose arguments are no JSON wait for the finish, which decides about them.
 */
import { SSE_COMMENT } from '../../../core/index.ts';
import type { ReplyContext, StreamEncoder } from '../../codec.ts';
import type { HubEvent, HubItem, HubMessage, HubReasoningItem, HubToolCall } from '../../hub/types.ts';
import { responseId } from '../../wire/ids.ts';
import { encodeAnnotation } from '../annotations.ts';
import {
  callForm,
  formsOf,
  inputOf,
  messageForm,
  reasoningForm,
  type Shape,
  shapeOf,
  signatureForms,
} from '../output-items.ts';
import { ENDINGS, refusalOf } from '../stop-reason.ts';
import { signatureOfCall } from '../thought-signatures.ts';
import { failedBody, finalBody, openBody, refusalItems } from './encode-reply.ts';
import {
  addItem,
  CALL_EVENTS,
  type CallEvents,
  doneItem,
  emit,
  emitFinal,
  emitResponse,
  emitWholeItem,
  finalResponse,
  type Placed,
  type Writer,
  writer,
} from './event-writer.ts';
import { addDelta, closePart, type Growing, growing } from './part-writer.ts';
import { inputScanner } from './unwrap-free-text.ts';

export function openEncoder(answer: ReplyContext): StreamEncoder {
  const state: State = { ...writer(answer), begun: false, open: new Map(), heldCalls: [], refused: false };
  const run = (event: HubEvent): void => {
    if (state.finalBody) return;
    const row = ON[event.kind] as (event: HubEvent, state: State) => void;
    row(event, state);
  };
  return {
    push(event) {
      state.text = '';
      run(event);
      return state.text;
    },
    pushEvents(event) {
      const events: string[] = [];
      state.events = events;
      run(event);
      state.events = undefined;
      return events;
    },
    get finalResponse() {
      return finalResponse(state);
    },
    heartbeat: () => SSE_COMMENT,
  };
}

interface State extends Writer {
  begun: boolean;
  readonly open: Map<number, Open>;
  /** Ends the last message: only the next item or the finish shows whether it was cut off. */
  heldMessage?: ((cut: boolean) => void) | undefined;
  readonly heldCalls: (() => void)[];
  refused: boolean;
}

type Open =
  | { readonly kind: 'message' | 'reasoning'; readonly grow: Growing }
  | {
      readonly kind: 'call';
      readonly at: Placed;
      readonly shape: Shape;
      readonly scan: (piece: string) => string;
      readonly signed: boolean;
      told: boolean;
    }
  /** Told as a whole when it ends. */
  | { readonly kind: 'late' };

type Rows = { readonly [K in HubEvent['kind']]: (event: Extract<HubEvent, { kind: K }>, state: State) => void };

const ON: Rows = {
  start(event, state) {
    begin(state, event.id);
  },
  item(event, state) {
    release(state, false);
    state.open.set(event.index, opened(event.item, state));
  },
  text(event, state) {
    grow(state, event.index, 'text', event);
  },
  refusal(event, state) {
    grow(state, event.index, 'refusal', event);
  },
  think(event, state) {
    grow(state, event.index, 'think', event);
  },
  args(event, state) {
    const open = state.open.get(event.index);
    if (open?.kind === 'call') emitArgs(state, open, open.scan(event.text));
  },
  annotation(event, state) {
    const open = state.open.get(event.index);
    const part = open?.kind === 'message' ? open.grow.part : undefined;
    if (open?.kind !== 'message' || part?.hub !== event.part || part.kind !== 'text') return;
    const place = { item_id: open.grow.id, output_index: open.grow.place, content_index: part.place };
    const annotation_index = part.notes.push(event.annotation) - 1;
    const annotation = encodeAnnotation(event.annotation);
    emit(state, 'response.output_text.annotation.added', { ...place, annotation_index, annotation });
  },
  item_end(event, state) {
    const open = state.open.get(event.index);
    state.open.delete(event.index);
    if (open) ended(event.item, open, state);
  },
  // A comment belongs to SSE: `pushEvents` has no event for it.
  ping(_, state) {
    if (!state.events) state.text += SSE_COMMENT;
  },
  finish(event, state) {
    const { cut, event: type } = ENDINGS[event.stop];
    release(state, cut === true);
    if (!cut) for (const tell of state.heldCalls) tell();
    for (const item of state.refused ? [] : refusalItems(event.stop, event.refusal, [])) late(item, state);
    const { id, answer } = state;
    emitFinal(state, type, finalBody({ id, answer, output: outputOf(state), stop: event.stop, usage: event.usage }));
  },
  // Agents ignore the `error` event: a failure is a failed response.
  error(event, state) {
    begin(state, state.answer.requestId);
    release(state, false);
    emitFinal(state, 'response.failed', failedBody(state.id, state.answer, outputOf(state), event.error));
  },
};

function begin(state: State, upstreamId: string): void {
  if (state.begun) return;
  state.begun = true;
  state.id = responseId('resp_', upstreamId);
  emitResponse(state, 'response.created', openBody(state.id, state.answer));
  emitResponse(state, 'response.in_progress', openBody(state.id, state.answer));
}

/** Items that were opened and never ended leave a hole. */
const outputOf = (state: State) => state.output.filter((item) => item !== undefined);

function release(state: State, cut: boolean): void {
  state.heldMessage?.(cut);
  state.heldMessage = undefined;
}

// ---------------------------------------------------------------- opening and growing

/** A message is announced with its first words; calls that may bring a signature wait for it, since it stands before them. */
function opened(item: HubItem, state: State): Open {
  if (item.kind === 'message') return { kind: 'message', grow: growing(messageForm(item)) };
  if (item.kind === 'reasoning') {
    const grow = growing(reasoningForm(item));
    Object.assign(grow, addItem(state, grow.form));
    return { kind: 'reasoning', grow };
  }
  if (item.kind !== 'tool_call' || state.answer.issuer === 'generate-content') return { kind: 'late' };
  const shape = shapeOf(item, state.declared);
  if (shape === 'builtin') return { kind: 'late' };
  for (const form of signatureForms(signatureOfCall(item))) emitWholeItem(state, form);
  const scan = shape === 'wrapped' ? inputScanner() : (piece: string) => piece;
  const signed = item.signature !== undefined;
  return { kind: 'call', at: addItem(state, callForm(item, shape)), shape, scan, signed, told: false };
}

type Delta = { readonly part: number; readonly text: string };

function grow(state: State, index: number, kind: 'text' | 'refusal' | 'think', { part, text }: Delta): void {
  const open = state.open.get(index);
  const holder = kind === 'think' ? 'reasoning' : 'message';
  if (open?.kind === holder) addDelta(state, open.grow, kind, part, text);
}

function emitArgs(state: State, open: Open & { kind: 'call' }, delta: string): void {
  if (delta === '') return;
  open.told = true;
  emit(state, `${eventsOf(open.shape).name}.delta`, { ...open.at.at, delta });
}

const eventsOf = (shape: Shape): CallEvents => CALL_EVENTS[shape === 'function' ? 'function_call' : 'custom_tool_call'];

// ---------------------------------------------------------------- ending

function ended(item: HubItem, open: Open, state: State): void {
  if (item.kind === 'message' && open.kind === 'message') endMessage(item, open.grow, state);
  else if (item.kind === 'reasoning' && open.kind === 'reasoning') endReasoning(item, open.grow, state);
  else if (item.kind === 'tool_call' && open.kind === 'call') endCall(item, open, state);
  else late(item, state);
}

function endMessage(item: HubMessage, grow: Growing, state: State): void {
  release(state, false);
  if (grow.parts === 0) {
    for (const [n, part] of item.parts.entries()) {
      if (part.kind === 'text' || part.kind === 'refusal') addDelta(state, grow, part.kind, n, part.text);
    }
  }
  closePart(state, grow);
  state.refused ||= refusalOf([item]) !== undefined;
  state.heldMessage = (cut) => {
    if (grow.place >= 0) doneItem(state, grow, messageForm(item).build(grow.id, cut ? 'incomplete' : 'completed'));
    // Images and signatures that the message held, as items of their own.
    for (const form of formsOf(item, state.declared)) if (form.prefix !== 'msg') emitWholeItem(state, form);
  };
}

function endReasoning(item: HubReasoningItem, grow: Growing, state: State): void {
  if (grow.parts === 0) for (const [n, text] of item.summary.entries()) addDelta(state, grow, 'think', n, text);
  closePart(state, grow);
  doneItem(state, grow, reasoningForm(item).build(grow.id, 'completed'));
}

function endCall(item: HubToolCall, open: Open & { kind: 'call' }, state: State): void {
  const form = callForm(item, open.shape);
  const { name, field } = eventsOf(open.shape);
  const whole = open.shape === 'function' ? item.args || '{}' : inputOf(item, open.shape);
  const tell = () => {
    if (!open.told) emitArgs(state, open, whole);
    emit(state, `${name}.done`, { ...open.at.at, name: item.name, [field]: whole });
    doneItem(state, open.at, form.build(open.at.id, 'completed'));
    // One that came too late to stand before its call still finds it by the id.
    if (!open.signed) for (const late of signatureForms(signatureOfCall(item))) emitWholeItem(state, late);
  };
  if (form.broken) state.heldCalls.push(tell);
  else tell();
}

function late(item: HubItem, state: State): void {
  for (const form of formsOf(item, state.declared)) {
    if (form.broken) state.heldCalls.push(() => emitWholeItem(state, form));
    else emitWholeItem(state, form);
  }
}

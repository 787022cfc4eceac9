/**
 * Stream decoder, one handler per wire event. Finished items complete their
 * deltas. A malformed event ends the stream with one error.
 */
import type { DecodeContext, StreamDecoder } from '../../codec.ts';
import { type HubError, type JsonObject, NO_USAGE } from '../../hub/types.ts';
import { openEventParser } from '../../wire/event-parser.ts';
import { isObject, maybeCount, maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { tierUsed } from '../../wire/service-tiers.ts';
import { decodeAnnotation, decodeAnnotations } from '../annotations.ts';
import { decodeErrorObject } from '../errors.ts';
import { contentOf } from '../read-output.ts';
import { decodeUsage } from '../usage.ts';
import { type CompleteText, completeTexts, endText } from './complete-texts.ts';
import { omittedIn, responseError, responseStop } from './decode-reply.ts';
import * as opened from './open-items.ts';

export function openDecoder(context: DecodeContext): StreamDecoder {
  const state: State = {
    ...opened.openStream(context),
    isStarted: false,
    isOver: false,
    byIndex: new Map(),
    byId: new Map(),
  };
  const parse = openEventParser(VARYING, isNoDelta);
  return {
    push(data) {
      if (state.isOver || data === '' || data === '[DONE]') return [];
      state.out = [];
      const event = parse(data);
      if (event) HANDLERS.get(maybeString(event.type) ?? '')?.(event, state);
      else endAsBroken(state, 'The provider sent a malformed event.');
      if (state.isInconsistent && !state.isOver) failContradiction(state);
      return state.out;
    },
    end() {
      if (state.isOver) return [];
      state.out = [];
      endAsBroken(state, 'The upstream closed the stream before completion.');
      return state.out;
    },
  };
}

const VARYING = ['sequence_number', 'delta', 'obfuscation'];

const isNoDelta = ({ delta }: JsonObject): boolean => typeof delta !== 'string';

interface State extends opened.StreamState {
  isStarted: boolean;
  /** `finish` or `error` was emitted; nothing may follow. */
  isOver: boolean;
  readonly byIndex: Map<number, opened.OpenItem>;
  /** By item id and call id, for relays that omit `output_index`. */
  readonly byId: Map<string, opened.OpenItem>;
}

type Handler = (event: JsonObject, state: State) => void;
type Rows = readonly (readonly [type: string, Handler])[];

/** How events carry the text of a part. */
interface TextEvents {
  readonly kind: opened.TextKind;
  /** Of the item. */
  readonly type: 'message' | 'reasoning';
  /** Member with the place of the part in the item. */
  readonly index: 'content_index' | 'summary_index';
  /** Member with the whole text at its end. */
  readonly field: 'text' | 'refusal';
  /** Tells raw reasoning from summaries. */
  readonly raw?: 'raw';
}

/** Handlers of the deltas of a text, and of the whole text at its end. */
function onText(name: string, { kind, type, index, field, raw }: TextEvents): Rows {
  const delta: Handler = (event, state) => {
    const open = growingItem(event, state, type);
    if (!open) return;
    const key = opened.partKey(kind, event[index], raw);
    const text = maybeString(event.delta) ?? '';
    if (!opened.isLate(open, key, text)) opened.addText(state, opened.growingPart(open, kind, key), text);
  };
  const done: Handler = (event, state) => {
    const open = growingItem(event, state, type);
    const key = opened.partKey(kind, event[index], raw);
    if (open) endText(state, open, { kind, key, text: maybeString(event[field]) ?? '' });
  };
  return [
    [`response.${name}.delta`, delta],
    [`response.${name}.done`, done],
  ];
}

/** The same of the arguments of a call. */
function onArgs(type: string, field: string): Rows {
  const delta: Handler = (event, state) => {
    const open = growingItem(event, state, type);
    if (open) opened.addArgs(state, open, maybeString(event.delta) ?? '');
  };
  const done: Handler = (event, state) => {
    const open = growingItem(event, state, type);
    if (!open) return;
    // Some servers send the name only in this event.
    if (!open.wire.name && maybeString(event.name)) open.wire = { ...open.wire, name: event.name };
    opened.openItem(state, open);
    const complete = maybeString(event[field]) ?? '';
    if (complete.startsWith(open.args)) opened.addArgs(state, open, complete.slice(open.args.length));
  };
  return [
    [`response.${type}_${field}.delta`, delta],
    [`response.${type}_${field}.done`, done],
  ];
}

const onStart: Handler = (event, state) => startReply(state, maybeObject(event.response));
const ignore: Handler = () => {};
const onKeepalive: Handler = (_, state) => {
  if (state.isStarted) state.out.push({ kind: 'ping' });
};

const HANDLERS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['response.created', onStart],
  ['response.queued', onStart],
  ['response.in_progress', onStart],
  ['response.output_item.added', onItemAdded],
  ['response.content_part.added', ignore],
  ['response.content_part.done', ignore],
  ...onText('output_text', { kind: 'text', type: 'message', index: 'content_index', field: 'text' }),
  ['response.output_text.annotation.added', onAnnotation],
  ...onText('refusal', { kind: 'refusal', type: 'message', index: 'content_index', field: 'refusal' }),
  ...onText('reasoning_summary_text', { kind: 'think', type: 'reasoning', index: 'summary_index', field: 'text' }),
  ...onText('reasoning_text', { kind: 'think', type: 'reasoning', index: 'content_index', field: 'text', raw: 'raw' }),
  ...onArgs('function_call', 'arguments'),
  ...onArgs('custom_tool_call', 'input'),
  ['response.output_item.done', onItemDone],
  ['response.completed', onTerminal('completed')],
  ['response.incomplete', onTerminal('incomplete')],
  ['response.failed', onTerminal('failed')],
  // Some relays use this type for every terminal event.
  ['response.done', onTerminal('completed')],
  ['error', onError],
  ['keepalive', onKeepalive],
]);

function onError(event: JsonObject, state: State): void {
  const wire = isObject(event.error) ? event.error : event;
  endWithError(state, decodeErrorObject(wire, maybeCount(event.status)).error);
}

function startReply(state: State, response: JsonObject): void {
  if (state.isStarted) return;
  state.isStarted = true;
  const tier = tierUsed(maybeString(response.service_tier));
  state.out.push({
    kind: 'start',
    id: maybeString(response.id) ?? '',
    model: maybeString(response.model) ?? '',
    ...(tier !== undefined && tier !== 'standard' && { usage: { ...NO_USAGE, tier } }),
  });
}

/** Finds the item of an event. An item without an `added` event gets the type that the event implies. */
function itemAt(event: JsonObject, state: State, type: string): opened.OpenItem {
  startReply(state, {});
  const id = maybeString(event.item_id) ?? '';
  const outputIndex = maybeCount(event.output_index) ?? state.byId.get(id)?.outputIndex ?? state.byIndex.size;
  return state.byIndex.get(outputIndex) ?? registerItem(state, outputIndex, { type, id });
}

/** Finds the item of a delta. Returns undefined if it has ended or has another type. */
function growingItem(event: JsonObject, state: State, type: string): opened.OpenItem | undefined {
  const open = itemAt(event, state, type);
  return open.isEnded || open.wire.type !== type ? undefined : open;
}

function registerItem(state: State, outputIndex: number, wire: JsonObject): opened.OpenItem {
  const open: opened.OpenItem = {
    outputIndex,
    index: -1,
    wire,
    parts: [],
    partByKey: new Map(),
    isMixed: false,
    args: '',
    isEnded: false,
  };
  state.byIndex.set(outputIndex, open);
  const id = maybeString(wire.id);
  if (id) state.byId.set(id, open);
  const callId = maybeString(wire.call_id);
  if (callId) state.byId.set(callId, open);
  return open;
}

function onItemAdded(event: JsonObject, state: State): void {
  startReply(state, {});
  const wire = maybeObject(event.item);
  const outputIndex = maybeCount(event.output_index) ?? state.byIndex.size;
  const known = state.byIndex.get(outputIndex);
  if (known?.isEnded) return;
  const open = known ?? registerItem(state, outputIndex, wire);
  if (!isSameKind(open, wire)) return failContradiction(state);
  open.wire = wire;
  // A message waits for its first text, because it may stay empty.
  if (wire.type !== 'message') opened.openItem(state, open);
}

function onAnnotation(event: JsonObject, state: State): void {
  const open = growingItem(event, state, 'message');
  const annotation = decodeAnnotation(event.annotation);
  const part =
    open?.partByKey.get(opened.partKey('text', event.content_index)) ??
    open?.parts.findLast(({ kind }) => kind === 'text');
  if (part && annotation) opened.addAnnotation(state, part, annotation);
}

function onItemDone(event: JsonObject, state: State): void {
  const wire = maybeObject(event.item);
  const open = itemAt({ ...event, item_id: wire.id }, state, maybeString(wire.type) ?? '');
  if (!open.isEnded) completeItem(state, open, wire);
}

/** Emits what the deltas lack, then ends the item. */
function completeItem(state: State, open: opened.OpenItem, wire: JsonObject): void {
  if (!isSameKind(open, wire)) return failContradiction(state);
  open.wire = wire;
  if (wire.type === 'message') completeTexts(state, open, contentTexts(wire));
  if (wire.type === 'reasoning') completeTexts(state, open, reasoningTexts(wire));
  opened.endItem(state, open);
}

/** An emitted item cannot change its type. */
const isSameKind = (open: opened.OpenItem, wire: JsonObject): boolean =>
  (open.index < 0 && open.args === '') || open.wire.type === wire.type;
const failContradiction = (state: State): void =>
  endAsBroken(state, 'The provider sent contradictory events for one output item.');

const contentTexts = ({ content }: JsonObject): CompleteText[] =>
  maybeList(content)
    .map(maybeObject)
    .flatMap((part) => {
      const found = contentOf(part);
      return found ? [{ ...found, annotations: decodeAnnotations(part.annotations) }] : [];
    });

/** Summaries first, then raw reasoning. */
const reasoningTexts = ({ summary, content }: JsonObject): CompleteText[] =>
  [...maybeList(summary), ...maybeList(content)].flatMap((part) => {
    const text = maybeString(maybeObject(part).text);
    return text ? [{ kind: 'think', text, annotations: [] }] : [];
  });

function onTerminal(defaultStatus: string): Handler {
  return (event, state) => {
    const sent = maybeObject(event.response);
    const response = { usage: event.usage, ...sent, status: maybeString(sent.status) ?? defaultStatus };
    // A failure before any other event emits only the error, so that failover can still try another account.
    if (state.isStarted || !responseError(response, false)) {
      startReply(state, response);
      adoptOutput(state, response);
    }
    if (state.isOver) return;
    const error = responseError(response, state.itemCount > 0);
    if (error) return endWithError(state, error);
    // Open items are as complete as the response.
    const status = response.status === 'completed' ? 'completed' : 'incomplete';
    for (const open of state.byIndex.values()) {
      if (open.isEnded) continue;
      open.wire = { ...open.wire, status };
      opened.endItem(state, open);
    }
    opened.endWaiting(state);
    state.isOver = true;
    state.out.push({
      kind: 'finish',
      ...responseStop(response, state.items),
      ...omittedIn(response),
      usage: decodeUsage(response, state.items),
    });
  };
}

/**
 * Emits items that only the terminal event has, and ends open items.
 * Terminal events may list only some items, or none.
 */
function adoptOutput(state: State, response: JsonObject): void {
  let nextFree = state.byIndex.keys().reduce((next, index) => Math.max(next, index + 1), 0);
  for (const [outputIndex, value] of maybeList(response.output).entries()) {
    const wire = maybeObject(value);
    const known = findItem(state, wire, outputIndex);
    if (known?.isEnded || state.isOver) continue;
    const freeIndex = state.byIndex.has(outputIndex) ? nextFree : outputIndex;
    nextFree = Math.max(nextFree, freeIndex + 1);
    completeItem(state, known ?? registerItem(state, freeIndex, wire), wire);
  }
}

/** Matches by id, then by output index and type, because some servers change ids between events. */
function findItem(state: State, wire: JsonObject, outputIndex: number): opened.OpenItem | undefined {
  const known = state.byId.get(maybeString(wire.id) ?? '') ?? state.byId.get(maybeString(wire.call_id) ?? '');
  if (known) return known;
  const atIndex = state.byIndex.get(outputIndex);
  return atIndex?.wire.type === wire.type ? atIndex : undefined;
}

function endWithError(state: State, error: HubError): void {
  state.isOver = true;
  state.out.push({ kind: 'error', error });
}

const endAsBroken = (state: State, message: string): void => endWithError(state, { code: 'upstream_error', message });

/**
 * Hub events written as this dialect's stream: one row per hub event, one writer per item. Blocks follow each other strictly,
 * so items take turns.
 */
import { sse } from '../../../core/index.ts';
import type { ReplyContext, StreamEncoder } from '../../codec.ts';
import { type ItemEvent, ItemSerializer } from '../../hub/serialize-items.ts';
import {
  type HubEvent,
  type HubItem,
  type HubMessage,
  type HubToolCall,
  type JsonObject,
  NO_USAGE,
} from '../../hub/types.ts';
import { maybeObject } from '../../wire/read.ts';
import { encodeError } from '../errors.ts';
import {
  callHead,
  citation,
  encodeItem,
  isForeignSearch,
  MALFORMED,
  messageHead,
  messageTail,
  textHead,
} from '../reply.ts';
import { encodeStop } from '../stop-reason.ts';
import { encodeUsage } from '../usage.ts';
import { encodeSignature, encodeThinkingBlock, SUMMARY_GAP, signatureOf } from './opaque-thinking.ts';

export function openEncoder(answer: ReplyContext): StreamEncoder {
  const state: State = {
    answer,
    done: false,
    place: 0,
    sequence: new ItemSerializer(),
    calls: false,
    searches: 0,
    refusal: '',
  };
  return {
    push: (event) => (state.done ? '' : take(event, state)),
    heartbeat: () => (state.done ? '' : PING),
  };
}

interface State {
  readonly answer: ReplyContext;
  done: boolean;
  /** Where the next block goes. */
  place: number;
  readonly sequence: ItemSerializer;
  /** Of the item whose turn it is. */
  writer?: Writer;
  calls: boolean;
  searches: number;
  refusal: string;
}

const PING = sse('{"type":"ping"}', 'ping');

const emit = (type: string, members: JsonObject): string => sse(JSON.stringify({ type, ...members }), type);

const take = <E extends HubEvent>(event: E, state: State): string =>
  (ON[event.kind] as (event: E, state: State) => string)(event, state);

const ON: { readonly [K in HubEvent['kind']]: (event: HubEvent & { kind: K }, state: State) => string } = {
  start({ id, usage }, { answer }) {
    const message = {
      ...messageHead(id, answer),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: { ...encodeUsage(usage ?? NO_USAGE), output_tokens: 1 },
    };
    return emit('message_start', { message }) + PING;
  },
  item: route,
  text: route,
  refusal: route,
  think: route,
  args: route,
  annotation: route,
  item_end: route,
  ping: () => PING,
  finish(event, state) {
    if (event.stop === 'malformed_call') return ON.error({ kind: 'error', error: MALFORMED }, state);
    state.done = true;
    const refusal = event.refusal ?? (state.refusal || undefined);
    const delta = encodeStop({ ...event, ...(refusal !== undefined && { refusal }) }, state.calls);
    const usage = encodeUsage(event.usage, state.searches);
    return emit('message_delta', { delta, usage }) + emit('message_stop', {});
  },
  error({ error }, state) {
    state.done = true;
    return sse(JSON.stringify(encodeError(error, state.answer.requestId)), 'error');
  },
};

// ---------------------------------------------------------------- whose turn it is

function route(event: ItemEvent, state: State): string {
  let out = '';
  for (const next of state.sequence.push(event)) out += step(next, state);
  return state.sequence.isOverfull ? out + giveUp(state) : out;
}

function step(event: ItemEvent, state: State): string {
  if (event.kind === 'item') {
    state.writer = WRITERS[event.item.kind]?.(event.item, state) ?? wholeWriter(state);
    return state.writer.open?.() ?? '';
  }
  return (event.kind === 'item_end' ? state.writer?.end(event.item) : state.writer?.push?.(event)) ?? '';
}

const giveUp = (state: State): string =>
  ON.error({ kind: 'error', error: { code: 'upstream_error', message: OVERFULL } }, state);
const OVERFULL = 'The provider interleaved more output than can be held back.';

// ---------------------------------------------------------------- items

interface Writer {
  open?(): string;
  push?(event: ItemEvent): string;
  /** Closes what is open; the item is complete. */
  end(item: HubItem): string;
}

const WRITERS: Partial<Record<HubItem['kind'], (item: HubItem, state: State) => Writer>> = {
  message: (_, state) => messageWriter(state),
  reasoning: (_, state) => thinkingWriter(state),
  tool_call: (item, state) => callWriter(item as HubToolCall, state),
};

const open = (block: JsonObject, state: State): string =>
  emit('content_block_start', { index: state.place, content_block: block });
const grow = (delta: JsonObject, state: State): string => emit('content_block_delta', { index: state.place, delta });
function close(state: State): string {
  const out = emit('content_block_stop', { index: state.place });
  state.place += 1;
  return out;
}

function messageWriter(state: State): Writer {
  let part: number | undefined;
  const closePart = (): string => {
    const out = part === undefined ? '' : close(state);
    part = undefined;
    return out;
  };
  return {
    push(event) {
      if (event.kind === 'annotation') {
        return event.part === part
          ? grow({ type: 'citations_delta', citation: citation(event.annotation) }, state)
          : '';
      }
      if ((event.kind !== 'text' && event.kind !== 'refusal') || event.text === '') return '';
      if (event.kind === 'refusal') state.refusal += event.text;
      const delta = { type: 'text_delta', text: event.text };
      if (event.part === part) return grow(delta, state);
      const head = closePart() + open(textHead(), state);
      part = event.part;
      return head + grow(delta, state);
    },
    end: (item) => closePart() + emitBlocks(messageTail(item as HubMessage), state),
  };
}

/** Opens at the first word, or at the end when there is only something opaque to keep. */
function thinkingWriter(state: State): Writer {
  let part: number | undefined;
  const start = (): string => open({ type: 'thinking', thinking: '', signature: '' }, state);
  return {
    push(event) {
      if (event.kind !== 'think' || event.text === '') return '';
      const head = part === undefined ? start() : '';
      const gap = part !== undefined && event.part !== part ? SUMMARY_GAP : '';
      part = event.part;
      return head + grow({ type: 'thinking_delta', thinking: gap + event.text }, state);
    },
    end(item) {
      if (item.kind !== 'reasoning') return '';
      if (part === undefined) {
        const block = encodeThinkingBlock(item);
        return block ? emitBlocks([block], state) : '';
      }
      return grow({ type: 'signature_delta', signature: signatureOf(item) }, state) + close(state);
    },
  };
}

/**
 * A call that may carry a thought signature is told when it is complete, since the signature's block comes before it; such
 * calls arrive in one piece anyway. So is free text, which has to be wrapped.
 */
function callWriter(call: HubToolCall, state: State): Writer {
  state.calls = true;
  const whole = state.answer.issuer === 'generate-content' || call.signature || call.form === 'custom';
  if (whole) return wholeWriter(state);
  const json = (text: string): string => grow({ type: 'input_json_delta', partial_json: text }, state);
  return {
    open: () => open(callHead(call), state) + json(''),
    push: (event) => (event.kind === 'args' && event.text !== '' ? json(event.text) : ''),
    // A signature that nobody expected still finds its call by the id when it comes back.
    end: (item) => close(state) + emitBlocks(lateSignature(item), state),
  };
}

const lateSignature = (item: HubItem): JsonObject[] =>
  item.kind === 'tool_call' && item.signature ? [encodeSignature(item.signature, item.callId)] : [];

const wholeWriter = (state: State): Writer => ({
  end(item) {
    if (isForeignSearch(item)) state.searches += 1;
    return emitBlocks(encodeItem(item, 'end'), state);
  },
});

/** Complete blocks, in the pieces in which a client expects each kind. */
function emitBlocks(blocks: readonly JsonObject[], state: State): string {
  let out = '';
  for (const block of blocks) {
    const { head, deltas } = PIECES.get(String(block.type))?.(block) ?? { head: block, deltas: [] };
    out += open(head, state);
    for (const delta of deltas) out += grow(delta, state);
    out += close(state);
  }
  return out;
}

interface Pieces {
  readonly head: JsonObject;
  readonly deltas: readonly JsonObject[];
}

const inputPieces = (block: JsonObject): Pieces => ({
  head: { ...block, input: {} },
  deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(maybeObject(block.input)) }],
});

const PIECES: ReadonlyMap<string, (block: JsonObject) => Pieces> = new Map(
  Object.entries<(block: JsonObject) => Pieces>({
    text: (block) => ({ head: textHead(), deltas: [{ type: 'text_delta', text: block.text }] }),
    thinking: (block) => ({
      head: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...(block.thinking === '' ? [] : [{ type: 'thinking_delta', thinking: block.thinking }]),
        { type: 'signature_delta', signature: block.signature },
      ],
    }),
    tool_use: inputPieces,
    server_tool_use: inputPieces,
    // Some readers look at the head only, some at what follows; the last value counts for all of them.
    compaction: (block) => ({ head: block, deltas: [{ ...block, type: 'compaction_delta' }] }),
  }),
);

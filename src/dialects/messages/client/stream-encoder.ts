/**
 * Stream encoder: one row per hub event, one writer per item. Blocks must
 * not overlap, so interleaved items are written one by one.
 */
import { sse } from '../../../core/index.ts';
import { encodeCitation } from '../../claude/citations.ts';
import type { ReplyContext, StreamEncoder } from '../../codec.ts';
import { type ByKind, forKind } from '../../hub/by-kind.ts';
import { type ItemEvent, ItemSerializer } from '../../hub/serialize-items.ts';
import * as hub from '../../hub/types.ts';
import { SUMMARY_GAP } from '../../opaque/summary-parts.ts';
import { maybeObject, tableOf } from '../../wire/read.ts';
import { encodeError } from '../errors.ts';
import { encodeStop } from '../stop-reason.ts';
import { encodeUsage } from '../usage.ts';
import * as reply from './encode-reply.ts';
import { encodeSignature, encodeThinkingBlock, isTextSignature, signatureOf } from './opaque-thinking.ts';

export function openEncoder(context: ReplyContext): StreamEncoder {
  const state: State = {
    context,
    done: false,
    blockIndex: 0,
    serializer: new ItemSerializer(),
    hasCalls: false,
    searches: 0,
    refusal: '',
  };
  return {
    push: (event) => (state.done ? '' : encodeEvent(event, state)),
    heartbeat: () => (state.done ? '' : PING),
  };
}

interface State {
  readonly context: ReplyContext;
  done: boolean;
  /** Index of the open block, or of the next one. */
  blockIndex: number;
  readonly serializer: ItemSerializer;
  /** Writer of the current item. */
  writer?: Writer;
  hasCalls: boolean;
  searches: number;
  refusal: string;
  /** The signature of a text, written before the next block and left out if there is none. */
  held?: hub.JsonObject | undefined;
}

const PING = sse('{"type":"ping"}', 'ping');

const emit = (type: string, members: hub.JsonObject): string => sse(JSON.stringify({ type, ...members }), type);

const ON: ByKind<hub.HubEvent, State, string> = {
  start({ id, usage }, { context }) {
    const message = {
      ...reply.messageHead(id, context),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: { ...encodeUsage(usage ?? hub.NO_USAGE), output_tokens: 1 },
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
    if (event.stop === 'malformed_call') return ON.error({ kind: 'error', error: reply.MALFORMED_CALL }, state);
    state.done = true;
    const refusal = event.refusal ?? (state.refusal || undefined);
    const delta = encodeStop({ ...event, ...(refusal !== undefined && { refusal }) }, state.hasCalls);
    const usage = encodeUsage(event.usage, state.searches);
    return emit('message_delta', { delta, usage }) + emit('message_stop', {});
  },
  error({ error }, state) {
    state.done = true;
    return sse(JSON.stringify(encodeError(error, state.context.requestId)), 'error');
  },
};
const encodeEvent = forKind(ON);

function route(event: ItemEvent, state: State): string {
  let out = '';
  for (const next of state.serializer.push(event)) out += writeItemEvent(next, state);
  return state.serializer.isOverfull ? out + overflowError(state) : out;
}

function writeItemEvent(event: ItemEvent, state: State): string {
  if (event.kind === 'item') {
    state.writer = WRITERS[event.item.kind]?.(event.item, state) ?? completeItemWriter(state);
    return state.writer.open?.() ?? '';
  }
  return (event.kind === 'item_end' ? state.writer?.end(event.item) : state.writer?.push?.(event)) ?? '';
}

const overflowError = (state: State): string =>
  ON.error({ kind: 'error', error: { code: 'upstream_error', message: OVERFLOW } }, state);
const OVERFLOW = 'The provider interleaved more output than the gateway can buffer.';

interface Writer {
  open?(): string;
  push?(event: ItemEvent): string;
  /** Closes the open block; `item` is complete. */
  end(item: hub.HubItem): string;
}

const WRITERS: Partial<Record<hub.HubItem['kind'], (item: hub.HubItem, state: State) => Writer>> = {
  message: (_, state) => messageWriter(state),
  reasoning: (_, state) => thinkingWriter(state),
  tool_call: (item, state) => callWriter(item as hub.HubToolCall, state),
};

const openBlock = (block: hub.JsonObject, state: State): string =>
  writeHeld(state) + emit('content_block_start', { index: state.blockIndex, content_block: block });
const blockDelta = (delta: hub.JsonObject, state: State): string =>
  emit('content_block_delta', { index: state.blockIndex, delta });
/** `blockDelta` for most events of a stream, without the object. */
const textDelta = (text: string, { blockIndex }: State): string =>
  `${TEXT_DELTA}${blockIndex},"delta":{"type":"text_delta","text":${JSON.stringify(text)}}}\n\n`;
const TEXT_DELTA = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":';
function closeBlock(state: State): string {
  const out = emit('content_block_stop', { index: state.blockIndex });
  state.blockIndex += 1;
  return out;
}

function messageWriter(state: State): Writer {
  let part: number | undefined;
  const closePart = (): string => {
    const out = part === undefined ? '' : closeBlock(state);
    part = undefined;
    return out;
  };
  return {
    push(event) {
      if (event.kind === 'annotation') {
        return event.part === part
          ? blockDelta({ type: 'citations_delta', citation: encodeCitation(event.annotation) }, state)
          : '';
      }
      if ((event.kind !== 'text' && event.kind !== 'refusal') || event.text === '') return '';
      if (event.kind === 'refusal') state.refusal += event.text;
      if (event.part === part) return textDelta(event.text, state);
      const head = closePart() + openBlock(reply.textHead(), state);
      part = event.part;
      return head + textDelta(event.text, state);
    },
    end(item) {
      const tail = reply.messageTail(item as hub.HubMessage);
      const held = isTextSignature(tail.at(-1) ?? {}) ? tail.pop() : undefined;
      const out = closePart() + emitBlocks(tail, state);
      state.held = held;
      return out;
    },
  };
}

/** Opens the block with the first text, or at the end if the item has only an opaque value. */
function thinkingWriter(state: State): Writer {
  let part: number | undefined;
  const start = (): string => openBlock({ type: 'thinking', thinking: '', signature: '' }, state);
  return {
    push(event) {
      if (event.kind !== 'think' || event.text === '') return '';
      const head = part === undefined ? start() : '';
      const gap = part !== undefined && event.part !== part ? SUMMARY_GAP : '';
      part = event.part;
      return head + blockDelta({ type: 'thinking_delta', thinking: gap + event.text }, state);
    },
    end(item) {
      if (item.kind !== 'reasoning') return '';
      if (part === undefined) {
        const block = encodeThinkingBlock(item);
        return block ? emitBlocks([block], state) : '';
      }
      return blockDelta({ type: 'signature_delta', signature: signatureOf(item) }, state) + closeBlock(state);
    },
  };
}

/**
 * Buffers a call that may have a thought signature, whose block
 * precedes it, and free text, which must be wrapped in JSON.
 */
function callWriter(call: hub.HubToolCall, state: State): Writer {
  state.hasCalls = true;
  const isBuffered = state.context.issuer === 'generate-content' || call.signature || call.form === 'custom';
  if (isBuffered) return completeItemWriter(state);
  const json = (text: string): string => blockDelta({ type: 'input_json_delta', partial_json: text }, state);
  return {
    open: () => openBlock(reply.callHead(call), state) + json(''),
    push: (event) => (event.kind === 'args' && event.text !== '' ? json(event.text) : ''),
    // A signature that arrives after its call carries the call id, so the decoder can still attach it.
    end: (item) => closeBlock(state) + emitBlocks(lateSignature(item), state),
  };
}

const lateSignature = (item: hub.HubItem): hub.JsonObject[] =>
  item.kind === 'tool_call' && item.signature ? [encodeSignature(item.signature, item.callId)] : [];

const completeItemWriter = (state: State): Writer => ({
  end(item) {
    if (reply.isWebSearch(item)) state.searches += 1;
    return emitBlocks(reply.encodeItem(item), state);
  },
});

function writeHeld(state: State): string {
  const { held } = state;
  state.held = undefined;
  return held ? emitBlocks([held], state) : '';
}

/** Writes complete blocks as the events that clients expect for each block type. */
function emitBlocks(blocks: readonly hub.JsonObject[], state: State): string {
  let out = '';
  for (const block of blocks) {
    const { head, deltas } = BLOCK_EVENTS.get(String(block.type))?.(block) ?? { head: block, deltas: [] };
    out += openBlock(head, state);
    for (const delta of deltas) out += blockDelta(delta, state);
    out += closeBlock(state);
  }
  return out;
}

interface BlockEvents {
  readonly head: hub.JsonObject;
  readonly deltas: readonly hub.JsonObject[];
}

const inputEvents = (block: hub.JsonObject): BlockEvents => ({
  head: { ...block, input: {} },
  deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(maybeObject(block.input)) }],
});

const BLOCK_EVENTS = tableOf<(block: hub.JsonObject) => BlockEvents>({
  text: (block) => ({ head: reply.textHead(), deltas: [{ type: 'text_delta', text: block.text }] }),
  thinking: (block) => ({
    head: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...(block.thinking === '' ? [] : [{ type: 'thinking_delta', thinking: block.thinking }]),
      { type: 'signature_delta', signature: block.signature },
    ],
  }),
  tool_use: inputEvents,
  server_tool_use: inputEvents,
  // Some clients read only the start event, others only the delta; both get the full block.
  compaction: (block) => ({ head: block, deltas: [{ ...block, type: 'compaction_delta' }] }),
});

/**
 * Stream decoder: one row per wire event here, one per block kind in
 * `blocks.ts`. Malformed input ends the stream with one error event.
 */
import { type BlockState, failStream, newBlockState, outOfOrderError, readEvent } from '../../claude/block-state.ts';
import { appendToBlock, closeAllBlocks, closeBlock, openBlock } from '../../claude/blocks.ts';
import type { DecodeContext, StreamDecoder } from '../../codec.ts';
import { failureOf, foldReply, unreadable } from '../../errors/fault.ts';
import type { HubEvent, HubReply, HubUsage, JsonObject } from '../../hub/types.ts';
import { openEventParser } from '../../wire/event-parser.ts';
import { isGiven, isObject, maybeCount, maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { decodeStreamError } from '../errors.ts';
import { decodeStop } from '../stop-reason.ts';
import { decodeUsage, mergeUsage } from '../usage.ts';

export const openDecoder = (context: DecodeContext): StreamDecoder => new MessagesDecoder(context);

class MessagesDecoder implements StreamDecoder {
  readonly #state: State;
  readonly #parse = openEventParser(VARYING, isNoDelta);

  constructor(context: DecodeContext) {
    this.#state = newState(context);
  }

  push(data: string, event?: string): HubEvent[] {
    if (this.#state.done) return [];
    const wire = this.#parse(data);
    return wire
      ? decodeEvent(wire, event, this.#state)
      : [failStream(this.#state, 'The provider sent an event that is not a JSON object.')];
  }

  end(): HubEvent[] {
    if (this.#state.done) return [];
    // Some proxies drop the end of a stream; with a stop reason only `message_stop` is missing.
    if (this.#state.stopReason !== undefined) return finish(this.#state);
    return [failStream(this.#state, 'The upstream closed the stream before completion.')];
  }

  get usage(): HubUsage | undefined {
    const { started, usage, hasFinalUsage } = this.#state;
    return started ? decodeUsage(usage, hasFinalUsage) : undefined;
  }
}

const VARYING = ['text', 'thinking'];

const isNoDelta = ({ type }: JsonObject): boolean => type !== 'content_block_delta';

/** Decodes a unary reply as the stream that would have carried it, so that both forms give the same. */
export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  if (isObject(body) && body.type === 'error') throw failureOf(decodeStreamError(body));
  if (!isObject(body) || !Array.isArray(body.content)) throw unreadable();
  const state = newState(context);
  const events: HubEvent[] = [];
  const replay = (wire: JsonObject) => events.push(...decodeEvent(wire, undefined, state));
  replay({ type: 'message_start', message: { ...body, content: [], usage: null } });
  for (const [index, block] of body.content.entries()) {
    replay({ type: 'content_block_start', index, content_block: block });
    replay({ type: 'content_block_stop', index });
  }
  replay({ type: 'message_delta', delta: body, usage: body.usage });
  replay({ type: 'message_stop' });
  return foldReply(events);
}

interface State {
  readonly blocks: BlockState;
  usage: JsonObject;
  /** The closing usage counts have arrived. */
  hasFinalUsage: boolean;
  started: boolean;
  /** As the provider sent it. */
  id?: unknown;
  done: boolean;
  stopReason?: string;
  stopSequence?: string;
  refusal?: string;
  /** The machine of the code that ran; converted requests cannot name it again. */
  hasContainer?: boolean;
}

const newState = (context: DecodeContext): State => ({
  blocks: newBlockState(context),
  usage: {},
  hasFinalUsage: false,
  started: false,
  done: false,
});

function decodeEvent(wire: JsonObject, event: string | undefined, state: State): HubEvent[] {
  if (state.done) return [];
  const type = maybeString(wire.type) ?? event ?? '';
  const read = Object.hasOwn(EVENT_READERS, type) ? EVENT_READERS[type as keyof typeof EVENT_READERS] : undefined;
  if (!read) return [];
  if (!state.started && NEEDS_START.test(type)) return [failStream(state, outOfOrderError().message)];
  return readEvent(read, wire, state);
}

const NEEDS_START = /^(?:content_block_(?:start|delta|stop)|message_(?:delta|stop))$/;

type EventReader = (wire: JsonObject, state: State, out: HubEvent[]) => void;

const EVENT_READERS = {
  message_start(wire, state, out) {
    const message = maybeObject(wire.message);
    if (state.started) return repeatStart(message, state);
    state.started = true;
    state.id = message.id;
    state.usage = mergeUsage(state.usage, message.usage);
    const id = maybeString(message.id) ?? state.blocks.context.requestId;
    const usage = isObject(message.usage) ? { usage: decodeUsage(state.usage, true) } : {};
    out.push({ kind: 'start', id, model: maybeString(message.model) ?? '', ...usage });
    // Blocks of programmatic tool calls arrive in `message_start`;
    // negative indices keep them apart from streamed blocks.
    for (const [n, block] of maybeList(message.content).entries()) {
      openBlock(-1 - n, maybeObject(block), state.blocks, out);
      closeBlock(-1 - n, state.blocks, out);
    }
  },
  content_block_start(wire, state, out) {
    openBlock(maybeCount(wire.index), maybeObject(wire.content_block), state.blocks, out);
  },
  content_block_delta(wire, state, out) {
    appendToBlock(maybeCount(wire.index), maybeObject(wire.delta), state.blocks, out);
  },
  content_block_stop(wire, state, out) {
    closeBlock(maybeCount(wire.index), state.blocks, out);
  },
  message_delta(wire, state) {
    const delta = maybeObject(wire.delta);
    if (isGiven(delta.stop_reason)) state.stopReason = String(delta.stop_reason);
    if (typeof delta.stop_sequence === 'string') state.stopSequence = delta.stop_sequence;
    const why = maybeObject(delta.stop_details).explanation;
    if (typeof why === 'string') state.refusal = why;
    if (isObject(delta.container)) state.hasContainer = true;
    state.usage = mergeUsage(state.usage, wire.usage);
    state.hasFinalUsage ||= maybeCount(maybeObject(wire.usage).output_tokens) !== undefined;
  },
  message_stop(_, state, out) {
    out.push(...finish(state));
  },
  ping(_, state, out) {
    if (state.started) out.push({ kind: 'ping' });
  },
  error(wire, state, out) {
    state.done = true;
    out.push({ kind: 'error', error: decodeStreamError(wire) });
  },
} satisfies Record<string, EventReader>;

/** See `repeatedStart` in rules/tolerances.ts. */
function repeatStart({ id, usage }: JsonObject, state: State): void {
  if (id !== state.id && state.blocks.nextItem > 0) throw outOfOrderError();
  state.usage = mergeUsage(state.usage, usage);
}

function finish(state: State): HubEvent[] {
  state.done = true;
  const stop = decodeStop(state.stopReason, state.blocks.callIds.size > 0);
  const events: HubEvent[] = [];
  closeAllBlocks(state.blocks, stop === 'length' || stop === 'context_full', events);
  events.push({
    kind: 'finish',
    stop,
    ...(stop === 'stop_sequence' && state.stopSequence !== undefined && { stopSequence: state.stopSequence }),
    ...(stop === 'refusal' && state.refusal !== undefined && { refusal: state.refusal }),
    ...(state.hasContainer && { omitted: ['container'] }),
    usage: decodeUsage(state.usage, state.hasFinalUsage),
  });
  return events;
}

/**
 * The upstream's stream read into hub events: one row per wire event here, one row per block kind in `blocks.ts`. Never
 * throws, never hangs: whatever cannot be understood ends the stream with one error.
 */
import type { DecodeContext, StreamDecoder } from '../../codec.ts';
import type { HubError, HubEvent, JsonObject } from '../../hub/types.ts';
import { given, isObject, maybeCount, maybeList, maybeObject, maybeString, parseObject } from '../../wire/read.ts';
import { decodeStreamError } from '../errors.ts';
import { decodeStop } from '../stop-reason.ts';
import { decodeUsage, mergeUsage } from '../usage.ts';
import { type BlockState, MalformedStream, outOfOrder, startBlocks } from './block-state.ts';
import { closeAll, closeBlock, growBlock, openBlock } from './blocks.ts';

export function openDecoder(context: DecodeContext): StreamDecoder {
  const state = start(context);
  return {
    push(data, event) {
      if (state.done) return [];
      const wire = parseObject(data);
      return wire ? take(wire, event, state) : broken(state, 'The provider sent an event that could not be read.');
    },
    end() {
      if (state.done) return [];
      // Some proxies cut the tail: with a stop reason the answer is complete but for its last event.
      if (state.reason !== undefined) return finish(state);
      return broken(state, 'The upstream closed the stream before completion.');
    },
  };
}

/** A whole answer, told as the stream it would have been. */
export function replayReply(body: JsonObject, content: readonly unknown[], context: DecodeContext): HubEvent[] {
  const state = start(context);
  const events = take({ type: 'message_start', message: { ...body, content: [], usage: null } }, undefined, state);
  for (const [index, block] of content.entries()) {
    events.push(...take({ type: 'content_block_start', index, content_block: block }, undefined, state));
    events.push(...take({ type: 'content_block_stop', index }, undefined, state));
  }
  events.push(...take({ type: 'message_delta', delta: body, usage: body.usage }, undefined, state));
  events.push(...take({ type: 'message_stop' }, undefined, state));
  return events;
}

interface State {
  readonly blocks: BlockState;
  usage: JsonObject;
  /** The closing numbers have come. */
  reported: boolean;
  started: boolean;
  done: boolean;
  reason?: string;
  sequence?: string;
  refusal?: string;
}

const start = (context: DecodeContext): State => ({
  blocks: startBlocks(context),
  usage: {},
  reported: false,
  started: false,
  done: false,
});

function take(wire: JsonObject, event: string | undefined, state: State): HubEvent[] {
  if (state.done) return [];
  const type = maybeString(wire.type) ?? event ?? '';
  const row = Object.hasOwn(ON, type) ? ON[type as keyof typeof ON] : undefined;
  if (!row) return [];
  if (!state.started && NEEDS_START.has(type)) return broken(state, outOfOrder().message);
  const out: HubEvent[] = [];
  try {
    row(wire, state, out);
    return out;
  } catch (error) {
    if (!(error instanceof MalformedStream)) throw error;
    return [...out, ...broken(state, error.message)];
  }
}

const NEEDS_START: ReadonlySet<string> = new Set([
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
]);

type Row = (wire: JsonObject, state: State, out: HubEvent[]) => void;

const ON = {
  message_start(wire, state, out) {
    if (state.started) throw outOfOrder();
    state.started = true;
    const message = maybeObject(wire.message);
    state.usage = mergeUsage(state.usage, message.usage);
    const id = maybeString(message.id) ?? state.blocks.context.requestId;
    const usage = isObject(message.usage) ? { usage: decodeUsage(state.usage, true) } : {};
    out.push({ kind: 'start', id, model: maybeString(message.model) ?? '', ...usage });
    // Blocks of calls made inside a program come with the head; their places are below those of the stream.
    for (const [n, block] of maybeList(message.content).entries()) {
      openBlock(-1 - n, maybeObject(block), state.blocks, out);
      closeBlock(-1 - n, state.blocks, out);
    }
  },
  content_block_start(wire, state, out) {
    openBlock(maybeCount(wire.index), maybeObject(wire.content_block), state.blocks, out);
  },
  content_block_delta(wire, state, out) {
    growBlock(maybeCount(wire.index), maybeObject(wire.delta), state.blocks, out);
  },
  content_block_stop(wire, state, out) {
    closeBlock(maybeCount(wire.index), state.blocks, out);
  },
  message_delta(wire, state) {
    const delta = maybeObject(wire.delta);
    if (given(delta.stop_reason)) state.reason = String(delta.stop_reason);
    if (typeof delta.stop_sequence === 'string') state.sequence = delta.stop_sequence;
    const why = maybeObject(delta.stop_details).explanation;
    if (typeof why === 'string') state.refusal = why;
    state.usage = mergeUsage(state.usage, wire.usage);
    state.reported ||= maybeCount(maybeObject(wire.usage).output_tokens) !== undefined;
  },
  message_stop: (_, state, out) => void out.push(...finish(state)),
  ping(_, state, out) {
    if (state.started) out.push({ kind: 'ping' });
  },
  error(wire, state, out) {
    state.done = true;
    out.push({ kind: 'error', error: decodeStreamError(wire) });
  },
} satisfies Record<string, Row>;

function finish(state: State): HubEvent[] {
  state.done = true;
  const stop = decodeStop(state.reason, state.blocks.callIds.size > 0);
  const events: HubEvent[] = [];
  closeAll(state.blocks, stop === 'length' || stop === 'context_full', events);
  events.push({
    kind: 'finish',
    stop,
    ...(stop === 'stop_sequence' && state.sequence !== undefined && { stopSequence: state.sequence }),
    ...(stop === 'refusal' && state.refusal !== undefined && { refusal: state.refusal }),
    usage: decodeUsage(state.usage, state.reported),
  });
  return events;
}

function broken(state: State, message: string): HubEvent[] {
  state.done = true;
  const error: HubError = { code: 'upstream_error', message };
  return [{ kind: 'error', error }];
}

/**
 * Stream decoder for Converse. Exceptions arrive as errors of the Messages
 * API, usage last. Malformed input ends with one error event.
 */
import { type BlockState, failStream, newBlockState, outOfOrderError, readEvent } from '../../claude/block-state.ts';
import { appendToBlock, closeAllBlocks, closeBlock, openBlock } from '../../claude/blocks.ts';
import type { DecodeContext, StreamDecoder } from '../../codec.ts';
import { failureOf, foldReply, unreadable } from '../../errors/fault.ts';
import type { HubEvent, HubReply, HubStop, JsonObject } from '../../hub/types.ts';
import { alignWithCalls, decodeStreamError } from '../../messages/index.ts';
import { openEventParser } from '../../wire/event-parser.ts';
import { isObject, maybeCount, maybeObject, maybeString, tableOf } from '../../wire/read.ts';
import { decodeUsage } from '../usage.ts';
import { type BlockForm, blockBegunBy, blockForm, deltaForm } from './block-forms.ts';

export const openDecoder = (context: DecodeContext): StreamDecoder => new ConverseDecoder(context);

class ConverseDecoder implements StreamDecoder {
  readonly #state: State;
  readonly #parse = openEventParser(VARYING, () => false);

  constructor(context: DecodeContext) {
    this.#state = newState(context);
  }

  push(data: string, event = ''): HubEvent[] {
    if (this.#state.done) return [];
    const wire = this.#parse(data);
    return wire ? decodeEvent(wire, event, this.#state) : [failStream(this.#state, NO_JSON)];
  }

  end(): HubEvent[] {
    if (this.#state.done) return [];
    return this.#state.stopReason === undefined ? [failStream(this.#state, CLOSED)] : finish(this.#state);
  }

  get isComplete(): boolean {
    return this.#state.stopReason !== undefined;
  }
}

/** Texts, and the padding that hides their length. */
const VARYING = ['text', 'p'];
const NO_JSON = 'The provider sent an event that is not a JSON object.';
const CLOSED = 'The upstream closed the stream before completion.';

/** Decodes a whole reply as the stream that would have carried it, so that both forms give the same. */
export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  if (isObject(body) && body.type === 'error') throw failureOf(decodeStreamError(body));
  const { content } = maybeObject(maybeObject(maybeObject(body).output).message);
  if (!isObject(body) || !Array.isArray(content)) throw unreadable();
  const state = newState(context);
  const events = decodeEvent({ role: 'assistant' }, 'messageStart', state);
  const replay = (wire: JsonObject, event: string) => events.push(...decodeEvent(wire, event, state));
  for (const [contentBlockIndex, start] of content.entries()) {
    replay({ contentBlockIndex, start }, 'contentBlockStart');
    replay({ contentBlockIndex }, 'contentBlockStop');
  }
  replay(body, 'messageStop');
  replay(body, 'metadata');
  return foldReply(events);
}

interface State {
  readonly blocks: BlockState;
  /** Of blocks that no client has a form for. */
  readonly omittedBlocks: Set<number>;
  readonly omitted: Set<string>;
  started: boolean;
  done: boolean;
  stopReason?: string;
  stopSequence?: string | undefined;
  metadata?: JsonObject;
}

const newState = (context: DecodeContext): State => ({
  blocks: newBlockState(context),
  omittedBlocks: new Set(),
  omitted: new Set(),
  started: false,
  done: false,
});

function decodeEvent(wire: JsonObject, event: string, state: State): HubEvent[] {
  const read = Object.hasOwn(EVENT_READERS, event) ? EVENT_READERS[event as keyof typeof EVENT_READERS] : undefined;
  if (state.done || !read) return [];
  if (!state.started && event !== 'messageStart' && event !== 'error')
    return [failStream(state, outOfOrderError().message)];
  return readEvent(read, wire, state);
}

type EventReader = (wire: JsonObject, state: State, out: HubEvent[]) => void;

const EVENT_READERS = {
  messageStart(_, state, out) {
    if (state.started) throw outOfOrderError();
    state.started = true;
    out.push({ kind: 'start', id: state.blocks.context.requestId, model: '' });
  },
  contentBlockStart(wire, state, out) {
    open(maybeCount(wire.contentBlockIndex) ?? 0, blockForm(maybeObject(wire.start)), state, out);
  },
  contentBlockDelta(wire, state, out) {
    const index = maybeCount(wire.contentBlockIndex) ?? 0;
    const delta = maybeObject(wire.delta);
    const { blocks } = state.blocks;
    if (!blocks.has(index) && !state.omittedBlocks.has(index)) open(index, blockBegunBy(delta), state, out);
    if (!state.omittedBlocks.has(index)) appendToBlock(index, deltaForm(delta), state.blocks, out);
  },
  contentBlockStop(wire, state, out) {
    closeBlock(maybeCount(wire.contentBlockIndex) ?? 0, state.blocks, out);
  },
  messageStop({ stopReason, additionalModelResponseFields: more }, state, out) {
    state.stopReason = maybeString(stopReason) ?? '';
    state.stopSequence = maybeString(maybeObject(more).stop_sequence);
    if (state.metadata) out.push(...finish(state));
  },
  metadata(wire, state, out) {
    state.metadata = wire;
    // What a guardrail found, and which model a router chose.
    if (isObject(wire.trace)) state.omitted.add('trace');
    if (state.stopReason !== undefined) out.push(...finish(state));
  },
  error(wire, state, out) {
    state.done = true;
    out.push({ kind: 'error', error: decodeStreamError(wire) });
  },
} satisfies Record<string, EventReader>;

function open(index: number, form: BlockForm, state: State, out: HubEvent[]): void {
  if ('block' in form) return openBlock(index, form.block, state.blocks, out);
  state.omittedBlocks.add(index);
  state.omitted.add(form.omitted);
}

/**
 * A guardrail that intervened, and a filter of the model, end a reply
 * like a content filter. Unknown reasons are a normal end.
 */
const STOPS = tableOf<HubStop>({
  end_turn: 'end',
  tool_use: 'tool',
  max_tokens: 'length',
  stop_sequence: 'stop_sequence',
  guardrail_intervened: 'filter',
  content_filtered: 'filter',
  model_context_window_exceeded: 'context_full',
  malformed_model_output: 'malformed_call',
  malformed_tool_use: 'malformed_call',
});

function finish(state: State): HubEvent[] {
  state.done = true;
  const { metadata, stopSequence } = state;
  const stop = alignWithCalls(STOPS.get(state.stopReason ?? '') ?? 'end', state.blocks.callIds.size > 0);
  const events: HubEvent[] = [];
  closeAllBlocks(state.blocks, stop === 'length' || stop === 'context_full', events);
  events.push({
    kind: 'finish',
    stop,
    ...(stop === 'stop_sequence' && stopSequence !== undefined && { stopSequence }),
    ...(state.omitted.size > 0 && { omitted: [...state.omitted] }),
    usage: decodeUsage(isObject(metadata?.usage) ? metadata.usage : undefined, metadata?.serviceTier),
  });
  return events;
}

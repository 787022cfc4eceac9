/**
 * Stream decoder of a chat upstream. Items stay open until the end is
 * certain: usage and late deltas may follow the finish reason.
 */
import type { DecodeContext, StreamDecoder } from '../../codec.ts';
import { failureOf, foldReply, unreadable } from '../../errors/fault.ts';
import * as hub from '../../hub/types.ts';
import { openEventParser } from '../../wire/event-parser.ts';
import { isObject, maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { tierUsed } from '../../wire/service-tiers.ts';
import { decodeErrorObject, errorIn } from '../errors.ts';
import { decodeStop, isFailure } from '../stop-reason.ts';
import { readUsage } from '../usage.ts';
import { closeReply, openReply, type ReplyState, readDelta } from './delta-reader.ts';
import { sourcesIn } from './sources.ts';

interface State {
  readonly reply: ReplyState;
  started: boolean;
  done: boolean;
  reason: string | undefined;
  usage: hub.HubUsage | undefined;
  tier: string | undefined;
  hasLogprobs: boolean;
}

export const openDecoder = (context: DecodeContext): StreamDecoder => new ChatDecoder(context);

class ChatDecoder implements StreamDecoder {
  readonly #state: State;
  readonly #parse = openEventParser(VARYING, hasCalls);

  constructor(context: DecodeContext) {
    this.#state = {
      reply: openReply(context),
      started: false,
      done: false,
      reason: undefined,
      usage: undefined,
      tier: undefined,
      hasLogprobs: false,
    };
  }

  push(data: string): hub.HubEvent[] {
    const state = this.#state;
    if (state.done || data === '') return [];
    const out: hub.HubEvent[] = [];
    if (isDone(data)) finish(state, out, state.usage !== undefined);
    else readChunk(this.#parse(data), state, out);
    return out;
  }

  end(): hub.HubEvent[] {
    const out: hub.HubEvent[] = [];
    finish(this.#state, out);
    return out;
  }

  get usage(): hub.HubUsage | undefined {
    return this.#state.usage;
  }
}

const VARYING = ['content', 'reasoning_content', 'obfuscation'];

const isDone = (data: string): boolean => data.length < 16 && data.trim() === '[DONE]';

/** Arguments are text, but some servers send them as a value. */
const hasCalls = ({ choices }: hub.JsonObject): boolean =>
  maybeList(choices).some((choice) => {
    const { tool_calls, function_call } = maybeObject(maybeObject(choice).delta);
    return tool_calls !== undefined || function_call !== undefined;
  });

function readChunk(chunk: hub.JsonObject | undefined, state: State, out: hub.HubEvent[]): void {
  if (!chunk) return failStream(state, out, NOT_JSON);
  for (const read of CHUNK_READERS) {
    if (state.done) return;
    read(chunk, state, out);
  }
}

type ChunkReader = (chunk: hub.JsonObject, state: State, out: hub.HubEvent[]) => void;

/** Readers of the members of a chunk, in order: an error ends the stream before the rest is read. */
const CHUNK_READERS: readonly ChunkReader[] = [
  function error(chunk, state, out) {
    const error = errorIn(chunk);
    if (error) failStream(state, out, error);
  },
  /** Some servers first send a chunk without id and choices that holds only prompt filter results. */
  function start(chunk, state, out) {
    const id = maybeString(chunk.id);
    if (state.started || (!id && maybeList(chunk.choices).length === 0)) return;
    state.started = true;
    out.push({ kind: 'start', id: id || state.reply.context.requestId, model: maybeString(chunk.model) ?? '' });
  },
  /** Reads choice 0 only: the gateway never requests more than one. */
  function choice(chunk, state, out) {
    const first = maybeObject(maybeList(chunk.choices).find((one) => (maybeObject(one).index ?? 0) === 0));
    state.hasLogprobs ||= hasLogprobs(first);
    if (isObject(first.delta)) readDelta(first.delta, state.reply, out);
    const reason = maybeString(first.finish_reason);
    if (isFailure(reason)) failStream(state, out, decodeErrorObject(first));
    else if (reason) state.reason = reason;
  },
  function sources(chunk, state) {
    state.reply.sources = sourcesIn(chunk) ?? state.reply.sources;
  },
  /**
   * With the finish reason, in its own chunk or as a running total: the
   * last one counts, unless zero. Some report it in the choice.
   */
  function usage(chunk, state) {
    const own = maybeObject(maybeList(chunk.choices)[0]).usage ?? maybeObject(chunk.x_groq).usage;
    const reported = readUsage(chunk.usage) ?? readUsage(own);
    if (reported && (state.usage === undefined || reported.input + reported.output > 0 || reported.invalid))
      state.usage = reported;
    state.tier = maybeString(chunk.service_tier) ?? state.tier;
  },
];

/**
 * `isEnded`: the server stated the end, so that a missing finish
 * reason is its habit (`noFinishReason` in rules/tolerances.ts).
 */
function finish(state: State, out: hub.HubEvent[], isEnded = false): void {
  if (state.done) return;
  if (state.reason === undefined && !(isEnded && state.started)) failStream(state, out, TRUNCATED);
  else finishReply(state, out);
  state.done = true;
}

/** Emits the last events of a reply whose finish reason is known; unary replies use it too. */
function finishReply(state: Omit<State, 'started' | 'done'>, out: hub.HubEvent[]): void {
  const { reply } = state;
  const tier = tierUsed(state.tier);
  const { refusal } = reply;
  const stop = decodeStop(state.reason, { hasCalls: reply.calls.length > 0, hasRefusal: refusal !== '' });
  if (!closeReply(reply, stop, out)) {
    out.push({ kind: 'error', error: NAMELESS_CALL });
    return;
  }
  const omitted = [...(state.hasLogprobs ? ['logprobs'] : []), ...(reply.hasLostSources ? ['search_results'] : [])];
  const usage = state.usage ?? { ...hub.NO_USAGE, estimated: true };
  out.push({
    kind: 'finish',
    stop,
    ...(stop === 'refusal' && { refusal }),
    ...(omitted.length > 0 && { omitted }),
    usage: tier === undefined ? usage : { ...usage, tier },
  });
}

/** Servers that were not asked for them send null or nothing. */
const hasLogprobs = ({ logprobs }: hub.JsonObject): boolean =>
  isObject(logprobs) && Object.values(logprobs).some((list) => Array.isArray(list) && list.length > 0);

/** A complete reply: its message is read as one large delta, so that unary and streamed replies agree. */
export function decodeReply(body: unknown, context: DecodeContext): hub.HubReply {
  const wire = maybeObject(body);
  const error = errorIn(wire);
  if (error) throw failureOf(error);
  const choice = maybeObject(maybeList(wire.choices)[0]);
  if (isFailure(maybeString(choice.finish_reason))) throw failureOf(decodeErrorObject(choice));
  if (!isObject(choice.message)) throw unreadable();
  const state = {
    reply: openReply(context),
    reason: maybeString(choice.finish_reason),
    usage: readUsage(wire.usage),
    tier: maybeString(wire.service_tier),
    hasLogprobs: hasLogprobs(choice),
  };
  const id = maybeString(wire.id) || context.requestId;
  const events: hub.HubEvent[] = [{ kind: 'start', id, model: maybeString(wire.model) ?? '' }];
  state.reply.sources = sourcesIn(wire) ?? [];
  readDelta(withCallIndexes(choice.message), state.reply, events);
  finishReply(state, events);
  return foldReply(events);
}

/** Calls of a complete message have no index. Without one, the reader would merge two calls that share an id. */
const withCallIndexes = (message: hub.JsonObject): hub.JsonObject =>
  Array.isArray(message.tool_calls)
    ? { ...message, tool_calls: message.tool_calls.map((call, index) => ({ ...maybeObject(call), index })) }
    : message;

function failStream(state: State, out: hub.HubEvent[], error: hub.HubError): void {
  state.done = true;
  out.push({ kind: 'error', error });
}

const upstreamError = (message: string): hub.HubError => ({ code: 'upstream_error', message });
const NOT_JSON = upstreamError('The upstream sent an event that is not a JSON object.');
const TRUNCATED = upstreamError('The upstream closed the stream before completion.');
const NAMELESS_CALL = upstreamError('The upstream called a tool without naming it.');

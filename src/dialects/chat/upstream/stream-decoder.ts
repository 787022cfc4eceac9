/**
 * The stream of a chat upstream, read into hub events. Owns chunks and how a stream may end; what a delta means is in
 * `delta.ts`. Items stay open until the end is certain, because usage and stray deltas may follow the finish reason.
 */
import type { DecodeContext, StreamDecoder } from '../../codec.ts';
import type { HubError, HubEvent, HubUsage, JsonObject } from '../../hub/types.ts';
import { NO_USAGE } from '../../hub/types.ts';
import { isObject, maybeList, maybeObject, maybeString, parseObject } from '../../wire/read.ts';
import { tierUsed } from '../../wire/service-tiers.ts';
import { decodeErrorObject } from '../errors.ts';
import { decodeStop } from '../stop-reason.ts';
import { readUsage } from '../usage.ts';
import { closeReply, openReply, type ReplyState, readDelta } from './delta-reader.ts';

interface State {
  readonly answer: ReplyState;
  started: boolean;
  done: boolean;
  reason: string | undefined;
  usage: HubUsage | undefined;
  tier: string | undefined;
}

export function openDecoder(context: DecodeContext): StreamDecoder {
  const state: State = {
    answer: openReply(context),
    started: false,
    done: false,
    reason: undefined,
    usage: undefined,
    tier: undefined,
  };
  return {
    push(data) {
      if (state.done || data === '') return [];
      const out: HubEvent[] = [];
      if (isDone(data)) finish(state, out);
      else readData(data, state, out);
      return out;
    },
    end() {
      const out: HubEvent[] = [];
      finish(state, out);
      return out;
    },
  };
}

const isDone = (data: string): boolean => data.length < 16 && data.trim() === '[DONE]';

function readData(data: string, state: State, out: HubEvent[]): void {
  const chunk = parseObject(data);
  if (!chunk) breakOff(state, out, NOT_JSON);
  else
    for (const read of CHUNK) {
      if (state.done) return;
      read(chunk, state, out);
    }
}

type ChunkRow = (chunk: JsonObject, state: State, out: HubEvent[]) => void;

/** What a chunk can hold, in the order in which it counts. */
const CHUNK: readonly ChunkRow[] = [
  function error(chunk, state, out) {
    if (chunk.error !== undefined && chunk.error !== null) breakOff(state, out, decodeErrorObject(chunk));
    else if (chunk.object === 'error') breakOff(state, out, decodeErrorObject(chunk));
  },
  /** Some servers open with a chunk that has no id and no choice, only their own findings about the prompt. */
  function start(chunk, state, out) {
    const id = maybeString(chunk.id);
    if (state.started || (!id && maybeList(chunk.choices).length === 0)) return;
    state.started = true;
    out.push({ kind: 'start', id: id || state.answer.context.requestId, model: maybeString(chunk.model) ?? '' });
  },
  /** The hub has one answer; further choices were never asked for. */
  function choice(chunk, state, out) {
    const first = maybeObject(maybeList(chunk.choices).find((one) => (maybeObject(one).index ?? 0) === 0));
    if (isObject(first.delta)) readDelta(first.delta, state.answer, out);
    const reason = maybeString(first.finish_reason);
    if (reason === 'error') breakOff(state, out, decodeErrorObject(first));
    else if (reason) state.reason = reason;
  },
  /** Beside the finish reason, in a chunk of its own, or in every chunk as a running total: the last one counts. */
  function usage(chunk, state) {
    state.usage = readUsage(chunk.usage) ?? state.usage;
    state.tier = maybeString(chunk.service_tier) ?? state.tier;
  },
];

function finish(state: State, out: HubEvent[]): void {
  if (state.done) return;
  if (state.reason === undefined) breakOff(state, out, TRUNCATED);
  else finishReply(state, out);
  state.done = true;
}

/** The last events of an answer whose end is known; also used for answers that came in one piece. */
export function finishReply(state: Pick<State, 'answer' | 'reason' | 'usage' | 'tier'>, out: HubEvent[]): void {
  const { answer } = state;
  const tier = tierUsed(state.tier);
  const { refusal } = answer;
  const stop = decodeStop(state.reason, { calls: answer.calls.length > 0, refusal: refusal !== '' });
  if (!closeReply(answer, stop, out)) {
    out.push({ kind: 'error', error: NAMELESS_CALL });
    return;
  }
  const usage = state.usage ?? { ...NO_USAGE, estimated: true };
  out.push({
    kind: 'finish',
    stop,
    ...(stop === 'refusal' && { refusal }),
    usage: tier === undefined ? usage : { ...usage, tier },
  });
}

function breakOff(state: State, out: HubEvent[], error: HubError): void {
  state.done = true;
  out.push({ kind: 'error', error });
}

const upstreamError = (message: string): HubError => ({ code: 'upstream_error', message });
const NOT_JSON = upstreamError('The upstream sent an event that is not a JSON object.');
const TRUNCATED = upstreamError('The upstream closed the stream before completion.');
const NAMELESS_CALL = upstreamError('The upstream called a tool without naming it.');

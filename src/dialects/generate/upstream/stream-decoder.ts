/**
 * Answers of the provider as hub events. A unary answer is a stream of one chunk, so both go through the same rows. Each
 * item stays open until the next one begins, because a signature may follow its part on an empty text. Never throws on
 * what the wire says, and never reports an end that the provider did not report.
 */
import type { DecodeContext, StreamDecoder } from '../../codec.ts';
import type { HubEvent, HubStop, JsonObject } from '../../hub/types.ts';
import { itemId } from '../../wire/ids.ts';
import { compact, isObject, maybeList, maybeObject, maybeString, parseObject } from '../../wire/read.ts';
import { decodeStreamError } from '../errors.ts';
import { decodeStop } from '../stop-reason.ts';
import { type Counts, countUsage, decodeUsage, doubt } from '../usage.ts';
import { queriesOf, searchCall } from './grounding.ts';
import { begin, breakOff, close, isCallPartial, openItem, type State } from './open-items.ts';
import { takePart } from './part-reader.ts';

export function openDecoder(context: DecodeContext): StreamDecoder {
  const state = begin(context);
  return {
    push(data) {
      if (state.done || data === '' || data === '[DONE]') return [];
      const out: HubEvent[] = [];
      const chunk = parseObject(data);
      if (chunk === undefined) breakOff(state, out, 'The upstream sent something that is not a JSON object.');
      else takeChunk(chunk, state, out);
      return out;
    },
    end() {
      const out: HubEvent[] = [];
      if (!state.done) conclude(state, out);
      return out;
    },
    get isComplete() {
      return state.finishReason !== undefined && !state.done;
    },
  };
}

/** A whole answer. Being complete JSON it cannot be cut off, so a missing finish reason is only a missing word. */
export function decodeWhole(body: unknown, context: DecodeContext): HubEvent[] {
  const state = begin(context);
  const out: HubEvent[] = [];
  if (isObject(body)) takeChunk(body, state, out);
  if (state.candidate) state.finishReason ??= 'STOP';
  if (!state.done) conclude(state, out);
  return out;
}

// ---------------------------------------------------------------- one chunk

function takeChunk(chunk: JsonObject, state: State, out: HubEvent[]): void {
  if (isObject(chunk.error)) {
    state.done = true;
    out.push({ kind: 'error', error: decodeStreamError(chunk.error).error });
    return;
  }
  if (isObject(chunk.usageMetadata)) report(chunk.usageMetadata, state);
  if (!state.started) start(chunk, state, out);
  const feedback = maybeObject(chunk.promptFeedback);
  const blocked = maybeString(feedback.blockReason);
  if (blocked !== undefined) {
    state.blocked = maybeString(feedback.blockReasonMessage) ?? `The provider blocked the prompt: ${blocked}.`;
  }
  // Of several candidates the first is told; they may come in any order, and each in chunks of its own.
  const candidate = maybeList(chunk.candidates).find((one) => isObject(one) && (one.index ?? 0) === 0);
  if (isObject(candidate)) takeCandidate(candidate, state, out);
}

function start(chunk: JsonObject, state: State, out: HubEvent[]): void {
  state.started = true;
  state.id = maybeString(chunk.responseId) || state.id;
  state.model = maybeString(chunk.modelVersion) ?? '';
  const counts = counted(state);
  const { input, cacheRead } = decodeUsage(counts, false, 0);
  const usage = counts.prompt === undefined ? {} : { usage: { input, cacheRead, cacheWrite: 0, output: 0 } };
  out.push({ kind: 'start', id: state.id, model: state.model, ...usage });
}

/** Every chunk tells the counts so far: the last one counts, and one before it only if that said something more. */
function report(usage: JsonObject, state: State): void {
  for (const name in state.usage) if (!(name in usage)) counted(state);
  state.usage = usage;
}

function counted(state: State): Counts {
  if (state.usage) countUsage(state.counts, state.usage);
  return state.counts;
}

function takeCandidate(candidate: JsonObject, state: State, out: HubEvent[]): void {
  state.candidate = true;
  if (isObject(candidate.groundingMetadata)) state.grounding = candidate.groundingMetadata;
  for (const part of maybeList(maybeObject(candidate.content).parts)) {
    if (isObject(part) && !state.done) takePart(part, state, out);
  }
  const reason = maybeString(candidate.finishReason);
  if (reason) state.finishReason = reason;
  const message = maybeString(candidate.finishMessage);
  if (message) state.finishMessage = message;
}

// ---------------------------------------------------------------- the end

function conclude(state: State, out: HubEvent[]): void {
  const stop = stopOf(state);
  if (stop === undefined) {
    breakOff(state, out, 'The upstream closed the stream before completion.');
    return;
  }
  close(state, out, stop);
  const wrote = state.next > 0;
  const search = state.grounding && searchCall(state.grounding, itemId('ws', state.id, state.next));
  if (search) out.push({ kind: 'item_end', index: openItem(search, state, out), item: search });
  state.done = true;
  doubt(counted(state), state.usage);
  out.push(
    compact({
      kind: 'finish',
      stop,
      refusal: stop === 'filter' ? declined(state) : undefined,
      usage: decodeUsage(state.counts, wrote, searchesOf(state)),
    }),
  );
}

/** Undefined when the provider never said that it was done. Calls arrive whole, so one that is there can be answered. */
function stopOf(state: State): HubStop | undefined {
  const seen = { call: state.callIds.size > 0, content: state.next > 0 };
  if (state.finishReason !== undefined) return decodeStop(state.finishReason, seen);
  if (state.blocked !== undefined) return 'filter';
  return seen.call && !isCallPartial(state) ? 'tool' : undefined;
}

const declined = (state: State): string =>
  state.finishMessage ?? state.blocked ?? `The provider stopped the answer: ${state.finishReason}.`;

/** Models before the third generation bill one search per answer, later ones each query. */
function searchesOf(state: State): number {
  const count = state.grounding ? queriesOf(state.grounding).length : 0;
  return /^gemini-[12]\b/.test(state.model) ? Math.min(1, count) : count;
}

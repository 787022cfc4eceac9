/**
 * Stream decoder; a unary reply is a stream of one chunk. An item stays open until the
 * next one, as its signature may follow. Never reports an unreported end.
 */
import type { DecodeContext, StreamDecoder } from '../../codec.ts';
import { foldReply } from '../../errors/fault.ts';
import type { HubEvent, HubReply, HubStop, HubUsage, JsonObject } from '../../hub/types.ts';
import { openEventParser } from '../../wire/event-parser.ts';
import { itemId } from '../../wire/ids.ts';
import { compact, isGiven, isObject, maybeCount, maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { decodeStreamError } from '../errors.ts';
import { decodeStop } from '../stop-reason.ts';
import { billedSearches, checkUsage, decodeUsage, mergeUsage, type UsageCounts } from '../usage.ts';
import { fetchCalls, queriesOf, searchCall } from './grounding.ts';
import { closeItem, type DecoderState, failStream, isCallPartial, newDecoderState, openItem } from './open-items.ts';
import { readPart } from './part-reader.ts';

export const openDecoder = (context: DecodeContext): StreamDecoder => new GenerateDecoder(context);

class GenerateDecoder implements StreamDecoder {
  readonly #state: DecoderState;
  readonly #parse = openEventParser(VARYING, hasCalls);

  constructor(context: DecodeContext) {
    this.#state = newDecoderState(context);
  }

  push(data: string): HubEvent[] {
    if (this.#state.done || data === '' || data === '[DONE]') return [];
    const out: HubEvent[] = [];
    const chunk = this.#parse(data);
    if (chunk === undefined) failStream(this.#state, out, 'The provider sent an event that is not a JSON object.');
    else readChunk(chunk, this.#state, out);
    return out;
  }

  end(): HubEvent[] {
    const out: HubEvent[] = [];
    if (!this.#state.done) finish(this.#state, out);
    return out;
  }

  /** Some servers send STOP with every chunk, also with empty ones before the first content. */
  get isComplete(): boolean {
    const { finishReason, done, nextIndex } = this.#state;
    return finishReason !== undefined && !done && (nextIndex > 0 || finishReason !== 'STOP');
  }

  get usage(): HubUsage | undefined {
    return this.#state.usage && decodeUsage(mergedCounts(this.#state), true, searchesOf(this.#state));
  }
}

const VARYING = ['text', 'promptTokenCount', 'candidatesTokenCount', 'thoughtsTokenCount', 'totalTokenCount'];

/** Decodes a unary reply. Complete JSON cannot be truncated, so a missing finish reason means STOP. */
export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  const state = newDecoderState(context);
  const out: HubEvent[] = [];
  if (isObject(body)) readChunk(body, state, out);
  if (state.hasCandidate) state.finishReason ??= 'STOP';
  if (!state.done) finish(state, out);
  return foldReply(out);
}

const hasCalls = ({ candidates }: JsonObject): boolean =>
  maybeList(candidates).some((candidate) =>
    maybeList(maybeObject(maybeObject(candidate).content).parts).some((part) => !isText(part)),
  );
const isText = (part: unknown): boolean => isObject(part) && typeof part.text === 'string';

function readChunk(chunk: JsonObject, state: DecoderState, out: HubEvent[]): void {
  if (isObject(chunk.error)) {
    // After the finish reason all content has arrived, and an error changes nothing for the client.
    if (state.finishReason !== undefined) return finish(state, out);
    state.done = true;
    out.push({ kind: 'error', error: decodeStreamError(chunk.error).error });
    return;
  }
  if (isObject(chunk.usageMetadata)) recordUsage(chunk.usageMetadata, state);
  if (!state.started) start(chunk, state, out);
  const feedback = maybeObject(chunk.promptFeedback);
  const blocked = maybeString(feedback.blockReason);
  if (blocked !== undefined) {
    state.blockMessage = maybeString(feedback.blockReasonMessage) ?? `The provider blocked the prompt: ${blocked}.`;
  }
  // The hub carries only the first candidate. Candidates may arrive in any order, in separate chunks.
  const candidate = maybeList(chunk.candidates).find((one) => isObject(one) && (one.index ?? 0) === 0);
  if (isObject(candidate) && !isRepeatedEnd(candidate, chunk, state)) readCandidate(candidate, state, out);
}

/**
 * Some servers send the last chunk twice (`repeatedEnd` in
 * rules/tolerances.ts). Equal chunks in a stream differ in output counts.
 */
function isRepeatedEnd(
  { finishReason, content }: JsonObject,
  { usageMetadata }: JsonObject,
  state: DecoderState,
): boolean {
  if (!maybeString(finishReason)) return false;
  const parts = maybeList(maybeObject(content).parts);
  const count = maybeCount(maybeObject(usageMetadata).candidatesTokenCount) ?? 0;
  const isCall = parts.some((part) => isObject(part) && isObject(part.functionCall));
  const end = isCall || (parts.length > 0 && count > 0) ? JSON.stringify([isCall || count, parts]) : undefined;
  const isRepeated = end !== undefined && end === state.end;
  state.end = end;
  return isRepeated;
}

function start(chunk: JsonObject, state: DecoderState, out: HubEvent[]): void {
  state.started = true;
  state.id = maybeString(chunk.responseId) || state.id;
  state.model = maybeString(chunk.modelVersion) ?? '';
  const counts = mergedCounts(state);
  const { input, cacheRead } = decodeUsage(counts, false, 0);
  const usage = counts.prompt === undefined ? {} : { usage: { input, cacheRead, cacheWrite: 0, output: 0 } };
  out.push({ kind: 'start', id: state.id, model: state.model, ...usage });
}

/**
 * Every chunk repeats the counts so far. Merges the previous report only
 * if it has members that this one lacks or sets to zero.
 */
function recordUsage(usage: JsonObject, state: DecoderState): void {
  for (const name in state.usage) {
    if (!usage[name]) mergedCounts(state);
  }
  state.usage = usage;
}

function mergedCounts(state: DecoderState): UsageCounts {
  if (state.usage) mergeUsage(state.counts, state.usage);
  return state.counts;
}

function readCandidate(candidate: JsonObject, state: DecoderState, out: HubEvent[]): void {
  state.hasCandidate = true;
  if (isObject(candidate.logprobsResult)) state.hasLogprobs = true;
  if (isObject(candidate.groundingMetadata)) state.grounding = candidate.groundingMetadata;
  if (isObject(candidate.citationMetadata)) state.recitation = candidate.citationMetadata;
  if (isObject(candidate.urlContextMetadata)) state.fetched = candidate.urlContextMetadata;
  for (const part of maybeList(maybeObject(candidate.content).parts)) {
    if (isObject(part) && !state.done) readPart(part, state, out);
  }
  const reason = maybeString(candidate.finishReason);
  if (reason) state.finishReason = reason;
  const message = maybeString(candidate.finishMessage);
  if (message) state.finishMessage = message;
  const token = maybeString(candidate.continuationToken);
  if (token) state.continuationToken = token;
}

function finish(state: DecoderState, out: HubEvent[]): void {
  const stop = stopOf(state);
  if (stop === undefined) {
    failStream(state, out, 'The upstream closed the stream before completion.');
    return;
  }
  closeItem(state, out, stop);
  const hasOutput = state.nextIndex > 0;
  const search = state.grounding && searchCall(state.grounding, itemId('ws', state.id, state.nextIndex));
  const idOf = (n: number): string => itemId('ws', state.id, state.nextIndex + 1 + n);
  const fetches = state.fetched ? fetchCalls(state.fetched, idOf) : [];
  for (const call of search ? [search, ...fetches] : fetches)
    out.push({ kind: 'item_end', index: openItem(call, state, out), item: call });
  state.done = true;
  checkUsage(mergedCounts(state), state.usage);
  out.push(
    compact({
      kind: 'finish',
      stop,
      refusal: stop === 'filter' ? refusalText(state) : undefined,
      continuationToken: stop === 'continuation' ? state.continuationToken : undefined,
      omitted: omittedIn(state),
      usage: decodeUsage(state.counts, hasOutput, searchesOf(state)),
    }),
  );
}

/**
 * Grounding that other dialects have no form for: parts of a page
 * that shows the sources, and queries of other searches.
 */
const OMITTED_GROUNDING = [
  'searchEntryPoint',
  'googleMapsWidgetContextToken',
  'imageSearchQueries',
  'retrievalQueries',
  'sourceFlaggingUris',
];

function omittedIn({ grounding, hasLogprobs }: DecoderState): readonly string[] | undefined {
  const names = OMITTED_GROUNDING.filter((name) => isGiven(grounding?.[name]));
  if (hasLogprobs) names.push('logprobsResult');
  return names.length > 0 ? names : undefined;
}

/**
 * Returns undefined if the provider did not report an end. A
 * complete call counts as an end, because clients can run it.
 */
function stopOf(state: DecoderState): HubStop | undefined {
  const found = { call: state.callIds.size > 0, content: state.nextIndex > 0 };
  if (state.finishReason !== undefined) return decodeStop(state.finishReason, found);
  if (state.blockMessage !== undefined) return 'filter';
  return found.call && !isCallPartial(state) ? 'tool' : undefined;
}

const refusalText = (state: DecoderState): string =>
  state.finishMessage ?? state.blockMessage ?? `The provider stopped the reply: ${state.finishReason}.`;

const searchesOf = (state: DecoderState): number =>
  billedSearches(state.model, state.grounding ? queriesOf(state.grounding).length : 0);

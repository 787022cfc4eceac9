/** The tap of a stream: searches whole chunks natively, and parses only the events that can hold usage. */
import { blockData, lastBlockEnd, nextBlockEnd } from '../../core/index.ts';
import { codecOf } from '../../dialects/index.ts';
import type { Dialect } from '../../rules/index.ts';
import { outputChars } from '../billing/output-chars.ts';
import { ownedIds } from '../stored/owned-ids.ts';
import { mayHaveSearches, type Searches, searchesIn } from './searches.ts';
import {
  hasMembers,
  isFinishOfChat,
  MAX_KEPT_BYTES,
  type Tap,
  type TappedEvent,
  type TapResult,
  USAGE_FORMS,
  withSearches,
} from './usage-tap.ts';

/** For a stream whose latest events hold no output: about one token in a hundred bytes. */
const DEFAULT_TEXT_RATIO = 0.05;
const DATA_FIELD = Buffer.from('data:');
/** Search terms begin with a rare byte, not with a quote: the native search looks for the first byte first. */
const USAGE_NAME = Buffer.from('usage');
const FINISH_REASON = Buffer.from('Reason"');

export class StreamTap implements Tap {
  readonly #dialect: Dialect;
  /** The chunks of an incomplete event. Kept apart, because an image is one event of 20 MiB. */
  #carry: Buffer[] = [];
  #carried = 0;
  #first: Buffer | undefined;
  #firstUsage: Buffer | undefined;
  #lastUsage: Buffer | undefined;
  #lastFinish: Buffer | undefined;
  #lastSearches: Buffer | undefined;
  #lastBlocks: Buffer | undefined;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  push(chunk: Buffer): void {
    const end = lastBlockEnd(chunk) || this.#endAcross(chunk);
    if (end === 0) return this.#keep(chunk);
    const blocks =
      this.#carry.length > 0 ? Buffer.concat([...this.#carry, chunk.subarray(0, end)]) : chunk.subarray(0, end);
    this.#carry = [];
    this.#carried = 0;
    if (end < chunk.length) this.#keep(chunk.subarray(end));
    // Comments only keep the connection alive.
    if (!blocks.includes(DATA_FIELD)) return;
    this.#first ??= blocks;
    this.#lastBlocks = blocks;
    if (blocks.includes(USAGE_NAME)) {
      this.#firstUsage ??= blocks;
      this.#lastUsage = blocks;
    }
    if (this.#dialect !== 'generate') return;
    if (blocks.includes(FINISH_REASON)) this.#lastFinish = blocks;
    if (mayHaveSearches('generate', blocks)) this.#lastSearches = blocks;
  }

  #keep(chunk: Buffer): void {
    this.#carried += chunk.length;
    if (this.#carried <= MAX_KEPT_BYTES) this.#carry.push(chunk);
  }

  /** Returns the end of a blank line that began before the chunk. */
  #endAcross(chunk: Buffer): number {
    const last = this.#carry.at(-1);
    if (!last) return 0;
    const before = (last.length < 3 ? Buffer.concat(this.#carry.slice(-3)) : last).subarray(-3);
    return Math.max(0, lastBlockEnd(Buffer.concat([before, chunk.subarray(0, 3)])) - before.length);
  }

  end(): TapResult {
    const { usageOf, idOf, isLast, isError } = USAGE_FORMS[this.#dialect];
    // Servers may omit the blank line after the last event. The client has its bytes, and the blank line follows at the end.
    const tail = withLineFeeds(Buffer.concat(this.#carry));
    // Pings may come before the event with the response id and the input usage.
    const opening = eventsOf(this.#first ?? tail, this.#firstUsage).find(
      ({ event }) => typeof idOf(event) === 'string',
    );
    const id = opening && idOf(opening.event);
    const closing = latestOf(tail, this.#lastUsage).find(({ event }) => hasMembers(usageOf(event)));
    const reported = [opening, closing].map((parsed) => parsed && usageOf(parsed.event)).filter(hasMembers);
    // The messages dialect reports input first and output last; every other one reports all in the last event.
    const usage =
      reported.length === 0
        ? undefined
        : codecOf(this.#dialect).upstream.readUsage(
            Object.assign({}, ...reported.map(withoutNulls)),
            closing?.event.response?.tool_usage,
          );
    // Without a later report, the opening one of the messages dialect holds the input and a first guess at the output.
    const isOpening = this.#dialect === 'messages' && (!closing || closing.event.type === 'message_start');
    const lastEvent = latestOf(tail, this.#lastBlocks).find(() => true)?.event;
    const last = latestOf(tail, this.#lastBlocks, this.#lastFinish).find(({ event, data }) => isLast(event, data));
    const result: TapResult = {
      usage: usage && isOpening ? { ...usage, estimated: true } : usage,
      isComplete: last !== undefined,
      isFinished: this.#dialect === 'chat' && lastEvent !== undefined && isFinishOfChat(lastEvent),
      isError: last !== undefined && isError(last.event),
      id: typeof id === 'string' ? id : undefined,
      ownedIds: this.#dialect === 'responses' ? ownedIds(closing?.event.response?.output) : [],
      sequence: lastEvent?.sequence_number,
    };
    return withSearches(result, () => this.#searches(closing));
  }

  #searches(closing: ParsedEvent | undefined): Searches {
    if (this.#dialect === 'responses') return searchesIn('responses', closing?.event.response);
    const grounded = latestOf(this.#lastSearches).map(({ event }) => searchesIn('generate', event));
    return grounded.find(({ searches }) => searches > 0) ?? searchesIn('generate', undefined);
  }

  get textRatio(): number {
    const chars = eventsOf(this.#lastBlocks).reduce((sum, { event }) => sum + outputChars(event), 0);
    return chars === 0 ? DEFAULT_TEXT_RATIO : chars / (this.#lastBlocks?.length ?? 1);
  }
}

/** Lines may end in CR alone, which no provider uses; then the whole stream is one incomplete block until its end. */
const withLineFeeds = (bytes: Buffer): Buffer =>
  bytes.includes(CARRIAGE_RETURN) ? Buffer.from(bytes.toString('utf8').replaceAll(/\r\n?/g, '\n')) : bytes;
const CARRIAGE_RETURN = 0x0d;

interface ParsedEvent {
  readonly event: TappedEvent;
  readonly data: string;
}

/** Yields the events of complete blocks in order, each parsed when it is reached. */
function* eventsOf(...pieces: (Buffer | undefined)[]): Generator<ParsedEvent> {
  for (const blocks of new Set(pieces)) {
    for (let start = 0, end = 0; blocks && start < blocks.length; start = end) {
      end = nextBlockEnd(blocks, start);
      const parsed = parseBlock(blocks.toString('utf8', start, end));
      if (parsed) yield parsed;
    }
  }
}

/** Yields the same events from the last to the first. */
function* latestOf(...pieces: (Buffer | undefined)[]): Generator<ParsedEvent> {
  for (const blocks of new Set(pieces)) {
    for (let end = blocks?.length ?? 0, start = end; blocks && end > 0; end = start) {
      start = lastBlockEnd(blocks, end - 1);
      const parsed = parseBlock(blocks.toString('utf8', start, end));
      if (parsed) yield parsed;
    }
  }
}

function parseBlock(block: string): ParsedEvent | undefined {
  const data = blockData(block);
  if (data === '') return undefined;
  if (data === '[DONE]') return { event: {}, data };
  try {
    const event: unknown = JSON.parse(data);
    return hasMembers(event) ? { event, data } : undefined;
  } catch {
    return undefined;
  }
}

const withoutNulls = (usage: unknown): object =>
  Object.fromEntries(Object.entries(usage as object).filter(([, value]) => value !== null));

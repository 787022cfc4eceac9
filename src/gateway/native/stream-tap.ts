/** The tap of a stream: searches whole chunks natively, and parses only the events that can hold usage. */
import { blockData, lastBlockEnd, nextBlockEnd } from '../../core/index.ts';
import { codecOf, type HubUsage, mergeReports } from '../../dialects/index.ts';
import type { Dialect, ErrorCode } from '../../rules/index.ts';
import { type CallTimes, OutputMeter } from '../billing/output-meter.ts';
import { replyPhase } from '../billing/reply-phase.ts';
import { modelName } from '../billing/usage.ts';
import { FILE_MARK } from '../stored/owned-ids.ts';
import { groundingOf, hasMembers, mayHaveSearches, type Searches, searchesIn } from './searches.ts';
import * as taps from './usage-tap.ts';

const DATA_FIELD = Buffer.from('data:');
const PING = Buffer.from('ping');
const PING_BYTES = 'event: ping\r\ndata: {"type": "ping"}\r\n\r\n'.length;
/** Search terms begin with a rare byte, not with a quote: the native search looks for the first byte first. */
const COUNTS: Readonly<Record<Dialect, Buffer>> = {
  messages: Buffer.from('kens"'),
  chat: Buffer.from('kens"'),
  responses: Buffer.from('kens"'),
  generate: Buffer.from('kenCount'),
};
/** More than code makes in one reply. */
const MAX_FILES = 1_000;
const FINISH_REASON = Buffer.from('Reason"');

export class StreamTap implements taps.Tap {
  readonly #dialect: Dialect;
  /** The chunks of an incomplete event. Kept apart, because an image is one event of 20 MiB. */
  #carry: Buffer[] = [];
  #carried = 0;
  #first: Buffer | undefined;
  #firstUsage: Buffer | undefined;
  #lastUsage: Buffer | undefined;
  /** Those before the last, where the last says that nothing was used. */
  #earlierUsage: Buffer | undefined;
  #lastFinish: Buffer | undefined;
  #lastSearches: Buffer | undefined;
  readonly #files = new Set<string>();
  #lastBlocks: Buffer | undefined;
  /** Those before the last: a ping says nothing about the state of the reply. */
  #earlierBlocks: Buffer | undefined;
  readonly #meter: OutputMeter;

  constructor(dialect: Dialect, times?: CallTimes) {
    this.#dialect = dialect;
    this.#meter = new OutputMeter(dialect, times);
  }

  push(chunk: Buffer): void {
    const end = lastBlockEnd(chunk) || this.#endAcross(chunk);
    if (end === 0) return this.#keep(chunk);
    const blocks =
      this.#carry.length > 0 ? Buffer.concat([...this.#carry, chunk.subarray(0, end)]) : chunk.subarray(0, end);
    this.#carry = [];
    this.#carried = 0;
    if (end < chunk.length) this.#keep(chunk.subarray(end));
    // Comments and pings only keep the connection alive.
    if (!blocks.includes(DATA_FIELD) || (blocks.length <= PING_BYTES && blocks.includes(PING))) return;
    this.#first ??= blocks;
    this.#earlierBlocks = this.#lastBlocks;
    this.#lastBlocks = blocks;
    this.#meter.push(blocks);
    if (blocks.includes(COUNTS[this.#dialect])) {
      this.#firstUsage ??= blocks;
      this.#earlierUsage = this.#lastUsage;
      this.#lastUsage = blocks;
    }
    if (this.#dialect === 'messages' && blocks.includes(FILE_MARK)) this.#addFiles(blocks);
    if (this.#dialect !== 'generate') return;
    if (blocks.includes(FINISH_REASON)) this.#lastFinish = blocks;
    if (mayHaveSearches('generate', blocks)) this.#lastSearches = blocks;
  }

  #addFiles(blocks: Buffer): void {
    for (const { event } of eventsOf(blocks))
      for (const id of taps.USAGE_FORMS.messages.ownedIn(event)) if (this.#files.size < MAX_FILES) this.#files.add(id);
  }

  #keep(chunk: Buffer): void {
    this.#carried += chunk.length;
    if (this.#carried <= taps.MAX_KEPT_BYTES) this.#carry.push(chunk);
  }

  /** Returns the end of a blank line that began before the chunk. */
  #endAcross(chunk: Buffer): number {
    const last = this.#carry.at(-1);
    if (!last) return 0;
    const before = (last.length < 3 ? Buffer.concat(this.#carry.slice(-3)) : last).subarray(-3);
    return Math.max(0, lastBlockEnd(Buffer.concat([before, chunk.subarray(0, 3)])) - before.length);
  }

  end(): taps.TapResult {
    const { idOf, modelOf, isLast, isError } = taps.USAGE_FORMS[this.#dialect];
    // Servers may omit the blank line after the last event.
    // The client has its bytes, and the blank line follows at the end.
    const tail = withLineFeeds(Buffer.concat(this.#carry));
    // Pings may come before the event with the response id and the input usage.
    const opening = eventsOf(this.#first ?? tail, this.#firstUsage).find(
      ({ event }) => typeof idOf(event) === 'string',
    );
    const id = opening && idOf(opening.event);
    const { closing, usage } = this.#report(tail, opening);
    // Without a later report, the opening one of the messages dialect holds the input and a first guess at the output.
    const isOpening = this.#dialect === 'messages' && (!closing || closing.event.type === 'message_start');
    const lastEvent = latestOf(tail, this.#lastBlocks).find(() => true)?.event;
    const last = latestOf(tail, this.#lastBlocks, this.#lastFinish).find(({ event, data }) => isLast(event, data));
    const result: taps.TapResult = {
      usage: usage && isOpening ? { ...usage, estimated: true } : usage,
      isComplete: last !== undefined,
      isFinished: this.#dialect === 'chat' && lastEvent !== undefined && taps.isFinishOfChat(lastEvent),
      isError: last !== undefined && isError(last.event),
      errorCode: last && isError(last.event) ? errorCodeOf(this.#dialect, last.data) : undefined,
      id: typeof id === 'string' ? id : undefined,
      model: opening && modelName(modelOf(opening.event)),
      ownedIds: [...(closing ? taps.USAGE_FORMS[this.#dialect].ownedIn(closing.event) : []), ...this.#files],
      sequence: lastEvent?.sequence_number,
    };
    return taps.withSearches(result, () => this.#searches(closing));
  }

  /** The last report, and figures of earlier ones where it says zero. */
  #report(tail: Buffer, opening: ParsedEvent | undefined): Report {
    const { usageOf } = taps.USAGE_FORMS[this.#dialect];
    const { readUsage } = codecOf(this.#dialect).upstream;
    // The messages dialect reports input first and output last; every other one reports all in each event.
    const before = this.#dialect === 'messages' && opening ? usageOf(opening.event) : undefined;
    let found: Report = { closing: undefined, usage: readUsage(before) };
    const kept = [this.#lastUsage, this.#earlierUsage, ...this.#meter.kept.toReversed().map(Buffer.from)];
    for (const closing of latestOf(tail, ...kept)) {
      const reported = usageOf(closing.event);
      if (!hasMembers(reported)) continue;
      const merged = hasMembers(before) ? mergeReports({ ...before }, reported) : reported;
      const usage = readUsage(
        merged,
        closing.event.response?.tool_usage ?? groundingOf(closing.event.interaction?.usage),
      );
      found = found.closing ? { ...found, usage: withoutZeros(found.usage, usage) } : { closing, usage };
      if (found.usage && !hasZero(found.usage)) break;
    }
    return found;
  }

  #searches(closing: ParsedEvent | undefined): Searches {
    if (this.#dialect === 'responses') return searchesIn('responses', closing?.event.response);
    const grounded = latestOf(this.#lastSearches).map(({ event }) => searchesIn('generate', event));
    return grounded.find(({ searches }) => searches > 0) ?? searchesIn('generate', undefined);
  }

  get outputTokens(): number {
    return this.#meter.tokensWith(withLineFeeds(Buffer.concat(this.#carry)));
  }

  get isFinishing(): boolean {
    for (const { event } of latestOf(this.#lastBlocks, this.#earlierBlocks)) {
      const phase = replyPhase(this.#dialect, event);
      if (phase) return phase === 'finished';
    }
    return false;
  }
}

function errorCodeOf(dialect: Dialect, data: string): ErrorCode | undefined {
  const [event] = codecOf(dialect).upstream.openDecoder({ requestId: '' }).push(data);
  return event?.kind === 'error' ? event.error.code : undefined;
}

/** Lines may end in CR alone, which no provider uses; then the whole stream is one incomplete block until its end. */
const withLineFeeds = (bytes: Buffer): Buffer =>
  bytes.includes(CARRIAGE_RETURN) ? Buffer.from(bytes.toString('utf8').replaceAll(/\r\n?/g, '\n')) : bytes;
const CARRIAGE_RETURN = 0x0d;

const hasZero = ({ input, output, invalid }: HubUsage): boolean =>
  (input === 0 || output === 0) && invalid === undefined;

/** Zero never replaces a figure. */
function withoutZeros(last: HubUsage | undefined, earlier: HubUsage | undefined): HubUsage | undefined {
  if (!last || !earlier || earlier.invalid !== undefined) return last;
  const { output, reasoning, estimated } = earlier.output > 0 && last.output === 0 ? earlier : last;
  const { estimated: _, ...whole } = earlier.input > 0 && last.input === 0 ? earlier : last;
  return { ...whole, output, ...(reasoning !== undefined && { reasoning }), ...(estimated && { estimated }) };
}

interface Report {
  readonly closing: ParsedEvent | undefined;
  readonly usage: HubUsage | undefined;
}

interface ParsedEvent {
  readonly event: taps.TappedEvent;
  readonly data: string;
}

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

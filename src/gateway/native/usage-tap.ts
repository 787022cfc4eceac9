/**
 * A tap beside a native response: reads usage, id and the terminal event without touching the bytes. Searches whole chunks
 * natively and parses only the events that can hold usage. Ignores malformed events; never fails the response.
 */
import {
  blockData,
  concatBuffers,
  elementsAt,
  lastBlockEnd,
  membersAt,
  nextBlockEnd,
  type Span,
  scanMembers,
  valueAt,
} from '../../core/index.ts';
import { codecOf, type HubUsage } from '../../dialects/index.ts';
import type { Dialect } from '../../rules/index.ts';
import type { ImageCount } from '../billing/admission.ts';
import { outputChars } from '../billing/output-chars.ts';
import { withServiceTier } from '../billing/usage.ts';
import { ownedIds } from '../stored/owned-ids.ts';
import { mayHaveSearches, searchesIn, searchesInBody } from './searches.ts';

export interface TapResult {
  readonly usage: HubUsage | undefined;
  /** The response ended with the terminal event or the error of its dialect. */
  readonly isComplete: boolean;
  /** It ended with the provider's error. */
  readonly isError: boolean;
  /** The provider's id of the response, where the dialect has one. */
  readonly id: string | undefined;
  /** Ids in the response that later requests may name, where the dialect stores responses. */
  readonly ownedIds: readonly string[];
  /** Sequence number of the last event, where the dialect numbers them. */
  readonly sequence: number | undefined;
  /** The pictures of an image call, as they were returned. */
  readonly images?: ImageCount;
}

export interface Tap {
  push(chunk: Buffer): void;
  end(): TapResult;
  /** The share of the bytes that is model output, measured on the latest events. */
  readonly textRatio: number;
}

/** A larger response or event is not kept for reading its usage. */
const MAX_KEPT_BYTES = 32 * 2 ** 20;
/** For a stream whose latest events hold no output: about one token in a hundred bytes. */
const DEFAULT_TEXT_RATIO = 0.05;
const UNARY_LIMITS = { depth: 512, tokens: 10_000_000 };

export function tapUnary(dialect: Dialect): Tap {
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    push(chunk) {
      size += chunk.length;
      if (size <= MAX_KEPT_BYTES) chunks.push(chunk);
    },
    textRatio: 1,
    // A response too large to keep counts as complete, because its HTTP framing was.
    end: () => (size <= MAX_KEPT_BYTES ? readUnary(dialect, concatBuffers(chunks)) : { ...NOTHING, isComplete: true }),
  };
}

const NOTHING: TapResult = {
  usage: undefined,
  isComplete: false,
  isError: false,
  id: undefined,
  ownedIds: [],
  sequence: undefined,
};

const MEMBERS: ReadonlySet<string> = new Set(['usage', 'usageMetadata', 'tool_usage', 'service_tier', 'id', 'output']);
const ITEM_IDS: ReadonlySet<string> = new Set(['id', 'container_id']);
const TIER_NAME = Buffer.from('service_tier');

/** Below this size JSON.parse is faster than the scan for single members (3.5 against 8.6 us for 1 KB). */
const PARSED_BYTES = 8 * 1024;

const NAMES = { usage: Buffer.from('"usage"'), usageMetadata: Buffer.from('"usageMetadata"') } as const;

/**
 * Usage stands near the end of a body, so only the text from there on is parsed. It counts only when it closes the outermost
 * object, which text inside a string or a nested object cannot do. Only the responses dialect needs the id, which stands in front.
 */
function readEnd(dialect: Dialect, body: Buffer): TapResult | undefined {
  const { member } = USAGE[dialect];
  const at = dialect === 'responses' ? -1 : body.lastIndexOf(NAMES[member]);
  // After a backslash the quote belongs to a longer name.
  if (at < 0 || body[at - 1] === BACKSLASH) return undefined;
  try {
    const rest = JSON.parse(`{${body.toString('utf8', at)}`) as Event;
    // The tier may stand in front of the usage.
    if (dialect === 'chat' && rest.service_tier === undefined && body.includes(TIER_NAME)) return undefined;
    return { ...NOTHING, usage: readReported(dialect, rest[member], rest), isComplete: true };
  } catch {
    return undefined;
  }
}

function readUnary(dialect: Dialect, body: Buffer): TapResult {
  return withSearches(readMembers(dialect, body), () => searchesInBody(dialect, body, UNARY_LIMITS));
}

/** Adds the searches that the reported usage does not count. */
function withSearches(result: TapResult, count: () => number): TapResult {
  if (!result.usage || result.usage.searches !== undefined) return result;
  const searches = count();
  return searches === 0 ? result : { ...result, usage: { ...result.usage, searches } };
}

function readMembers(dialect: Dialect, body: Buffer): TapResult {
  const end = readEnd(dialect, body);
  if (end) return end;
  if (body.length <= PARSED_BYTES) return readParsed(dialect, body);
  try {
    const members = scanMembers(body, MEMBERS, UNARY_LIMITS);
    const read = (name: string): unknown => {
      const span = members.get(name);
      return span && valueAt(body, span);
    };
    const id = read('id');
    return {
      usage: readReported(dialect, read(USAGE[dialect].member), {
        service_tier: read('service_tier'),
        tool_usage: read('tool_usage'),
      }),
      isComplete: true,
      isError: false,
      id: typeof id === 'string' ? id : undefined,
      ownedIds: dialect === 'responses' ? scanOwnedIds(body, members.get('output')) : [],
      sequence: undefined,
    };
  } catch {
    return readParsed(dialect, body);
  }
}

/** Reads the ids without parsing the items, which may hold images. */
function scanOwnedIds(body: Buffer, output: Span | undefined): string[] {
  if (!output || body[output.start] !== OPEN_ARRAY) return [];
  const items = elementsAt(body, output).filter(({ start }) => body[start] === OPEN_OBJECT);
  return ownedIds(
    items.map((item) =>
      Object.fromEntries([...membersAt(body, item, ITEM_IDS)].map(([name, span]) => [name, valueAt(body, span)])),
    ),
  );
}

/** Also reads a list, which a generate-content stream without `alt=sse` is, and an object with a duplicate member. */
function readParsed(dialect: Dialect, body: Buffer): TapResult {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (isEmpty(value)) return NOTHING;
    const events = (Array.isArray(value) ? value : [value]) as (Event | null)[];
    const reporting = events.findLast((event) => event?.[USAGE[dialect].member]);
    const id = events[0]?.id;
    return {
      usage: readReported(dialect, reporting?.[USAGE[dialect].member], reporting ?? {}),
      isComplete: true,
      isError: events.some((event) => event !== null && isErrorBody(event)),
      id: typeof id === 'string' ? id : undefined,
      ownedIds: dialect === 'responses' ? ownedIds(events[0]?.output) : [],
      sequence: undefined,
    };
  } catch {
    return NOTHING;
  }
}

/** No reply of any dialect: null, a single value, or an object or list without members. */
const isEmpty = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || Object.keys(value).length === 0;

const readReported = (
  dialect: Dialect,
  usage: unknown,
  { service_tier, tool_usage }: Pick<Event, 'service_tier' | 'tool_usage'>,
) => codecOf(dialect).upstream.readUsage(withServiceTier(usage, service_tier), tool_usage);

/** A body with the status of a success that is an error all the same. */
const isErrorBody = (body: Event): boolean =>
  (isObject(body.error) && body.output === undefined) || body.type === 'error' || body.status === 'failed';

/** Where each dialect reports usage, which events are terminal, and which of those are errors. */
const USAGE: Readonly<
  Record<
    Dialect,
    {
      member: 'usage' | 'usageMetadata';
      usageOf: (event: Event) => unknown;
      idOf: (event: Event) => unknown;
      isLast: (event: Event, data: string) => boolean;
      isError: (event: Event) => boolean;
    }
  >
> = {
  messages: {
    member: 'usage',
    usageOf: (event) => event.usage ?? event.message?.usage,
    idOf: (event) => event.message?.id,
    isLast: (event) => event.type === 'message_stop' || event.type === 'error',
    isError: (event) => event.type === 'error',
  },
  chat: {
    member: 'usage',
    usageOf: (event) => withServiceTier(event.usage, event.service_tier),
    idOf: (event) => event.id,
    isLast: (event, data) => data === '[DONE]' || event.error !== undefined,
    isError: (event) => event.error !== undefined,
  },
  responses: {
    member: 'usage',
    usageOf: ({ response, usage }) => withServiceTier(response?.usage ?? usage, response?.service_tier),
    idOf: (event) => event.response?.id,
    isLast: (event) =>
      /^(?:response\.(?:completed|failed|incomplete|cancelled)|error)$/.test(event.type ?? '') ||
      event.error !== undefined,
    isError: (event) => event.type === 'response.failed' || event.type === 'error' || event.error !== undefined,
  },
  generate: {
    member: 'usageMetadata',
    usageOf: (event) => event.usageMetadata,
    idOf: (event) => event.responseId,
    isLast: (event) =>
      event.candidates?.some((candidate) => candidate.finishReason !== undefined) === true ||
      event.promptFeedback !== undefined ||
      event.error !== undefined,
    isError: (event) => event.error !== undefined,
  },
};

/** The members that the tap reads, of all dialects. */
interface Event {
  readonly type?: string;
  readonly status?: unknown;
  readonly sequence_number?: number;
  readonly id?: unknown;
  readonly usage?: unknown;
  readonly service_tier?: unknown;
  readonly usageMetadata?: unknown;
  readonly tool_usage?: unknown;
  readonly responseId?: unknown;
  readonly error?: unknown;
  readonly promptFeedback?: unknown;
  readonly message?: { readonly id?: unknown; readonly usage?: unknown };
  readonly output?: unknown;
  readonly response?: {
    readonly id?: unknown;
    readonly usage?: unknown;
    readonly tool_usage?: unknown;
    readonly service_tier?: unknown;
    readonly output?: unknown;
  };
  readonly candidates?: readonly { readonly finishReason?: unknown }[];
}

const DATA_FIELD = Buffer.from('data:');
/** Search terms begin with a rare byte, not with a quote: the native search looks for the first byte first. */
const USAGE_NAME = Buffer.from('usage');
const FINISH_REASON = Buffer.from('Reason"');
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;

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
    const { usageOf, idOf, isLast, isError } = USAGE[this.#dialect];
    // Servers may omit the blank line after the last event. The client has its bytes, and the blank line follows at the end.
    const tail = withLineFeeds(Buffer.concat(this.#carry));
    // Pings may come before the event with the response id and the input usage.
    const opening = eventsOf(this.#first ?? tail, this.#firstUsage).find(
      ({ event }) => typeof idOf(event) === 'string',
    );
    const id = opening && idOf(opening.event);
    const closing = latestOf(tail, this.#lastUsage).find(({ event }) => isObject(usageOf(event)));
    const reported = [opening, closing].map((parsed) => parsed && usageOf(parsed.event)).filter(isObject);
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
    const last = latestOf(tail, this.#lastBlocks, this.#lastFinish).find(({ event, data }) => isLast(event, data));
    const result: TapResult = {
      usage: usage && isOpening ? { ...usage, estimated: true } : usage,
      isComplete: last !== undefined,
      isError: last !== undefined && isError(last.event),
      id: typeof id === 'string' ? id : undefined,
      ownedIds: this.#dialect === 'responses' ? ownedIds(closing?.event.response?.output) : [],
      sequence: latestOf(tail, this.#lastBlocks).find(() => true)?.event.sequence_number,
    };
    return withSearches(result, () => this.#searches(closing));
  }

  #searches(closing: ParsedEvent | undefined): number {
    if (this.#dialect === 'responses') return searchesIn('responses', closing?.event.response);
    const grounded = latestOf(this.#lastSearches).map(({ event }) => searchesIn('generate', event));
    return grounded.find((count) => count > 0) ?? 0;
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
  readonly event: Event;
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
    return isObject(event) ? { event, data } : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const withoutNulls = (usage: unknown): object =>
  Object.fromEntries(Object.entries(usage as object).filter(([, value]) => value !== null));

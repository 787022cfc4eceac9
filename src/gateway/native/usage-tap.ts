/**
 * Reads usage and the end beside a native stream or answer, without touching what passes. Looks at whole chunks with native
 * byte searches and parses only the events that can hold usage; an odd one is ignored, never fatal.
 */
import { concatBuffers, scanMembers, valueAt } from '../../core/index.ts';
import { codecOf, type HubUsage } from '../../dialects/index.ts';
import type { Dialect } from '../../rules/index.ts';
import { outputChars } from '../billing/output-chars.ts';

export interface TapResult {
  readonly usage: HubUsage | undefined;
  /** The answer ended as its dialect ends answers, well or with an error of its own. */
  readonly isComplete: boolean;
  /** The upstream's id of the answer, where the dialect has one. */
  readonly id: string | undefined;
  /** Number of the last event, where the dialect numbers them. */
  readonly sequence: number | undefined;
}

export interface Tap {
  push(chunk: Buffer): void;
  end(): TapResult;
  /** The part of the bytes that is words, going by the latest of them. */
  readonly textRatio: number;
}

/** Keeping more than this of an answer or of one event costs more than its usage is worth. */
const MAX_KEPT_BYTES = 32 * 2 ** 20;
/** Of a stream whose latest events say nothing: a word in some hundred bytes. */
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
    // What was too large to keep is taken for whole: its framing said so.
    textRatio: 1,
    end: () => (size <= MAX_KEPT_BYTES ? readUnary(dialect, concatBuffers(chunks)) : { ...NOTHING, isComplete: true }),
  };
}

const NOTHING: TapResult = { usage: undefined, isComplete: false, id: undefined, sequence: undefined };

const MEMBERS: ReadonlySet<string> = new Set(['usage', 'usageMetadata', 'id']);

/** Below this, parsing everything natively is faster than looking for the few members by hand (3.5 against 8.6 us for 1 KB). */
const PARSED_BYTES = 8 * 1024;

const NAMES = { usage: Buffer.from('"usage"'), usageMetadata: Buffer.from('"usageMetadata"') } as const;

/**
 * Answers say what they cost near their end: what stands from there on is read, and the rest is not built. It counts only when it
 * ends the outermost object, which it cannot from inside another one or from inside a text. Ids, which stand in front, are asked for in
 * the responses dialect alone.
 */
function readEnd(dialect: Dialect, body: Buffer): TapResult | undefined {
  const { member } = USAGE[dialect];
  const at = dialect === 'responses' ? -1 : body.lastIndexOf(NAMES[member]);
  // Behind a backslash it is the end of a longer name.
  if (at < 0 || body[at - 1] === BACKSLASH) return undefined;
  try {
    const rest = JSON.parse(`{${body.toString('utf8', at)}`) as Event;
    return { ...NOTHING, usage: codecOf(dialect).upstream.readUsage(rest[member]), isComplete: true };
  } catch {
    return undefined;
  }
}

function readUnary(dialect: Dialect, body: Buffer): TapResult {
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
      usage: codecOf(dialect).upstream.readUsage(read(USAGE[dialect].member)),
      isComplete: true,
      id: typeof id === 'string' ? id : undefined,
      sequence: undefined,
    };
  } catch {
    return readParsed(dialect, body);
  }
}

/** Also reads what is not one plain object: the list that a native stream is without `alt=sse`, or an object with a member twice. */
function readParsed(dialect: Dialect, body: Buffer): TapResult {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    const events = (Array.isArray(value) ? value : [value]) as (Event | null)[];
    const usage = events.findLast((event) => event?.[USAGE[dialect].member])?.[USAGE[dialect].member];
    const id = events[0]?.id;
    return {
      usage: codecOf(dialect).upstream.readUsage(usage),
      isComplete: true,
      id: typeof id === 'string' ? id : undefined,
      sequence: undefined,
    };
  } catch {
    return NOTHING;
  }
}

/** Where each dialect's stream says what it cost, and which last event is a proper end. */
const USAGE: Readonly<
  Record<
    Dialect,
    {
      member: 'usage' | 'usageMetadata';
      usageOf: (event: Event) => unknown;
      idOf: (event: Event) => unknown;
      isLast: (event: Event, data: string) => boolean;
    }
  >
> = {
  messages: {
    member: 'usage',
    usageOf: (event) => event.usage ?? event.message?.usage,
    idOf: (event) => event.message?.id,
    isLast: (event) => event.type === 'message_stop' || event.type === 'error',
  },
  chat: {
    member: 'usage',
    usageOf: (event) => event.usage,
    idOf: (event) => event.id,
    isLast: (event, data) => data === '[DONE]' || event.error !== undefined,
  },
  responses: {
    member: 'usage',
    usageOf: (event) => event.response?.usage ?? event.usage,
    idOf: (event) => event.response?.id,
    isLast: (event) =>
      /^(?:response\.(?:completed|failed|incomplete|cancelled)|error|image_(?:generation|edit)\.completed)$/.test(
        event.type ?? '',
      ) || event.error !== undefined,
  },
  generate: {
    member: 'usageMetadata',
    usageOf: (event) => event.usageMetadata,
    idOf: (event) => event.responseId,
    isLast: (event) =>
      event.candidates?.some((candidate) => candidate.finishReason !== undefined) === true ||
      event.promptFeedback !== undefined ||
      event.error !== undefined,
  },
};

/** The few members we look at, whatever the dialect. */
interface Event {
  readonly type?: string;
  readonly sequence_number?: number;
  readonly id?: unknown;
  readonly usage?: unknown;
  readonly usageMetadata?: unknown;
  readonly responseId?: unknown;
  readonly error?: unknown;
  readonly promptFeedback?: unknown;
  readonly message?: { readonly id?: unknown; readonly usage?: unknown };
  readonly response?: { readonly id?: unknown; readonly usage?: unknown };
  readonly candidates?: readonly { readonly finishReason?: unknown }[];
}

const DATA_MARK = Buffer.from('data:');
/** Begin with a byte that is rare: a search looks for the first one natively, and quotes are everywhere. */
const MARK = Buffer.from('usage');
const FINISH_MARK = Buffer.from('Reason"');
const LF = 0x0a;
const CR = 0x0d;
const BACKSLASH = 0x5c;

export function tapStream(dialect: Dialect): Tap {
  return new StreamTap(dialect);
}

class StreamTap implements Tap {
  readonly #dialect: Dialect;
  /** The beginning of an event whose end has not come. In pieces: an image is one event of 20 MiB. */
  #carry: Buffer[] = [];
  #carried = 0;
  #first: Buffer | undefined;
  #firstUsage: Buffer | undefined;
  #lastUsage: Buffer | undefined;
  #lastFinish: Buffer | undefined;
  #lastBlocks: Buffer | undefined;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  push(chunk: Buffer): void {
    const end = blockEnd(chunk) || this.#endAcross(chunk);
    if (end === 0) return this.#keep(chunk);
    const blocks =
      this.#carry.length > 0 ? Buffer.concat([...this.#carry, chunk.subarray(0, end)]) : chunk.subarray(0, end);
    this.#carry = [];
    this.#carried = 0;
    if (end < chunk.length) this.#keep(chunk.subarray(end));
    // Comments keep a connection alive and say nothing.
    if (!blocks.includes(DATA_MARK)) return;
    this.#first ??= blocks;
    this.#lastBlocks = blocks;
    if (blocks.includes(MARK)) {
      this.#firstUsage ??= blocks;
      this.#lastUsage = blocks;
    }
    if (this.#dialect === 'generate' && blocks.includes(FINISH_MARK)) this.#lastFinish = blocks;
  }

  #keep(chunk: Buffer): void {
    this.#carried += chunk.length;
    if (this.#carried <= MAX_KEPT_BYTES) this.#carry.push(chunk);
  }

  /** One past a blank line that began before the chunk. */
  #endAcross(chunk: Buffer): number {
    const last = this.#carry.at(-1);
    if (!last) return 0;
    const before = (last.length < 3 ? Buffer.concat(this.#carry.slice(-3)) : last).subarray(-3);
    return Math.max(0, blockEnd(Buffer.concat([before, chunk.subarray(0, 3)])) - before.length);
  }

  end(): TapResult {
    const { usageOf, idOf, isLast } = USAGE[this.#dialect];
    // A ping or the like may come before the event that names the answer and its input.
    const opening = eventsOf(this.#first, this.#firstUsage).find(({ event }) => typeof idOf(event) === 'string');
    const id = opening && idOf(opening.event);
    // Some servers forget the blank line after the last event; readers of these two dialects take it all the same.
    const tail = this.#dialect === 'generate' || this.#dialect === 'chat' ? Buffer.concat(this.#carry) : undefined;
    const closing = latestOf(tail, this.#lastUsage).find(({ event }) => isObject(usageOf(event)));
    const reported = [opening, closing].map((told) => told && usageOf(told.event)).filter(isObject);
    // The messages dialect tells input first and output last; every other one says it all in the last.
    const usage =
      reported.length === 0
        ? undefined
        : codecOf(this.#dialect).upstream.readUsage(Object.assign({}, ...reported.map(withoutNulls)));
    return {
      usage: usage && closing?.event.type === 'message_start' ? { ...usage, estimated: true } : usage,
      isComplete: latestOf(tail, this.#lastBlocks, this.#lastFinish).some(({ event, data }) => isLast(event, data)),
      id: typeof id === 'string' ? id : undefined,
      sequence: latestOf(tail, this.#lastBlocks).find(() => true)?.event.sequence_number,
    };
  }

  get textRatio(): number {
    const words = eventsOf(this.#lastBlocks).reduce((sum, { event }) => sum + outputChars(event), 0);
    return words === 0 ? DEFAULT_TEXT_RATIO : words / (this.#lastBlocks?.length ?? 1);
  }
}

/** One past the last blank line that ends before `before`. */
function blockEnd(bytes: Buffer, before = bytes.length): number {
  for (let at = before; at > 0; ) {
    at = bytes.lastIndexOf(LF, at - 1);
    if (endsBlankLine(bytes, at)) return at + 1;
  }
  return 0;
}

/** One past the first blank line from `from` on; the end of the bytes when there is none. */
function nextBlockEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1))
    if (endsBlankLine(bytes, at)) return at + 1;
  return bytes.length;
}

const endsBlankLine = (bytes: Buffer, lf: number): boolean =>
  lf > 0 && (bytes[lf - 1] === LF || (bytes[lf - 1] === CR && bytes[lf - 2] === LF && bytes[lf - 3] === CR));

interface ParsedEvent {
  readonly event: Event;
  readonly data: string;
}

/** The events of whole blocks in order; each is parsed only when it is asked for, and few ever are. */
function* eventsOf(...pieces: (Buffer | undefined)[]): Generator<ParsedEvent> {
  for (const blocks of new Set(pieces)) {
    for (let start = 0, end = 0; blocks && start < blocks.length; start = end) {
      end = nextBlockEnd(blocks, start);
      const told = parseBlock(blocks.toString('utf8', start, end));
      if (told) yield told;
    }
  }
}

/** The same from behind. */
function* latestOf(...pieces: (Buffer | undefined)[]): Generator<ParsedEvent> {
  for (const blocks of new Set(pieces)) {
    for (let end = blocks?.length ?? 0, start = end; blocks && end > 0; end = start) {
      start = blockEnd(blocks, end - 1);
      const told = parseBlock(blocks.toString('utf8', start, end));
      if (told) yield told;
    }
  }
}

function parseBlock(block: string): ParsedEvent | undefined {
  const data = block
    .split(/\r?\n/)
    .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
    .join('\n');
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

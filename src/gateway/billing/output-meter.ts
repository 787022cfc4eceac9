/**
 * The meter of a stream's visible output, for estimates.
 * Keeps its beginning and samples the rest; an event counts where it begins, however long it is.
 */
import { blockData, blocksOf, estimateTokens, nextBlockEnd } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';
import type { UpstreamDialect } from '../../rules/index.ts';
import { visibleIn } from './visible-text.ts';

/** Bytes at the beginning that are all kept, unless they come in one chunk that is much longer, such as a picture. */
const EXACT_BYTES = 32 * 1024;
const MAX_EXACT_CHUNK = 4 * EXACT_BYTES;
const WINDOW_BYTES = 2 * 1024;
/**
 * From one window to the next: 16 times its width, and more in long streams,
 * so that their memory grows with the logarithm.
 */
const MIN_STRIDE = 16 * WINDOW_BYTES;
const STRIDE_SHARE = 1 / 8;

/** Text of less than this time has no pace, and none is faster: a proxy may send what it has collected at once. */
const MIN_PACE_MS = 1_000;
const MAX_TOKENS_PER_MS = 0.2;
/** Of a provider whose own pace is not known. */
const USUAL_TOKENS_PER_MS = 0.05;
/** Their events do not tell reasoning from waiting. */
const SILENT: ReadonlySet<UpstreamDialect> = new Set<UpstreamDialect>(['chat', 'generate']);
/** What a provider takes to begin, or to go on; a longer silence is work that it does not show. */
const USUAL_WAIT_MS = 2_000;

/** Milliseconds since the request was sent, and whether the client has left. */
export interface CallTimes {
  sinceSent(): number;
  isLeft(): boolean;
}

export function timesOf(call: Call): CallTimes {
  const sentAt = call.trace.attempts.at(-1)?.startMs ?? 0;
  return { sinceSent: () => call.elapsedMs() - sentAt, isLeft: () => call.isClientGone };
}
const NO_TIMES: CallTimes = { sinceSent: () => 0, isLeft: () => false };

type Events = Buffer | string;

interface Window {
  readonly at: number;
  readonly events: Events[];
}

export class OutputMeter {
  readonly #dialect: UpstreamDialect;
  readonly #times: CallTimes;
  readonly #exact: Events[] = [];
  readonly #moments: number[] = [];
  #lastAt = 0;
  /** Silences that are longer than usual: their end, and by how much. */
  readonly #silences: { readonly at: number; readonly ms: number }[] = [];
  readonly #windows: Window[] = [];
  #position = 0;
  #windowAt = 0;

  /** Without `times`, hidden reasoning is not estimated. */
  constructor(dialect: UpstreamDialect, times = NO_TIMES) {
    this.#dialect = dialect;
    this.#times = times;
  }

  push(events: Events): void {
    const start = this.#position;
    this.#position += events.length;
    const now = this.#times.sinceSent();
    const ms = now - this.#lastAt - USUAL_WAIT_MS;
    if (ms > 0) this.#silences.push({ at: now, ms });
    this.#lastAt = now;
    if (start < EXACT_BYTES && events.length <= MAX_EXACT_CHUNK) {
      this.#exact.push(events);
      this.#moments.push(now);
      this.#windowAt = this.#position;
    } else while (this.#windowAt < this.#position) if (this.#sample(events, start)) return;
  }

  /** Returns true when the window goes on in the events that follow. */
  #sample(events: Events, start: number): boolean {
    const at = this.#windowAt;
    const window = this.#windows.at(-1)?.at === at ? this.#windows.at(-1) : { at, events: [] };
    if (window && window !== this.#windows.at(-1)) this.#windows.push(window);
    const from = Math.max(0, at - start);
    const to = at + WINDOW_BYTES - start;
    const begun = partOf(events, from, to);
    if (begun.length > 0) window?.events.push(begun);
    if (to > events.length) return true;
    this.#windowAt += Math.max(MIN_STRIDE, Math.floor(at * STRIDE_SHARE));
    return false;
  }

  /** The beginning of the stream, as far as all of it is kept. */
  get kept(): readonly Events[] {
    return this.#exact;
  }

  tokensWith(tail: Events = ''): number {
    const exact = this.#windows.length === 0 ? [...this.#exact, tail] : this.#exact;
    const visible = this.#windows.reduce((sum, { at, events }, n) => {
      const length = (this.#windows[n + 1]?.at ?? this.#position) - at;
      return sum + Math.round((this.#tokensIn(events) * length) / Math.min(length, WINDOW_BYTES));
    }, this.#tokensIn(exact));
    return visible + this.#hiddenTokens(visible);
  }

  /**
   * Of reasoning that is not shown, at the pace of the text:
   * where it is not announced, silences count for a client that has left, which must not hide work.
   */
  #hiddenTokens(visible: number): number {
    const isSilent = SILENT.has(this.#dialect);
    if (visible === 0 || (isSilent && !this.#times.isLeft())) return 0;
    const { textAt, begun } = this.#firstText();
    const silences = isSilent ? this.#silences.filter(({ at }) => at > textAt) : [];
    const between = silences.reduce((sum, { ms }) => sum + ms, 0);
    const since = isSilent ? Math.max(0, this.#times.sinceSent() - this.#lastAt - USUAL_WAIT_MS) : 0;
    const unseen = Math.max(0, textAt - (isSilent ? USUAL_WAIT_MS : (begun ?? textAt))) + between + since;
    const spoken = this.#lastAt - textAt - between;
    // Text that comes at once was made in the time before it.
    if (spoken < MIN_PACE_MS) return Math.max(0, Math.round(unseen * USUAL_TOKENS_PER_MS) - visible);
    return Math.round(unseen * Math.min(visible / spoken, MAX_TOKENS_PER_MS));
  }

  /** When the first text came, as far as it is known, and when reasoning was announced before it. */
  #firstText(): { readonly textAt: number; readonly begun: number | undefined } {
    let begun: number | undefined;
    for (const [n, events] of this.#exact.entries()) {
      const textAt = this.#moments[n] ?? 0;
      if (this.#tokensIn([events]) > 0) return { textAt, begun };
      if (parsed(events).some(isReasoning)) begun ??= textAt;
    }
    return { textAt: this.#moments.at(-1) ?? 0, begun };
  }

  #tokensIn(pieces: readonly Events[]): number {
    return estimateTokens(visibleIn(this.#dialect, pieces.flatMap(parsed)));
  }
}

/** The beginning of a block or item of reasoning, in the dialects that announce it. */
const isReasoning = (event: unknown): boolean => {
  const { content_block: block, item = block } = event as Readonly<Record<string, { readonly type?: unknown }>>;
  return /^(?:reasoning|(?:redacted_)?thinking)$/.test(String(item?.type));
};

/** The events that begin in a part of what came. A text is one event, and begins with it. */
function partOf(events: Events, from: number, to: number): Events {
  if (typeof events !== 'string') return blocksIn(events, from, to);
  return from === 0 ? events : '';
}

/** The events that begin in a part of the bytes. A copy, because the chunk of the socket is much longer. */
function blocksIn(bytes: Buffer, from: number, to: number): Buffer {
  const first = from === 0 ? 0 : nextBlockEnd(bytes, from - 1);
  const end = to >= bytes.length ? bytes.length : nextBlockEnd(bytes, to - 1);
  return Buffer.from(bytes.subarray(first, Math.max(first, end)));
}

const parsed = (events: Events): unknown[] =>
  typeof events === 'string'
    ? jsonIn(events)
    : blocksOf(events).flatMap((block) => jsonIn(blockData(block.toString('utf8'))));

/** Nothing for `[DONE]`, a comment, or what no client can read. */
function jsonIn(data: string): unknown[] {
  try {
    return [JSON.parse(data)];
  } catch {
    return [];
  }
}

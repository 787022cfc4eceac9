/**
 * The results of a provider's batch: read as they arrive, a line at a time.
 * What is no result of a request of ours is passed over.
 */
import { Readable } from 'node:stream';
import { GrowingBuffer, membersAt, type Span, scanMembers, valueAt } from '../../../core/index.ts';
import type { UpstreamClient, UpstreamRequest } from '../../../providers/upstream/index.ts';
import { BATCHES } from '../../../rules/index.ts';
import { UNUSABLE } from '../failed-reply.ts';

export interface LineOutcome {
  readonly n: number;
  readonly state: 'succeeded' | 'errored' | 'canceled' | 'expired';
  readonly status: number | null;
  /** Undefined where there is none. */
  readonly body?: Buffer | undefined;
  /** It was made, and has to be paid, also where it is too long to be kept. */
  readonly isServed?: boolean;
}

/** The longest reply, and what is around it. */
const MAX_BYTES = BATCHES.replyBytes + 16 * 1_024;
/** Of a line that is too long: its id comes first. */
const HEAD_BYTES = 1_024;
const NEWLINE = 0x0a;
/** Vectors have many numbers. */
const LIMITS = { depth: 512, tokens: 10_000_000 };

export const customIdOf = (batchId: string, n: number): string => `${batchId}-${n}`;

/** Throws when the response is not whole. */
export async function* outcomesIn(
  upstream: UpstreamClient,
  request: UpstreamRequest,
  batchId: string,
): AsyncGenerator<LineOutcome> {
  for await (const line of linesIn(bytesOf(upstream, request))) {
    const outcome = readOutcome(line, batchId);
    if (outcome) yield outcome;
  }
}

/** At the pace of the reader. */
function bytesOf(upstream: UpstreamClient, request: UpstreamRequest): AsyncIterable<Buffer> {
  const stream = new Readable({
    read: () => exchange.resume(),
    destroy(error, done) {
      exchange.abort();
      done(error);
    },
  });
  const exchange = upstream.send(request, {
    onHead(status) {
      if (status !== 200) stream.destroy(new Error(`status ${status}`));
    },
    onData: (chunk) => stream.push(chunk),
    onEnd: () => void stream.push(null),
    onError: ({ code }) => void stream.destroy(new Error(code)),
  });
  return stream;
}

/** Of a line that is too long, the beginning. */
async function* linesIn(chunks: AsyncIterable<Buffer>): AsyncGenerator<{ bytes: Buffer; isWhole: boolean }> {
  const joined = new GrowingBuffer();
  let bytes: Buffer = NOTHING;
  let size = 0;
  const add = (part: Buffer): void => {
    size += part.length;
    bytes = size > MAX_BYTES ? bytes.subarray(0, HEAD_BYTES) : joined.join(bytes, part);
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, at));
      start = at + 1;
      yield { bytes, isWhole: size <= MAX_BYTES };
      bytes = NOTHING;
      size = 0;
    }
    add(chunk.subarray(start));
  }
  yield { bytes, isWhole: size <= MAX_BYTES };
}

const NOTHING = Buffer.alloc(0);
const MEMBERS: ReadonlySet<string> = new Set(['custom_id', 'response', 'error', 'result']);
const INNER: ReadonlySet<string> = new Set(['status_code', 'body', 'type', 'message', 'error', 'code']);
const CUSTOM_ID = /"custom_id"\s*:\s*"([\w-]+)"/;

/** What is wrong with one line keeps no other from being counted. */
function readOutcome(line: { readonly bytes: Buffer; readonly isWhole: boolean }, batchId: string) {
  const { bytes, isWhole } = line;
  const numberIn = (customId: unknown): number => Number(String(customId).split(`${batchId}-`)[1] ?? Number.NaN);
  try {
    const members = isWhole ? scanMembers(bytes, MEMBERS, LIMITS) : undefined;
    const n = numberIn(members ? valueAt(bytes, members.get('custom_id')) : CUSTOM_ID.exec(bytes.toString())?.[1]);
    return Number.isInteger(n) && n > 0 && n <= BATCHES.lines
      ? { n, ...(members ? readMembers(bytes, members) : TOO_LARGE) }
      : undefined;
  } catch {
    return undefined;
  }
}

const TOO_LARGE = { state: 'errored', status: UNUSABLE.status, body: UNUSABLE.content, isServed: true } as const;

function readMembers(bytes: Buffer, members: ReadonlyMap<string, Span>): Omit<LineOutcome, 'n'> {
  const from = (span: Span | undefined) => span && bytes.subarray(span.start, span.end);
  const result = membersAt(bytes, members.get('result') ?? members.get('response'), INNER);
  const type = valueAt(bytes, result.get('type'));
  if (type === 'succeeded') return { state: type, status: 200, body: from(result.get('message')), isServed: true };
  if (type === 'errored') return { state: type, status: 400, body: from(result.get('error')) };
  if (type === 'canceled' || type === 'expired') return { state: type, status: null };
  const status = Number(valueAt(bytes, result.get('status_code')));
  const body = from(result.get('body'));
  if (body && Number.isInteger(status) && status >= 100 && status < 600)
    return status < 300 ? { state: 'succeeded', status, body, isServed: true } : { state: 'errored', status, body };
  const error = members.get('error');
  const code = String(valueAt(bytes, membersAt(bytes, error, INNER).get('code')));
  if (/expired|cancel/.test(code)) return { state: code.includes('expired') ? 'expired' : 'canceled', status: null };
  return { state: 'errored', status: 502, body: Buffer.from(`{"error":${from(error) ?? null}}`) };
}

/** The journal of received requests, for assertions in tests. */
import { createHash } from 'node:crypto';
import type { FieldDigest } from './multipart.ts';

/** Longer than anything takes on a slow machine. */
export const HANGING_MS = 150_000;
const KEEP_REQUESTS = 2_000;
const KEEP_BODY = 1 << 20;
// 2,000 bodies of 1 MiB would be 2 GiB, so the total is limited as well; the oldest are dropped first.
const KEEP_BODIES_TOTAL = 64 << 20;

export interface JournalEntry {
  id: number;
  method: string;
  path: string;
  query: string;
  headers: Record<string, string>;
  rawHeaders: [string, string][];
  /** Absent if the body was longer than 1 MiB or was dropped for newer ones. */
  body?: Buffer;
  bodyLength: number;
  bodySha256: string;
  /** The fields of a form, whatever its length. */
  form?: FieldDigest[];
  /** False until the request body is complete. */
  complete: boolean;
  receivedAt: number;
  model?: string;
  status?: number;
  eventsSent: number;
  bytesSent: number;
  /** The first messages that the server sent in a WebSocket turn. */
  frames?: string[];
  /** The client disconnected before the response was complete. */
  aborted: boolean;
  abortedAt?: number;
  /** The response was sent completely. */
  finished: boolean;
  finishedAt?: number;
}

export class Journal {
  readonly requests: JournalEntry[] = [];
  readonly #waiters = new Set<() => void>();
  #count = 0;
  #bodyBytes = 0;

  open(start: Pick<JournalEntry, 'method' | 'path' | 'query' | 'headers' | 'rawHeaders'>): JournalEntry {
    this.#count += 1;
    const entry: JournalEntry = {
      id: this.#count,
      ...start,
      bodyLength: 0,
      bodySha256: '',
      complete: false,
      receivedAt: Date.now(),
      eventsSent: 0,
      bytesSent: 0,
      aborted: false,
      finished: false,
    };
    this.requests.push(entry);
    if (this.requests.length > KEEP_REQUESTS) this.#dropBody(this.requests.shift());
    this.changed();
    return entry;
  }

  keepBody(entry: JournalEntry, body: Buffer): void {
    entry.bodyLength = body.length;
    entry.bodySha256 = createHash('sha256').update(body).digest('hex');
    entry.complete = true;
    const listed = entry.id >= (this.requests[0]?.id ?? Number.POSITIVE_INFINITY);
    if (listed && body.length <= KEEP_BODY) {
      entry.body = body;
      this.#bodyBytes += body.length;
    }
    for (const old of this.requests) {
      if (this.#bodyBytes <= KEEP_BODIES_TOTAL) break;
      if (old !== entry) this.#dropBody(old);
    }
    this.changed();
  }

  clear(): void {
    this.requests.length = 0;
    this.#bodyBytes = 0;
  }

  /** Resolves with the first matching entry, present or future; rejects when none comes for so long that something hangs. */
  waitFor(predicate: (entry: JournalEntry) => boolean): Promise<JournalEntry> {
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        this.#waiters.delete(check);
        finish();
      };
      const check = () => {
        try {
          const found = this.requests.find(predicate);
          if (found) settle(() => resolve(found));
        } catch (error) {
          // An error in the test's predicate rejects the wait; it must not crash the server.
          settle(() => reject(error));
        }
      };
      const late = () => reject(new Error(`no journal entry fitted within ${HANGING_MS} ms`));
      const timer = setTimeout(() => settle(late), HANGING_MS);
      this.#waiters.add(check);
      check();
    });
  }

  /** Called after every change of an entry; does nothing without waiters. */
  changed(): void {
    for (const check of this.#waiters) check();
  }

  #dropBody(entry: JournalEntry | undefined): void {
    if (!entry?.body) return;
    this.#bodyBytes -= entry.body.length;
    delete entry.body;
  }
}

const SECRET_HEADERS = new Set([
  'authorization',
  'api-key',
  'x-api-key',
  'x-goog-api-key',
  'cookie',
  'proxy-authorization',
]);

/** An entry for `/sim/journal`: without bodies and credentials. */
export function publicEntry(entry: JournalEntry): Record<string, unknown> {
  const { body: _body, form: _form, rawHeaders: _rawHeaders, frames: _frames, headers, query, ...rest } = entry;
  const shown = Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.has(name) ? '(hidden)' : value]);
  return { ...rest, query: query.replace(/(^|&)key=[^&]*/g, '$1key=(hidden)'), headers: Object.fromEntries(shown) };
}

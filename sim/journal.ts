/** The journal of received requests, for assertions in tests. */
import { createHash } from 'node:crypto';
import { Entries } from './entries.ts';
import type { FieldDigest } from './multipart.ts';

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

export class Journal extends Entries<JournalEntry> {
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

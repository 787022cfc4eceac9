import { createHash } from 'node:crypto';

const KEEP_REQUESTS = 2_000;
const KEEP_BODY = 1 << 20;
// Two thousand bodies of 1 MiB would be 2 GiB, so the sum is bounded as well; the oldest go first.
const KEEP_BODIES_TOTAL = 64 << 20;

export type JournalEntry = {
  id: number;
  method: string;
  path: string;
  query: string;
  headers: Record<string, string>;
  rawHeaders: [string, string][];
  /** Absent when the body was longer than 1 MiB or has made room for newer ones. */
  body?: Buffer;
  bodyLength: number;
  bodySha256: string;
  /** False until the whole request body has arrived. */
  complete: boolean;
  receivedAt: number;
  model?: string;
  status?: number;
  eventsSent: number;
  bytesSent: number;
  /** The first messages of a turn on a WebSocket, as they were sent. */
  frames?: string[];
  /** The client left before the answer was complete. */
  aborted: boolean;
  abortedAt?: number;
  /** The answer was sent to its end. */
  finished: boolean;
  finishedAt?: number;
};

/** What the simulated providers were asked, kept for assertions. */
export class Journal {
  readonly requests: JournalEntry[] = [];
  private readonly waiters = new Set<() => void>();
  private count = 0;
  private bodyBytes = 0;

  open(start: Pick<JournalEntry, 'method' | 'path' | 'query' | 'headers' | 'rawHeaders'>): JournalEntry {
    this.count += 1;
    const entry: JournalEntry = {
      id: this.count,
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
    if (this.requests.length > KEEP_REQUESTS) this.dropBody(this.requests.shift());
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
      this.bodyBytes += body.length;
    }
    for (const old of this.requests) {
      if (this.bodyBytes <= KEEP_BODIES_TOTAL) break;
      if (old !== entry) this.dropBody(old);
    }
    this.changed();
  }

  clear(): void {
    this.requests.length = 0;
    this.bodyBytes = 0;
  }

  /** Resolves with the first entry that fits, now or later; rejects after `timeoutMs`. */
  waitFor(predicate: (entry: JournalEntry) => boolean, timeoutMs = 5_000): Promise<JournalEntry> {
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        this.waiters.delete(check);
        finish();
      };
      const check = () => {
        try {
          const found = this.requests.find(predicate);
          if (found) settle(() => resolve(found));
        } catch (error) {
          // A predicate that throws is the test's mistake and must not end up in the server.
          settle(() => reject(error));
        }
      };
      const late = () => reject(new Error(`no journal entry fitted within ${timeoutMs} ms`));
      const timer = setTimeout(() => settle(late), timeoutMs);
      this.waiters.add(check);
      check();
    });
  }

  /** Called after every change of an entry; costs nothing while nobody waits. */
  changed(): void {
    for (const check of this.waiters) check();
  }

  private dropBody(entry: JournalEntry | undefined): void {
    if (!entry?.body) return;
    this.bodyBytes -= entry.body.length;
    delete entry.body;
  }
}

const SECRET_HEADERS = new Set(['authorization', 'x-api-key', 'x-goog-api-key', 'cookie', 'proxy-authorization']);

/** The journal as people may see it: no bodies, no credentials. */
export function publicEntry(entry: JournalEntry): Record<string, unknown> {
  const { body: _body, rawHeaders: _rawHeaders, frames: _frames, headers, query, ...rest } = entry;
  const shown = Object.entries(headers).map(([name, value]) => [name, SECRET_HEADERS.has(name) ? '(hidden)' : value]);
  return { ...rest, query: query.replace(/(^|&)key=[^&]*/g, '$1key=(hidden)'), headers: Object.fromEntries(shown) };
}

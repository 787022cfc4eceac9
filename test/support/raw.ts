/** Raw HTTP client: sends exactly the given bytes and parses responses from the socket, without normalising either. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { HANGING_MS } from './wait.ts';

export interface RawResponse {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

export const jsonOf = (response: RawResponse): unknown => JSON.parse(response.text);

const HEAD_END = Buffer.from('\r\n\r\n');

export class Wire {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #closed = false;
  #waiters: (() => void)[] = [];

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect(Number(port), hostname);
    this.socket.setNoDelay(true);
    this.socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#notify();
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.#closed = true;
      this.#notify();
    });
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  send(bytes: string | Buffer): void {
    if (!this.#closed) this.socket.write(bytes);
  }

  /** The next response; undefined when the connection closes first. `head`: a response to HEAD, which has no body. */
  async response({ head = false }: { head?: boolean } = {}): Promise<RawResponse | undefined> {
    for (;;) {
      const parsed = parse(this.#received, { head, isOver: this.#closed });
      if (parsed) {
        this.#received = this.#received.subarray(parsed.length);
        // Skips informational responses such as `100 Continue`.
        if (parsed.response.status >= 200) return parsed.response;
        continue;
      }
      if (this.#closed) return undefined;
      await this.#nextChange();
    }
  }

  async closed(): Promise<void> {
    while (!this.#closed) await this.#nextChange();
  }

  end(): void {
    this.socket.destroy();
  }

  #notify(): void {
    for (const wake of this.#waiters.splice(0)) wake();
  }

  #nextChange(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(
      () =>
        reject(
          new Error(`nothing received for ${HANGING_MS} ms; so far: ${this.#received.toString('latin1', 0, 200)}`),
        ),
      HANGING_MS,
    );
    this.#waiters.push(() => {
      clearTimeout(timer);
      resolve();
    });
    return promise;
  }
}

interface Parsed {
  readonly response: RawResponse;
  readonly length: number;
}

function parse(bytes: Buffer, { head, isOver }: { head: boolean; isOver: boolean }): Parsed | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(`${statusLine} `)?.[1]);
  assert.ok(status >= 100, `not a status line: ${statusLine.slice(0, 80)}`);
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const from = headEnd + HEAD_END.length;
  const done = (text: string, length: number): Parsed => ({ response: { status, headers, text }, length });
  if (head || status < 200 || status === 204 || status === 304) return done('', from);
  if (headers.get('transfer-encoding') === 'chunked') return parseChunked(bytes, from, done);
  const declared = headers.get('content-length');
  if (declared === undefined) return isOver ? done(bytes.toString('utf8', from), bytes.length) : undefined;
  const to = from + Number(declared);
  return bytes.length < to ? undefined : done(bytes.toString('utf8', from, to), to);
}

function parseChunked(bytes: Buffer, from: number, done: (text: string, length: number) => Parsed): Parsed | undefined {
  const chunks: Buffer[] = [];
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return done(Buffer.concat(chunks).toString('utf8'), next);
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}

/** Sends the bytes over a new connection and returns the first response. */
export async function sendRaw(url: string, bytes: string | Buffer, head = false): Promise<RawResponse | undefined> {
  const wire = new Wire(url);
  wire.send(bytes);
  return wire.response({ head }).finally(() => wire.end());
}

/** Formats a request. Adds a Host header unless one is given. */
export function request(line: string, headers: readonly (readonly [string, string])[] = [], body = ''): string {
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host');
  const all = hasHost ? headers : [['host', 'gateway.test'] as const, ...headers];
  return `${line}\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

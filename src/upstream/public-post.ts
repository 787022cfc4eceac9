/** One POST over a new connection: sends the body, drops the response, and reports its status. Never follows redirects. */
import type { Clock, HttpHeaders } from '../core/index.ts';
import type { ClientConnection, ConnectionUser } from './connection.ts';
import { requestHead } from './request-head.ts';

export interface PublicPost {
  /** Flat name, value, name, value; names in lower case. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  /** Limit until the head of the response, from the same start as `timeoutMs`. */
  readonly headMs: number;
  /** Limit for resolving, connecting, sending and reading together. */
  readonly timeoutMs: number;
  /** The response is not read any further than this. */
  readonly maxBytes: number;
}

export interface PostResponse {
  readonly ok: true;
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Connects and calls `user`. The connection may go only to checked addresses; the caller of `postOnce` sees to that. */
export type Connect = (user: ConnectionUser) => ClientConnection;

export interface PostRoute {
  readonly url: URL;
  readonly connect: Connect;
  readonly clock: Clock;
}

export async function postOnce(
  { url, connect, clock }: PostRoute,
  post: PublicPost,
  timeout: AbortSignal,
): Promise<PostResponse | 'time' | 'network'> {
  if (timeout.aborted) return 'time';
  const { promise, resolve } = Promise.withResolvers<PostResponse | 'time' | 'network'>();
  timeout.addEventListener('abort', () => resolve('time'), { once: true });
  const exchange = new Posting(url, post, resolve);
  const cancelHead = clock.after(post.headMs, () => {
    if (!exchange.hasHead) resolve('time');
  });
  const connection = connect(exchange);
  exchange.connection = connection;
  try {
    return await promise;
  } finally {
    cancelHead();
    connection.close();
  }
}

const FIXED_HEADERS = ['accept', '*/*', 'accept-encoding', 'identity', 'user-agent', 'dragoman', 'connection', 'close'];

class Posting implements ConnectionUser {
  connection: ClientConnection | undefined;
  readonly #url: URL;
  readonly #post: PublicPost;
  readonly #done: (result: PostResponse | 'time' | 'network') => void;
  #response: PostResponse | undefined;
  #size = 0;

  constructor(url: URL, post: PublicPost, done: (result: PostResponse | 'time' | 'network') => void) {
    this.#url = url;
    this.#post = post;
    this.#done = done;
  }

  get hasHead(): boolean {
    return this.#response !== undefined;
  }

  onOpen(): void {
    const { host, pathname, search } = this.#url;
    const { headers, body } = this.#post;
    const request = { method: 'POST', path: pathname + search, headers: [...headers, ...FIXED_HEADERS] } as const;
    this.connection?.send(this, requestHead(request, host, body), body);
  }

  onHead(status: number, headers: HttpHeaders): void {
    this.#response = { ok: true, status, retryAfter: headers['retry-after'] };
  }

  /** The status counts, not the body: a body above the limit is cut off. */
  onData(chunk: Buffer): boolean {
    this.#size += chunk.length;
    if (this.#size > this.#post.maxBytes) this.onEnd();
    return true;
  }

  onEnd(): void {
    if (this.#response) this.#done(this.#response);
  }

  onError(error: Error): void {
    const isTime = 'code' in error && (error.code === 'CONNECT_TIME' || error.code === 'ETIMEDOUT');
    this.#done(isTime ? 'time' : 'network');
  }
}

/** One POST over a new connection: sends the body, drops the response, and reports its status. Never follows redirects. */
import type { Clock } from '../../core/index.ts';
import type { Exchange, HttpHeaders, HttpRequest, ResponseListener, TransportError } from '../http/index.ts';

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

export interface PostRoute {
  /** Sends the request over a connection that may go only to checked addresses. */
  readonly send: SendOnce;
  readonly clock: Clock;
}

/** Sends a request over a connection of its own. */
export type SendOnce = (
  request: Pick<HttpRequest, 'method' | 'headers' | 'body'>,
  listener: ResponseListener,
) => Exchange;

export async function postOnce(
  { send, clock }: PostRoute,
  post: PublicPost,
  timeout: AbortSignal,
): Promise<PostResponse | 'time' | 'network'> {
  if (timeout.aborted) return 'time';
  const { promise, resolve } = Promise.withResolvers<PostResponse | 'time' | 'network'>();
  timeout.addEventListener('abort', () => resolve('time'), { once: true });
  const posting = new Posting(post, resolve);
  const cancelHead = clock.after(post.headMs, () => {
    if (!posting.hasHead) resolve('time');
  });
  const { headers, body } = post;
  const exchange = send({ method: 'POST', headers: [...headers, ...FIXED_HEADERS], body }, posting);
  try {
    return await promise;
  } finally {
    cancelHead();
    exchange.abort();
  }
}

const FIXED_HEADERS = ['accept', '*/*', 'accept-encoding', 'identity', 'user-agent', 'dragoman', 'connection', 'close'];

class Posting implements ResponseListener {
  readonly #post: PublicPost;
  readonly #done: (result: PostResponse | 'time' | 'network') => void;
  #response: PostResponse | undefined;
  #size = 0;

  constructor(post: PublicPost, done: (result: PostResponse | 'time' | 'network') => void) {
    this.#post = post;
    this.#done = done;
  }

  get hasHead(): boolean {
    return this.#response !== undefined;
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

  onError({ kind, code }: TransportError): void {
    this.#done(kind === 'timeout' || isTimeCode(code) ? 'time' : 'network');
  }
}

export const isTimeCode = (code: string): boolean => code === 'CONNECT_TIME' || code === 'ETIMEDOUT';

/**
 * Requests to URLs from clients and providers, protected against SSRF by `PublicGuard`.
 * Never follows redirects, sends cookies or credentials, uses a proxy, or reuses a connection. Reports failures as values whose
 * messages reveal nothing about the internal network.
 */
import type { Clock, HttpHeaders } from '../core/index.ts';
import type { ClientConnection, ConnectionUser } from './connection.ts';
import { claimedMime, detectMime, isUnknown } from './mime-sniff.ts';
import { type OpenSocket, openTcpOrTls, targetOf } from './open-socket.ts';
import { type ConnectionRoute, connectTo } from './pinned-connection.ts';
import { type AddressRejection, PublicGuard, type ResolveHost } from './public-guard.ts';
import { type Connect, type PostResponse, type PublicPost, postOnce } from './public-post.ts';
import { requestHead } from './request-head.ts';

export interface PublicFetcherOptions {
  /** Origins (EGRESS_ALLOW) that need not be public. All other limits apply to them too. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  readonly resolve?: ResolveHost;
  readonly resolveMs?: number;
  readonly connectMs?: number;
  readonly openSocket?: OpenSocket;
}

export interface PublicRequest {
  readonly maxBytes: number;
  /** Limit for resolving, connecting and reading together. */
  readonly timeoutMs: number;
  /** Checks the content-type header, when there is one, and the type detected from the bytes. */
  readonly accept?: (contentType: string) => boolean;
  /** Called before bytes are kept; false ends the download. For limits that several downloads share. */
  readonly admit?: (bytes: number) => boolean;
}

export interface PublicFailure {
  readonly ok: false;
  readonly reason: AddressRejection['reason'] | 'status' | 'size' | 'type' | 'network';
  readonly message: string;
}

export type PostResult = PostResponse | PublicFailure;
export type PublicResult = { readonly ok: true; readonly mime: string; readonly bytes: Buffer } | PublicFailure;

const CONNECT_MS = 5_000;

export class PublicFetcher {
  readonly #options: PublicFetcherOptions & Required<Pick<PublicFetcherOptions, 'connectMs' | 'openSocket'>>;
  readonly #guard: PublicGuard;

  constructor(options: PublicFetcherOptions) {
    this.#options = { connectMs: CONNECT_MS, openSocket: openTcpOrTls, ...options };
    this.#guard = new PublicGuard(options);
  }

  /** Never rejects. */
  fetch(address: string, request: PublicRequest): Promise<PublicResult> {
    return this.#guarded(address, request.timeoutMs, (url, route, timeout) => fetchOnce(url, route, request, timeout));
  }

  /** Sends a POST by the same rules. Any status is a result; never rejects. */
  post(address: string, request: PublicPost): Promise<PostResult> {
    const { clock } = this.#options;
    const begun = clock.now();
    return this.#guarded(address, request.timeoutMs, async (url, route, timeout) => {
      const connect: Connect = (user) => connectTo(targetOf(url), route, user);
      const headMs = request.headMs - (clock.now() - begun);
      const result = await postOnce({ url, connect, clock }, { ...request, headMs }, timeout);
      if (typeof result === 'object') return result;
      return result === 'time' ? TOO_LONG : UNREADABLE;
    });
  }

  /** Checks the address, and calls `exchange` with a route to its checked hosts. */
  async #guarded<T>(
    address: string,
    timeoutMs: number,
    exchange: (url: URL, route: ConnectionRoute, timeout: AbortSignal) => Promise<T>,
  ): Promise<T | PublicFailure> {
    const { allow, clock, connectMs, openSocket } = this.#options;
    const stop = new AbortController();
    const cancel = clock.after(timeoutMs, () => stop.abort());
    try {
      const checked = await this.#guard.check(address, { allow }, stop);
      if ('reason' in checked) return { ok: false, ...checked };
      const { url, addresses } = checked;
      return await exchange(url, { addresses, connectMs: Math.min(connectMs, timeoutMs), openSocket }, stop.signal);
    } finally {
      cancel();
    }
  }
}

async function fetchOnce(
  url: URL,
  route: ConnectionRoute,
  request: PublicRequest,
  timeout: AbortSignal,
): Promise<PublicResult> {
  if (timeout.aborted) return TOO_LONG;
  const { promise, resolve } = Promise.withResolvers<PublicResult>();
  timeout.addEventListener('abort', () => resolve(TOO_LONG), { once: true });
  const download = new Download(url, request, resolve);
  const connection = connectTo(targetOf(url), route, download);
  download.connection = connection;
  try {
    return await promise;
  } finally {
    connection.close();
  }
}

const HEADERS = [
  ['accept', '*/*'],
  ['accept-encoding', 'identity'],
  ['user-agent', 'dragoman'],
  ['connection', 'close'],
].flat();

/** Reads one response and stops at the first failure. */
class Download implements ConnectionUser {
  connection: ClientConnection | undefined;
  readonly #url: URL;
  readonly #request: PublicRequest;
  readonly #done: (result: PublicResult) => void;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #type: string | undefined;

  constructor(url: URL, request: PublicRequest, done: (result: PublicResult) => void) {
    this.#url = url;
    this.#request = request;
    this.#done = done;
  }

  onOpen(): void {
    const { host, pathname, search } = this.#url;
    const head = requestHead({ method: 'GET', path: pathname + search, headers: HEADERS }, host, null);
    this.connection?.send(this, head, null);
  }

  onHead(status: number, headers: HttpHeaders): void {
    this.#type = headers['content-type'];
    const failure = this.#headFailure(status, headers);
    if (failure) this.#abort(failure);
  }

  onData(chunk: Buffer): boolean {
    this.#size += chunk.length;
    if (this.#size > this.#request.maxBytes) this.#abort(this.#tooLarge());
    else if (this.#request.admit?.(chunk.length) === false) this.#abort(NOT_ADMITTED);
    else this.#chunks.push(chunk);
    return true;
  }

  onEnd(): void {
    const bytes = Buffer.concat(this.#chunks);
    const mime = detectMime(bytes, this.#type);
    this.#done(this.#accepts(mime) ? { ok: true, mime, bytes } : WRONG_TYPE);
  }

  onError(error: Error): void {
    const isTime = 'code' in error && (error.code === 'CONNECT_TIME' || error.code === 'ETIMEDOUT');
    this.#done(isTime ? TOO_LONG : UNREADABLE);
  }

  #headFailure(status: number, headers: HttpHeaders): PublicFailure | undefined {
    if (status !== 200) return failure('status', `The address returned status ${status} instead of 200.`);
    if (Number(headers['content-length'] ?? 0) > this.#request.maxBytes) return this.#tooLarge();
    if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) return WRONG_TYPE;
    const claimed = claimedMime(this.#type);
    return isUnknown(claimed) || this.#accepts(claimed) ? undefined : WRONG_TYPE;
  }

  /** Fails before the end of the response. */
  #abort(failure: PublicFailure): void {
    this.#done(failure);
    this.connection?.close();
  }

  #accepts(mime: string): boolean {
    return this.#request.accept?.(mime) ?? true;
  }

  #tooLarge(): PublicFailure {
    return failure('size', `The file at the address is larger than ${this.#request.maxBytes} bytes.`);
  }
}

const failure = (reason: PublicFailure['reason'], message: string): PublicFailure => ({
  ok: false,
  reason,
  message: message,
});
const NOT_ADMITTED = failure('size', 'The files at the addresses are too large together.');
const TOO_LONG = failure('time', 'The address took too long to respond.');
const UNREADABLE = failure('network', 'The address could not be read.');
const WRONG_TYPE = failure('type', 'The file at the address has an unsupported type.');

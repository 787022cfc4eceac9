/**
 * Requests to URLs from clients and providers, protected against SSRF by `PublicGuard`.
 * Never follows redirects, sends cookies or credentials, uses a proxy, or reuses a connection. Reports failures as values whose
 * messages reveal nothing about the internal network.
 */
import type { Clock } from '../../core/index.ts';
import * as http from '../http/index.ts';
import { claimedMime, detectMime, isUnknown } from './mime-sniff.ts';
import { type AddressRejection, PublicGuard, type ResolveHost } from './public-guard.ts';
import { isTimeCode, type PostResponse, type PublicPost, postOnce, type SendOnce } from './public-post.ts';

export interface PublicFetcherOptions {
  /** Origins (EGRESS_ALLOW) that need not be public. All other limits apply to them too. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  readonly resolve?: ResolveHost;
  readonly resolveMs?: number;
  readonly connectMs?: number;
  readonly openSocket?: http.OpenSocket;
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
  readonly #options: PublicFetcherOptions;
  readonly #guard: PublicGuard;
  readonly #http: http.HttpClient;

  constructor(options: PublicFetcherOptions) {
    this.#options = options;
    this.#guard = new PublicGuard(options);
    this.#http = http.createHttpClient(options);
  }

  /** Never rejects. */
  fetch(address: string, request: PublicRequest): Promise<PublicResult> {
    return this.#guarded(address, request.timeoutMs, (send, timeout) => fetchOnce(send, request, timeout));
  }

  /** Sends a POST by the same rules. Any status is a result; never rejects. */
  post(address: string, request: PublicPost): Promise<PostResult> {
    const { clock } = this.#options;
    const begun = clock.elapsed();
    return this.#guarded(address, request.timeoutMs, async (send, timeout) => {
      const headMs = request.headMs - (clock.elapsed() - begun);
      const result = await postOnce({ send, clock }, { ...request, headMs }, timeout);
      if (typeof result === 'object') return result;
      return result === 'time' ? TOO_LONG : UNREADABLE;
    });
  }

  /** Checks the address, and calls `exchange` with a way to its checked hosts. */
  async #guarded<T>(
    address: string,
    timeoutMs: number,
    exchange: (send: SendOnce, timeout: AbortSignal) => Promise<T>,
  ): Promise<T | PublicFailure> {
    const { allow, clock } = this.#options;
    const stop = new AbortController();
    const cancel = clock.after(timeoutMs, () => stop.abort());
    try {
      const checked = await this.#guard.check(address, { allow }, stop);
      if ('reason' in checked) return { ok: false, ...checked };
      return await exchange(this.#sendTo(checked.url, checked.addresses, timeoutMs), stop.signal);
    } finally {
      cancel();
    }
  }

  /** The caller of the exchange sets the time limit; only connecting has a shorter one. */
  #sendTo({ origin, pathname, search }: URL, addresses: readonly string[] | undefined, timeoutMs: number): SendOnce {
    const connect = Math.min(this.#options.connectMs ?? CONNECT_MS, timeoutMs);
    const timeouts = { connect, firstByte: timeoutMs, idle: timeoutMs, total: timeoutMs };
    const fixed = {
      origin,
      path: pathname + search,
      timeouts,
      addresses,
      connection: 'single',
      encoding: 'keep',
    } as const;
    return (request, listener) => this.#http.send({ ...request, ...fixed }, listener);
  }
}

async function fetchOnce(send: SendOnce, request: PublicRequest, timeout: AbortSignal): Promise<PublicResult> {
  if (timeout.aborted) return TOO_LONG;
  const { promise, resolve } = Promise.withResolvers<PublicResult>();
  timeout.addEventListener('abort', () => resolve(TOO_LONG), { once: true });
  const download = new Download(request, resolve);
  const exchange = send({ method: 'GET', headers: HEADERS, body: null }, download);
  download.exchange = exchange;
  try {
    return await promise;
  } finally {
    exchange.abort();
  }
}

const HEADERS = [
  ['accept', '*/*'],
  ['accept-encoding', 'identity'],
  ['user-agent', 'dragoman'],
  ['connection', 'close'],
].flat();

/** Reads one response and stops at the first failure. */
class Download implements http.ResponseListener {
  exchange: http.Exchange | undefined;
  readonly #request: PublicRequest;
  readonly #done: (result: PublicResult) => void;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #type: string | undefined;

  constructor(request: PublicRequest, done: (result: PublicResult) => void) {
    this.#request = request;
    this.#done = done;
  }

  onHead(status: number, headers: http.HttpHeaders): void {
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

  onError({ kind, code }: http.TransportError): void {
    this.#done(kind === 'timeout' || isTimeCode(code) ? TOO_LONG : UNREADABLE);
  }

  #headFailure(status: number, headers: http.HttpHeaders): PublicFailure | undefined {
    if (status !== 200) return failure('status', `The address returned status ${status} instead of 200.`);
    if (Number(headers['content-length'] ?? 0) > this.#request.maxBytes) return this.#tooLarge();
    if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) return WRONG_TYPE;
    const claimed = claimedMime(this.#type);
    return isUnknown(claimed) || this.#accepts(claimed) ? undefined : WRONG_TYPE;
  }

  /** Fails before the end of the response. */
  #abort(failure: PublicFailure): void {
    this.#done(failure);
    this.exchange?.abort();
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

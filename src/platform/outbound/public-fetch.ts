/**
 * Requests to URLs from clients and providers, protected against SSRF by `PublicGuard`.
 * Never follows redirects, sends cookies or credentials, uses a proxy, or reuses a connection.
 * Reports failures as values whose messages reveal nothing about the internal network.
 */
import type { Clock } from '../../core/index.ts';
import * as http from '../http/index.ts';
import { claimedMime, detectMime, isUnknown } from './mime-sniff.ts';
import { type AddressRejection, PublicGuard, type ResolveHost } from './public-guard.ts';

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

export interface PublicPost {
  /** Flat name, value, name, value; names in lower case. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  /** Limit until the head of the response, from the same start as `timeoutMs`. */
  readonly headMs: number;
  /** Limit for resolving, connecting, sending and reading together. */
  readonly timeoutMs: number;
  /** The status counts, not the body: a longer body is cut off. */
  readonly maxBytes: number;
}

interface PostResponse {
  readonly ok: true;
  readonly status: number;
  readonly retryAfter: string | undefined;
}

export type PostResult = PostResponse | PublicFailure;
export type PublicResult = { readonly ok: true; readonly mime: string; readonly bytes: Buffer } | PublicFailure;

const CONNECT_MS = 5_000;
const HEADERS = ['accept', '*/*', 'accept-encoding', 'identity', 'user-agent', 'dragoman', 'connection', 'close'];

/** What is sent, and how long it may take. */
interface Sending extends Pick<http.HttpRequest, 'method' | 'headers' | 'body'> {
  readonly headMs: number;
  readonly timeoutMs: number;
}

/** Reads one response. Nothing more is called after `done`. */
type Reader<T> = (done: (result: T | PublicFailure) => void) => Omit<http.ResponseListener, 'onError'>;

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
    const { timeoutMs } = request;
    const sending = { method: 'GET', headers: [], body: null, headMs: timeoutMs, timeoutMs } as const;
    return this.#send(address, sending, downloadReader(request));
  }

  /** Sends a POST by the same rules. Any status is a result; never rejects. */
  post(address: string, request: PublicPost): Promise<PostResult> {
    return this.#send(address, { method: 'POST', ...request }, postReader(request));
  }

  /**
   * Checks the address, and connects only to its checked hosts.
   * Only connecting has a shorter time limit than the whole.
   */
  async #send<T>(address: string, sending: Sending, readerOf: Reader<T>): Promise<T | PublicFailure> {
    const { allow, clock, connectMs = CONNECT_MS } = this.#options;
    const { method, headers, body, headMs, timeoutMs } = sending;
    const { promise, resolve } = Promise.withResolvers<T | PublicFailure>();
    const stop = new AbortController();
    let exchange: http.Exchange | undefined;
    const done = (result: T | PublicFailure): void => {
      resolve(result);
      exchange?.abort();
    };
    const giveUp = (): void => {
      stop.abort();
      done(TOO_LONG);
    };
    const cancel = clock.after(timeoutMs, giveUp);
    const cancelHead = clock.after(headMs, giveUp);
    try {
      const checked = await this.#guard.check(address, { allow }, stop);
      if ('reason' in checked) return { ok: false, ...checked };
      if (stop.signal.aborted) return TOO_LONG;
      const { origin, pathname, search } = checked.url;
      const request = {
        method,
        headers: [...headers, ...HEADERS],
        body,
        origin,
        path: pathname + search,
        addresses: checked.addresses,
        timeouts: { connect: Math.min(connectMs, timeoutMs), firstByte: timeoutMs, idle: timeoutMs, total: timeoutMs },
        connection: 'single',
        encoding: 'keep',
      } as const;
      const reader = readerOf(done);
      exchange = this.#http.send(request, {
        ...reader,
        onHead(status, received) {
          cancelHead();
          reader.onHead(status, received);
        },
        onError: ({ kind, code }) => done(kind === 'timeout' || TIME_CODES.includes(code) ? TOO_LONG : UNREADABLE),
      });
      return await promise;
    } finally {
      cancel();
      cancelHead();
    }
  }
}

const TIME_CODES: readonly string[] = ['CONNECT_TIME', 'ETIMEDOUT'];

/** Stops at the first failure. */
function downloadReader({ maxBytes, accept = () => true, admit = () => true }: PublicRequest): Reader<PublicResult> {
  const tooLarge = failure('size', `The file at the address is larger than ${maxBytes} bytes.`);
  const chunks: Buffer[] = [];
  let size = 0;
  let type: string | undefined;
  return (done) => ({
    onHead(status, headers) {
      type = headers['content-type'];
      const claimed = claimedMime(type);
      const isPlain = /^(identity)?$/i.test(headers['content-encoding'] ?? '');
      if (status !== 200) done(failure('status', `The address returned status ${status} instead of 200.`));
      else if (Number(headers['content-length'] ?? 0) > maxBytes) done(tooLarge);
      else if (!isPlain || !(isUnknown(claimed) || accept(claimed))) done(WRONG_TYPE);
    },
    onData(chunk) {
      size += chunk.length;
      if (size > maxBytes) done(tooLarge);
      else if (!admit(chunk.length)) done(NOT_ADMITTED);
      else chunks.push(chunk);
      return true;
    },
    onEnd() {
      const bytes = Buffer.concat(chunks);
      const mime = detectMime(bytes, type);
      done(accept(mime) ? { ok: true, mime, bytes } : WRONG_TYPE);
    },
  });
}

function postReader({ maxBytes }: PublicPost): Reader<PostResult> {
  let response: PostResponse = { ok: true, status: 0, retryAfter: undefined };
  let size = 0;
  return (done) => ({
    onHead(status, headers) {
      response = { ok: true, status, retryAfter: headers['retry-after'] };
    },
    onData(chunk) {
      size += chunk.length;
      if (size > maxBytes) done(response);
      return true;
    },
    onEnd: () => done(response),
  });
}

const failure = (reason: PublicFailure['reason'], message: string): PublicFailure => ({ ok: false, reason, message });
const NOT_ADMITTED = failure('size', 'The files at the addresses are too large together.');
const TOO_LONG = failure('time', 'The address took too long to respond.');
const UNREADABLE = failure('network', 'The address could not be read.');
const WRONG_TYPE = failure('type', 'The file at the address has an unsupported type.');

/**
 * Requests to URLs from clients and providers, protected against SSRF. Resolves the name once, requires every address to be public
 * unicast, and connects only to a checked address, so that DNS rebinding has no effect.
 * Never follows redirects, sends cookies or credentials, uses a proxy, or reuses a connection. Reports failures as values whose
 * messages reveal nothing about the internal network.
 */
import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { type Clock, type HttpHeaders, isPublicAddress, isSameAddress, publicUrl } from '../core/index.ts';
import { ClientConnection, type ConnectionUser } from './connection.ts';
import { claimedMime, detectMime, isUnknown } from './mime-sniff.ts';
import { type OpenSocket, openTcpOrTls, targetOf } from './open-socket.ts';
import { type Connect, type PostResponse, type PublicPost, postOnce } from './public-post.ts';
import { requestHead } from './request-head.ts';

export interface PublicFetcherOptions {
  /** Origins (EGRESS_ALLOW) that need not be public. All other limits apply to them too. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  /** Returns the A and AAAA addresses of a host. May stop when `signal` aborts. */
  readonly resolve?: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
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
}

export interface PublicFailure {
  readonly ok: false;
  readonly reason: 'address' | 'resolve' | 'status' | 'size' | 'time' | 'type' | 'network';
  readonly message: string;
}

export type PostResult = PostResponse | PublicFailure;
export type PublicResult = { readonly ok: true; readonly mime: string; readonly bytes: Buffer } | PublicFailure;

const RESOLVE_MS = 3_000;
const CONNECT_MS = 5_000;

export class PublicFetcher {
  readonly #options: Required<PublicFetcherOptions>;

  constructor(options: PublicFetcherOptions) {
    this.#options = {
      resolve: createResolver(),
      resolveMs: RESOLVE_MS,
      connectMs: CONNECT_MS,
      openSocket: openTcpOrTls,
      ...options,
    };
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
      const connect: Connect = (user) => connectTo(url, route, user);
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
    exchange: (url: URL, route: FetchRoute, timeout: AbortSignal) => Promise<T>,
  ): Promise<T | PublicFailure> {
    const { allow, clock, connectMs, openSocket } = this.#options;
    const url = publicUrl(address, allow);
    if (!(url instanceof URL)) return failure('address', url.message);
    const stop = new AbortController();
    const cancel = clock.after(timeoutMs, () => stop.abort());
    try {
      const addresses = allow.includes(url.origin) ? undefined : await this.#resolvePublic(url.hostname, stop);
      if (addresses && 'ok' in addresses) return addresses;
      return await exchange(url, { addresses, connectMs: Math.min(connectMs, timeoutMs), openSocket }, stop.signal);
    } finally {
      cancel();
    }
  }

  /** Rejects the name when one of its addresses is not public. The client gets the same message as for an unknown name. */
  async #resolvePublic(host: string, stop: AbortController): Promise<readonly string[] | PublicFailure> {
    const { clock, resolve, resolveMs } = this.#options;
    const cancel = clock.after(resolveMs, () => stop.abort());
    try {
      // A copy, so that the checked addresses are the ones used.
      const addresses = [...(await orAbort(resolve(host, stop.signal), stop.signal))];
      if (addresses.length === 0) return failure('resolve', NOT_PUBLIC);
      return addresses.every(isPublicAddress) ? addresses : failure('address', NOT_PUBLIC);
    } catch {
      return stop.signal.aborted ? TOO_LONG : failure('resolve', NOT_PUBLIC);
    } finally {
      cancel();
    }
  }
}

const NOT_PUBLIC = 'The host of the address has no public address.';

/**
 * Uses c-ares, not getaddrinfo: it ignores the hosts file and search lists, and a slow name server does not block libuv's threads.
 * Omits an address family that fails; fewer addresses are safe.
 */
export const createResolver =
  (servers?: readonly string[]): Required<PublicFetcherOptions>['resolve'] =>
  async (host, signal) => {
    const resolver = new Resolver({ timeout: 900, tries: 2 });
    if (servers) resolver.setServers(servers);
    signal.addEventListener('abort', () => resolver.cancel(), { once: true });
    const families = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
  };

/** How to connect: only to one of `addresses`, or to any address when undefined. */
export interface FetchRoute {
  readonly addresses: readonly string[] | undefined;
  readonly connectMs: number;
  readonly openSocket: OpenSocket;
}

/**
 * Opens a connection for a single response, without TLS session reuse. Node does not call the lookup hook for a host that is an
 * IP address. `publicUrl` rejects those, and `accepts` would catch one.
 */
export function connectTo(
  url: URL,
  { addresses, connectMs, openSocket }: FetchRoute,
  user: ConnectionUser,
): ClientConnection {
  const target = targetOf(url);
  const socket = openSocket({ ...target, ...(addresses && { lookup: fixedLookup(addresses) }) });
  const accepts = (reached: string): boolean =>
    !addresses || addresses.some((address) => isSameAddress(address, reached));
  return new ClientConnection({ socket, isTls: target.isTls, connectMs, accepts }, user);
}

/** A lookup function for net.connect that returns only the checked addresses. */
function fixedLookup(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all, family }, callback) => {
    const fitting = family === 4 || family === 6 ? entries.filter((entry) => entry.family === family) : entries;
    const first = fitting[0];
    if (!first) callback(Object.assign(new Error('no address of this family'), { code: 'ENOTFOUND' }), '');
    else if (all) callback(null, fitting);
    else callback(null, first.address, first.family);
  };
}

async function fetchOnce(
  url: URL,
  route: FetchRoute,
  request: PublicRequest,
  timeout: AbortSignal,
): Promise<PublicResult> {
  if (timeout.aborted) return TOO_LONG;
  const { promise, resolve } = Promise.withResolvers<PublicResult>();
  timeout.addEventListener('abort', () => resolve(TOO_LONG), { once: true });
  const download = new Download(url, request, resolve);
  const connection = connectTo(url, route, download);
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
    if (this.#size <= this.#request.maxBytes) this.#chunks.push(chunk);
    else this.#abort(this.#tooLarge());
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
const TOO_LONG = failure('time', 'The address took too long to respond.');
const UNREADABLE = failure('network', 'The address could not be read.');
const WRONG_TYPE = failure('type', 'The file at the address has an unsupported type.');

/** Resolves like `work`, or rejects when the signal aborts first. */
async function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * The one way to fetch an address that a caller or an upstream gave. The name is resolved once, every answer must be public
 * unicast, and the connection goes to one of the answers that were looked at, so that nothing can change in between.
 * No redirect, no cookie, no credential, no proxy, no connection kept: every fetch stands alone. A failure is a value, and
 * its sentence says nothing about the network we are in.
 */
import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { type Clock, type HttpHeaders, isPublicAddress, isSameAddress, publicUrl } from '../core/index.ts';
import { ClientConnection, type ConnectionUser } from './connection.ts';
import { claimedMime, isUnknown, mimeOf } from './mime-sniff.ts';
import { type OpenSocket, openTcpOrTls, targetOf } from './open-socket.ts';
import { requestHead } from './request-head.ts';

export interface PublicFetcherOptions {
  /** Origins (EGRESS_ALLOW) that need not be public; all limits hold for them, too. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  /** The addresses of a host, A and AAAA together; may give up when `signal` aborts. */
  readonly resolve?: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly resolveMs?: number;
  readonly connectMs?: number;
  /** Opens the socket. */
  readonly dial?: OpenSocket;
}

export interface PublicRequest {
  readonly maxBytes: number;
  /** For all of it: resolving, connecting, reading. */
  readonly timeoutMs: number;
  /** Asked about the content-type that the server claims, when it claims one, and about what the bytes say. */
  readonly accept?: (contentType: string) => boolean;
}

export interface PublicFailure {
  readonly ok: false;
  readonly reason: 'address' | 'resolve' | 'status' | 'size' | 'time' | 'type' | 'network';
  readonly sentence: string;
}

export type PublicResult = { readonly ok: true; readonly mime: string; readonly bytes: Buffer } | PublicFailure;

const RESOLVE_MS = 3_000;
const CONNECT_MS = 5_000;

export class PublicFetcher {
  readonly #options: Required<PublicFetcherOptions>;

  constructor(options: PublicFetcherOptions) {
    this.#options = {
      resolve: resolverOf(),
      resolveMs: RESOLVE_MS,
      connectMs: CONNECT_MS,
      dial: openTcpOrTls,
      ...options,
    };
  }

  /** Never rejects. */
  async fetch(address: string, request: PublicRequest): Promise<PublicResult> {
    const { allow, clock, connectMs, dial: dialling } = this.#options;
    const url = publicUrl(address, allow);
    if (!(url instanceof URL)) return no('address', url.sentence);
    const stop = new AbortController();
    const cancel = clock.after(request.timeoutMs, () => stop.abort());
    try {
      const vetted = allow.includes(url.origin) ? undefined : await this.#vet(url.hostname, stop);
      if (vetted && 'ok' in vetted) return vetted;
      const way: Route = { addresses: vetted, connectMs: Math.min(connectMs, request.timeoutMs), dial: dialling };
      return await get(url, way, request, stop.signal);
    } finally {
      cancel();
    }
  }

  /** One answer that is not public makes all of them suspect. The caller cannot tell such a name from one that does not exist. */
  async #vet(host: string, stop: AbortController): Promise<readonly string[] | PublicFailure> {
    const { clock, resolve, resolveMs } = this.#options;
    const cancel = clock.after(resolveMs, () => stop.abort());
    try {
      // A copy: what is looked at is what is used.
      const answers = [...(await orAbort(resolve(host, stop.signal), stop.signal))];
      if (answers.length === 0) return no('resolve', NOT_PUBLIC);
      return answers.every(isPublicAddress) ? answers : no('address', NOT_PUBLIC);
    } catch {
      return stop.signal.aborted ? TOO_LONG : no('resolve', NOT_PUBLIC);
    } finally {
      cancel();
    }
  }
}

const NOT_PUBLIC = 'The host of the address has no public address.';

/**
 * c-ares rather than getaddrinfo: no hosts file, no search list, and a slow name server holds none of the few threads that
 * everything else resolves with. A family that fails is left out: fewer answers are no danger, other answers are.
 */
export const resolverOf =
  (servers?: readonly string[]): Required<PublicFetcherOptions>['resolve'] =>
  async (host, signal) => {
    const resolver = new Resolver({ timeout: 900, tries: 2 });
    if (servers) resolver.setServers(servers);
    signal.addEventListener('abort', () => resolver.cancel(), { once: true });
    const families = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
  };

/** How to get there: by one of `addresses` only, or by any when there are none given. */
export interface Route {
  readonly addresses: readonly string[] | undefined;
  readonly connectMs: number;
  readonly dial: OpenSocket;
}

/**
 * A connection for one answer, without a session of an earlier one. The lookup hook is not asked about a host that is an IP address;
 * `publicUrl` lets none through, and the check of the address that was reached would find it.
 */
export function connectTo(
  url: URL,
  { addresses, connectMs, dial: dialling }: Route,
  user: ConnectionUser,
): ClientConnection {
  const target = targetOf(url);
  const socket = dialling({ ...target, ...(addresses && { lookup: lookupOf(addresses) }) });
  const accepts = (reached: string): boolean =>
    !addresses || addresses.some((address) => isSameAddress(address, reached));
  return new ClientConnection({ socket, isTls: target.isTls, connectMs, accepts }, user);
}

/** Answers net.connect with the addresses that were vetted, whatever it asks for. */
function lookupOf(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all, family }, callback) => {
    const fitting = family === 4 || family === 6 ? answers.filter((answer) => answer.family === family) : answers;
    const first = fitting[0];
    if (!first) callback(Object.assign(new Error('no address of this family'), { code: 'ENOTFOUND' }), '');
    else if (all) callback(null, fitting);
    else callback(null, first.address, first.family);
  };
}

async function get(url: URL, way: Route, request: PublicRequest, overTime: AbortSignal): Promise<PublicResult> {
  if (overTime.aborted) return TOO_LONG;
  const { promise, resolve } = Promise.withResolvers<PublicResult>();
  overTime.addEventListener('abort', () => resolve(TOO_LONG), { once: true });
  const download = new Download(url, request, resolve);
  const connection = connectTo(url, way, download);
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

/** Reads one answer; the first thing wrong with it ends it. */
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
    const failure = this.#faultOf(status, headers);
    if (failure) this.#give(failure);
  }

  onData(chunk: Buffer): boolean {
    this.#size += chunk.length;
    if (this.#size <= this.#request.maxBytes) this.#chunks.push(chunk);
    else this.#give(this.#tooLarge());
    return true;
  }

  onEnd(): void {
    const bytes = Buffer.concat(this.#chunks);
    const mime = mimeOf(bytes, this.#type);
    this.#done(this.#accepts(mime) ? { ok: true, mime, bytes } : WRONG_TYPE);
  }

  onFault(error: Error): void {
    const isTime = 'code' in error && (error.code === 'CONNECT_TIME' || error.code === 'ETIMEDOUT');
    this.#done(isTime ? TOO_LONG : no('network', 'The address could not be read.'));
  }

  #faultOf(status: number, headers: HttpHeaders): PublicFailure | undefined {
    if (status !== 200) return no('status', `The address answered with status ${status} instead of 200.`);
    if (Number(headers['content-length'] ?? 0) > this.#request.maxBytes) return this.#tooLarge();
    if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) return WRONG_TYPE;
    const claimed = claimedMime(this.#type);
    return isUnknown(claimed) || this.#accepts(claimed) ? undefined : WRONG_TYPE;
  }

  /** Ends it before its end. */
  #give(failure: PublicFailure): void {
    this.#done(failure);
    this.connection?.close();
  }

  #accepts(mime: string): boolean {
    return this.#request.accept?.(mime) ?? true;
  }

  #tooLarge(): PublicFailure {
    return no('size', `The file at the address is larger than ${this.#request.maxBytes} bytes.`);
  }
}

const no = (reason: PublicFailure['reason'], sentence: string): PublicFailure => ({ ok: false, reason, sentence });
const TOO_LONG = no('time', 'The address took too long to answer.');
const WRONG_TYPE = no('type', 'The file at the address has a type that cannot be used here.');

/** What `work` gives, unless the signal comes first; what comes later is dropped. */
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

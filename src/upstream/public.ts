/**
 * The one way to fetch an address that a caller or an upstream gave. The name is resolved once, every answer must be public
 * unicast, and the connection goes to one of the answers that were looked at, so that nothing can change in between.
 * No redirect, no cookie, no credential, no proxy, no connection kept: every fetch stands alone. A failure is a value, and
 * its sentence says nothing about the network we are in.
 */
import { Resolver } from 'node:dns/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { type Clock, isPublicAddress, isSameAddress, publicUrl } from '../core/index.ts';
import { claimedMime, isUnknown, mimeOf } from './sniff.ts';

export interface PublicFetcherOptions {
  /** Origins (EGRESS_ALLOW) that need not be public; all limits hold for them, too. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  /** The addresses of a host, A and AAAA together; may give up when `signal` aborts. */
  readonly resolve?: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly resolveMs?: number;
  readonly connectMs?: number;
  /** Makes what opens the socket. */
  readonly dial?: typeof buildConnector;
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
      dial: buildConnector,
      ...options,
    };
  }

  /** Never rejects. */
  async fetch(address: string, request: PublicRequest): Promise<PublicResult> {
    const { allow, clock, connectMs, dial } = this.#options;
    const url = publicUrl(address, allow);
    if (!(url instanceof URL)) return no('address', url.sentence);
    const stop = new AbortController();
    const cancel = clock.after(request.timeoutMs, () => stop.abort());
    try {
      const vetted = allow.includes(url.origin) ? undefined : await this.#vet(url.hostname, stop);
      if (vetted && 'ok' in vetted) return vetted;
      return await get(url, connectorTo(vetted, Math.min(connectMs, request.timeoutMs), dial), request, stop.signal);
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

/**
 * Connects to one of `addresses` only, or anywhere when there are none given. The lookup hook is not asked about a host that is
 * an IP address; `publicUrl` lets none through, and the check of the open socket would find it.
 */
export function connectorTo(
  addresses: readonly string[] | undefined,
  connectMs: number,
  dial: typeof buildConnector,
): buildConnector.connector {
  const connect = dial({
    ...(addresses && { lookup: lookupOf(addresses) }),
    timeout: connectMs,
    allowH2: false,
    maxCachedSessions: 0,
    // Said outright, because the environment can turn the default off.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  });
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error) return callback(error, null);
      if (!addresses || addresses.some((address) => isSameAddress(address, socket.remoteAddress ?? '')))
        return callback(null, socket);
      discard(socket);
      callback(new Error('connected to another address'), null);
    });
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

function discard(socket: Socket): void {
  socket.on('error', () => {});
  socket.destroy();
}

async function get(
  url: URL,
  connect: buildConnector.connector,
  request: PublicRequest,
  overTime: AbortSignal,
): Promise<PublicResult> {
  if (overTime.aborted) return TOO_LONG;
  // A client of its own has one connection, made for this fetch and closed after it. The time limit is ours.
  const client = new Client(url.origin, { connect, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
  const { promise, resolve } = Promise.withResolvers<PublicResult>();
  overTime.addEventListener('abort', () => resolve(TOO_LONG), { once: true });
  try {
    client.dispatch(
      {
        method: 'GET',
        path: url.pathname + url.search,
        headers: ['accept', '*/*', 'accept-encoding', 'identity', 'user-agent', 'dragoman'],
        reset: true,
      },
      new Download(request, resolve),
    );
    return await promise;
  } finally {
    await client.destroy();
  }
}

const ENOUGH = new Error('enough');

/** Reads one answer; the first thing wrong with it ends it. */
class Download implements Dispatcher.DispatchHandler {
  readonly #request: PublicRequest;
  readonly #done: (result: PublicResult) => void;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #type: string | undefined;

  constructor(request: PublicRequest, done: (result: PublicResult) => void) {
    this.#request = request;
    this.#done = done;
  }

  onRequestStart(): void {}

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // 100 and 103 announce the real head.
    if (status < 200) return;
    this.#type = one(headers['content-type']);
    const failure = this.#faultOf(status, headers);
    if (failure) this.#give(controller, failure);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size <= this.#request.maxBytes) this.#chunks.push(chunk);
    else this.#give(controller, this.#tooLarge());
  }

  onResponseEnd(): void {
    const bytes = Buffer.concat(this.#chunks);
    const mime = mimeOf(bytes, this.#type);
    this.#done(this.#accepts(mime) ? { ok: true, mime, bytes } : WRONG_TYPE);
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    const isTime = 'code' in error && (error.code === 'UND_ERR_CONNECT_TIMEOUT' || error.code === 'ETIMEDOUT');
    this.#done(isTime ? TOO_LONG : no('network', 'The address could not be read.'));
  }

  #faultOf(status: number, headers: IncomingHttpHeaders): PublicFailure | undefined {
    if (status !== 200) return no('status', `The address answered with status ${status} instead of 200.`);
    if (Number(one(headers['content-length']) ?? 0) > this.#request.maxBytes) return this.#tooLarge();
    if (!/^(identity)?$/i.test(one(headers['content-encoding']) ?? '')) return WRONG_TYPE;
    const claimed = claimedMime(this.#type);
    return isUnknown(claimed) || this.#accepts(claimed) ? undefined : WRONG_TYPE;
  }

  /** Ends it before its end; the error that undici then reports comes too late to count. */
  #give(controller: Dispatcher.DispatchController, failure: PublicFailure): void {
    this.#done(failure);
    controller.abort(ENOUGH);
  }

  #accepts(mime: string): boolean {
    return this.#request.accept?.(mime) ?? true;
  }

  #tooLarge(): PublicFailure {
    return no('size', `The file at the address is larger than ${this.#request.maxBytes} bytes.`);
  }
}

/** A header that came twice is an array, whatever its type says. */
const one = (value: string | string[] | undefined): string | undefined => value && [value].flat().join(', ');

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

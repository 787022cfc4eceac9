/**
 * Results at the provider's object store. Fetched only from the account's own origin,
 * its `result_hosts` and EGRESS_ALLOW, without credentials and without following redirects.
 * An address that is rejected is renewed once. Some families have the results behind the account's credential:
 * it is sent to addresses that the family owns only. Such an address may redirect once, without the credential.
 */
import { type ApiError, fail, matchesGlob, overloaded } from '../../core/index.ts';
import type { PublicGuard } from '../../platform/outbound/index.ts';
import type { UpstreamClient } from '../../providers/upstream/index.ts';
import { RESULT_URL_BYTES, TIMEOUTS } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import { traitsOf } from '../upstream/adapters.ts';
import { cloudUseOf } from '../upstream/exchange.ts';
import { BrokenTransfer, type ByteStream, sliceOf, UpstreamBody, type UpstreamHead } from './byte-stream.ts';
import { type ByteRange, type RangeRequest, rangeHeader, readContentRange, selectRange } from './range.ts';
import type { Renewals } from './renewals.ts';
import { claimedType, detectedType, type Result, UNKNOWN_TYPE, urlsOf } from './result.ts';

/** A file on its way: the whole of it, or the part that was asked for. */
export interface UpstreamFile {
  readonly type: string;
  /** Of the whole file; undefined when the upstream does not say. */
  readonly size: number | undefined;
  /** Undefined: the whole file. */
  readonly range: ByteRange | undefined;
  readonly body: ByteStream;
}

/** The range selects no byte of the file. Its size is unknown when an upstream rejects a range without naming it. */
export const unsatisfiable = (size: number | undefined): ApiError =>
  fail('invalid_request', 'range: no byte of the file is in the requested range.', {
    status: 416,
    param: 'range',
    headers: { 'accept-ranges': 'bytes', ...(size !== undefined && { 'content-range': `bytes */${size}` }) },
  });

export interface SourceServices extends Pick<VideoServices, 'catalog' | 'log' | 'allowedOrigins'> {
  readonly upstream: UpstreamClient;
  readonly guard: PublicGuard;
  readonly renewals: Renewals;
}

/**
 * Statuses of an address that has expired or was used too often. Object stores differ: 403 in most, 400 or 410 in some.
 */
const DEAD: ReadonlySet<number> = new Set([400, 401, 403, 404, 410]);

export interface OpenOptions {
  /** The part to read; the whole file by default. */
  readonly range?: RangeRequest | undefined;
  /** Ends the transfer, also while the response is awaited. */
  readonly signal?: AbortSignal | undefined;
}

export class UpstreamSource {
  readonly #services: SourceServices;

  constructor(services: SourceServices) {
    this.#services = services;
  }

  /**
   * Throws `video_result_expired` when the file is gone,
   * 416 for an unsatisfiable range, and 502, 503 or 504 when it cannot be read now.
   */
  async open(result: Result, options: OpenOptions = {}): Promise<UpstreamFile> {
    const { renewals, log } = this.#services;
    const known = urlsOf(result.task)[result.kind];
    const file = known === undefined ? undefined : await this.#fetch(result, known, options);
    if (file) return file;
    const renewed = (await renewals.renew(result.task))?.[result.kind];
    // The same address would be rejected again.
    const fresh = renewed === undefined || renewed === known ? undefined : await this.#fetch(result, renewed, options);
    if (fresh) return fresh;
    log.info('result.expired', { task: result.task.id });
    throw fail('video_result_expired');
  }

  /** Undefined when the address is dead. */
  async #fetch(result: Result, address: string, { range, signal }: OpenOptions): Promise<UpstreamFile | undefined> {
    const { task } = result;
    const account = this.#services.catalog().account(task.account_id, task.group_id);
    const isOwn = account !== undefined && traitsOf(account).ownsResult(URL.parse(address), account);
    // Results behind the account's credential are fetched at its present address only; a former one is renewed.
    if (account && traitsOf(account).hasOwnResults && !isOwn) return undefined;
    let body = await this.#send(result, address, range);
    const stop = (): void => body.close();
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
    try {
      let head = await body.head;
      const target = isOwn ? redirectIn(head, address) : undefined;
      if (target !== undefined && !signal?.aborted) {
        body.close();
        body = await this.#send(result, target, range);
        head = await body.head;
      }
      if (DEAD.has(head.status)) {
        body.close();
        return undefined;
      }
      return await readFile(head, body, range);
    } catch (error) {
      body.close();
      throw this.#failure(result, error);
    }
  }

  async #send({ task }: Result, address: string, request: RangeRequest | undefined): Promise<UpstreamBody> {
    const { upstream, guard, log, allowedOrigins, catalog } = this.#services;
    const account = catalog().account(task.account_id, task.group_id);
    const own = account && traitsOf(account).ownsResult(URL.parse(address), account) ? account : undefined;
    // The store of a cloud is as much the account's own as its address.
    const accountOrigin = own ? URL.parse(address)?.origin : account && new URL(account.baseUrl).origin;
    const checked = await guard.check(address, {
      allow: accountOrigin ? [accountOrigin, ...allowedOrigins] : allowedOrigins,
      mayReach: (host) => account?.resultHosts.some((pattern) => matchesGlob(pattern, host)) === true,
      maxBytes: RESULT_URL_BYTES,
    });
    if ('reason' in checked) {
      log.error('result.address_refused', { task: task.id, account: task.account_id, reason: checked.reason });
      throw fail('upstream_error', CANNOT_FETCH);
    }
    const { url, addresses } = checked;
    const headers = ['accept', '*/*', 'accept-encoding', 'identity', 'user-agent', 'dragoman'];
    if (own) headers.push(...traitsOf(own).authorize(own));
    if (request) headers.push('range', rangeHeader(request));
    const { origin, pathname, search } = url;
    return new UpstreamBody((listener) =>
      upstream.send(
        {
          method: 'GET',
          origin,
          path: pathname + search,
          headers,
          body: null,
          timeouts: TIMEOUTS.videoResult,
          connection: 'new',
          addresses,
          proxy: url.origin === accountOrigin ? account?.proxy : 'none',
          encoding: 'keep',
          cloud: own && cloudUseOf(own),
        },
        listener,
      ),
    );
  }

  #failure({ task }: Result, error: unknown): unknown {
    if (!(error instanceof BrokenTransfer)) return error;
    if (error.code !== 'CLOSED') this.#services.log.warn('result.upstream_failed', { task: task.id, code: error.code });
    return publicFailure(error);
  }
}

/** Where an address leads to, if it does. */
const redirectIn = ({ status, headers }: UpstreamHead, address: string): string | undefined =>
  status >= 301 && status <= 308 && status !== 304 ? URL.parse(headers.location ?? '', address)?.href : undefined;

const CANNOT_FETCH = 'The result cannot be fetched from the provider.';

const publicFailure = ({ code, isTimeout }: BrokenTransfer): ApiError => {
  if (isTimeout) return fail('upstream_timeout', 'The provider did not send the result in time.');
  if (code === 'HTTP_429' || code === 'HTTP_503') return overloaded(CANNOT_FETCH, 5);
  return fail('upstream_error', CANNOT_FETCH);
};

async function readFile(head: UpstreamHead, body: UpstreamBody, request: RangeRequest | undefined) {
  const { status, headers } = head;
  if (status === 416 && request) throw unsatisfiable(readContentRange(headers['content-range'])?.size);
  if (status !== 200 && !(status === 206 && request)) throw new BrokenTransfer(`HTTP_${status}`);
  const length = lengthIn(head);
  const type = claimedType(headers['content-type']);
  if (type === undefined || !/^(?:identity)?$/i.test(headers['content-encoding'] ?? ''))
    throw new BrokenTransfer('NOT_A_RESULT');
  const part = status === 206 && request ? partIn(head, request, length) : undefined;
  const size = part ? part.size : length;
  const peeked = type === UNKNOWN_TYPE && (part?.range.start ?? 0) === 0 ? await peek(body) : undefined;
  const file = { type: peeked?.type ?? type, body: peeked?.body ?? body };
  if (part) return { ...file, size, range: part.range };
  // The upstream ignores ranges: the part is cut out here.
  const range = request && size !== undefined ? selectRange(request, size) : undefined;
  if (request && size !== undefined && !range) throw unsatisfiable(size);
  if (!range) return { ...file, size, range: undefined };
  return { ...file, size, range, body: sliceOf(file.body, range.start, range.end - range.start + 1) };
}

/**
 * Undefined for a chunked body. A body that only the end of the connection ends is rejected:
 * a cut would look like its end.
 */
function lengthIn({ headers }: UpstreamHead): number | undefined {
  const length = headers['content-length'];
  if (length === undefined && headers['transfer-encoding'] === undefined) throw new BrokenTransfer('NO_LENGTH');
  return length === undefined ? undefined : Number(length);
}

function partIn({ headers }: UpstreamHead, request: RangeRequest, length: number | undefined) {
  const { range, size } = readContentRange(headers['content-range']) ?? {};
  const asked = size === undefined ? undefined : selectRange(request, size);
  const isAsked = range && asked && range.start === asked.start && range.end === asked.end;
  if (!isAsked || size === undefined || (length ?? range.end - range.start + 1) !== range.end - range.start + 1)
    throw new BrokenTransfer('WRONG_RANGE');
  return { range, size };
}

/** Reads the first bytes for their type and puts them back. */
async function peek(body: ByteStream): Promise<{ readonly type: string; readonly body: ByteStream }> {
  let first = await body.next();
  const type = first ? detectedType(first) : UNKNOWN_TYPE;
  return {
    type,
    body: {
      next() {
        const chunk = first;
        first = undefined;
        return chunk ? Promise.resolve(chunk) : body.next();
      },
      close: () => body.close(),
    },
  };
}

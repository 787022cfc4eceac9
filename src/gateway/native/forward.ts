/**
 * The native path: the group speaks the caller's dialect, so bytes pass both ways as they are. Only credentials, hop-by-hop
 * headers and the model's alias change. Beside the stream a tap reads usage and notices an end that is none.
 */
import type { Account, Catalog, Model } from '../../catalog/index.ts';
import { type ApiError, fail } from '../../core/index.ts';
import { codecOf, type Fault, type UpstreamFailure } from '../../dialects/index.ts';
import type { Affinity } from '../../pool/index.ts';
import {
  type Dialect,
  type Feature,
  TEXT_ENDPOINTS,
  type TextOperation,
  TIMEOUTS,
  type TimeoutsName,
} from '../../rules/index.ts';
import { locateUpstream, type UpstreamRequest } from '../../upstream/index.ts';
import { type Call, expectJson, readBody } from '../../web/index.ts';
import { affinityFromHeaders } from '../affinity.ts';
import type { Admission, Billing, ImageCount } from '../billing/admission.ts';
import type { Caller } from '../caller.ts';
import type { ClientStreams } from '../client-stream.ts';
import {
  type FailoverServices,
  type ResponseHead,
  runWithFailover,
  type UpstreamCall,
  type UpstreamControl,
} from '../failover.ts';
import { resolveModel } from '../models/resolve.ts';
import { redact } from '../redact.ts';
import { previousNotFound, type ResponseStore, responseNotFound } from '../stored/store.ts';
import { requestHeaders, responseHeaders } from './headers.ts';
import { readMultipart } from './multipart.ts';
import { checkNativeBody, IMAGE_TOKENS, readNative, upstreamName } from './request.ts';
import { NativeResponse, type NativeResponseTask } from './response.ts';
import { stripEnvelopes } from './strip-envelopes.ts';

export interface NativeServices extends FailoverServices {
  readonly catalog: () => Catalog;
  readonly outlets: ClientStreams;
  readonly store: ResponseStore;
  readonly bodyLimit: (operation: TextOperation) => number;
  readonly meter: Billing;
}

export interface NativeCell {
  readonly dialect: Dialect;
  readonly feature?: Feature;
}

/** What of the request differs from account to account. */
interface NativeRequest {
  readonly model?: Model;
  readonly bytes: number;
  readonly maxOutput?: number | undefined;
  readonly images?: ImageCount | undefined;
  readonly isStream: boolean;
  /** Only this account holds what the request refers to. */
  readonly accountId?: string | undefined;
  pathFor(account: Account): string;
  bodyFor(account: Account): Buffer | null;
}

/** Waits for nothing that is there already: the body, the allowance and what the request refers to mostly are. */
export async function forward(
  call: Call,
  caller: Caller,
  operation: TextOperation,
  cell: NativeCell,
  parts: NativeServices,
): Promise<void> {
  const packed: NativeRequest | Promise<NativeRequest> = REQUEST_READERS[KIND[operation] ?? 'json'](
    call,
    caller,
    operation,
    parts,
    cell,
  );
  const parcel = packed instanceof Promise ? await packed : packed;
  call.addLogFields({ model: parcel.model?.name, stream: parcel.isStream });
  const accounts = parts
    .catalog()
    .accounts(caller.group.id)
    .filter((account) => isFit(account, cell, parcel));
  const admitted = parcel.model
    ? parts.meter.admit(call, caller, {
        operation,
        model: parcel.model,
        bodyBytes: parcel.bytes,
        maxOutput: parcel.maxOutput,
        images: parcel.images,
      })
    : undefined;
  const ticket = admitted instanceof Promise ? await admitted : admitted;
  const delivery = new NativeCall({ call, caller, operation, dialect: cell.dialect, parcel, accounts, ticket, parts });
  try {
    await runWithFailover(call, delivery, parts);
    if (call.isClientGone) delivery.relay?.onClientGone();
  } finally {
    ticket?.release();
  }
}

const isFit = (account: Account, { feature }: NativeCell, { accountId }: NativeRequest): boolean =>
  (feature === undefined || account.features.has(feature)) && (accountId === undefined || account.id === accountId);

// ---------------------------------------------------------------- reading the request

const KIND: Partial<Record<TextOperation, keyof typeof REQUEST_READERS>> = {
  'images.edit': 'multipart',
  'generate.create': 'native',
  'generate.stream': 'native',
  'generate.count': 'native',
  'responses.get': 'stored',
  'responses.delete': 'stored',
  'responses.cancel': 'stored',
  'responses.inputItems': 'stored',
};

type RequestReader = (
  call: Call,
  caller: Caller,
  operation: TextOperation,
  parts: NativeServices,
  cell: NativeCell,
) => NativeRequest | Promise<NativeRequest>;

/** Our canonical path: root aliases are the same operation (G 4.1 r1). */
export const canonicalPath = (call: Pick<Call, 'path' | 'query'>): string => {
  const path = /^\/v1(?:beta)?\//.test(call.path) ? call.path : `/v1${call.path}`;
  const query = withoutKey(call.query);
  return query === '' ? path : `${path}?${query}`;
};

/** A key in the address is ours, not the upstream's, however its name is spelled. */
const withoutKey = (query: string): string =>
  query.includes('key=')
    ? query
        .split('&')
        .filter((pair) => !new URLSearchParams(pair).has('key'))
        .join('&')
    : query;

const REQUEST_READERS = {
  json(call, caller, operation, parts, { dialect }) {
    expectJson(call);
    const pack = (read: Buffer): NativeRequest | Promise<NativeRequest> => {
      const body = stripEnvelopes(read, dialect);
      const request = readNative(operation, body, caller, parts.catalog());
      const { previousId } = request;
      const parcelAt = (accountId?: string): NativeRequest => ({
        model: request.model,
        bytes: body.length,
        maxOutput: request.maxOutput,
        images: request.images,
        isStream: request.isStream,
        accountId,
        pathFor: () => canonicalPath(call),
        bodyFor: request.bytesFor,
      });
      if (previousId === undefined) return parcelAt();
      return parts.store.find(previousId, caller.key.userId).then((found) => {
        if (found?.accountId === undefined) throw previousNotFound(previousId);
        return parcelAt(found.accountId);
      });
    };
    const read = readBody(call, parts.bodyLimit(operation));
    return read instanceof Promise ? read.then(pack) : pack(read);
  },
  async native(call, caller, operation, parts) {
    expectJson(call);
    const body = await readBody(call, parts.bodyLimit(operation));
    const maxOutput = checkNativeBody(body);
    const model = resolveModel(parts.catalog(), caller, call.params.model);
    const verb = call.path.slice(call.path.lastIndexOf(':'));
    const query = withoutKey(call.query);
    return {
      model,
      bytes: body.length,
      maxOutput,
      isStream: operation === 'generate.stream',
      pathFor: (account) =>
        `/v1beta/models/${encodeURIComponent(upstreamName(model, account))}${verb}${query && `?${query}`}`,
      bodyFor: () => body,
    };
  },
  async multipart(call, caller, operation, parts) {
    const form = await readMultipart(call, parts.bodyLimit(operation));
    const model = resolveModel(parts.catalog(), caller, form.model);
    return {
      model,
      bytes: form.bytes,
      maxOutput: form.images.count * IMAGE_TOKENS,
      images: form.images,
      isStream: form.isStream,
      pathFor: () => canonicalPath(call),
      bodyFor: (account) => form.bodyFor(upstreamName(model, account)),
    };
  },
  async stored(call, caller, operation, parts) {
    const id = call.params.response_id ?? '';
    const accountId = (await parts.store.find(id, caller.key.userId))?.accountId;
    if (accountId === undefined) throw responseNotFound(id);
    const body = operation === 'responses.cancel' ? await readBody(call, parts.bodyLimit(operation)) : null;
    return {
      bytes: 0,
      isStream: call.query.includes('stream=true'),
      accountId,
      pathFor: () => canonicalPath(call),
      bodyFor: () => body,
    };
  },
} satisfies Record<string, RequestReader>;

// ---------------------------------------------------------------- calling

/** One native call on its way. */
class NativeCall implements UpstreamCall, NativeResponseTask {
  readonly call: Call;
  readonly caller: Caller;
  readonly operation: TextOperation;
  readonly dialect: Dialect;
  readonly parcel: NativeRequest;
  readonly accounts: readonly Account[];
  readonly affinity: Affinity;
  readonly ticket: Admission | undefined;
  readonly parts: NativeServices;
  /** Set while an answer is passed on. */
  relay: NativeResponse | undefined;

  constructor(
    given: Pick<NativeCall, 'call' | 'caller' | 'operation' | 'dialect' | 'parcel' | 'accounts' | 'ticket' | 'parts'>,
  ) {
    this.call = given.call;
    this.caller = given.caller;
    this.operation = given.operation;
    this.dialect = given.dialect;
    this.parcel = given.parcel;
    this.accounts = given.accounts;
    this.affinity = affinityFromHeaders(given.call);
    this.ticket = given.ticket;
    this.parts = given.parts;
  }

  build(account: Account): UpstreamRequest {
    const { call, operation, parcel } = this;
    // Of an account that failed nothing was told: whoever leaves now pays nothing for it.
    this.relay = undefined;
    const { style } = this.caller.group;
    const { origin, path } = locateUpstream(style, account.baseUrl, parcel.pathFor(account));
    return {
      method: TEXT_ENDPOINTS[operation].method,
      origin,
      path,
      headers: requestHeaders(call, style, account),
      body: parcel.bodyFor(account),
      timeouts: TIMEOUTS[timeoutsOf(operation, parcel.isStream)],
    };
  }

  onResponse(head: ResponseHead, source: UpstreamControl): NativeResponse {
    this.relay = new NativeResponse(this, head, source);
    return this.relay;
  }

  classify(failure: UpstreamFailure): Fault {
    return codecOf(this.dialect).upstream.decodeError(failure);
  }

  onRejected(failure: UpstreamFailure, _fault: Fault, account: Account): void {
    forwardRejection(this.call, failure, account);
  }
}

function timeoutsOf(operation: TextOperation, isStream: boolean): TimeoutsName {
  if (operation.startsWith('images.')) return 'image';
  if (operation.endsWith('.count') || operation === 'responses.inputTokens') return 'count';
  return isStream ? 'stream' : 'unary';
}

/** The upstream's own refusal, literally but for our secrets: clients switch features off by its wording. */
function forwardRejection(call: Call, failure: UpstreamFailure, account: Account): void {
  const body = Buffer.from(redact(failure.body, account));
  const isJson = failure.headers['content-type']?.includes('json') === true;
  if (!isJson) throw nonJsonRejection(failure.status);
  call.response.writeHead(failure.status, { ...responseHeaders(call, failure.headers), 'content-length': body.length });
  call.response.end(body);
}

/** A page of HTML from some proxy in between is no answer for an SDK. */
const nonJsonRejection = (status: number): ApiError =>
  fail('upstream_error', 'The provider refused the request without saying why.', { status: status < 500 ? 400 : 502 });

/**
 * The native path: the group speaks the caller's dialect, so bytes pass both ways as they are. Only credentials, hop-by-hop
 * headers and the model's alias change. Beside the stream a tap reads usage and notices an end that is none.
 */
import type { Account, Catalog, Model } from '../catalog/index.ts';
import { type ApiError, fail } from '../core/index.ts';
import { codecOf, type Fault, type HubUsage } from '../dialects/index.ts';
import {
  type Dialect,
  type FaultKind,
  type Feature,
  faultRow,
  PATIENCE,
  type PatienceName,
  TEXT_ENDPOINTS,
  type TextOperation,
} from '../rules/index.ts';
import { locate, type Trouble } from '../upstream/index.ts';
import { type Call, expectJson, readBody } from '../web/index.ts';
import { type AttemptParts, attempt, type Head, type Plan, type Source, type Taker } from './attempt.ts';
import type { Caller } from './caller.ts';
import { brokenOff, heartbeatOf } from './ending.ts';
import { withoutEnvelopes } from './envelopes.ts';
import { headersBack, headersTo } from './headers.ts';
import { resolveModel } from './model.ts';
import { readMultipart } from './multipart.ts';
import { checkNativeBody, readNative, upstreamName } from './native-request.ts';
import type { Outlet, Outlets } from './outlet.ts';
import { redact } from './redact.ts';
import { headerAffinity } from './session.ts';
import { previousNotFound, type ResponseStore, responseNotFound } from './stored.ts';
import { type TapResult, tapStream, tapUnary } from './tap.ts';

export interface ForwardParts extends AttemptParts {
  readonly catalog: () => Catalog;
  readonly outlets: Outlets;
  readonly store: ResponseStore;
  readonly bodyLimit: (operation: TextOperation) => number;
}

export interface NativeCell {
  readonly dialect: Dialect;
  readonly feature?: Feature;
}

/** What of the request differs from account to account. */
interface Parcel {
  readonly model?: Model;
  readonly isStream: boolean;
  /** Only this account holds what the request refers to. */
  readonly accountId?: string | undefined;
  pathFor(account: Account): string;
  bodyFor(account: Account): Buffer | null;
}

export async function forward(
  call: Call,
  caller: Caller,
  operation: TextOperation,
  cell: NativeCell,
  parts: ForwardParts,
): Promise<void> {
  const parcel: Parcel = await PACK[KIND[operation] ?? 'json'](call, caller, operation, parts, cell);
  call.note = { ...call.note, model: parcel.model?.name, stream: parcel.isStream };
  const accounts = parts
    .catalog()
    .accounts(caller.group.id)
    .filter((account) => isFit(account, cell, parcel));
  await attempt(call, planOf(call, caller, operation, cell, parcel, accounts, parts), parts);
}

const isFit = (account: Account, { feature }: NativeCell, { accountId }: Parcel): boolean =>
  (feature === undefined || account.features.has(feature)) && (accountId === undefined || account.id === accountId);

// ---------------------------------------------------------------- reading the request

const KIND: Partial<Record<TextOperation, keyof typeof PACK>> = {
  'images.edit': 'multipart',
  'generate.create': 'native',
  'generate.stream': 'native',
  'generate.count': 'native',
  'responses.get': 'stored',
  'responses.delete': 'stored',
  'responses.cancel': 'stored',
  'responses.inputItems': 'stored',
};

type Pack = (
  call: Call,
  caller: Caller,
  operation: TextOperation,
  parts: ForwardParts,
  cell: NativeCell,
) => Parcel | Promise<Parcel>;

/** Our canonical path: root aliases are the same operation (G 4.1 r1). */
const canonical = (call: Call): string => {
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

const PACK = {
  async json(call, caller, operation, parts, { dialect }) {
    expectJson(call);
    const body = withoutEnvelopes(await readBody(call, parts.bodyLimit(operation)), dialect);
    const request = readNative(operation, body, caller, parts.catalog());
    const accountId =
      request.previousId === undefined
        ? undefined
        : (await parts.store.find(request.previousId, caller.key.userId))?.accountId;
    if (request.previousId !== undefined && accountId === undefined) throw previousNotFound(request.previousId);
    return {
      model: request.model,
      isStream: request.isStream,
      accountId,
      pathFor: () => canonical(call),
      bodyFor: request.bytesFor,
    };
  },
  async native(call, caller, operation, parts) {
    expectJson(call);
    const body = await readBody(call, parts.bodyLimit(operation));
    checkNativeBody(body);
    const model = resolveModel(parts.catalog(), caller, call.params.model);
    const verb = call.path.slice(call.path.lastIndexOf(':'));
    const query = withoutKey(call.query);
    return {
      model,
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
      isStream: form.isStream,
      pathFor: () => canonical(call),
      bodyFor: (account) => form.bodyFor(upstreamName(model, account)),
    };
  },
  async stored(call, caller, operation, parts) {
    const id = call.params.response_id ?? '';
    const accountId = (await parts.store.find(id, caller.key.userId))?.accountId;
    if (accountId === undefined) throw responseNotFound(id);
    const body = operation === 'responses.cancel' ? await readBody(call, parts.bodyLimit(operation)) : null;
    return {
      isStream: call.query.includes('stream=true'),
      accountId,
      pathFor: () => canonical(call),
      bodyFor: () => body,
    };
  },
} satisfies Record<string, Pack>;

// ---------------------------------------------------------------- calling

function planOf(
  call: Call,
  caller: Caller,
  operation: TextOperation,
  cell: NativeCell,
  parcel: Parcel,
  accounts: readonly Account[],
  parts: ForwardParts,
): Plan {
  const { style } = caller.group;
  return {
    accounts,
    affinity: headerAffinity(call),
    patience: PATIENCE[patienceOf(operation, parcel.isStream)],
    build: (account) => ({
      method: TEXT_ENDPOINTS[operation].method,
      ...locate(style, account.baseUrl, parcel.pathFor(account)),
      headers: headersTo(call, style, account),
      body: parcel.bodyFor(account),
    }),
    take: (head, source) => new Relay(call, caller, operation, cell.dialect, head, source, parts),
    classify: (failure) => codecOf(cell.dialect).upstream.decodeError(failure),
    refuse: (failure, _fault, account) => passOn(call, failure, account),
  };
}

function patienceOf(operation: TextOperation, isStream: boolean): PatienceName {
  if (operation.startsWith('images.')) return 'image';
  if (operation.endsWith('.count') || operation === 'responses.inputTokens') return 'count';
  return isStream ? 'stream' : 'unary';
}

/** The upstream's own refusal, literally but for our secrets: clients switch features off by its wording. */
function passOn(
  call: Call,
  failure: { status: number; headers: Readonly<Record<string, string | undefined>>; body: string },
  account: Account,
): void {
  const body = Buffer.from(redact(failure.body, account));
  const isJson = failure.headers['content-type']?.includes('json') === true;
  if (!isJson) throw unreadable(failure.status);
  call.response.writeHead(failure.status, { ...headersBack(call, failure.headers), 'content-length': body.length });
  call.response.end(body);
}

/** A page of HTML from some proxy in between is no answer for an SDK. */
const unreadable = (status: number): ApiError =>
  fail('upstream_error', 'The provider refused the request without saying why.', { status: status < 500 ? 400 : 502 });

// ---------------------------------------------------------------- answering

/** Answers up to this size leave in one write with their head. */
const HELD_BYTES = 64 * 1024;
const CUT_SHORT = 'The provider broke off in the middle of its answer.';

class Relay implements Taker {
  readonly #call: Call;
  readonly #caller: Caller;
  readonly #operation: TextOperation;
  readonly #dialect: Dialect;
  readonly #head: Head;
  readonly #store: ResponseStore;
  readonly #tap: ReturnType<typeof tapStream>;
  readonly #outlet: Outlet;
  readonly #isSse: boolean;
  /** The beginning of a unary answer, not yet written. Undefined once writing has begun. */
  #held: Buffer[] | undefined;
  #heldBytes = 0;

  constructor(
    call: Call,
    caller: Caller,
    operation: TextOperation,
    dialect: Dialect,
    head: Head,
    source: Source,
    parts: ForwardParts,
  ) {
    this.#call = call;
    this.#caller = caller;
    this.#operation = operation;
    this.#dialect = dialect;
    this.#head = head;
    this.#store = parts.store;
    this.#isSse = head.headers['content-type']?.includes('text/event-stream') === true;
    this.#tap = this.#isSse ? tapStream(dialect) : tapUnary(dialect);
    this.#outlet = parts.outlets.open(call.response, {
      heartbeat: this.#isSse ? () => heartbeatOf(dialect) : undefined,
      onDrain: () => source.resume(),
      onStalled: () => call.response.destroy(),
    });
    call.note = { ...call.note, account: head.account.id };
    if (this.#isSse) this.#begin();
    else this.#held = [];
  }

  onData(chunk: Buffer): boolean {
    this.#tap.push(chunk);
    if (!this.#held) return this.#outlet.write(chunk);
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes <= HELD_BYTES) return true;
    const held = Buffer.concat(this.#held);
    this.#held = undefined;
    this.#writeHead();
    return this.#outlet.write(held);
  }

  onEnd(trouble?: Trouble): FaultKind | Fault | undefined {
    const result = this.#tap.end();
    this.#note(result);
    if (trouble === undefined && result.isComplete) {
      this.#finish(result);
      return undefined;
    }
    const kind = trouble?.kind ?? 'broken';
    // Nothing was told yet: another account may do better, and if not, the client gets a proper error.
    if (this.#held) return { kind, error: { code: faultRow(kind).code, message: CUT_SHORT } };
    this.#breakOff(result, kind);
    return kind;
  }

  #finish({ id }: TapResult): void {
    if (this.#operation === 'responses.create' && id !== undefined) {
      this.#store.save({ id, userId: this.#caller.key.userId, accountId: this.#head.account.id });
    }
    if (this.#operation === 'responses.delete') {
      void this.#store.remove(this.#call.params.response_id ?? '', this.#caller.key.userId);
    }
    if (!this.#held) return this.#outlet.end();
    this.#writeHead();
    this.#outlet.end(this.#held.length === 1 ? this.#held[0] : Buffer.concat(this.#held));
  }

  /** A stream says that it broke; half a JSON text cannot, so its connection is cut and nobody takes it for whole. */
  #breakOff({ id, sequence }: TapResult, kind: FaultKind): void {
    if (!this.#isSse) return void this.#call.response.destroy();
    const about = { requestId: this.#call.id, id, sequence, isTimeout: kind === 'silent' };
    this.#outlet.end((this.#outlet.isAtBoundary ? '' : '\n\n') + brokenOff[this.#dialect](about));
  }

  #begin(): void {
    this.#writeHead();
    this.#call.response.flushHeaders();
  }

  #writeHead(): void {
    const { 'content-length': length, ...headers } = headersBack(this.#call, this.#head.headers);
    this.#call.response.writeHead(this.#head.status, {
      ...headers,
      // No proxy in between may collect or re-code a stream, and heartbeats may make it longer than it was.
      ...(this.#isSse
        ? { 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' }
        : length !== undefined && { 'content-length': length }),
    });
  }

  #note({ usage }: TapResult): void {
    if (usage) this.#call.note = { ...this.#call.note, ...usageNote(usage) };
  }
}

export const usageNote = (usage: HubUsage): Record<string, number> => ({
  tokensIn: usage.input,
  tokensCached: usage.cacheRead,
  tokensOut: usage.output,
});

/**
 * A request as it was read: once, before the plan, for all of its ways. What only one kind of way needs, such as the form of the hub, is made
 * when the first of them is tried.
 */
import { type MaybePromise, whenReady } from '../core/index.ts';
import { type Call, SMALL_BODY_BYTES } from '../platform/web/index.ts';
import {
  type BodyUse,
  type Dialect,
  FALLBACK_HEADER,
  type InferenceOperation,
  inferenceRow,
  WORKING_COPIES,
} from '../rules/index.ts';
import { STORED_MEMBERS } from './billing/body-bounds.ts';
import type { Caller } from './caller.ts';
import type { ConvertedServices } from './converted/context.ts';
import { type HeldElsewhere, type HubRead, readHub } from './converted/read-hub.ts';
import type { NativeReadServices, NativeRequest, NativeSource } from './native/native-request.ts';
import { readNative } from './native/read-request.ts';
import { holdsOwnSummary } from './native/strip-opaque.ts';
import { channelsOf, type PlannedRequest } from './plan.ts';
import { readJsonBody } from './services.ts';

export type ReadServices = NativeReadServices & Pick<ConvertedServices, 'opaqueKey'>;

export interface RequestRead extends PlannedRequest {
  /** The client's dialect. */
  readonly from: Dialect;
  readonly parts: RequestParts;
}

/** Without a promise when the body is complete and nothing has to be looked up. */
export function readRequest(
  services: ReadServices,
  call: Call,
  caller: Caller,
  operation: InferenceOperation,
): MaybePromise<RequestRead> {
  const { channels } = channelsOf(services.catalog(), caller, operation);
  const native = channels.find(({ isNative }) => isNative);
  const row = inferenceRow(operation);
  const from = 'converts' in row ? row.convertsFrom : (native?.dialect as Dialect);
  const use = channels.every(({ isNative }) => isNative) ? 'forwarded' : 'converted';
  const parts = new RequestParts(services, { call, caller, operation, dialect: from }, use);
  const base = {
    operation,
    from,
    refusesFallback: call.header(FALLBACK_HEADER)?.trim().toLowerCase() === 'none',
    parts,
  };
  if (!native)
    return whenReady(parts.hub(caller), (read) =>
      'held' in read
        ? { ...base, model: read.model, held: read.held }
        : { ...base, model: read.request.model, isBound: isBound(read.request.state) },
    );
  return whenReady(parts.native(), (read) => ({
    ...base,
    model: read.model,
    isBound: read.isBackground || STORED_MEMBERS.some((name) => name === read.bounds.wholeContext),
    held: read.held,
    holdsOwnSummary: channels.length > 1 && from === 'responses' && parts.holdsOwnSummary,
    objectsOf: read.objectsOf,
    named: read.named,
  }));
}

const isBound = ({ previousId, background }: HubRead['request']['state']): boolean =>
  previousId !== undefined || background === true;

/** The forms of a request, each made once. */
class RequestParts {
  readonly #services: ReadServices;
  readonly #source: NativeSource;
  #use: BodyUse;
  #bytes: Buffer | undefined;
  #native: MaybePromise<NativeRequest> | undefined;
  /** Of the newest group: what was signed for another one is left out. */
  #hub: { readonly groupId: string; readonly read: Promise<HubRead | HeldElsewhere> } | undefined;

  constructor(services: ReadServices, source: Omit<NativeSource, 'body'>, use: BodyUse) {
    this.#services = services;
    this.#source = { ...source, body: () => this.body() };
    this.#use = use;
  }

  /** The JSON of the request. */
  body(): MaybePromise<Buffer> {
    if (this.#bytes) return this.#bytes;
    const { call, operation } = this.#source;
    return whenReady(readJsonBody(this.#services, call, operation, this.#use), (bytes) => {
      this.#bytes = bytes;
      return bytes;
    });
  }

  /** Only one way is left, which has what it needs. */
  forgetBody(): void {
    this.#bytes = undefined;
  }

  native(): MaybePromise<NativeRequest> {
    this.#native ??= readNative(this.#services, this.#source);
    return this.#native;
  }

  get holdsOwnSummary(): boolean {
    return this.#bytes !== undefined && holdsOwnSummary(this.#bytes);
  }

  hub(caller: Caller): Promise<HubRead | HeldElsewhere> {
    const groupId = caller.group.id;
    if (this.#hub?.groupId !== groupId) this.#hub = { groupId, read: this.#decode(caller) };
    return this.#hub.read;
  }

  async #decode(caller: Caller): Promise<HubRead | HeldElsewhere> {
    const { call, operation, dialect: from } = this.#source;
    const bytes = await this.body();
    // A conversion takes more memory than the body was read with. Once: each conversion begins when the one before has ended.
    const copies = WORKING_COPIES.converted - WORKING_COPIES[this.#use];
    if (copies > 0 && bytes.length > SMALL_BODY_BYTES) call.reserveMemory().add(bytes.length * copies);
    this.#use = 'converted';
    return readHub(this.#services, caller, { call, operation, from, bytes });
  }
}

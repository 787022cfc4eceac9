/**
 * A request as it was read, once, for all of its ways.
 * What only one kind of way needs is made when the first of them is tried.
 */
import { type MaybePromise, whenReady } from '../core/index.ts';
import { SMALL_BODY_BYTES } from '../platform/web/index.ts';
import * as rules from '../rules/index.ts';
import { STORED_MEMBERS } from './billing/body-bounds.ts';
import type { Caller } from './caller.ts';
import type { ConvertedServices } from './converted/context.ts';
import { type HeldElsewhere, type HubRead, readHub } from './converted/read-hub.ts';
import { type FileServices, readRequestBody } from './files/request-body.ts';
import type { NativeReadServices, NativeRequest, NativeSource } from './native/native-request.ts';
import { readNative } from './native/read-request.ts';
import { holdsOwnSummary } from './native/strip-opaque.ts';
import { channelsOf, type PlannedRequest } from './plan.ts';
import { mayHoldOwn } from './request-scan.ts';
import type { CallSource } from './services.ts';

export type ReadServices = NativeReadServices & Pick<ConvertedServices, 'opaqueKey'> & FileServices;

export interface RequestRead extends PlannedRequest {
  readonly from: rules.Dialect;
  readonly parts: RequestParts;
}

/**
 * Without a promise when the body is complete and nothing has to be looked up.
 * `known`: what was read to choose the group.
 */
export function readRequest(services: ReadServices, source: CallSource, known?: RequestParts) {
  const { call, caller, operation } = source;
  const { channels } = channelsOf(services.catalog(), caller, operation);
  const native = channels.find(({ isNative }) => isNative);
  const row = rules.inferenceRow(operation);
  const from = 'converts' in row ? row.convertsFrom : (native?.dialect as rules.Dialect);
  const use = channels.every(({ isNative }) => isNative) ? 'forwarded' : 'converted';
  const parts = known ?? new RequestParts(services, { ...source, dialect: from }, use);
  const refusesFallback = call.header(rules.FALLBACK_HEADER)?.trim().toLowerCase() === 'none';
  const base = { operation, from, refusesFallback, parts };
  if (!native)
    return whenReady(
      parts.hub(caller),
      (read): RequestRead =>
        'held' in read
          ? { ...base, model: read.model, held: read.held }
          : { ...base, model: read.request.model, isBound: isBound(read.request.state) },
    );
  return whenReady(
    parts.native(),
    (read): RequestRead => ({
      ...base,
      model: read.model,
      isBound:
        read.isBackground ||
        read.keeps !== undefined ||
        STORED_MEMBERS.some((name) => name === read.bounds.wholeContext),
      held: read.held,
      holdsOwnSummary: channels.length > 1 && from === 'responses' && parts.holdsOwnSummary,
      objectsOf: read.objectsOf,
    }),
  );
}

const isBound = ({ previousId, background }: HubRead['request']['state']): boolean =>
  previousId !== undefined || background === true;

export class RequestParts {
  readonly #services: ReadServices;
  readonly #source: NativeSource;
  #use: rules.BodyUse;
  #bytes: Buffer | undefined;
  #native: MaybePromise<NativeRequest> | undefined;
  /** Of the newest group: what was signed for another one is left out. */
  #hub: { readonly group: Caller['group']; readonly read: Promise<HubRead | HeldElsewhere> } | undefined;

  constructor(services: ReadServices, source: Omit<NativeSource, 'body'>, use: rules.BodyUse) {
    this.#services = services;
    this.#source = { ...source, body: () => this.body() };
    this.#use = use;
  }

  body(): MaybePromise<Buffer> {
    if (this.#bytes) return this.#bytes;
    return whenReady(readRequestBody(this.#services, this.#source, this.#use), (bytes) => {
      this.#bytes = bytes;
      return bytes;
    });
  }

  /** For those who read the call again. */
  keepBody(): void {
    if (this.#bytes) this.#source.call.body = this.#bytes;
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
    const { group } = caller;
    if (!this.#hub || !this.#isSameIn(group, this.#hub.group)) this.#hub = { group, read: this.#decode(caller) };
    return this.#hub.read;
  }

  /** Nothing in the body was signed for a group. */
  #isSameIn(group: Caller['group'], known: Caller['group']): boolean {
    if (group.id === known.id) return true;
    return group.unknownMembers === known.unknownMembers && this.#bytes !== undefined && !mayHoldOwn(this.#bytes);
  }

  async #decode(caller: Caller): Promise<HubRead | HeldElsewhere> {
    const { call, operation, dialect: from } = this.#source;
    const bytes = await this.body();
    // A conversion takes more memory than the body was read with.
    // Once: each conversion begins when the one before has ended.
    const copies = rules.WORKING_COPIES.converted - rules.WORKING_COPIES[this.#use];
    if (copies > 0 && bytes.length > SMALL_BODY_BYTES) call.reserveMemory().add(bytes.length * copies);
    this.#use = 'converted';
    return readHub(this.#services, caller, { call, operation, from, bytes });
  }
}

/** Reading of a request that is converted: its body in the form of the hub, with the stored turns that it refers to. */
import { failAt } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';
import type { InferenceOperation } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { jobOwner } from '../services.ts';
import { loadStoredTurns } from '../stored/expand.ts';
import { type HeldResponse, heldPrevious } from '../stored/held-response.ts';
import type { StoredHead } from '../stored/response-cache.ts';
import type { ResponseStore } from '../stored/store.ts';
import type { ConvertedServices } from './context.ts';
import { type Decoded, type DecodeInput, decodeJob, type Unexpanded } from './decode.ts';

export interface HubSource extends Pick<DecodeInput, 'operation' | 'from' | 'bytes'> {
  readonly call: Call;
}
type HubServices = Pick<ConvertedServices, 'threads' | 'store' | 'opaqueKey'>;

/**
 * `size`: bytes with those of stored turns; none where it was light enough to be decoded at once.
 * `previous`: what it continues.
 */
export type HubRead = Exclude<Decoded, Unexpanded> & {
  readonly size: number;
  readonly previous?: StoredHead | undefined;
};

/** A provider holds the response that the request continues, so that its turns cannot be put in. */
export interface HeldElsewhere {
  readonly held: HeldResponse;
  readonly model: unknown;
}

export async function readHub(services: HubServices, caller: Caller, { call, ...source }: HubSource) {
  const { key, group } = caller;
  const path = source.from === 'generate' && headInPath(call, source.operation);
  const head = { headers: call.request.headers, ...path };
  const decoding = { ...source, head, stores: key.store, findsUnknown: group.unknownMembers === 'reject' };
  const read = await decodeWhole(services, call, caller, decoding);
  return 'held' in read ? read : withRoom(services.store, key, read);
}

/**
 * Decodes a body, and again with the stored turns that it refers to.
 * Values that were signed for another group than the caller's are left out.
 */
export async function decodeWhole(
  { threads, store, opaqueKey }: HubServices,
  call: Call,
  caller: Caller,
  given: Omit<DecodeInput, 'opaqueKey' | 'signedFor' | 'stored' | 'storedBytes'>,
): Promise<HubRead | HeldElsewhere> {
  const { key, group } = caller;
  const { bytes } = given;
  const input = { ...given, opaqueKey, signedFor: { key: { userId: key.userId }, group: { id: group.id } } };
  const decoding = threads.run(decodeJob, input, jobOwner(call, caller, bytes.length));
  const decoded = await decoding;
  if (!decoded.refersTo) return { ...decoded, size: decoding instanceof Promise ? bytes.length : 0 };
  const { refersTo, model } = decoded;
  const { previousId } = refersTo;
  const previous = previousId === undefined ? undefined : await store.find(previousId, key.userId);
  if (previousId !== undefined && previous?.accountId !== undefined && !previous.isHere)
    return { held: heldPrevious(previousId, previous), model };
  const load = { userId: key.userId, store, reserve: () => call.reserveMemory() };
  const { turns: stored, bytes: storedBytes, work } = await loadStoredTurns(refersTo, load, previous);
  const size = bytes.length + storedBytes;
  const owner = jobOwner(call, caller, bytes.length + work);
  const expanded = await threads.run(decodeJob, { ...input, stored, storedBytes }, owner);
  if (expanded.refersTo) throw new TypeError('the stored turns of a request were given, and are asked for again');
  return { ...expanded, size, previous };
}

/**
 * A response that exceeds the limits of its key is not stored, and says so.
 * One that has to be stored is refused at once.
 */
async function withRoom(store: ResponseStore, key: Caller['key'], read: HubRead): Promise<HubRead> {
  const { request } = read;
  const { state } = request;
  if (request.dialect !== 'responses' || state.store === false) return read;
  const limit = await store.limitOf({ userId: key.userId, keyId: key.id });
  if (limit === undefined) return read;
  if (state.store === true || state.background === true || state.previousId !== undefined)
    throw failAt(
      'invalid_request',
      'store',
      `the stored responses of ${limit}, the limit; delete some, or send "store": false with the whole input.`,
    );
  return { ...read, request: { ...request, state: { ...state, store: false } }, input: '[]' };
}

/**
 * Generate-content requests have their model and method in the path.
 * The gateway writes events only, not the one list of all of them.
 */
function headInPath(call: Call, operation: InferenceOperation) {
  const stream = operation === 'generate.stream';
  if (stream && !/(?:^|&)\$?alt=sse(?:&|$)/.test(call.query))
    throw failAt('unsupported_parameter', 'alt', 'only "sse" is supported for streams of this model; add ?alt=sse.');
  return { model: call.params.model ?? '', stream };
}

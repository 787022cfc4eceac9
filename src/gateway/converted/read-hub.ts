/** Reading of a request that is converted: its body in the form of the hub, with the stored turns that it refers to. */
import { failAt } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';
import type { Dialect, InferenceOperation } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { jobOwner } from '../services.ts';
import { loadStoredTurns } from '../stored/expand.ts';
import { type HeldResponse, heldPrevious } from '../stored/held-response.ts';
import type { StoredHead } from '../stored/response-cache.ts';
import type { ResponseStore } from '../stored/store.ts';
import type { ConvertedServices } from './context.ts';
import { type Decoded, decodeJob } from './decode.ts';

export interface HubSource {
  readonly call: Call;
  readonly operation: InferenceOperation;
  readonly from: Dialect;
  readonly bytes: Buffer;
}

/** `size`: bytes with those of stored turns; none where it was light enough to be decoded at once. `previous`: what it continues. */
export type HubRead = Extract<Decoded, { refersTo?: undefined }> & {
  readonly size: number;
  readonly previous?: StoredHead | undefined;
};

/** A provider holds the response that the request continues, so that its turns cannot be put in. */
export interface HeldElsewhere {
  readonly held: HeldResponse;
  readonly model: unknown;
}

/** Values that were signed for another group than the caller's are left out. */
export async function readHub(
  { threads, store, opaqueKey }: Pick<ConvertedServices, 'threads' | 'store' | 'opaqueKey'>,
  caller: Caller,
  { call, operation, from, bytes }: HubSource,
): Promise<HubRead | HeldElsewhere> {
  const { key, group } = caller;
  const signedFor = { key: { userId: key.userId }, group: { id: group.id } };
  const head = { headers: call.request.headers, ...(from === 'generate' && headInPath(call, operation)) };
  const findsUnknown = group.unknownMembers === 'reject';
  const input = { bytes, operation, from, head, opaqueKey, signedFor, stores: key.store, findsUnknown };
  const decoding = threads.run(decodeJob, input, jobOwner(call, caller, bytes.length));
  const decoded = await decoding;
  if (!decoded.refersTo)
    return withRoom(store, key, { ...decoded, size: decoding instanceof Promise ? bytes.length : 0 });
  const { refersTo, model } = decoded;
  const { previousId } = refersTo;
  const previous = previousId === undefined ? undefined : await store.find(previousId, key.userId);
  if (previousId !== undefined && previous?.accountId !== undefined && !previous.isHere)
    return { held: heldPrevious(previousId, previous), model };
  const load = { userId: key.userId, store, reserve: () => call.reserveMemory() };
  const { turns: stored, bytes: storedBytes } = await loadStoredTurns(refersTo, load, previous);
  const size = bytes.length + storedBytes;
  const expanded = await threads.run(decodeJob, { ...input, stored, storedBytes }, jobOwner(call, caller, size));
  if (expanded.refersTo) throw new TypeError('the stored turns of a request were given, and are asked for again');
  return withRoom(store, key, { ...expanded, size, previous });
}

/** A response that exceeds the limits of its key is not stored, and says so. One that has to be stored is refused at once. */
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

/** Generate-content requests have their model and method in the path. The gateway writes events only, not the one list of all of them. */
function headInPath(call: Call, operation: InferenceOperation) {
  const stream = operation === 'generate.stream';
  if (stream && !/(?:^|&)\$?alt=sse(?:&|$)/.test(call.query))
    throw failAt('unsupported_parameter', 'alt', 'only "sse" is supported for streams of this model; add ?alt=sse.');
  return { model: call.params.model ?? '', stream };
}

/** The requests of a batch that can go to a provider's batch: read and priced as calls are, without sending any. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { findKeyOfUser } from '../../../access/keys/index.ts';
import type { Account } from '../../../catalog/index.ts';
import { ApiError, isAddressIn, type Nanos } from '../../../core/index.ts';
import type { BodyReservation, Call } from '../../../platform/web/index.ts';
import {
  dearTiers,
  type InferenceOperation,
  inferenceRow,
  PROVIDER_BATCHES,
  WORKING_COPIES,
} from '../../../rules/index.ts';
import { type Caller, callersOf } from '../../caller.ts';
import { chooseGroup } from '../../choose-group.ts';
import { upstreamName } from '../../models/resolve.ts';
import { placeAgain, plan } from '../../plan.ts';
import { type ReadServices, readRequest } from '../../read-request.ts';
import type { GatewayServices } from '../../services.ts';
import { type Batch, takesBatches } from '../batch-store.ts';
import type { BatchWorkerServices } from '../batch-worker.ts';
import { LineReply, lineCall } from '../line-call.ts';

export type PrepareServices = BatchWorkerServices &
  ReadServices &
  Pick<GatewayServices, 'billing' | 'pool' | 'upstream'>;

export interface PreparedLine {
  readonly n: number;
  readonly body: Buffer;
  /** For the charge where the provider reports no usage. */
  readonly inputTokens: number;
  readonly maxNanos: Nanos;
}

export type PreparedBatch = NonNullable<Awaited<ReturnType<typeof prepareBatch>>>;
type ReadLine = NonNullable<Awaited<ReturnType<typeof readLine>>>;

/** Requests that are read before other work has its turn. */
const TURN = 50;

/**
 * Undefined when none of them can. Those of the first model that can go;
 * the others are sent one by one, and get their errors there.
 */
export async function prepareBatch(services: PrepareServices, batch: Batch, memory: BodyReservation) {
  const { db, files, clock, catalog } = services;
  const { user_id: userId, id } = batch;
  const key = await findKeyOfUser(db, userId, batch.key_id, clock.now());
  const isAllowed = key && (!key.allowedAddresses || isAddressIn(batch.address, key.allowedAddresses));
  const [caller] = isAllowed ? callersOf(catalog(), key) : [];
  const file = await files.find(batch.input_file, userId);
  if (!caller || !file) return undefined;
  memory.add(Number(file.bytes) * WORKING_COPIES.forwarded);
  const content = Buffer.concat(await Array.fromAsync(files.read(file)));
  const own = db.selectFrom('batch_lines').where('user_id', '=', userId).where('batch_id', '=', id);
  const waiting = own.select(['n', 'start', 'bytes']).where('state', '=', 'waiting').orderBy('n');
  let chosen: (ReadLine & { readonly account: Account }) | undefined;
  const lines: PreparedLine[] = [];
  let bytes = 0;
  const add = async (n: number, one: ReadLine): Promise<void> => {
    const account = chosen?.account ?? freeAccount(services, one);
    const isOther = chosen && (one.priceId !== chosen.priceId || one.model.name !== chosen.model.name);
    if (!account || isOther || !one.accounts.includes(account)) return;
    const body = one.bodyFor(upstreamName(one.model, account));
    if (bytes + body.length > PROVIDER_BATCHES.bodyBytes) return;
    // It has the files that it names, and is put together with the others.
    memory.add(body.length * 2);
    bytes += body.length;
    chosen ??= { ...one, account };
    lines.push({ n, body, inputTokens: await one.inputTokens(), maxNanos: one.maxCost });
  };
  for (const [index, { n, start, bytes: length }] of (await waiting.execute()).entries()) {
    if (index % TURN === 0) await nextTurn();
    const reply = new LineReply();
    const call = lineCall(services, batch, content.subarray(Number(start), Number(start) + length), reply);
    call.owner = caller.key.id;
    try {
      const one = await readLine(services, call, caller);
      if (one) await add(n, one);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    } finally {
      // What reading it reserved is free again.
      reply.destroy();
    }
  }
  // The reference is that of the hold.
  return chosen && { ...chosen, reference: `batch:${id}`, lines };
}

function freeAccount({ pool }: PrepareServices, { accounts, model }: ReadLine): Account | undefined {
  const use = { model: model.upstream, operation: inferenceRow('chat.create').timeouts };
  const found = pool.find(accounts, {}, use, true);
  return 'reason' in found ? undefined : found;
}

/** Undefined for one that is converted, bound to an account, in a tier of its own, or names further models. */
async function readLine(services: PrepareServices, call: Call, first: Caller) {
  const catalog = services.catalog();
  const operation = call.operation as InferenceOperation;
  const { caller, parts } = await chooseGroup(services, { call, caller: first, operation });
  const read = await readRequest(services, { call, caller, operation }, parts);
  const [way] = read.isBound || read.held ? [] : plan(read, caller, catalog).ways;
  if (!way?.isNative || !way.model || way.caller.fallback) return undefined;
  const native = await read.parts.native();
  const { model, accounts, boundTo, others = [] } = { ...placeAgain(native, way, catalog), model: way.model };
  const { tiers = [], bounds, isStream, isBackground, inputTokens, heldTokens = inputTokens } = native;
  if (boundTo !== undefined || others.length + dearTiers(tiers).length > 0 || isStream || isBackground)
    return undefined;
  const { maxCost, priceId } = services.billing.quote(caller, { ...bounds, operation, model, isBatch: true });
  return {
    caller,
    model,
    priceId,
    maxCost,
    accounts: accounts.filter(takesBatches),
    inputTokens: heldTokens,
    bodyFor: (name: string) => native.bodyFor(name, false) as Buffer,
  };
}

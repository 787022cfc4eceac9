/**
 * Creation of an asset or a group: the row and the claim of the Idempotency-Key in one transaction,
 * then one request to the provider, then its outcome. The row exists before the first byte is sent and carries the name
 * by which the provider's object can be found; so nothing is ever sent twice, and nothing is forgotten.
 */
import { sql } from 'kysely';
import { type ApiError, fail, newId } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import { type Db, firstRow } from '../../platform/db/index.ts';
import { ASSET_RECONCILIATION } from '../../rules/index.ts';
import { finishRecord, type IdempotentRequest, removeRecord } from '../idempotency/records.ts';
import { claimKey, replayLost, replayRequest } from '../idempotency/replay.ts';
import type { JsonMembers } from '../request/json-tree.ts';
import type { VideoServices } from '../services.ts';
import { assetErrorKindOf } from '../upstream/asset-errors.ts';
import type { AssetCreateOutcome, AssetProviderError } from '../upstream/asset-provider.ts';
import { parseAssetBody } from './fields.ts';
import { afterMs, lockRow, moveRow, type RowName, type RowOf, type Table } from './rows.ts';
import { misconfigured, unavailable, unconfirmed } from './service-group.ts';

/** `httpStatus` is that of the response, and `confirmed` the status of a row that the provider has confirmed. */
export const KINDS = {
  assets: {
    operation: 'asset.create',
    prefix: 'asset',
    httpStatus: 202,
    confirmed: 'processing',
    missing: 'asset_not_found',
    undeletable: 'asset_delete_not_supported',
  },
  asset_groups: {
    operation: 'assetGroup.create',
    prefix: 'assetgrp',
    httpStatus: 201,
    confirmed: 'active',
    missing: 'asset_group_not_found',
    undeletable: 'asset_group_delete_not_supported',
  },
} as const satisfies Record<Table, object>;

export interface AssetCreateInput {
  readonly bytes: Buffer;
  /** SHA-256 of the Idempotency-Key. */
  readonly keyHash: Buffer | undefined;
}

export interface Creation<T extends Table> {
  readonly table: T;
  readonly row: RowOf[T];
  readonly idempotent: IdempotentRequest | undefined;
}

/** First check of a creation without a clear response. */
const FIRST_LOOK_MS = ASSET_RECONCILIATION.scheduleSeconds[0] * 1_000;

/** The original resource of an Idempotency-Key; undefined when the key is free. */
const replayCreation = <T extends Table>({ db }: Pick<VideoServices, 'db'>, table: T, request: IdempotentRequest) =>
  replayRequest(db, request, {
    recover: (id) => recoverCreation(db, table, { user_id: request.userId, id }),
    respond: async (_status, id = '') => {
      const row = await firstRow(db)<RowOf[T]>`
        select * from ${sql.table(table)} where user_id = ${request.userId} and id = ${id}`;
      if (!row) throw fail(KINDS[table].missing);
      return row;
    },
  });

/** Parses the body and looks up the key: the replay of a request comes before any check of its fields (V 8). */
export async function readCreation<T extends Table>(
  services: Pick<VideoServices, 'db'>,
  table: T,
  userId: string,
  { bytes, keyHash }: AssetCreateInput,
): Promise<
  | { readonly original: RowOf[T] }
  | { readonly members: JsonMembers; readonly idempotent: IdempotentRequest | undefined }
> {
  const { operation } = KINDS[table];
  const { members, fingerprint } = parseAssetBody(operation, bytes);
  const idempotent = keyHash && { userId, operation, keyHash, fingerprint };
  const original = idempotent && (await replayCreation(services, table, idempotent));
  return original ? { original } : { members, idempotent };
}

/** Inserts row and claim. Returns the original row when another request has claimed the key meanwhile. */
export async function insertCreation<T extends Table>(
  services: Pick<VideoServices, 'db' | 'replicaId'>,
  table: T,
  idempotent: IdempotentRequest | undefined,
  insert: (tx: Db, id: string) => Promise<RowOf[T]>,
): Promise<{ readonly creation: Creation<T> } | { readonly original: RowOf[T] }> {
  const id = newId(KINDS[table].prefix);
  const row = await services.db.transaction().execute(async (tx) => {
    const claim = { owner: services.replicaId, resourceId: id, leaseMs: ASSET_RECONCILIATION.leaseMs };
    if (!(await claimKey(tx, idempotent, claim))) return undefined;
    if (idempotent) crashPoint('asset.claimed');
    const inserted = await insert(tx, id);
    crashPoint('asset.inserted');
    return inserted;
  });
  crashPoint('asset.committed');
  if (row) return { creation: { table, row, idempotent } };
  return { original: await replayLost(idempotent && replayCreation(services, table, idempotent)) };
}

/**
 * Records what the provider made of the request, and returns the row.
 * Throws the error of a request that created nothing.
 */
export async function recordCreation<T extends Table>(
  { db, log }: Pick<VideoServices, 'db' | 'log'>,
  creation: Creation<T>,
  outcome: AssetCreateOutcome<{ readonly id: string }>,
): Promise<RowOf[T]> {
  const { table, row } = creation;
  crashPoint('asset.sent');
  if (outcome.kind === 'created') return confirm(db, creation, outcome.value.id);
  log.warn('asset.not_created', { table, id: row.id, account: row.account_id, ...logFields(outcome) });
  if (outcome.kind === 'unknown') return markUnknown(db, creation);
  const error = outcome.kind === 'not_sent' ? unavailable(503, outcome.retryAfter) : rejection(outcome.error);
  return discard(db, creation, error);
}

const logFields = (outcome: Exclude<AssetCreateOutcome<unknown>, { kind: 'created' }>) =>
  outcome.kind === 'rejected'
    ? { outcome: outcome.kind, status: outcome.error.status, code: outcome.error.code }
    : { outcome: outcome.kind };

async function confirm<T extends Table>(db: Db, creation: Creation<T>, upstreamId: string): Promise<RowOf[T]> {
  const { table, row, idempotent } = creation;
  const { confirmed, httpStatus } = KINDS[table];
  const created = await db.transaction().execute(async (tx) => {
    const changes = { upstream_id: upstreamId, next_check_at: null };
    const moved = await moveRow(tx, table, row, confirmed as never, changes);
    if (idempotent) await finishRecord(tx, row, httpStatus);
    crashPoint('asset.confirming');
    if (moved) return moved;
    // It is being deleted already: the deletion needs the provider's id.
    await sql`update ${sql.table(table)} set upstream_id = ${upstreamId}
      where user_id = ${row.user_id} and id = ${row.id} and upstream_id is null`.execute(tx);
    return (await lockRow(tx, table, row)) ?? row;
  });
  crashPoint('asset.confirmed');
  return created;
}

/**
 * An asset exists in status `create_unknown` (202).
 * A group was promised as active, so its request fails until it is found.
 */
async function markUnknown<T extends Table>(db: Db, { table, row, idempotent }: Creation<T>): Promise<RowOf[T]> {
  const unknown = await db.transaction().execute(async (tx) => {
    const moved = await moveRow(tx, table, row, 'create_unknown', { next_check_at: afterMs(FIRST_LOOK_MS) });
    if (idempotent && table === 'assets') await finishRecord(tx, row, KINDS[table].httpStatus);
    crashPoint('asset.marking_unknown');
    return moved ?? (await lockRow(tx, table, row)) ?? row;
  });
  crashPoint('asset.marked_unknown');
  if (table === 'asset_groups') throw unconfirmed();
  return unknown;
}

interface Rejection {
  readonly error: ApiError;
  /** The same request would get the same error again. */
  readonly isStable: boolean;
}

function rejection({ status, code, message }: AssetProviderError): ApiError | Rejection {
  const kind = assetErrorKindOf(status, code);
  if (kind === 'missing') return fail('asset_binding_unavailable', 'group_id: the group is not available any more.');
  if (kind !== 'request') return misconfigured();
  return { error: fail('invalid_request', message || 'The asset service rejected the request.'), isStable: true };
}

/** Removes the row, and frees the key or records a stable error. */
async function discard<T extends Table>(db: Db, creation: Creation<T>, rejected: ApiError | Rejection): Promise<never> {
  const { table, row, idempotent } = creation;
  const { error, isStable } = 'isStable' in rejected ? rejected : { error: rejected, isStable: false };
  await db.transaction().execute(async (tx) => {
    const { numAffectedRows = 0n } = await sql`delete from ${sql.table(table)}
      where user_id = ${row.user_id} and id = ${row.id} and status in ('creating', 'create_unknown')`.execute(tx);
    if (numAffectedRows === 0n) await moveRow(tx, table, row, 'deleted', DELETED);
    crashPoint('asset.discarding');
    if (idempotent && isStable) await finishRecord(tx, row, 400, { code: error.code, message: error.message });
    else if (idempotent) await removeRecord(tx, row);
  });
  crashPoint('asset.discarded');
  throw error;
}

/** Columns of a row that is gone at the provider. */
export const DELETED = { deleted_at: sql<Date>`now()`, next_check_at: null } as const;

/**
 * Decides about an abandoned creation. It may have been sent,
 * so it is looked up; no effect while its replica may be at work.
 */
const recoverCreation = (db: Db, table: Table, name: RowName): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const row = await lockRow(tx, table, name);
    if (!row) return removeRecord(tx, name);
    if (row.status === 'creating')
      await sql`update ${sql.table(table)} set status = 'create_unknown', updated_at = now(), next_check_at = now()
        where user_id = ${name.user_id} and id = ${name.id} and next_check_at <= now()`.execute(tx);
    crashPoint('asset.recovering');
    await settleRecord(tx, table, (await lockRow(tx, table, name)) ?? row);
  });

/**
 * Finishes the idempotency record of a row whose creation is decided.
 * The key of a group that was never created is free again.
 */
export async function settleRecord(tx: Db, table: Table, row: RowOf[Table]): Promise<void> {
  const { status } = row;
  if (status === 'creating') return;
  if (table === 'asset_groups' && status === 'create_unknown') return;
  if (table === 'asset_groups' && status === 'failed') return removeRecord(tx, row);
  await finishRecord(tx, row, KINDS[table].httpStatus);
}

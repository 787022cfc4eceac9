/**
 * Idempotency records (V 8): one per user, operation and Idempotency-Key. A record is claimed in the transaction that
 * creates the resource, so that there is never one without the other. All times are the database's.
 */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { fail } from '../../core/index.ts';
import { type Db, firstRow, type Row } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { IDEMPOTENCY } from '../../rules/index.ts';

export interface IdempotentRequest {
  readonly userId: string;
  readonly operation: string;
  readonly keyHash: Buffer;
  readonly fingerprint: Buffer;
}

/** The response of the original request. */
export interface OriginalResponse {
  readonly status: number;
  readonly resourceId: string | undefined;
  readonly error: StableError | undefined;
}

export interface StableError {
  readonly code: string;
  readonly message: string;
  readonly param?: string;
}

type RecordState =
  | { readonly kind: 'absent' }
  /** The key was used for another request. */
  | { readonly kind: 'conflict' }
  | { readonly kind: 'in_progress' }
  /** The replica that ran the operation stopped before it finished. */
  | { readonly kind: 'abandoned'; readonly owner: string; readonly resourceId: string | undefined }
  | { readonly kind: 'finished'; readonly response: OriginalResponse };

export const hashIdempotencyKey = (key: Buffer): Buffer => createHash('sha256').update(key).digest();

type StoredRecord = Pick<Row<'idempotency_records'>, 'fingerprint' | 'owner' | 'resource_id' | 'http_status'> & {
  readonly is_owned: boolean;
  readonly error: StableError | null;
};

export async function findRecord(db: Db, request: IdempotentRequest): Promise<RecordState> {
  const row = await firstRow(db)<StoredRecord>`
    select fingerprint, owner, owner_until > now() as is_owned, resource_id, http_status, error from idempotency_records
    where user_id = ${request.userId} and operation = ${request.operation} and key_hash = ${request.keyHash}
      and (expires_at > now() or ${hasTask('idempotency_records')})`;
  return stateOf(row, request);
}

/** The record of a task is kept as long as the task (V 8), also after its own time. */
const hasTask = (record: string) => sql<boolean>`exists (
  select from video_tasks t
  where t.user_id = ${sql.ref(record)}.user_id and t.id = ${sql.ref(record)}.resource_id and t.deleted_at is null)`;

function stateOf(row: StoredRecord | undefined, { fingerprint }: IdempotentRequest): RecordState {
  if (!row) return { kind: 'absent' };
  if (!row.fingerprint.equals(fingerprint)) return { kind: 'conflict' };
  const resourceId = row.resource_id ?? undefined;
  if (row.http_status !== null)
    return { kind: 'finished', response: { status: row.http_status, resourceId, error: row.error ?? undefined } };
  return row.is_owned ? { kind: 'in_progress' } : { kind: 'abandoned', owner: row.owner, resourceId };
}

export interface Claim {
  readonly owner: string;
  readonly resourceId: string;
  /** How long no other replica may take the operation over. */
  readonly leaseMs: number;
}

/** Inserts the record. False when another request has it; it waits for a concurrent claim to commit or roll back. */
export async function claimRecord(tx: Db, request: IdempotentRequest, claim: Claim): Promise<boolean> {
  const { userId, operation, keyHash, fingerprint } = request;
  const { numAffectedRows = 0n } = await sql`
    insert into idempotency_records
      (user_id, operation, key_hash, fingerprint, owner, owner_until, resource_id, expires_at)
    values (${userId}, ${operation}, ${keyHash}, ${fingerprint},
      ${claim.owner}, now() + ${claim.leaseMs} * interval '1 millisecond',
      ${claim.resourceId}, now() + ${IDEMPOTENCY.days} * interval '1 day')
    on conflict (user_id, operation, key_hash) do update set
      fingerprint = excluded.fingerprint, owner = excluded.owner, owner_until = excluded.owner_until,
      resource_id = excluded.resource_id, http_status = null, error = null, finished_at = null,
      created_at = now(), expires_at = excluded.expires_at
    where idempotency_records.expires_at <= now() and not ${hasTask('idempotency_records')}`.execute(tx);
  return numAffectedRows > 0n;
}

type Resource = Readonly<Record<'user_id' | 'id', string>>;

/**
 * Records the response for the resource that the record was claimed for, whoever decides it. A record is finished once.
 */
export async function finishRecord(tx: Db, row: Resource, status: number, error?: StableError): Promise<void> {
  await sql`
    update idempotency_records set http_status = ${status}, finished_at = now(),
      error = ${error ? JSON.stringify(error) : null}::jsonb,
      resource_id = case when ${error !== undefined} then null else resource_id end
    where user_id = ${row.user_id} and resource_id = ${row.id} and finished_at is null`.execute(tx);
}

/** Frees the key: nothing was sent, so the same request may be made again. */
export async function removeRecord(tx: Db, { user_id, id }: Resource): Promise<void> {
  await sql`
    delete from idempotency_records where user_id = ${user_id} and resource_id = ${id}
      and finished_at is null`.execute(tx);
}

/**
 * Removes expired records. Those of tasks that still exist get another period instead,
 * so that the next run does not read them again. Returns how many were due.
 */
export async function expireRecords(db: Db, batch = 1_000): Promise<number> {
  const found = await firstRow(db)<{ due: bigint }>`
    with due as materialized (
      select r.ctid as place, ${hasTask('r')} as is_kept from idempotency_records r
      where r.expires_at <= now() order by r.expires_at limit ${batch} for update of r skip locked),
    prolonged as (
      update idempotency_records r set expires_at = now() + ${IDEMPOTENCY.days} * interval '1 day'
      from due where r.ctid = due.place and due.is_kept),
    removed as (delete from idempotency_records r using due where r.ctid = due.place and not due.is_kept)
    select count(*) as due from due`;
  return Number(found?.due ?? 0n);
}

/** The Idempotency-Key header (V 8): valid UTF-8, 1 to 64 bytes, at most once per request. */
const NAME = 'idempotency-key';

/** Returns the hash of the key; undefined when the request has none. */
export function readIdempotencyKey(call: Pick<Call, 'request'>): Buffer | undefined {
  const { rawHeaders } = call.request;
  const values: string[] = [];
  for (let n = 0; n < rawHeaders.length; n += 2) if (rawHeaders[n] === NAME) values.push(rawHeaders[n + 1] ?? '');
  const [value] = values;
  if (value === undefined) return undefined;
  if (values.length > 1) throw invalid('sent more than once; send it once');
  // Header values are read byte by byte, so that their bytes are the characters' codes.
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.length === 0 || bytes.length > IDEMPOTENCY.keyBytes)
    throw invalid(`has ${bytes.length} bytes; send 1 to ${IDEMPOTENCY.keyBytes}`);
  if (!isUtf8(bytes)) throw invalid('is not valid UTF-8');
  return hashIdempotencyKey(bytes);
}

const invalid = (problem: string) =>
  fail('invalid_request', `Idempotency-Key: ${problem}.`, { param: 'Idempotency-Key' });

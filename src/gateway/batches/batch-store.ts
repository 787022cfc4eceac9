/**
 * Batches of users: made with all of their requests in one transaction, read, cancelled and deleted.
 * A worker sends the requests.
 */
import { sql } from 'kysely';
import type { Account, Catalog } from '../../catalog/index.ts';
import { fail, failAt, newId } from '../../core/index.ts';
import { type Db, deleteBatch, type Row, type Tx } from '../../platform/db/index.ts';
import type { Threads } from '../../platform/threads/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { BATCHES, type InferenceOperation, WORKING_COPIES } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { type FileStore, fileNotFound, type StoredFile } from '../files/file-store.ts';
import { type OwnPage, ownRows } from '../files/own-rows.ts';
import { jobOwner } from '../services.ts';
import { type BatchLines, batchLinesJob, linesOfFileJob } from './batch-lines.ts';

export interface BatchServices {
  readonly db: Db;
  readonly files: FileStore;
  readonly threads: Threads;
  readonly catalog: () => Catalog;
}

export interface NewBatch {
  readonly operation: InferenceOperation;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly beta?: string | undefined;
}

export type Batch = Row<'batches'>;

const KEPT_HOURS = 30 * 24;

export class BatchStore {
  readonly #services: BatchServices;

  constructor(services: BatchServices) {
    this.#services = services;
  }

  /** A file with what no batch can have makes one that has failed. */
  async createFromFile(call: Call, caller: Caller, fileId: string, batch: NewBatch & { url: string }): Promise<Batch> {
    const { files, threads } = this.#services;
    const { userId } = caller.key;
    const file = await files.find(fileId, userId);
    if (!file) throw fileNotFound(fileId, 'input_file_id');
    const size = Number(file.bytes);
    call.reserveMemory().add(size * WORKING_COPIES.forwarded);
    const bytes = Buffer.concat(await Array.fromAsync(files.read(file)));
    const found = await threads.run(linesOfFileJob, { bytes, url: batch.url }, jobOwner(call, caller, size));
    return this.#insert(call, caller, async () => ({ ...batch, ...found, file }));
  }

  /** The body that lists the requests is kept as the file. */
  async createFromBody(call: Call, caller: Caller, bytes: Buffer, batch: NewBatch): Promise<Batch> {
    const { files, threads } = this.#services;
    const { id: keyId, userId } = caller.key;
    const found = await threads.run(batchLinesJob, { bytes, url: undefined }, jobOwner(call, caller, bytes.length));
    const form = { name: 'requests.json', mediaType: 'application/json', purpose: 'batch' } as const;
    return this.#insert(call, caller, async (tx) => {
      const file = await files.createIn(tx, { userId, keyId }, form, contentOf(bytes));
      return { ...batch, ...found, file };
    });
  }

  #insert(call: Call, caller: Caller, read: (tx: Tx) => Promise<InsertedBatch>): Promise<Batch> {
    const { db, catalog } = this.#services;
    const accounts = caller.key.groups.flatMap((id) => catalog().accounts(id));
    const isPlaced = !accounts.some(takesBatches);
    return db.transaction().execute(async (tx) => insertBatch(tx, call, caller, { ...(await read(tx)), isPlaced }));
  }

  /** Foreign batches, and those in the other shape, are missing ones. */
  async find(id: string, userId: string, isMessages: boolean): Promise<Batch> {
    const row = await findBatch(this.#services.db, userId, id);
    if (!row || (row.operation === MESSAGES) !== isMessages)
      throw fail('batch_not_found', `No batch with id '${id.slice(0, 100)}' exists.`);
    return row;
  }

  list(userId: string, page: OwnPage, isMessages: boolean): Promise<Batch[]> {
    const isWanted = sql<boolean>`(operation = ${MESSAGES}) = ${isMessages}`;
    return ownRows(this.#services.db, 'batches', { ...page, userId }, isWanted);
  }

  /** Requests that are sent end as they do; the worker ends the others. */
  async cancel(id: string, userId: string, isMessages: boolean): Promise<Batch> {
    const batch = await this.find(id, userId, isMessages);
    if (batch.state !== 'running')
      throw fail('invalid_request', 'The batch has ended; only running ones are cancelled.');
    await sql`update batches set cancelled_at = coalesce(cancelled_at, now()), ready_at = now()
      where id = ${id} and user_id = ${userId} and state = 'running'`.execute(this.#services.db);
    return this.find(id, userId, isMessages);
  }

  async remove(id: string, userId: string): Promise<void> {
    const batch = await this.find(id, userId, true);
    if (batch.state === 'running')
      throw fail('invalid_request', 'The batch is still running; cancel it, then delete it.');
    await this.#services.db.transaction().execute((tx) => deleteBatchRow(tx, userId, id));
  }
}

/** Whether requests may be sent as a batch of the provider. Clouds have batches of other kinds. */
export const takesBatches = ({ features, cloud }: Account): boolean => features.has('batches') && !cloud;

export const findBatch = (db: Db, userId: string, id: string): Promise<Batch | undefined> =>
  db.selectFrom('batches').selectAll().where('user_id', '=', userId).where('id', '=', id).executeTakeFirst();

/** With its requests, and with the files that only a messages-dialect batch names. */
export async function deleteBatchRow(tx: Tx, userId: string, id: string): Promise<void> {
  const batch = await tx
    .deleteFrom('batches')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returning(['operation', 'input_file', 'output_file'])
    .executeTakeFirst();
  if (batch?.operation !== MESSAGES) return;
  const files = [batch.input_file, batch.output_file ?? ''];
  await tx.deleteFrom('files').where('user_id', '=', userId).where('id', 'in', files).execute();
}

/** One batch of rows per run. Returns how many were deleted. */
export const expireBatches = (db: Db): Promise<number> =>
  deleteBatch(db, 'batches', sql`kept_until <= now() and state <> 'running'`);

/** The only operation of the batches with shapes of their own. */
const MESSAGES = 'messages.create';

async function* contentOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

type InsertedBatch = NewBatch & BatchLines & { readonly file: StoredFile };

/** Batches of one user wait for each other, so that two at once do not pass the limit. */
async function insertBatch(
  tx: Tx,
  call: Call,
  { key }: Caller,
  { operation, metadata, beta, file, errors, isPlaced, ...lines }: InsertedBatch & { readonly isPlaced: boolean },
): Promise<Batch> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${key.userId}, 50))`.execute(tx);
  const { rows } = await sql<{ open: number; all: number }>`
    select count(*)::int as all, (count(*) filter (where state = 'running'))::int as open
    from batches where user_id = ${key.userId}`.execute(tx);
  const { open = 0, all = 0 } = rows[0] ?? {};
  if (open >= BATCHES.open) throw tooMany(`${open} batches of this user are running; wait until one has ended.`);
  if (all >= BATCHES.perUser)
    throw tooMany(`this user has ${all} batches; the oldest go after ${KEPT_HOURS / 24} days.`);
  const isValid = errors.length === 0;
  const batch = await tx
    .insertInto('batches')
    .values({
      user_id: key.userId,
      id: newId('batch'),
      key_id: key.id,
      address: call.address,
      operation,
      input_file: file.id,
      metadata: JSON.stringify(metadata ?? {}),
      beta: beta ?? null,
      errors: JSON.stringify(errors),
      state: isValid ? 'running' : 'failed',
      ended_at: isValid ? null : sql<Date>`now()`,
      total: isValid ? lines.count : 0,
      expires_at: sql<Date>`now() + ${BATCHES.hours} * interval '1 hour'`,
      placing_until: isPlaced ? null : sql<Date>`now()`,
      kept_until: sql<Date>`now() + ${KEPT_HOURS} * interval '1 hour'`,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  if (isValid)
    await sql`
      insert into batch_lines (user_id, batch_id, n, custom_id, start, bytes)
      select ${key.userId}, ${batch.id}, n, custom_id, start, bytes from unnest(
        ${lines.customIds}::text[], ${lines.starts}::bigint[], ${lines.bytes}::int[]) with ordinality as line (custom_id, start, bytes, n)`.execute(
      tx,
    );
  return batch;
}

const tooMany = (why: string) => failAt('rate_limit_exceeded', 'batch', why);

/**
 * Sends batches of users as batches of a provider, follows them, and collects their results.
 * Reasons: docs/adr/0024-provider-batches.md
 */
import { sql } from 'kysely';
import { errorFields } from '../../../core/index.ts';
import { crashPoint } from '../../../ledger/index.ts';
import { DUE_SOON, type Job, type OpenWork } from '../../../platform/db/index.ts';
import { PROVIDER_BATCHES, TIMEOUTS } from '../../../rules/index.ts';
import { holdWith } from '../../background/hold.ts';
import { type Batch, findBatch } from '../batch-store.ts';
import { RESULT_MISSING } from '../failed-reply.ts';
import { collect, settleBatch } from './collect.ts';
import { type PreparedBatch, type PrepareServices, prepareBatch } from './prepare.ts';
import * as api from './provider-api.ts';
import { customIdOf, type LineOutcome, outcomesIn } from './result-lines.ts';
import * as rows from './rows.ts';

/** Rows that one run looks at, one by one. Those behind a slow one are due again for another run. */
const DUE = 5;
/** Batches that are followed, and that are placed, at a time. */
const FOLLOWING = 4;
const PLACING = 2;
const OPEN_BATCHES: OpenWork = {
  name: 'provider_batches',
  condition: sql<boolean>`exists (select from provider_batches where next_check_at < ${DUE_SOON})
    or exists (select from batches where placing_until < ${DUE_SOON})`,
};
const HOUR_MS = 3_600_000;
/** From the creation at the provider to its begin here: a lease, and clocks that differ. */
const NEAR_MS = PROVIDER_BATCHES.leaseMs + 120_000;

const jobs = (name: string, count: number, run: Job['run']): readonly Job[] =>
  Array.from({ length: count }, () => ({ name, everyMs: 1_000, needs: OPEN_BATCHES, run }));

export class ProviderBatches {
  /**
   * A provider that is slow to take a batch delays no results, and one that is slow with results delays none of others.
   */
  readonly jobs: readonly Job[] = [
    ...jobs('batches.follow', FOLLOWING, () => this.#followDue()),
    ...jobs('batches.place', PLACING, () => this.#placeNext()),
  ];
  readonly #following = new Set<string>();
  readonly #services: PrepareServices;

  constructor(services: PrepareServices) {
    this.#services = services;
  }

  async #followDue(): Promise<number> {
    const { db, log } = this.#services;
    for (const row of await rows.takeDueBatches(db, DUE)) {
      const { reference, batch_id: batch, account_id: account } = row;
      if (this.#following.has(reference)) continue;
      this.#following.add(reference);
      const onError = (error: unknown) => log.warn('batch.follow_failed', { batch, account, ...errorFields(error) });
      await this.#follow(row).catch(onError);
      this.#following.delete(reference);
    }
    return 0;
  }

  async #placeNext(): Promise<number> {
    const batch = await rows.takeUnplaced(this.#services.db);
    if (batch) await this.#place(batch);
    return batch ? 1 : 0;
  }

  /** What cannot go to a provider is sent request by request. */
  async #place(batch: Batch): Promise<void> {
    const { db, bodyBudget, log } = this.#services;
    const memory = bodyBudget.open(batch.key_id);
    try {
      const prepared = await prepareBatch(this.#services, batch, memory);
      if (!prepared) return void (await rows.endPlacing(db, batch));
      const { caller, lines, reference } = prepared;
      const nanos = lines.reduce((sum, { maxNanos }) => sum + maxNanos, 0n);
      const held = { caller, nanos, reference, hours: PROVIDER_BATCHES.hours + 1 };
      await holdWith(this.#services, held, (tx) => rows.insertPlaced(tx, batch, prepared));
      crashPoint('batch.held');
      await this.#submit(batch, prepared);
    } catch (error) {
      log.info('batch.not_placed', { batch: batch.id, ...errorFields(error) });
      await rows.endPlacing(db, batch);
    } finally {
      memory.release();
    }
  }

  async #submit(batch: Batch, { reference, account, lines }: PreparedBatch): Promise<void> {
    const { db, upstream, log } = this.#services;
    const { id, user_id, operation, beta } = batch;
    const target = { upstream, account, operation, beta };
    const requests = lines.map(({ n, body }) => ({ customId: customIdOf(id, n), body }));
    const held = { user_id, reference, state: 'held' };
    const submitting = { ...held, state: 'submitting' };
    const file = await api.uploadRequests(target, requests);
    crashPoint('batch.uploaded');
    const lease = { submitted_at: sql<Date>`now()`, next_check_at: rows.providerLeaseEnd };
    const isMine =
      file !== undefined && (await rows.changeRow(db, held, { state: 'submitting', input_file: file, ...lease }));
    if (!isMine) return void (await rows.returnRequests(this.#services, held));
    crashPoint('batch.submitting');
    const made = await api.createThere(target, file, requests);
    crashPoint('batch.created');
    log.info('batch.sent_to_provider', { batch: id, user: user_id, account: account.id, requests: lines.length });
    if (made === 'refused') await rows.returnRequests(this.#services, submitting);
    else if (made !== 'unknown') await this.#bind(submitting, made.id);
  }

  #bind(row: rows.BatchState, id: string, isCertain = true): Promise<boolean> {
    const change = { state: 'running', upstream_id: id, is_certain: isCertain };
    return rows.changeRow(this.#services.db, row, {
      ...change,
      next_check_at: sql<Date>`now() + interval '2 seconds'`,
    });
  }

  async #follow(row: rows.ProviderBatch): Promise<void> {
    const { db, catalog, clock, upstream } = this.#services;
    const account = catalog().account(row.account_id, row.group_id) ?? catalog().account(row.account_id);
    const target = account && { upstream, account, operation: row.operation };
    if (row.state === 'held') return void (await rows.returnRequests(this.#services, row));
    if (row.state === 'ended') {
      if (target && row.is_certain) await api.deleteThere(target, row.upstream_id, row.input_file);
      return void (await db.deleteFrom('provider_batches').where('reference', '=', row.reference).execute());
    }
    const isOld = clock.now() - row.created_at.getTime() > PROVIDER_BATCHES.hours * HOUR_MS;
    if (isOld) return this.#lose(row);
    // This replica does not know the account yet, or its credential is unreadable for now.
    if (!target) return;
    return row.state === 'submitting' ? this.#seek(row, target) : this.#check(row, target);
  }

  /** The process that sent it has ended, or did not learn what became of it. */
  async #seek(row: rows.ProviderBatch, target: api.BatchTarget): Promise<void> {
    const { db } = this.#services;
    const { input_file: file, requests, submitted_at: since, account_id } = row;
    const listed = await api.listBatches(target);
    if (!listed) return;
    const bound = await db
      .selectFrom('provider_batches')
      .select('upstream_id')
      .where('account_id', '=', account_id)
      .execute();
    const isLikely = ({ inputFile, ...one }: api.BatchThere): boolean =>
      file ? inputFile === file : one.requests === requests && Math.abs(one.createdAt - Number(since)) < NEAR_MS;
    const found = listed.find((one) => isLikely(one) && !bound.some(({ upstream_id: id }) => id === one.id));
    if (found) await this.#bind(row, found.id, file !== '');
    else await this.#lose(row);
  }

  async #check(row: rows.ProviderBatch, target: api.BatchTarget): Promise<void> {
    const { db, upstream } = this.#services;
    const found = await api.readThere(target, row.upstream_id ?? '');
    if (found === 'missing') {
      if (row.misses + 1 >= PROVIDER_BATCHES.misses) return this.#lose(row);
      return void (await rows.changeRow(db, row, { misses: row.misses + 1 }));
    }
    if (!found) return;
    if (found.state === 'running') return this.#cancelIfAsked(row, target);
    if (found.state === 'failed') return void (await rows.returnRequests(this.#services, row));
    for (const path of found.results) {
      const request = api.batchRequest(target, 'GET', path, { timeouts: TIMEOUTS.videoResult });
      if (!(await collect(this.#services, row, outcomesIn(upstream, request, row.batch_id)))) return;
    }
    const { status, content: body } = RESULT_MISSING;
    const isWhole = found.state === 'completed';
    await this.#end(row, isWhole ? { state: 'errored', status, body } : { state: found.state, status: null });
  }

  /** Also one that the user has deleted. */
  async #cancelIfAsked(row: rows.ProviderBatch, target: api.BatchTarget): Promise<void> {
    const { db } = this.#services;
    if (row.cancelled_at || !row.is_certain) return;
    const batch = await findBatch(db, row.user_id, row.batch_id);
    if (batch && !batch.cancelled_at) return;
    if (await api.cancelThere(target, row.upstream_id ?? ''))
      await rows.changeRow(db, row, { cancelled_at: sql<Date>`now()` });
  }

  /** Nobody knows what became of the requests, or ever will. They cost nothing. */
  async #lose(row: rows.ProviderBatch): Promise<void> {
    const { batch_id: batch, account_id: account, user_id: user, requests } = row;
    this.#services.log.error('batch.lost_at_provider', { batch, account, user, requests });
    await this.#end(row, { state: 'errored', status: null });
  }

  /** Requests without a result end like this, and what the others cost is paid. */
  async #end(row: rows.ProviderBatch, rest: Omit<LineOutcome, 'n'>): Promise<void> {
    const { db } = this.#services;
    for (let open = await rows.openNumbers(db, row); open.length > 0; open = await rows.openNumbers(db, row)) {
      const outcomes = open.map((n): LineOutcome => ({ ...rest, n }));
      if (!(await collect(this.#services, row, outcomes))) return;
    }
    await settleBatch(this.#services, row);
    crashPoint('batch.settled');
  }
}

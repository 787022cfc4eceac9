/**
 * The cooldowns of this replica as rows of the database, where the admin API and `dragoman doctor` read those of all replicas.
 * Runs beside requests and never delays one.
 */
import { sql } from 'kysely';
import { type Clock, errorFields, type Log, type Repetition, repeat } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import type { CoolingAccount, Pool } from './pool.ts';

export interface CooldownReportOptions {
  readonly db: Db;
  readonly pool: Pool;
  /** The id may change while the process runs. */
  readonly replicaId: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

const INTERVAL_MS = 1_000;
/** Enough for an operator to see what is wrong. */
const MAX_ROWS = 1_000;

export class CooldownReport {
  readonly #options: CooldownReportOptions;
  readonly #repetition: Repetition;
  #written: { readonly replicaId: string; readonly text: string } | undefined;
  #isFailing = false;

  constructor(options: CooldownReportOptions) {
    this.#options = options;
    this.#repetition = repeat(() => this.#writeChanges(), {
      clock: options.clock,
      intervalMs: INTERVAL_MS,
      onError: (error) => this.#onError(error),
    });
  }

  /** Removes the rows of this replica. */
  async stop(): Promise<void> {
    await this.#repetition.stop();
    if (this.#written) await this.#write([], this.#written.replicaId).catch((error: unknown) => this.#onError(error));
  }

  async #writeChanges(): Promise<void> {
    const { pool, replicaId } = this.#options;
    const cooling = pool.cooling().slice(0, MAX_ROWS);
    const next = { replicaId: replicaId(), text: JSON.stringify(cooling) };
    if (next.text === (this.#written?.text ?? '[]') && next.replicaId === (this.#written?.replicaId ?? next.replicaId))
      return;
    await this.#write(cooling, next.replicaId);
    this.#written = next;
    this.#isFailing = false;
  }

  async #write(cooling: readonly CoolingAccount[], replicaId: string): Promise<void> {
    const replaced = [replicaId, this.#written?.replicaId ?? replicaId];
    await this.#options.db.transaction().execute(async (tx) => {
      // Rows of processes that were killed remain until then.
      await tx
        .deleteFrom('account_cooldowns')
        .where((row) =>
          row.or([row('replica_id', 'in', replaced), row('until', '<', sql<Date>`now() - interval '1 hour'`)]),
        )
        .execute();
      if (cooling.length === 0) return;
      await tx
        .insertInto('account_cooldowns')
        .values(cooling.map((cooldown) => rowOf(cooldown, replicaId)))
        .onConflict((row) => row.doNothing())
        .execute();
    });
  }

  /** Logs the first of several failures in a row: the database is down, which other lines say too. */
  #onError(error: unknown): void {
    if (!this.#isFailing) this.#options.log.warn('account.report_failed', errorFields(error));
    this.#isFailing = true;
  }
}

const rowOf = ({ account, use, kind, providerCode, faults, since, until }: CoolingAccount, replicaId: string) => ({
  replica_id: replicaId,
  account_id: account,
  operation: use ? (use.operation ?? 'none') : '',
  model: use?.model?.toWellFormed().replaceAll('\0', '') ?? '',
  reason: kind,
  provider_code: providerCode ?? null,
  faults,
  since: new Date(since),
  until: new Date(until),
});

/** A kind of work that background jobs do. Its name is that of the announcements of the triggers (`announce_work`). */
import { type RawBuilder, sql } from 'kysely';

export interface OpenWork {
  readonly name: string;
  /** Whether there may be any before the next query, as a condition that indexes answer. */
  readonly condition: RawBuilder<boolean>;
}

/** How often a worker looks for work that was not announced. */
export const LOOK_MS = 5_000;

/** A time that comes before the query after the next. */
export const DUE_SOON = sql`now() + ${sql.lit(2 * LOOK_MS)} * interval '1 millisecond'`;

/** A job of the background. */
export interface Job {
  readonly name: string;
  readonly everyMs: number;
  /** Runs only while there is work of this kind, and at once when there is some again. */
  readonly needs?: OpenWork;
  /** Returns the number of items processed; the next run follows at once unless it is zero. */
  run(): Promise<number>;
}

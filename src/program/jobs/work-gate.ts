/**
 * Which kinds of work exist, so that jobs without work send no statements. An announcement of the database opens a gate
 * at once. Announcements may be lost, so the gate also asks the database every few seconds, in one statement for all
 * kinds.
 */
import { sql } from 'kysely';
import { type Clock, errorFields, type Log, type Repetition, repeat } from '../../core/index.ts';
import * as database from '../../platform/db/index.ts';

export interface WorkGateOptions {
  readonly db: database.Db;
  readonly kinds: readonly database.OpenWork[];
  readonly clock: Clock;
  readonly log: Log;
  /** Asks the database without a connection of the pool. */
  readonly watch?: Pick<database.RevisionWatch, 'read'>;
}

type Found = Readonly<Record<string, boolean>>;

/**
 * The gate stays open for so long after an announcement: a session does not announce again for a second, and its
 * transaction takes time.
 */
const ANNOUNCED_MS = 5_000;
/** The gate closes by itself when the database cannot be asked for so long; the jobs would fail then too. */
const FOUND_MS = 3 * database.LOOK_MS;

export class WorkGate {
  readonly #options: WorkGateOptions;
  readonly #doors: ReadonlyMap<string, Door>;
  readonly #findWork: database.Prepared<Found>;
  readonly #onError: (error: unknown) => void;
  readonly #repetition: Repetition;

  /** All gates are open until the first query has found nothing. */
  constructor(options: WorkGateOptions) {
    const { clock, log, kinds } = options;
    this.#options = options;
    this.#findWork = prepareLook(options);
    this.#doors = new Map(kinds.map(({ name }) => [name, new Door(clock.elapsed() + database.LOOK_MS + ANNOUNCED_MS)]));
    this.#onError = (error) => log.warn('work.look_failed', errorFields(error));
    this.#repetition = repeat(() => this.look(), { clock, intervalMs: database.LOOK_MS, onError: this.#onError });
  }

  /** Work of this kind was announced. */
  announce(name: string): void {
    this.#doors.get(name)?.open(this.#options.clock.elapsed() + ANNOUNCED_MS);
  }

  /** Announcements were lost: looks now. */
  catchUp(): void {
    this.look().catch(this.#onError);
  }

  isOpen({ name }: database.OpenWork): boolean {
    return this.#doors.get(name)?.isOpen(this.#options.clock.elapsed()) ?? true;
  }

  /** Calls `task` once when the gate opens. Returns how to cancel that. */
  whenOpen({ name }: database.OpenWork, task: () => void): () => void {
    const waiting = this.#doors.get(name)?.waiting;
    waiting?.add(task);
    return () => waiting?.delete(task);
  }

  async look(): Promise<void> {
    const { db, clock, watch } = this.#options;
    const { sql: text } = this.#findWork.query([]);
    const [found = {}] = (await watch?.read<Found>('work_look', text)) ?? (await this.#findWork(db, []));
    const now = clock.elapsed();
    for (const [name, hasWork] of Object.entries(found))
      if (hasWork) this.#doors.get(name)?.open(now + FOUND_MS);
      else this.#doors.get(name)?.closeBy(now + ANNOUNCED_MS);
  }

  stop(): Promise<void> {
    return this.#repetition.stop();
  }
}

/** Planning the conditions takes far longer than their answer. */
function prepareLook({ db, kinds }: WorkGateOptions): database.Prepared<Found> {
  const columns = kinds.map(({ name, condition }) => sql`(${condition}) as ${sql.ref(name)}`);
  return database.prepare('work_look', sql`select ${sql.join(columns)}`.compile(db).sql);
}

class Door {
  readonly waiting = new Set<() => void>();
  #openUntil: number;

  constructor(openUntil: number) {
    this.#openUntil = openUntil;
  }

  isOpen(now: number): boolean {
    return now < this.#openUntil;
  }

  open(until: number): void {
    this.#openUntil = Math.max(this.#openUntil, until);
    const tasks = [...this.waiting];
    this.waiting.clear();
    for (const task of tasks) task();
  }

  /** An announcement may have come after the query began, so the gate does not close at once. */
  closeBy(until: number): void {
    this.#openUntil = Math.min(this.#openUntil, until);
  }
}

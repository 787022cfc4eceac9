/**
 * Waiting for the next change of a task, for long polls and status streams.
 * All waiting requests of a replica share one query per second, whatever their number; the number is bounded.
 */
import { sql } from 'kysely';
import { errorFields, overloaded } from '../../core/index.ts';
import { TASK_WAIT } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import type { TaskRow } from './task.ts';

type WatchServices = Pick<VideoServices, 'db' | 'clock' | 'log'>;

interface Waiter {
  readonly task: Pick<TaskRow, 'user_id' | 'id' | 'version'>;
  readonly resolve: (isChanged: boolean) => void;
}

export class TaskWatcher {
  readonly #services: WatchServices;
  readonly #waiters = new Set<Waiter>();
  #cancelTick: (() => void) | undefined;
  /** The server stops: nothing waits any more. */
  hasEnded = false;

  constructor(services: WatchServices) {
    this.#services = services;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /**
   * Resolves to true once the task has a newer version, to false when the time is up,
   * `onCancel` is called or the server stops. Throws when too many requests are waiting.
   */
  next(task: Waiter['task'], waitMs: number, onCancel: (cancel: () => void) => void): Promise<boolean> {
    if (this.#waiters.size >= TASK_WAIT.maxWaiting)
      throw overloaded('Too many requests are waiting for tasks; poll without `wait`.', 5);
    if (this.hasEnded) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter: Waiter = { task, resolve };
    this.#waiters.add(waiter);
    const cancelTimeout = this.#services.clock.after(waitMs, () => resolve(false));
    onCancel(() => resolve(false));
    this.#cancelTick ??= this.#tick();
    return promise.finally(() => {
      cancelTimeout();
      this.#waiters.delete(waiter);
    });
  }

  end(): void {
    this.hasEnded = true;
    for (const { resolve } of this.#waiters) resolve(false);
  }

  #tick(): () => void {
    return this.#services.clock.after(TASK_WAIT.checkMs, () => {
      void this.#check().finally(() => {
        this.#cancelTick = this.#waiters.size > 0 ? this.#tick() : undefined;
      });
    });
  }

  async #check(): Promise<void> {
    const waiters = [...this.#waiters];
    if (waiters.length === 0) return;
    try {
      const { rows } = await sql<{ id: string; version: number }>`
        select t.id, t.version from unnest(
          ${waiters.map(({ task }) => task.user_id)}::text[], ${waiters.map(({ task }) => task.id)}::text[])
            waiting (user_id, id)
        join video_tasks t on t.user_id = waiting.user_id and t.id = waiting.id`.execute(this.#services.db);
      const versions = new Map(rows.map(({ id, version }) => [id, version]));
      // A task that was deleted meanwhile has changed too.
      for (const { task, resolve } of waiters) if (versions.get(task.id) !== task.version) resolve(true);
    } catch (error) {
      // The next check may succeed; a waiting request ends at its own time.
      this.#services.log.warn('task.watch_failed', errorFields(error));
    }
  }
}

/** Callbacks of the provider to the `callback_url` of a task, and the ways in which they can go wrong. */
import type { SimClock } from './clock.ts';
import type { VideoSettings } from './settings.ts';
import { isTerminal, type Task, type TaskStatus } from './task.ts';

/** One attempt, for assertions in tests. */
export interface CallbackAttempt {
  taskId: string;
  status: TaskStatus;
  url: string;
  body: string;
  attempt: number;
  /** The status of the response, or why there was none. */
  result?: number | string;
}

interface Callback {
  task: Task;
  status: TaskStatus;
  body: string;
  attempt: number;
}

/** A terminal state is sent at most four times, every other state once. */
const ATTEMPTS = 4;

export class Callbacks {
  readonly attempts: CallbackAttempt[] = [];
  readonly #clock: SimClock;
  readonly #settings: VideoSettings;
  /** The last delivery of each task; the next one waits for it, so that the order is kept. */
  readonly #deliveries = new Map<string, Promise<void>>();
  readonly #heldBack = new Map<string, Callback[]>();
  readonly #closed = new AbortController();

  constructor(clock: SimClock, settings: VideoSettings) {
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Announces the current status of a task. `view` is the body of a get response. */
  announce(task: Task, view: () => object): void {
    const modes = task.plan.callbacks ?? this.#settings.callbacks;
    const isSilent = task.request.callbackUrl === undefined || task.status === 'cancelled';
    if (isSilent || modes.includes('dropped')) return;
    const content = modes.includes('wrong_id') ? { ...view(), id: forged(task.id) } : view();
    const one: Callback = { task, status: task.status, body: JSON.stringify(content), attempt: 1 };
    const callbacks = modes.includes('duplicated') ? [one, one] : [one];
    const ready = modes.includes('shuffled') ? this.#shuffle(task, callbacks) : callbacks;
    if (!modes.includes('delayed')) return this.#send(ready);
    this.#clock.at(this.#clock.now() + this.#settings.callbackDelayMs, () => this.#send(ready));
  }

  /** Resolves when no attempt is under way. */
  async idle(): Promise<void> {
    while (this.#deliveries.size > 0) await Promise.all(this.#deliveries.values());
  }

  close(): void {
    this.#closed.abort();
  }

  /** Keeps callbacks until the task ends, then returns all of them, the newest first. */
  #shuffle(task: Task, callbacks: Callback[]): Callback[] {
    const all = [...(this.#heldBack.get(task.id) ?? []), ...callbacks];
    this.#heldBack.set(task.id, all);
    if (!isTerminal(task.status)) return [];
    this.#heldBack.delete(task.id);
    return all.reverse();
  }

  #send(callbacks: readonly Callback[]): void {
    for (const callback of callbacks) {
      const { id } = callback.task;
      const before = this.#deliveries.get(id) ?? Promise.resolve();
      const delivery = before
        .then(() => this.#attempt(callback))
        .finally(() => {
          if (this.#deliveries.get(id) === delivery) this.#deliveries.delete(id);
        });
      this.#deliveries.set(id, delivery);
    }
  }

  async #attempt(callback: Callback): Promise<void> {
    const { task, status, body, attempt } = callback;
    const url = task.request.callbackUrl ?? '';
    const entry: CallbackAttempt = { taskId: task.id, status, url, body, attempt };
    this.attempts.push(entry);
    const result = await this.#post(url, body);
    entry.result = result;
    const isDelivered = typeof result === 'number' && result >= 200 && result < 300;
    if (isDelivered || !isTerminal(status) || attempt >= ATTEMPTS || this.#closed.signal.aborted) return;
    const retryAt = this.#clock.now() + this.#settings.callbackRetryMs;
    this.#clock.at(retryAt, () => this.#send([{ ...callback, attempt: attempt + 1 }]));
  }

  async #post(url: string, body: string): Promise<number | string> {
    const timeout = AbortSignal.timeout(this.#settings.callbackTimeoutMs);
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        redirect: 'manual',
        signal: AbortSignal.any([timeout, this.#closed.signal]),
      });
      await response.body?.cancel();
      return response.status;
    } catch (error) {
      return timeout.aborted ? 'timeout' : String(error);
    }
  }
}

/** A well-formed id that no task has: the letters are reversed and one of them is not in use. */
const forged = (id: string): string => `${id.slice(0, -5)}${[...id.slice(-4)].reverse().join('')}0`;

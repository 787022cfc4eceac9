/**
 * Upstream connections of this process per result: few at a time, because a link allows a limited number of downloads
 * and each range request counts. Further readers wait in order, and get 503 when their turn does not come in time.
 */
import { type Clock, entryOf, overloaded } from '../../core/index.ts';
import { RESULT_READS } from '../../rules/index.ts';

interface Queue {
  active: number;
  readonly waiting: { start(): void }[];
}
export class ResultTurns {
  readonly #clock: Clock;
  readonly #queues = new Map<string, Queue>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for a turn and returns the function that ends it. `onCancel` gets the function that leaves the queue. */
  async take(result: string, onCancel: (leave: () => void) => void): Promise<() => void> {
    const queue = entryOf(this.#queues, result, () => ({ active: 0, waiting: [] }));
    if (queue.active >= RESULT_READS.connections) await this.#wait(queue, onCancel);
    else queue.active += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#end(result, queue);
    };
  }

  /** Resolves when a turn was passed on; the number of active ones stays the same. */
  #wait(queue: Queue, onCancel: (leave: () => void) => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      const at = queue.waiting.indexOf(waiter);
      if (at < 0) return;
      queue.waiting.splice(at, 1);
      cancel();
      reject(overloaded(TOO_MANY, RESULT_READS.retryAfterSeconds));
    };
    const cancel = this.#clock.after(RESULT_READS.waitMs, leave);
    const waiter = {
      start() {
        cancel();
        resolve();
      },
    };
    queue.waiting.push(waiter);
    onCancel(leave);
    return promise;
  }

  #end(result: string, queue: Queue): void {
    const next = queue.waiting.shift();
    if (next) return next.start();
    queue.active -= 1;
    if (queue.active === 0) this.#queues.delete(result);
  }
}

const TOO_MANY = 'This result is being read by too many requests at once; try again shortly.';

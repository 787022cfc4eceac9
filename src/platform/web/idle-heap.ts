/**
 * Gives memory back after load. V8 collects garbage when something allocates, and returns memory to the system after a collection: a process
 * without calls would keep what its last ones left, hundreds of megabytes after long requests.
 */
import { queryObjects } from 'node:v8';
import type { Clock } from '../../core/index.ts';
import type { Sampler } from './wakefulness.ts';

export interface IdleHeapOptions {
  readonly clock: Clock;
  readonly heap?: Heap;
}

export interface Heap {
  /** Bytes in use, garbage included. */
  used(): number;
  collect(): void;
}

/** A pause between two calls of a conversation is shorter. */
const QUIET_MS = 5_000;
/** A collection takes the event loop about 50 ms; less garbage is not worth it. */
const GARBAGE_BYTES = 32 * 2 ** 20;

export class IdleHeap implements Sampler {
  readonly #clock: Clock;
  readonly #heap: Heap;
  /** In use after the last collection. */
  #settled: number;
  #cancel = (): void => {};

  constructor({ clock, heap = PROCESS_HEAP }: IdleHeapOptions) {
    this.#clock = clock;
    this.#heap = heap;
    this.#settled = heap.used();
  }

  pause(): void {
    this.#cancel = this.#clock.after(QUIET_MS, () => this.#collect());
  }

  resume(): void {
    this.#cancel();
  }

  #collect(): void {
    if (this.#heap.used() < this.#settled + GARBAGE_BYTES) return;
    this.#heap.collect();
    this.#settled = this.#heap.used();
  }
}

const PROCESS_HEAP: Heap = {
  used: () => process.memoryUsage().heapUsed,
  // A count of objects is documented to collect all garbage first.
  collect: () => queryObjects(IdleHeap),
};

/** A clock whose time passes from event to event: hours of a simulation take seconds. Events of one moment run in the order of their making. */
import { setImmediate as settled } from 'node:timers/promises';
import type { Clock } from '../../src/core/index.ts';

interface Event {
  readonly due: number;
  readonly number: number;
  task: (() => void) | undefined;
}

const START = Date.UTC(2026, 0, 1);

export class VirtualClock implements Clock {
  /** A binary heap by time. */
  readonly #events: Event[] = [];
  #elapsed = 0;
  #count = 0;

  now(): number {
    return START + this.#elapsed;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  after(ms: number, task: () => void): () => void {
    const event: Event = { due: this.#elapsed + Math.max(0, ms), number: this.#count, task };
    this.#count += 1;
    this.#push(event);
    return () => {
      event.task = undefined;
    };
  }

  /** Runs all events up to the time. What an event resolves is handled before the next one. */
  async runUntil(elapsed: number): Promise<void> {
    for (let first = this.#events[0]; first && first.due <= elapsed; first = this.#events[0]) {
      this.#pop();
      this.#elapsed = first.due;
      if (!first.task) continue;
      first.task();
      await settled();
    }
    this.#elapsed = elapsed;
  }

  #push(event: Event): void {
    const heap = this.#events;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent])) break;
      heap[at] = heap[parent] as Event;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#events;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child])) child += 1;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[at] = heap[child] as Event;
      at = child;
    }
    heap[at] = last;
  }
}

const isBefore = (a: Event, b: Event | undefined): boolean =>
  b !== undefined && (a.due === b.due ? a.number < b.number : a.due < b.due);

/** The newest events of a running response, for its readers. Bounded: the oldest events go first. */

interface Reader {
  /** Events were added, or the log was closed. */
  onMore(): void;
}

export class EventLog {
  readonly #limit: number;
  readonly #readers = new Set<Reader>();
  #events: string[] = [];
  #first = 0;
  #bytes = 0;
  isClosed = false;

  /** `limit`: characters of all events together. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The number of the next event. */
  get next(): number {
    return this.#first + this.#events.length;
  }

  /** Undefined before the event comes, and after it was removed. */
  at(number: number): string | undefined {
    return this.#events[number - this.#first];
  }

  add(event: string): void {
    this.#events.push(event);
    this.#bytes += event.length;
    // The newest one stays, however large it is: it ends the stream.
    let removed = 0;
    for (; this.#bytes > this.#limit && removed < this.#events.length - 1; removed += 1)
      this.#bytes -= this.#events[removed]?.length ?? 0;
    if (removed > 0) {
      // A quarter more than necessary, so that not every event moves all others.
      const target = this.#limit * 0.75;
      for (; this.#bytes > target && removed < this.#events.length - 1; removed += 1)
        this.#bytes -= this.#events[removed]?.length ?? 0;
      this.#events = this.#events.slice(removed);
      this.#first += removed;
    }
    this.#notify();
  }

  /** No event follows. */
  close(): void {
    this.isClosed = true;
    this.#notify();
  }

  /** Returns a function that ends the notifications. */
  read(reader: Reader): () => void {
    this.#readers.add(reader);
    return () => void this.#readers.delete(reader);
  }

  #notify(): void {
    for (const reader of this.#readers) reader.onMore();
  }
}

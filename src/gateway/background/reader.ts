/**
 * The newest events of a running response, and their copying to a client, at its pace.
 * Bounded: the oldest events go first.
 */
import { SSE_COMMENT, sse } from '../../core/index.ts';
import type { Call, ClientStreams } from '../../platform/web/index.ts';

/**
 * Resolves early where events are missing: the log has dropped them, or there is none.
 * `isComplete`: the client has the last event of the response, and its stream has ended.
 */
export async function copyEvents(call: Call, streams: ClientStreams, events: EventLog | undefined, after: number) {
  let isClosed = false;
  let isBlocked = false;
  let wake = (): void => {};
  const stream = streams.open(call, {
    heartbeat: () => SSE_COMMENT,
    onDrain: () => {
      isBlocked = false;
      wake();
    },
  });
  call.onClose(() => {
    isClosed = true;
    wake();
  });
  const copied = (last: number, isComplete: boolean) => ({ stream, last, isComplete, isClosed: () => isClosed });
  if (!events) return copied(after, false);
  const leave = events.read(() => wake());
  let next = after + 1;
  try {
    while (!isClosed) {
      const event: string | undefined = isBlocked ? undefined : events.at(next);
      if (event !== undefined) {
        next += 1;
        isBlocked = !stream.write(sse(event, typeOf(event)));
      } else if (!isBlocked && next < events.next) return copied(next - 1, false);
      else if (!isBlocked && events.isClosed) {
        stream.end();
        return copied(next - 1, true);
      } else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    leave();
  }
  return copied(next - 1, false);
}

const typeOf = (event: string): string | undefined => /^\{"type":"([\w.]+)"/.exec(event)?.[1];

export class EventLog {
  readonly #limit: number;
  readonly #readers = new Set<() => void>();
  #events: string[] = [];
  #first = 0;
  #bytes = 0;
  isClosed = false;

  /** `limit`: characters of all events together. */
  constructor(limit: number) {
    this.#limit = limit;
  }

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
    if (this.#bytes > this.#limit) this.#shrink();
    this.#notify();
  }

  /**
   * By a quarter more than necessary, so that not every event moves all others.
   * The newest one stays, however large it is: it ends the stream.
   */
  #shrink(): void {
    let removed = 0;
    for (; this.#bytes > this.#limit * 0.75 && removed < this.#events.length - 1; removed += 1)
      this.#bytes -= this.#events[removed]?.length ?? 0;
    this.#events = this.#events.slice(removed);
    this.#first += removed;
  }

  close(): void {
    this.isClosed = true;
    this.#notify();
  }

  /** Calls `onMore` after each change, until the returned function is called. */
  read(onMore: () => void): () => void {
    this.#readers.add(onMore);
    return () => void this.#readers.delete(onMore);
  }

  #notify(): void {
    for (const onMore of this.#readers) onMore();
  }
}

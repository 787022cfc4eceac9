/** Copies the events of a running response to a client, at the pace of the client. */
import { SSE_COMMENT, sse } from '../../core/index.ts';
import type { Call, ClientStream, ClientStreams } from '../../platform/web/index.ts';
import type { EventLog } from './event-log.ts';

export interface Copied {
  readonly stream: ClientStream;
  /** Number of the last event that the client has. */
  readonly last: number;
  /** The client has the last event of the response, and its stream has ended. */
  readonly isComplete: boolean;
  /** The client is gone. */
  isClosed(): boolean;
}

/** Resolves early where events are missing: the log has dropped them, or there is none. */
export async function copyEvents(
  call: Call,
  streams: ClientStreams,
  events: EventLog | undefined,
  after: number,
): Promise<Copied> {
  let isClosed = false;
  let isBlocked = false;
  let wake = (): void => {};
  const stream = streams.open(call, {
    heartbeat: () => SSE_COMMENT,
    onDrain: () => {
      isBlocked = false;
      wake();
    },
    onStalled: () => call.response.destroy(),
  });
  call.onClose(() => {
    isClosed = true;
    wake();
  });
  const copied = (last: number, isComplete: boolean): Copied => ({
    stream,
    last,
    isComplete,
    isClosed: () => isClosed,
  });
  if (!events) return copied(after, false);
  const leave = events.read({ onMore: () => wake() });
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

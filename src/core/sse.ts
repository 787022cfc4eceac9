/** Server-sent events: reader and writer. The reader accepts chunks that end anywhere, even inside a character. */
import { createParser } from 'eventsource-parser';

export interface SseReader {
  /** Do not feed text after bytes that end inside a character. */
  feed(chunk: Uint8Array | string): void;
  /** Ends the stream. `keepTail` emits a last event without its blank line, which some servers omit. */
  end(options: { keepTail: boolean }): void;
}

/** Limit of one event. Image results reach about 20 MiB. */
const MAX_EVENT_CHARS = 32 * 2 ** 20;

/** Calls `onEvent` for each complete event. Throws when an event exceeds the limit. */
export function readSse(onEvent: (data: string, event?: string) => void): SseReader {
  const decoder = new TextDecoder('utf-8');
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: (message) => onEvent(message.data, message.event),
    onError: (error) => {
      // Ignores invalid lines, as browsers do. Only an event that exceeds the limit is fatal.
      if (error.type === 'max-buffer-size-exceeded') throw error;
    },
  });
  return {
    feed(chunk) {
      parser.feed(typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }));
    },
    end({ keepTail }) {
      if (keepTail) parser.feed(`${decoder.decode()}\n\n`);
    },
  };
}

/** Formats one event. `data` must not contain a line break; serialized JSON never does. */
export const sse = (data: string, event?: string): string =>
  event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;

/** Heartbeat that readers ignore. It keeps proxies and clients from closing a silent stream. */
export const SSE_COMMENT = ': hb\n\n';

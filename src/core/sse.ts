/** The only reader and writer of server-sent events. Bytes may be cut anywhere, inside a character too. */
import { createParser } from 'eventsource-parser';

export interface SseReader {
  /** Text is taken as it is; it must not be mixed with bytes that end inside a character. */
  feed(chunk: Uint8Array | string): void;
  /** The stream is over. `keepTail` delivers a last block that lacks its blank line, as some servers omit it. */
  end(options: { keepTail: boolean }): void;
}

/** An event larger than this is no event (image results reach some 20 MiB). */
const MAX_EVENT_CHARS = 32 * 2 ** 20;

/** Calls `onEvent` for each complete event. Throws when one grows beyond all bounds. */
export function readSse(onEvent: (data: string, event?: string) => void): SseReader {
  const decoder = new TextDecoder('utf-8');
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: (message) => onEvent(message.data, message.event),
    onError: (error) => {
      // A line that is no field is ignored, as browsers do; only running out of buffer is fatal.
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

/** One block. `data` must hold no line break, which JSON text never does. */
export const sse = (data: string, event?: string): string =>
  event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;

/** A block that readers skip; keeps proxies and clients from giving up on a silent stream. */
export const SSE_COMMENT = ': hb\n\n';

/** Headers of streams that the gateway writes itself. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // A proxy in between must neither collect nor recode a stream.
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

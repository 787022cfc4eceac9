/** Limits of the responses WebSocket (G 4.7). Clients rely on most of these numbers. */
const MIB = 2 ** 20;

export const WEBSOCKET = {
  /** The same as an HTTP body. */
  messageBytes: 32 * MIB,
  /**
   * Fragments of one message: 8 KiB each in the largest. A fragment of one byte takes more than a hundred bytes of
   * memory.
   */
  fragments: 4_096,
  /** Clients rotate their connections near 55 minutes. */
  lifetimeMs: 3_600_000,
  /** Time for running turns to finish after the lifetime is over. */
  drainMs: 30_000,
  pingMs: 30_000,
  /** Named lanes per connection; the unnamed one is not counted. */
  lanes: 32,
  /** Concurrent turns of one connection; further ones are queued. */
  turns: 16,
  /** Queued turns per connection; with more the connection is closed. */
  queuedTurns: 256,
  /** Bytes of all queued turns of a connection: two messages of the largest size. */
  queuedBytes: 64 * MIB,
  /** Messages per second, averaged over ten. */
  messagesPerSecond: 50,
  /** Conversation history kept per connection, as JSON. */
  cacheBytes: 64 * MIB,
  /** Memory of a parsed message: the text and its strings, and an object or a list slot for each value. */
  memoryPerByte: 2,
  memoryPerValue: 64,
  /** Bytes buffered for a slow client before the upstream is paused. */
  bufferedBytes: MIB,
  /** Interval of key checks; a revoked key closes its connections within the propagation time. */
  recheckMs: 2_000,
  /** Timeout of an upgrade to a provider; the turn then uses HTTP. */
  handshakeMs: 10_000,
  /** Largest frame of a provider: an image in base64, and the response object that repeats it. */
  upstreamBytes: 128 * MIB,
  /** Time until an upgrade is tried again on an account that rejected one. */
  upgradeRetryMs: 600_000,
  /** Response ids of a connection that are known without a query. */
  ownIds: 2_000,
} as const;

export const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/;

/** Close codes: clients treat `policy` as final and reconnect after `restart` and `overloaded`. */
export const CLOSE = { normal: 1000, policy: 1008, restart: 1012, overloaded: 1013 } as const;

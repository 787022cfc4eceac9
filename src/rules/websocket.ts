/** Limits of the responses WebSocket (G 4.7). Clients know most of these numbers and plan with them. */
const MIB = 2 ** 20;

export const WEBSOCKET = {
  /** As much as an HTTP body. */
  messageBytes: 32 * MIB,
  /** Clients rotate their connections near 55 minutes. */
  lifetimeMs: 3_600_000,
  /** After the lifetime, running turns get this long. */
  farewellMs: 30_000,
  pingMs: 30_000,
  /** Named lanes per connection; the unnamed one is not counted. */
  lanes: 32,
  /** Turns that run at once on one connection; further ones wait. */
  turns: 16,
  /** Waiting turns per connection; more than this is a flood. */
  waiting: 256,
  /** Of all waiting turns of a connection together: one that waits behind another, as large as a message may be, and some more. */
  waitingBytes: 64 * MIB,
  /** Messages per second, averaged over ten. */
  messagesPerSecond: 50,
  /** Conversation kept per connection, as JSON. */
  cacheBytes: 64 * MIB,
  /** What may wait to be taken by a slow client before the upstream is paused. */
  bufferedBytes: MIB,
  /** A key that was revoked closes its sockets within the time that every change needs to spread. */
  recheckMs: 2_000,
  /** An upgrade that an account has not answered by then is given up; the turn goes over HTTP instead. */
  handshakeMs: 10_000,
  /** Largest frame of an upstream: an image in base64, and the whole response that repeats it. */
  upstreamBytes: 128 * MIB,
  /** An account that refused an upgrade is not asked again for so long. */
  refusedMs: 600_000,
  /** Responses of a connection that are known without asking the store. */
  ownIds: 2_000,
} as const;

export const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/;

/** Close codes: those above 1007 that clients treat as final, and the one that asks them to come back. */
export const CLOSE = { normal: 1000, policy: 1008, restart: 1012 } as const;

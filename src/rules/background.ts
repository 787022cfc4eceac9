/**
 * Limits of background responses, most of them of those that the gateway makes itself, on groups that do not speak the
 * responses dialect (ADR 14).
 */
const MIB = 2 ** 20;

export const BACKGROUND = {
  /** Of one user at a time, over all servers. */
  perUser: 32,
  /** Of one process at a time: each keeps its request and its newest events in memory. */
  perProcess: 128,
  /** Input with earlier turns, as JSON: what a stored response may hold. */
  inputBytes: 8 * MIB,
  /** Input and result: the largest reply of a provider is 64 MiB. */
  storedBytes: 80 * MIB,
  /**
   * Events of a running response that its process keeps for readers. One that comes later gets the end of the response.
   */
  eventBytes: 2 * MIB,
  /** A process that does not renew its lease for this long has ended; its responses fail. */
  leaseMs: 30_000,
  renewMs: 10_000,
  /**
   * The same until a process has sent the request to a provider with background responses: longer, because the response
   * would be lost.
   */
  sendLeaseMs: 120_000,
  /** Interval in which a process looks for cancelled responses. */
  watchMs: 1_000,
  /** How long the request that cancels a response waits for its end, which may wait `USAGE_WAIT_MS` for the usage. */
  cancelWaitMs: 15_000,
  /**
   * How often a reader on another process looks for the end of a response once it has waited long, and for how long at
   * most.
   */
  pollMs: 5_000,
  readMs: 2 * 3_600_000,
  /** Attempts to store a result, and the wait between them. Shorter than the lease together. */
  storeTurns: 8,
  storeWaitMs: 2_000,
} as const;

/** Batches: requests in a file that the gateway sends by itself, each as a call of the key that made the batch. */

const MIB = 2 ** 20;

export const BATCHES = {
  /** Requests of one batch; its file has the size of any file. */
  lines: 50_000,
  /** Batches of a user that have not ended, and all that are listed. */
  open: 20,
  perUser: 1_000,
  /** What was not sent by then expires. */
  hours: 24,
  customIdChars: 256,
  /** Errors in a file that a failed batch names. */
  errors: 20,
  /** Requests at a time: of one process, and of one user over all servers. */
  perProcess: 8,
  sentPerUser: 4,
  /** Of one reply; a longer one is an error. */
  replyBytes: 8 * MIB,
  /** Of all replies; the requests that are left then expire. */
  resultBytes: 256 * MIB,
  /** How often a request is sent again after 429, 503 or 529, at most so many seconds later. */
  attempts: 50,
  maxPauseSeconds: 300,
  /**
   * A process that does not renew its requests for this long has ended. They are not sent again, and their result is an
   * error.
   */
  leaseMs: 60_000,
  renewMs: 15_000,
} as const;

/** Batches of a provider, on accounts with the feature `batches`. */
export const PROVIDER_BATCHES = {
  /** Of the requests of one; those beyond are sent one by one. */
  bodyBytes: 64 * MIB,
  /** Preparing and sending one takes less; a process that takes longer has ended. */
  leaseMs: 10 * 60_000,
  /** A batch that is not placed by then is sent one by one, as accounts are slow to take others. */
  placingMinutes: 15,
  /** Providers have a day, and then write the results. Afterwards the requests are errors, which cost nothing. */
  hours: 30,
  /** How often a provider may not know a batch before it counts as lost. */
  misses: 3,
  /** Results of one transaction. */
  pageLines: 200,
  pageBytes: 8 * MIB,
  /** What the provider deletes by itself, should this gateway fail to. */
  fileSeconds: 3 * 86_400,
} as const;

/** What `POST /v1/batches` can name as its endpoint. */
export const BATCH_ENDPOINTS = {
  '/v1/responses': 'responses.create',
  '/v1/chat/completions': 'chat.create',
  '/v1/embeddings': 'embeddings.create',
} as const;

/** Replies that come one by one are no result of a batch, nor are those that come later. */
export const BATCH_REFUSED = ['stream', 'background'] as const;

/** How results are read from the provider and kept (V 4.6). */

/** Readers of one result in one process. A link may allow only 100 downloads, and each range request counts. */
export const RESULT_READS = { connections: 4, waitMs: 10_000, retryAfterSeconds: 5 } as const;

/** Longest address of a result. Signed addresses with a session token are longer than addresses from clients. */
export const RESULT_URL_BYTES = 8_192;

/**
 * A task is asked for new addresses at most this often per process, whatever the outcome; reads between use the last
 * outcome.
 */
export const RENEWAL_INTERVAL_MS = 10_000;

/** Mirrored results: age at which an unfinished file is taken for abandoned, and the pause after the folder failed. */
export const RESULT_MIRROR = { abandonedMs: 120_000, pauseMs: 30_000 } as const;

/** Mirroring by a job: time in which no other process takes the task, attempts until it gives up, and tasks per run. */
export const RESULT_MIRROR_JOB = { takenMs: 600_000, forHours: 24, batch: 4 } as const;

/**
 * Media types that a result may have, with the file ending. Any other is rejected: SVG or HTML would run as script in
 * the origin of the console.
 */
export const RESULT_TYPES: Readonly<Record<string, string>> = {
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'video/x-matroska': 'mkv',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/mp4': 'm4a',
  'audio/aac': 'aac',
};

/**
 * Headers of every file that a provider or an operator supplied: a browser that opens it as a page runs nothing of it.
 */
export const FOREIGN_FILE_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
} as const;

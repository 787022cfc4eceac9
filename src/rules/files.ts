/**
 * Files that callers upload and name in requests by their id. The gateway keeps them itself, so that one id serves
 * every provider and dialect.
 */

const MIB = 2 ** 20;

export const FILES = {
  /** Of one file. */
  bytes: 64 * MIB,
  /** Of all files that one request names, before base64: providers take requests of 20 to 50 MB. */
  inRequestBytes: 24 * MIB,
  inRequest: 40,
  /** Of a user whose operator has set no other limits. */
  userBytes: 1024 * MIB,
  userFiles: 10_000,
  /** A piece of an upload in several parts must arrive within this time of the one before. */
  uploadHours: 24,
  /** One row of the database. */
  partBytes: 512 * 1024,
  page: { default: 20, max: 1_000 },
} as const;

/**
 * No other id begins like it. Without a hyphen and in lower case, because SDKs of generate-content read no other from
 * an address.
 */
export const FILE_ID = { prefix: 'dgfile', pattern: /^dgfile[0-9a-f]{32}$/, all: /dgfile[0-9a-f]{32}/g } as const;

/** What callers say a file is for; it decides nothing here. */
export const FILE_PURPOSES = ['assistants', 'batch', 'evals', 'fine-tune', 'user_data', 'vision'] as const;

/** Where files stand in a request: members that lead to the parts of a turn. */
export const FILE_CARRIERS: ReadonlySet<string> = new Set([
  ...['messages', 'input', 'contents', 'content', 'output', 'parts', 'systemInstruction', 'system_instruction'],
]);

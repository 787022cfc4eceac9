/** Limits of stored responses whose content the gateway holds (G 4.4). */
import { BODY_BYTES } from './limits.ts';

const MIB = 2 ** 20;

export const STORED = {
  /** A conversation as JSON. One that grows larger is not stored, and cannot be continued by its id. */
  conversationBytes: 8 * MIB,
  /** Responses of one conversation; one query reads them all. */
  turns: 2_000,
  /** Content that the item references of one request may load: as much as a body. */
  referencedBytes: BODY_BYTES.text,
  /**
   * What the stored responses of a key and of all keys of a user may take, as JSON. Each server may exceed it by what
   * it is storing.
   */
  keyBytes: 512 * MIB,
  userBytes: 1_024 * MIB,
  /** A deleted response stays in the database for this long, because a running call may continue it. */
  graceMs: 3_600_000,
} as const;

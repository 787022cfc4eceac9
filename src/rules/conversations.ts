/** Conversations that the gateway keeps for callers of the responses dialect. */
import { STORED } from './stored.ts';

export const CONVERSATIONS = {
  /** Of one, as JSON: what a request may hold. */
  bytes: STORED.conversationBytes,
  items: STORED.turns,
  /** Of a user. */
  perUser: 10_000,
  userBytes: STORED.userBytes,
  /** That one request of a client adds. */
  added: 20,
  page: { default: 20, max: 100 },
  /** That are sealed together: opened on the event loop where one of them is removed. */
  pageBytes: 64 * 1024,
  pageItems: 500,
} as const;

/** Of a conversation or a batch, as OpenAI bounds it. `bytes`: as JSON. */
export const METADATA = { entries: 16, nameChars: 64, valueChars: 512, bytes: 64 * 1024 } as const;

/** No other id begins like it, so that a byte search finds requests that may name one. */
export const CONVERSATION_ID = { prefix: 'conv_dg', pattern: /^conv_dg[0-9a-f]{32}$/ } as const;

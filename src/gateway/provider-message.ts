/**
 * The provider's own words about a failed attempt, for the request log. A message may quote the request, so it is kept without secrets,
 * without quotations, and only when no piece of it occurs in what was sent.
 */
import { type AccountSecrets, redact } from '../catalog/index.ts';
import { quoteNamesOnly } from '../core/index.ts';
import type { UpstreamRequest } from '../providers/upstream/index.ts';

export interface FailedAttempt {
  /** The message in the provider's error body. */
  readonly message: string;
  readonly account: AccountSecrets;
  /** The provider's name for the model. A message that names it quotes nothing else of the request. */
  readonly model: string | undefined;
  readonly sent: UpstreamRequest['body'];
}

const MAX_MESSAGE_CHARS = 300;
/** A longer request is not searched; then nothing of the message is kept. */
const MAX_SEARCHED_BYTES = 256 * 1024;
/** Any quotation of 18 characters contains one of the pieces that are searched for. */
const PIECE_CHARS = 12;
const STEP_CHARS = 6;

/** Undefined where the message may hold text of the caller. */
export function providerMessage({ message, account, model, sent }: FailedAttempt): string | undefined {
  const text = quoteNamesOnly(redact(message, { account }).replaceAll(/\s+/g, ' ').trim());
  // Text outside ASCII may stand escaped in the request, where it would not be found.
  if (text === '' || !/^[\x20-\x7e]*$/.test(text)) return undefined;
  const searched = model === undefined ? text : text.replaceAll(model, '');
  return quotes(searched, sent) ? undefined : text.slice(0, MAX_MESSAGE_CHARS);
}

function quotes(message: string, sent: UpstreamRequest['body']): boolean {
  if (sent === null) return false;
  const isText = typeof sent === 'string';
  if (!isText && !Buffer.isBuffer(sent)) return true;
  if (sent.length > MAX_SEARCHED_BYTES) return true;
  for (let start = 0; start + PIECE_CHARS <= message.length && start < MAX_MESSAGE_CHARS; start += STEP_CHARS)
    if (sent.includes(message.slice(start, start + PIECE_CHARS))) return true;
  return false;
}

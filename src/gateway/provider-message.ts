/**
 * The provider's own words about a failed attempt, for the request log. A message may quote the request, so only messages about the
 * account are kept, without secrets, without long quotations, and only when no piece of them occurs in what was sent.
 */
import { type AccountSecrets, redact } from '../catalog/index.ts';
import type { FaultKind } from '../rules/index.ts';
import type { UpstreamRequest } from '../upstream/index.ts';

export interface FailedAttempt {
  readonly kind: FaultKind;
  /** The message in the provider's error body. */
  readonly message: string;
  readonly account: AccountSecrets;
  /** The provider's name for the model. A message that names it quotes nothing else of the request. */
  readonly model: string | undefined;
  readonly sent: UpstreamRequest['body'];
}

/** Faults of the account or the provider. Errors about a request explain it, and quote it. */
const ABOUT_ACCOUNT: ReadonlySet<FaultKind> = new Set([
  'rate_limited',
  'quota_exhausted',
  'credential',
  'overloaded',
  'failed',
  'unreachable',
  'timeout',
]);

const MAX_WORDS = 300;
/** A longer request is not searched; then nothing of the message is kept. */
const MAX_SEARCHED_BYTES = 256 * 1024;
/** Any quotation of twice this length contains one of the pieces that are searched for. */
const PIECE_CHARS = 12;
const QUOTATION = /(["'`]).{24,}?\1/g;

/** Undefined where the message may hold text of the caller. */
export function providerMessage({ kind, message, account, model, sent }: FailedAttempt): string | undefined {
  if (!ABOUT_ACCOUNT.has(kind)) return undefined;
  const words = redact(message, { account }).replaceAll(/\s+/g, ' ').replaceAll(QUOTATION, '$1[...]$1').trim();
  // Text outside ASCII may stand escaped in the request, where it would not be found.
  if (words === '' || !/^[\x20-\x7e]*$/.test(words)) return undefined;
  const searched = model === undefined ? words : words.replaceAll(model, '');
  return quotes(searched, sent) ? undefined : words.slice(0, MAX_WORDS);
}

function quotes(words: string, sent: UpstreamRequest['body']): boolean {
  if (sent === null) return false;
  const isText = typeof sent === 'string';
  if (!isText && !Buffer.isBuffer(sent)) return true;
  if (sent.length > MAX_SEARCHED_BYTES) return true;
  for (let start = 0; start + PIECE_CHARS <= words.length && start < MAX_WORDS; start += PIECE_CHARS)
    if (sent.includes(words.slice(start, start + PIECE_CHARS))) return true;
  return false;
}

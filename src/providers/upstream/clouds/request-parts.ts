/** Parts of a request that a cloud changes. */
import type { HttpRequest } from '../../../platform/http/index.ts';

/** With a query, which only asks for betas. */
export const MESSAGES_PATH = /^\/v1\/messages(\/count_tokens|)(?:\?|$)/;

/** Undefined for a body that is streamed, and for none. */
export const wholeBody = (body: HttpRequest['body']): Buffer | undefined =>
  typeof body === 'string' ? Buffer.from(body) : Buffer.isBuffer(body) ? body : undefined;

export function withoutHeaders(headers: readonly string[], isNotSent: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let n = 0; n < headers.length; n += 2)
    if (!isNotSent(headers[n] ?? '')) kept.push(headers[n] ?? '', headers[n + 1] ?? '');
  return kept;
}

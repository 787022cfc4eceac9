/** How long an idle connection may be reused, by the head of its latest response. */
import { CLIENT_BOUNDS } from './bounds.ts';
import type { HttpHeaders } from './headers.ts';

const KEEP_ALIVE_MS = CLIENT_BOUNDS.keepAliveMs.limit;
const HINT_MARGIN_MS = CLIENT_BOUNDS.keepAliveMarginMs.limit;

/** 0 when the server closes the connection. */
export function keepAliveMs({ connection, 'keep-alive': hint }: HttpHeaders): number {
  if (connection !== undefined && /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i.test(connection)) return 0;
  const seconds = hint && /(?:^|[,; \t])timeout[ \t]*=[ \t]*"?(\d{1,6})/i.exec(hint)?.[1];
  return seconds ? Math.min(KEEP_ALIVE_MS, Math.max(0, Number(seconds) * 1_000 - HINT_MARGIN_MS)) : KEEP_ALIVE_MS;
}

/** How long a provider asks to wait in the headers of an error response. */

/**
 * Reads `retry-after-ms`, then `retry-after` in seconds or as a date,
 * counted from the `date` of the response: codecs have no clock.
 */
export function retryAfterMs(headers: Readonly<Record<string, string | undefined>>): number | undefined {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (ms > 0 && Number.isFinite(ms)) return Math.ceil(ms);
  const text = headers['retry-after']?.trim() ?? '';
  const waitMs = SECONDS.test(text)
    ? Number.parseFloat(text) * 1000
    : Date.parse(text) - Date.parse(headers.date ?? '');
  return waitMs > 0 ? Math.ceil(waitMs) : undefined;
}
const SECONDS = /^\d+(?:\.\d+)?s?$/;

/**
 * Usage of native chat streams, which providers report only when asked:
 * the gateway always asks, and hides the chunk from a client that did not.
 */
import { blockData, type Span, type SpanChange } from '../../core/index.ts';
import { isObject } from '../../dialects/index.ts';

export const USAGE_OPTION = 'stream_options';
export const ADDED_USAGE_OPTION = { [USAGE_OPTION]: { include_usage: true } } as const;

export const asksForUsage = (streamOptions: unknown): boolean =>
  (streamOptions as { include_usage?: unknown } | null | undefined)?.include_usage === true;

/**
 * The change of a body that asks for usage.
 * `span` is the value of `stream_options`, `brace` the offset after the first brace.
 */
export function usageOptionChange(options: unknown, span: Span | undefined, brace: number): SpanChange {
  const value = JSON.stringify({ ...(isObject(options) && options), include_usage: true });
  return span
    ? { span, bytes: Buffer.from(value) }
    : { span: { start: brace, end: brace }, bytes: Buffer.from(`"${USAGE_OPTION}":${value},`) };
}

const COUNTS = Buffer.from('prompt_tokens');

/** False is certain. */
export const mayReportUsage = (bytes: Buffer): boolean => bytes.includes(COUNTS);

/** The chunk of a chat stream that holds nothing but usage. */
export function isUsageOnly(block: Buffer): boolean {
  if (!mayReportUsage(block)) return false;
  try {
    const { usage, choices } = JSON.parse(blockData(block.toString('utf8')));
    return typeof usage === 'object' && usage !== null && Array.isArray(choices) && choices.length === 0;
  } catch {
    return false;
  }
}

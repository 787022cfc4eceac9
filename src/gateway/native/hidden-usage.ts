/** Usage of native chat streams, which providers report only when asked: the gateway always asks, and hides the chunk from a client that did not. */
import { blockData, blocksOf, GrowingBuffer, lastBlockEnd, type Span } from '../../core/index.ts';

export const USAGE_OPTION = 'stream_options';
export const ADDED_USAGE_OPTION = { [USAGE_OPTION]: { include_usage: true } } as const;

export const asksForUsage = (streamOptions: unknown): boolean =>
  (streamOptions as { include_usage?: unknown } | null | undefined)?.include_usage === true;

/** The change of a body that asks for usage. `span` is the value of `stream_options`, `brace` the offset after the first brace. */
export function usageOptionChange(
  options: unknown,
  span: Span | undefined,
  brace: number,
): { readonly span: Span; readonly bytes: Buffer } {
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options);
  const value = JSON.stringify({ ...(isObject && options), include_usage: true });
  return span
    ? { span, bytes: Buffer.from(value) }
    : { span: { start: brace, end: brace }, bytes: Buffer.from(`"${USAGE_OPTION}":${value},`) };
}

const COUNTS = Buffer.from('prompt_tokens');
const EMPTY = Buffer.alloc(0);
/** A longer event is not the one with the usage. */
const MAX_HELD_BYTES = 64 * 1024;
const BLANK_LINE_BYTES = 4;

/** Passes a chat stream on without the chunk that holds nothing but usage. Holds back an event until it is complete. */
export class UsageFilter {
  readonly #joined = new GrowingBuffer();
  #held: Buffer = EMPTY;

  push(chunk: Buffer): Buffer {
    const before = this.#held.length;
    const bytes = before === 0 ? chunk : this.#joined.join(this.#held, chunk);
    // Only the new bytes, and the blank line that may have begun before them, are searched.
    const from = Math.max(0, before - BLANK_LINE_BYTES);
    const found = lastBlockEnd(bytes.subarray(from));
    const end = bytes.length > MAX_HELD_BYTES ? bytes.length : found === 0 ? 0 : from + found;
    this.#held = bytes.subarray(end);
    const blocks = bytes.subarray(0, end);
    return blocks.includes(COUNTS) ? Buffer.concat(blocksOf(blocks).filter((block) => !isUsageOnly(block))) : blocks;
  }

  end(): Buffer {
    const rest = this.#held;
    this.#held = EMPTY;
    return isUsageOnly(rest) ? EMPTY : rest;
  }
}

function isUsageOnly(block: Buffer): boolean {
  if (!block.includes(COUNTS)) return false;
  try {
    const { usage, choices } = JSON.parse(blockData(block.toString('utf8')));
    return typeof usage === 'object' && usage !== null && Array.isArray(choices) && choices.length === 0;
  } catch {
    return false;
  }
}

/** Characters of model output inside stream events. The JSON around them is often twenty times as long. For estimates only. */

/** Members that hold model output in the stream events of the four dialects. */
const OUTPUT_MEMBERS: ReadonlySet<string> = new Set([
  'text',
  'thinking',
  'partial_json',
  'content',
  'reasoning_content',
  'refusal',
  'arguments',
  'delta',
]);
const DEPTH = 8;

/** Counts the characters of model output in one parsed event. */
export function outputChars(event: unknown, depth = DEPTH): number {
  if (typeof event !== 'object' || event === null || depth === 0) return 0;
  let sum = 0;
  for (const [name, value] of Object.entries(event))
    sum += typeof value === 'string' ? (OUTPUT_MEMBERS.has(name) ? value.length : 0) : outputChars(value, depth - 1);
  return sum;
}

const DELTA = /"delta"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)"/;
/** A larger frame holds a whole response or an image, and little else. */
const MAX_FRAME = 64 * 1024;

/** Counts the same in the text of a frame, without parsing it. */
export const outputCharsInFrame = (text: string): number =>
  text.length > MAX_FRAME ? text.length : (DELTA.exec(text)?.[1]?.length ?? 0);

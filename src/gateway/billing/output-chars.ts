/** How much of what passes is words of the model; the rest is wrapping, often twenty times as long. For estimates only. */

/** Where the dialects put what a model writes, piece by piece. */
const SAID: ReadonlySet<string> = new Set([
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

/** Characters that the model wrote, in one event. */
export function outputChars(event: unknown, depth = DEPTH): number {
  if (typeof event !== 'object' || event === null || depth === 0) return 0;
  let sum = 0;
  for (const [name, value] of Object.entries(event))
    sum += typeof value === 'string' ? (SAID.has(name) ? value.length : 0) : outputChars(value, depth - 1);
  return sum;
}

const DELTA = /"delta"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)"/;
/** Above this a frame is a whole answer or a picture, and hardly wrapping. */
const MAX_FRAME = 64 * 1024;

/** The same of a frame that need not be parsed for anything else. */
export const outputCharsInFrame = (text: string): number =>
  text.length > MAX_FRAME ? text.length : (DELTA.exec(text)?.[1]?.length ?? 0);

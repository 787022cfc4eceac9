/** Strict Base64 (RFC 4648 section 4) in place: checks and measures data without decoding it. */

const PADDING = 0x3d;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** 0xff for bytes outside the alphabet. */
const VALUES = new Uint8Array(256).fill(0xff);
for (let n = 0; n < ALPHABET.length; n += 1) VALUES[ALPHABET.charCodeAt(n)] = n;

/**
 * Length of the decoded data; undefined when the text is not strict Base64: white space, another alphabet, missing or surplus
 * padding, or bits set in the last character that no byte uses.
 */
export function decodedLength(text: Uint8Array): number | undefined {
  const { length } = text;
  if (length % 4 !== 0) return undefined;
  const padding = text[length - 1] !== PADDING ? 0 : text[length - 2] !== PADDING ? 1 : 2;
  const end = length - padding;
  let seen = 0;
  for (let n = 0; n < end; n += 1) seen |= VALUES[text[n] ?? 0] ?? 0xff;
  if (seen > 0x3f) return undefined;
  const unusedBits = padding === 0 ? 0 : padding === 1 ? 0x03 : 0x0f;
  if (((VALUES[text[end - 1] ?? 0] ?? 0) & unusedBits) !== 0) return undefined;
  return (length / 4) * 3 - padding;
}

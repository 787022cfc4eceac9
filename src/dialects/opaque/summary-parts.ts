/** Parts of a reasoning summary that were joined into one text for a client, whose lengths the opaque value has. */

/** Separates the parts. */
export const SUMMARY_GAP = '\n\n';

/** Returns the joined parts, or the whole text as one part if the client changed it. */
export function splitSummary(text: string, lengths: readonly number[] | undefined): string[] {
  if (text === '') return [];
  if (!lengths || lengths.length < 2) return [text];
  const parts: string[] = [];
  let offset = 0;
  for (const [n, length] of lengths.entries()) {
    if (n > 0 && !text.startsWith(SUMMARY_GAP, offset)) return [text];
    if (n > 0) offset += SUMMARY_GAP.length;
    parts.push(text.slice(offset, offset + length));
    offset += length;
  }
  return offset === text.length ? parts : [text];
}

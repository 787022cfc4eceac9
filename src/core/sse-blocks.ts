/**
 * Server-sent events in raw bytes, for readers of a few of them. A
 * block is one event with its blank line. Others use `readSse`.
 */
const LF = 0x0a;
const CR = 0x0d;

/** Returns the offset after the last blank line that ends before `before`; 0 when there is none. */
export function lastBlockEnd(bytes: Buffer, before = bytes.length): number {
  for (let at = before; at > 0; ) {
    at = bytes.lastIndexOf(LF, at - 1);
    if (endsBlankLine(bytes, at)) return at + 1;
  }
  return 0;
}

/** Returns the offset after the first blank line from `from` on; the end of the bytes when there is none. */
export function nextBlockEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1))
    if (endsBlankLine(bytes, at)) return at + 1;
  return bytes.length;
}

/** The blocks of a stream in order; the last one may lack its blank line. */
export function blocksOf(bytes: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  for (let start = 0, end = 0; start < bytes.length; start = end) {
    end = nextBlockEnd(bytes, start);
    blocks.push(bytes.subarray(start, end));
  }
  return blocks;
}

const endsBlankLine = (bytes: Buffer, lf: number): boolean =>
  lf > 0 && (bytes[lf - 1] === LF || (bytes[lf - 1] === CR && bytes[lf - 2] === LF && bytes[lf - 3] === CR));

/** Returns the data of a block; empty when it has none, as a comment. */
export const blockData = (block: string): string =>
  block
    .split(/\r?\n/)
    .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
    .join('\n');

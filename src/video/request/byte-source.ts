/** Random access to the bytes of a media file that need not be in memory as such. */

export interface ByteSource {
  readonly length: number;
  /** Undefined outside the file. */
  at(offset: number): number | undefined;
}

/** Up to `length` bytes from `offset`; fewer at the end of the file. */
export function readBytes(source: ByteSource, offset: number, length: number): Buffer {
  const bytes: number[] = [];
  for (let n = offset; n < offset + length; n += 1) {
    const byte = source.at(n);
    if (byte === undefined) break;
    bytes.push(byte);
  }
  return Buffer.from(bytes);
}

/** Seconds between which the playing time of a file lies; equal when the format states it exactly. */
export interface AudioLength {
  readonly min: number;
  readonly max: number;
}

/** Bytes that came in pieces, as one; a single piece, as most are, is not copied. */
export function concatBuffers(pieces: readonly Buffer[]): Buffer {
  const [only] = pieces;
  return only && pieces.length === 1 ? only : Buffer.concat(pieces);
}

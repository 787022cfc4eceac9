/** Concatenates chunks. Returns a single chunk without copying it, because most bodies arrive in one read. */
export function concatBuffers(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks;
  return only && chunks.length === 1 ? only : Buffer.concat(chunks);
}

/** Bodies of recordings as bytes: text, binary or parsed JSON, compressed or not. */
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';

/** Undefined where the recording has no body. */
export function bytesOf(value: unknown): Buffer | undefined {
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  if (value instanceof Uint8Array) return Buffer.from(value);
  return undefined;
}

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gunzipSync(bytes),
  'x-gzip': (bytes) => gunzipSync(bytes),
  deflate: (bytes) => inflateSync(bytes),
  br: (bytes) => brotliDecompressSync(bytes),
  zstd: (bytes) => zstdDecompressSync(bytes),
};

/** Recorders keep the header of a body that they decompressed, so a body that does not decompress is taken as it is. */
export function decompress(bytes: Buffer, encoding: string | undefined): Buffer {
  const decode = isGzip(bytes) ? DECODERS.gzip : DECODERS[encoding?.trim().toLowerCase() ?? ''];
  if (!decode) return bytes;
  try {
    return decode(bytes);
  } catch {
    return bytes;
  }
}

export const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

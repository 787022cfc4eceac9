/** Magic bytes of media types. A type is listed only when its files can be recognised by their first bytes. */
import { mp3Frame } from './media-length/frames.ts';

const SIGNATURES = {
  'image/png': (bytes: Buffer) => has(bytes, 0, '\x89PNG\r\n\x1a\n'),
  'image/jpeg': (bytes: Buffer) => has(bytes, 0, '\xff\xd8\xff'),
  'image/gif': (bytes: Buffer) => has(bytes, 0, 'GIF87a') || has(bytes, 0, 'GIF89a'),
  'image/webp': (bytes: Buffer) => has(bytes, 0, 'RIFF') && has(bytes, 8, 'WEBP'),
  'image/bmp': (bytes: Buffer) => has(bytes, 0, 'BM'),
  /** Both byte orders, classic and BigTIFF. */
  'image/tiff': (bytes: Buffer) => ['II*\0', 'MM\0*', 'II+\0', 'MM\0+'].some((mark) => has(bytes, 0, mark)),
  'application/pdf': (bytes: Buffer) => has(bytes, 0, '%PDF-'),
  'audio/wav': (bytes: Buffer) => has(bytes, 0, 'RIFF') && has(bytes, 8, 'WAVE'),
  'audio/mpeg': (bytes: Buffer) => has(bytes, 0, 'ID3') || isMp3Frame(bytes),
} as const;

export type SignedMime = keyof typeof SIGNATURES;

/** Enough bytes for every signature. */
export const SIGNATURE_BYTES = 12;

export const hasSignature = (mime: SignedMime, bytes: Buffer): boolean => SIGNATURES[mime](bytes);

export const isSignedMime = (mime: string): mime is SignedMime => Object.hasOwn(SIGNATURES, mime);

const has = (bytes: Buffer, at: number, signature: string): boolean =>
  bytes.toString('latin1', at, at + signature.length) === signature;

/** AAC and UTF-16 begin like a frame, but have no bit rate and sample rate there. */
const isMp3Frame = (bytes: Buffer): boolean =>
  mp3Frame({ size: bytes.length, at: (index) => bytes[index] ?? 0 }, 0) !== undefined;

/** Media type detection by magic bytes. Trusts the content-type header only where the bytes cannot decide. */
import { hasSignature, mediaTypeOf, type SignedMime } from '../../core/index.ts';

const UNKNOWN = 'application/octet-stream';

/** Not BMP, whose signature of two letters also begins plain text. */
const DETECTED: readonly SignedMime[] = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'application/pdf',
  'audio/wav',
  'audio/mpeg',
];

/** Types that always have their signature. An MP3 may start with anything, so a missing signature proves nothing. */
const PROVABLE: ReadonlySet<string> = new Set(DETECTED.filter((mime) => mime !== 'audio/mpeg'));

const ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'application/x-pdf': 'application/pdf',
  'audio/wave': 'audio/wav',
  'audio/x-wav': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'audio/mp3': 'audio/mpeg',
  'audio/x-mp3': 'audio/mpeg',
  'audio/x-mpeg': 'audio/mpeg',
};

/**
 * The media type of `bytes`. The bytes override the content-type `header`;
 * a type without its required signature is ignored.
 */
export function detectMime(bytes: Buffer, header: string | undefined): string {
  const seen = DETECTED.find((mime) => hasSignature(mime, bytes));
  if (seen) return seen;
  const claimed = claimedMime(header);
  return PROVABLE.has(claimed) ? UNKNOWN : claimed;
}

/** `Image/JPG; charset=x` -> `image/jpeg`; without a usable header `application/octet-stream`. */
export function claimedMime(header: string | undefined): string {
  const mime = mediaTypeOf(header);
  if (!/^[\w.+-]+\/[\w.+-]+$/.test(mime) || mime === 'binary/octet-stream') return UNKNOWN;
  return ALIASES[mime] ?? mime;
}

export const isUnknown = (mime: string): boolean => mime === UNKNOWN;

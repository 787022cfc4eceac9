/** Formats of generated images: names of the responses dialect and media types. */
import { hasSignature, SIGNATURE_BYTES, type SignedMime } from '../../core/index.ts';

const MIMES: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['svg', 'image/svg+xml'],
]);
const DETECTED = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const satisfies readonly SignedMime[];

/** Base64 characters that hold the signature. The image that follows may have many megabytes. */
const HEAD_CHARS = Math.ceil(SIGNATURE_BYTES / 3) * 4;

/** Returns the media type of an image in base64: that of its format if reported, else by its first bytes, else PNG, the default. */
export function mimeOfImage(format: string | undefined, data: string): string {
  const named = MIMES.get(format ?? '');
  if (named !== undefined) return named;
  const head = Buffer.from(data.slice(0, HEAD_CHARS), 'base64');
  return DETECTED.find((mime) => hasSignature(mime, head)) ?? 'image/png';
}

/** Returns undefined for a media type that the responses dialect has no name for. */
export const formatOfMime = (mime: string): string | undefined => [...MIMES].find(([, one]) => one === mime)?.[0];

/**
 * What the first bytes of an image say: its size, and its format, by
 * the names of the responses dialect and by media types.
 */
import {
  hasSignature,
  type ImageSize,
  imageSize,
  MAX_IMAGE_HEAD,
  SIGNATURE_BYTES,
  type SignedMime,
} from '../../core/index.ts';
import { tableOf } from './read.ts';

const MIMES = tableOf({
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  svg: 'image/svg+xml',
});
const DETECTED = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const satisfies readonly SignedMime[];

/** The first bytes of a file in base64, which may have many megabytes. */
const headOf = (data: string, bytes: number): Buffer => Buffer.from(data.slice(0, Math.ceil(bytes / 3) * 4), 'base64');

export const sizeOfImage = (data: string): ImageSize | undefined => imageSize(headOf(data, MAX_IMAGE_HEAD));

/**
 * Returns the media type of an image in base64: that of its format if
 * reported, else by its first bytes, else PNG, the default.
 */
export function mimeOfImage(format: string | undefined, data: string): string {
  const named = MIMES.get(format ?? '');
  if (named !== undefined) return named;
  const head = headOf(data, SIGNATURE_BYTES);
  return DETECTED.find((mime) => hasSignature(mime, head)) ?? 'image/png';
}

/** Returns undefined for a media type that the responses dialect has no name for. */
export const formatOfMime = (mime: string): string | undefined => [...MIMES].find(([, one]) => one === mime)?.[0];

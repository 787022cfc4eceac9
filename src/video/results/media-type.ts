/** The content type of a result: as the upstream sent it, or detected from the first bytes when it sent none. */
import { claimedMime, detectMime } from '../../platform/outbound/index.ts';
import { RESULT_TYPES } from '../../rules/index.ts';

export const UNKNOWN_TYPE = 'application/octet-stream';

/** Undefined for a type that no result has: the response is, for example, the error page of a proxy. */
export function claimedType(header: string | undefined): string | undefined {
  const mime = claimedMime(header);
  return mime === UNKNOWN_TYPE || isMedia(mime) ? mime : undefined;
}

const isMedia = (mime: string): boolean => Object.hasOwn(RESULT_TYPES, mime);

/** Headers that name the type. A file of any other type, also one that an earlier version mirrored, is only ever saved. */
export const typeHeaders = (type: string, name: string) =>
  isMedia(type)
    ? { 'content-type': type, 'content-disposition': `inline; filename="${name}.${RESULT_TYPES[type]}"` }
    : { 'content-type': UNKNOWN_TYPE, 'content-disposition': `attachment; filename="${name}"` };

export function detectedType(start: Buffer): string {
  const mime = detectMime(start, undefined);
  return isMedia(mime) ? mime : (detectVideo(start) ?? UNKNOWN_TYPE);
}

const EBML = Buffer.from([0x1a, 0x45, 0xdf, 0xa3]);

/** ISO media files begin with a box of the type `ftyp`, Matroska files with an EBML header. */
function detectVideo(start: Buffer): string | undefined {
  if (start.toString('latin1', 4, 8) === 'ftyp')
    return start.toString('latin1', 8, 12) === 'qt  ' ? 'video/quicktime' : 'video/mp4';
  return start.subarray(0, 4).equals(EBML) ? 'video/webm' : undefined;
}

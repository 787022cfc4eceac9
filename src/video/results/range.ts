/** Byte ranges of HTTP (RFC 9110, 14): a request for one range, and the part of a file that it selects. Pure. */

/** A range as a request names it: from `first` to `last`, both included, or the last `suffix` bytes. */
export type RangeRequest = { readonly first: number; readonly last: number | undefined } | { readonly suffix: number };

/** A part of a file; both ends are included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Larger than any file. Longer numbers are read as this one, because they would lose digits. */
const MAX_POSITION = 999_999_999_999_999;

/**
 * Undefined for a missing header, another unit, several ranges and everything malformed:
 * a server then sends the whole file. Several ranges would need a multipart response, which players do not ask for.
 */
export function readRange(header: string | undefined): RangeRequest | undefined {
  const [, firstDigits = '', lastDigits = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header ?? '') ?? [];
  if (firstDigits === '') return lastDigits === '' ? undefined : { suffix: positionOf(lastDigits) };
  const first = positionOf(firstDigits);
  if (lastDigits === '') return { first, last: undefined };
  if (BigInt(lastDigits) < BigInt(firstDigits)) return undefined;
  return { first, last: positionOf(lastDigits) };
}

const positionOf = (digits: string): number => Math.min(Number(digits), MAX_POSITION);

/** The selected part of a file of `size` bytes; undefined when no byte of it is selected (status 416). */
export function selectRange(request: RangeRequest, size: number): ByteRange | undefined {
  const start = 'suffix' in request ? Math.max(0, size - request.suffix) : request.first;
  const end = 'suffix' in request ? size - 1 : Math.min(request.last ?? size - 1, size - 1);
  return start <= end ? { start, end } : undefined;
}

/** The header that asks an upstream for the same range. */
export const rangeHeader = (request: RangeRequest): string =>
  'suffix' in request ? `bytes=-${request.suffix}` : `bytes=${request.first}-${request.last ?? ''}`;

export const contentRange = ({ start, end }: ByteRange, size: number): string => `bytes ${start}-${end}/${size}`;

/**
 * Reads `bytes 0-9/100`. Either half may be a star: the range with status 416,
 * the size when it is unknown. Undefined when malformed.
 */
export function readContentRange(
  header: string | undefined,
): { readonly range: ByteRange | undefined; readonly size: number | undefined } | undefined {
  const [, start, end, total] = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15}|\*)$/i.exec(header ?? '') ?? [];
  if (total === undefined) return undefined;
  const size = total === '*' ? undefined : Number(total);
  if (start === undefined) return { range: undefined, size };
  const range = { start: Number(start), end: Number(end) };
  const isValid = range.start <= range.end && (size === undefined || range.end < size);
  return isValid ? { range, size } : undefined;
}

/**
 * Whether `If-Range` still allows a part (RFC 9110, 13.1.5): absent, the exact entity tag, or the exact date.
 * A weak tag never matches, because two files with it may differ in their bytes.
 */
export const allowsPart = (ifRange: string | undefined, etag: string, lastModified: string): boolean =>
  ifRange === undefined || ifRange === etag || ifRange === lastModified;

/** Range requests for one file: 200, 206 and 416. */
import { type Reply, xmlReply } from './reply.ts';

/** `about` holds the content type and the validators of the file. */
export function rangeReply(
  bytes: Buffer,
  request: Readonly<Record<string, string>>,
  about: Readonly<Record<string, string>>,
): Reply {
  const headers = { ...about, 'accept-ranges': 'bytes' };
  const range = isStillValid(request['if-range'], about) ? parseRange(request.range, bytes.length) : undefined;
  if (!range) return { status: 200, headers, body: bytes };
  if (range.start > range.end) {
    const error = xmlReply(416, 'InvalidRange', 'The requested range cannot be satisfied.');
    return { ...error, headers: { ...error.headers, 'content-range': `bytes */${bytes.length}` } };
  }
  return {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${range.start}-${range.end}/${bytes.length}` },
    body: bytes.subarray(range.start, range.end + 1),
  };
}

/** The condition of `If-Range`: a strong entity tag or the exact date. */
function isStillValid(condition: string | undefined, about: Readonly<Record<string, string>>): boolean {
  return condition === undefined || condition === about.etag || condition === about['last-modified'];
}

/** Undefined: no range, or one that must be ignored. A start after the end means that nothing can be sent. */
function parseRange(header: string | undefined, size: number): { start: number; end: number } | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') return { start: last === '0' ? size : Math.max(size - Number(last), 0), end: size - 1 };
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  const isReversed = last !== '' && Number(last) < Number(first);
  return isReversed ? undefined : { start: Number(first), end };
}

/** How a message declares the end of its body. */
import { type HttpHeaders, HttpParseError } from './headers.ts';

/** What ends a body: a number of bytes, the last chunk, or the end of the connection. */
export type Framing = number | 'chunked' | 'close';

/** The framing that the headers declare; undefined when they declare none. */
export function framingOf(headers: HttpHeaders): number | 'chunked' | undefined {
  const coding = headers['transfer-encoding'];
  const length = headers['content-length'];
  if (coding !== undefined) {
    if (length !== undefined) throw new HttpParseError('both content-length and transfer-encoding');
    if (coding.toLowerCase() !== 'chunked') throw new HttpParseError('unsupported transfer-encoding');
    return 'chunked';
  }
  if (length === undefined) return undefined;
  if (!/^\d{1,15}$/.test(length)) throw new HttpParseError('invalid content-length');
  return Number(length);
}

export const isFraming = (name: string): boolean => name === 'content-length' || name === 'transfer-encoding';

/**
 * Rejects a tab around the value of a framing header:
 * Node reads `chunked` before a tab as another coding, which ends the body elsewhere.
 */
export function checkFramingValue(written: string): void {
  if (written.includes('\t')) throw new HttpParseError('tab in a framing header');
}

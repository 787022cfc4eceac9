/** Media inside JSON: data URLs both ways, and media types as the providers spell them. */
import { isUtf8 } from 'node:buffer';
import type { MediaSource } from '../hub/types.ts';
import { tableOf, wrongValue } from './read.ts';

const BASE64 = ';base64';
/** Characters to search for the media type; the data that follows may be many megabytes. */
const MAX_HEAD = 256;

/** Reads an HTTP(S) or data URL. `defaultMime` is for data URLs without a media type. */
export function readUrl(url: string, path: string, defaultMime?: string): MediaSource {
  if (/^https?:\/\//i.test(url.slice(0, 8))) return { kind: 'url', url };
  return url.startsWith('data:')
    ? readDataUrl(url, path, defaultMime)
    : wrongValue(path, 'expected an https URL or a data URL.');
}

function readDataUrl(url: string, path: string, defaultMime: string | undefined): MediaSource {
  const head = url.slice(0, MAX_HEAD);
  const comma = head.indexOf(',');
  const type = head.slice('data:'.length, Math.max(comma, 0)).toLowerCase();
  if (!type.endsWith(BASE64)) return wrongValue(path, 'expected a data URL with base64 content.');
  const mime = type.slice(0, -BASE64.length).split(';')[0] || defaultMime;
  if (!mime) return wrongValue(path, 'expected a media type in the data URL.');
  return { kind: 'base64', mime: mimeOf(mime), data: url.slice(comma + 1) };
}

export const dataUrl = ({ mime, data }: MediaSource & { kind: 'base64' }): string =>
  `data:${mimeOf(mime)}${BASE64},${data}`;

/** Corrects a misspelling that many clients send and every provider rejects. */
export const mimeOf = (mime: string): string => (mime === 'image/jpg' ? 'image/jpeg' : mime);

/**
 * Media type of file data that names none: by the extension of the
 * file, else by its first bytes, else PDF, the usual content.
 */
export function mimeOfFile(name: string | undefined, data: string): string {
  const named = MIMES.get(name?.split('.').at(-1)?.toLowerCase() ?? '');
  if (named !== undefined) return named;
  const head = Buffer.from(data.slice(0, FILE_HEAD_CHARS), 'base64');
  if (head.subarray(0, PDF.length).equals(PDF)) return 'application/pdf';
  return isText(head) ? 'text/plain' : 'application/pdf';
}
const MIMES = tableOf({
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  json: 'application/json',
  html: 'text/html',
});
const PDF = Buffer.from('%PDF-');
/** A multiple of four, so that the cut falls between two groups. */
const FILE_HEAD_CHARS = 1_024;

/** A character at the end may be cut off. Control characters other than white space do not occur in text. */
function isText(bytes: Buffer): boolean {
  if (bytes.length === 0) return false;
  const ends = [0, 1, 2, 3].map((cut) => bytes.subarray(0, bytes.length - cut));
  const hasControl = bytes.some((byte) => byte < 0x20 && !/\s/.test(String.fromCharCode(byte)));
  return !hasControl && ends.some(isUtf8);
}

export const decodeText = (source: MediaSource & { kind: 'base64' }): string =>
  Buffer.from(source.data, 'base64').toString('utf8');

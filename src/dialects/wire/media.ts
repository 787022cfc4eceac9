/** Bytes inside JSON: data URLs both ways, and media types as the providers spell them. */
import type { MediaSource } from '../hub/types.ts';
import { wrongValue } from './read.ts';

const BASE64 = ';base64';
/** Only the head is searched: the data may be many megabytes. */
const MAX_HEAD = 256;

/** An address or a data URL of a client. `otherwise` is the type of data that names none. */
export function readUrl(url: string, path: string, otherwise?: string): MediaSource {
  if (/^https?:\/\//i.test(url.slice(0, 8))) return { kind: 'url', url };
  return url.startsWith('data:')
    ? readDataUrl(url, path, otherwise)
    : wrongValue(path, 'expected an https address or a data URL.');
}

function readDataUrl(url: string, path: string, otherwise: string | undefined): MediaSource {
  const head = url.slice(0, MAX_HEAD);
  const comma = head.indexOf(',');
  const type = head.slice('data:'.length, Math.max(comma, 0)).toLowerCase();
  if (!type.endsWith(BASE64)) return wrongValue(path, 'expected a data URL with base64 content.');
  const mime = type.slice(0, -BASE64.length).split(';')[0] || otherwise;
  if (!mime) return wrongValue(path, 'the data URL names no media type.');
  return { kind: 'base64', mime: mimeOf(mime), data: url.slice(comma + 1) };
}

export const dataUrl = ({ mime, data }: MediaSource & { kind: 'base64' }): string =>
  `data:${mimeOf(mime)}${BASE64},${data}`;

/** A misspelling that many clients make and every provider refuses. */
export const mimeOf = (mime: string): string => (mime === 'image/jpg' ? 'image/jpeg' : mime);

/** Text that came as bytes. */
export const textOfBytes = (source: MediaSource & { kind: 'base64' }): string =>
  Buffer.from(source.data, 'base64').toString('utf8');

/** Media inside JSON: data URLs both ways, and media types as the providers spell them. */
import type { MediaSource } from '../hub/types.ts';
import { wrongValue } from './read.ts';

const BASE64 = ';base64';
/** Characters to search for the media type; the data behind it may be many megabytes. */
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

/** Decodes a text file. */
export const decodeText = (source: MediaSource & { kind: 'base64' }): string =>
  Buffer.from(source.data, 'base64').toString('utf8');

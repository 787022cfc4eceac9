/** Decoder of message content: a string or a list of typed parts. Rejects unknown part types. */
import type { CacheBreakpoint, HubPart, HubText, JsonObject, MediaSource } from '../../hub/types.ts';
import { mimeOfFile, readUrl } from '../../wire/media.ts';
import {
  compact,
  isGiven,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  unsupported,
  wrongType,
  wrongValue,
} from '../../wire/read.ts';

/** Reads the content of a user or tool message. */
export function readParts(value: unknown, path: string): readonly HubPart[] {
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  if (!Array.isArray(value)) return wrongType(path, 'a string or an array of parts', value);
  return value.map((part, n) => readPart(part, `${path}[${n}]`));
}

/** Reads the content of a system message. */
export function readTexts(value: unknown, path: string): readonly HubText[] {
  return readParts(value, path).map((part, n) =>
    part.kind === 'text' ? part : wrongValue(`${path}[${n}].type`, 'only text is allowed in this message.'),
  );
}

type PartReader = (part: JsonObject, path: string, cache: CacheBreakpoint | undefined) => HubPart;

const PARTS: ReadonlyMap<string, PartReader> = new Map<string, PartReader>([
  [
    'text',
    (part, path, cache) => compact({ kind: 'text' as const, text: needString(part.text, `${path}.text`), cache }),
  ],
  ['image_url', readImage],
  ['video_url', readVideo],
  ['document_url', readDocument('document_url')],
  ['file_url', readDocument('file_url')],
  ['input_audio', readAudio],
  ['file', readFile],
]);

function readPart(value: unknown, path: string): HubPart {
  const part = needObject(value, path);
  const type = needString(part.type, `${path}.type`);
  const reader = PARTS.get(type);
  if (!reader) return unsupported(`${path}.type`, `unknown part type '${type.slice(0, 60)}'.`);
  return reader(part, path, readCacheBreakpoint(part, path));
}

function readCacheBreakpoint(part: JsonObject, path: string): CacheBreakpoint | undefined {
  const breakpoint = optional(part, 'prompt_cache_breakpoint', needObject, path);
  if (!breakpoint) return readCacheControl(part, path);
  return breakpoint.ttl === '12h' ? { long: true } : {};
}

/** Not official: the form of the messages dialect, which aggregators accept in parts and tools. */
export function readCacheControl(holder: JsonObject, path: string): CacheBreakpoint | undefined {
  const control = optional(holder, 'cache_control', needObject, path);
  return control && (control.ttl === '1h' ? { long: true } : {});
}

export function readImage(part: JsonObject, path: string, cache?: CacheBreakpoint): HubPart {
  const at = `${path}.image_url`;
  // A bare string is not official but common.
  const image = typeof part.image_url === 'string' ? { url: part.image_url } : needObject(part.image_url, at);
  return compact({
    kind: 'image' as const,
    source: readUrl(needString(image.url, `${at}.url`), `${at}.url`, 'image/png'),
    detail: optional(image, 'detail', oneOf(['auto', 'low', 'high', 'original']), at),
    cache,
  });
}

/** Not official: the form in which servers of video models accept it. */
function readVideo(part: JsonObject, path: string, cache: CacheBreakpoint | undefined): HubPart {
  const at = `${path}.video_url`;
  return compact({ kind: 'video' as const, source: readUrl(urlIn(part.video_url, at), at, 'video/mp4'), cache });
}

/** Not official: a document by its URL, as Mistral and Perplexity name it. */
function readDocument(member: 'document_url' | 'file_url'): PartReader {
  return (part, path, cache) => {
    const at = `${path}.${member}`;
    const title = optional(part, member === 'file_url' ? 'file_name' : 'document_name', needString, path);
    const source = readUrl(urlIn(part[member], at), at, 'application/pdf');
    return compact({ kind: 'file' as const, source, title, cache });
  };
}

/** A URL, bare or in an object. */
const urlIn = (value: unknown, at: string): string =>
  typeof value === 'string' ? value : needString(needObject(value, at).url, `${at}.url`);

const AUDIO = { wav: 'audio/wav', mp3: 'audio/mpeg' } as const;

function readAudio(part: JsonObject, path: string, cache: CacheBreakpoint | undefined): HubPart {
  const at = `${path}.input_audio`;
  const audio = needObject(part.input_audio, at);
  const format = oneOf(['wav', 'mp3'] as const)(audio.format, `${at}.format`);
  const data = needString(audio.data, `${at}.data`);
  return compact({ kind: 'audio' as const, source: { kind: 'base64' as const, mime: AUDIO[format], data }, cache });
}

function readFile(part: JsonObject, path: string, cache: CacheBreakpoint | undefined): HubPart {
  const at = `${path}.file`;
  const file = needObject(part.file, at);
  const title = optional(file, 'filename', needString, at);
  return compact({ kind: 'file' as const, source: fileSource(file, at, title), title, cache });
}

function fileSource(file: JsonObject, at: string, name: string | undefined): MediaSource {
  if (isGiven(file.file_id))
    return { kind: 'file_id', id: needString(file.file_id, `${at}.file_id`), issuer: 'responses' };
  const data = needString(file.file_data, `${at}.file_data`);
  const mime = mimeOfFile(name, data);
  return /^(?:data|https?):/.test(data) ? readUrl(data, `${at}.file_data`, mime) : { kind: 'base64', mime, data };
}

/** Reads a string or a list of strings. */
export const readStringOrList = (value: unknown, path: string): readonly string[] =>
  typeof value === 'string' ? [value] : needList(value, path).map((one, n) => needString(one, `${path}[${n}]`));

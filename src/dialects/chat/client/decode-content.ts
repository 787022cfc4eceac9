/** Decoder of message content: a string or a list of typed parts. Rejects unknown part types. */
import type { CacheBreakpoint, HubPart, HubText, JsonObject, MediaSource } from '../../hub/types.ts';
import { mimeOfFile, readUrl } from '../../wire/media.ts';
import * as wire from '../../wire/read.ts';

export function readParts(value: unknown, path: string): readonly HubPart[] {
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  if (!Array.isArray(value)) return wire.wrongType(path, 'a string or an array of parts', value);
  return value.map((part, n) => readPart(part, `${path}[${n}]`));
}

export function readTexts(value: unknown, path: string): readonly HubText[] {
  return readParts(value, path).map((part, n) =>
    part.kind === 'text' ? part : wire.wrongValue(`${path}[${n}].type`, 'only text is allowed in this message.'),
  );
}

type PartReader = (part: JsonObject, path: string, cache: CacheBreakpoint | undefined) => HubPart;

const PARTS = wire.tableOf<PartReader>({
  text: (part, path, cache) =>
    wire.compact({ kind: 'text' as const, text: wire.needString(part.text, `${path}.text`), cache }),
  image_url: readImage,
  video_url: readVideo,
  document_url: readDocument('document_url'),
  file_url: readDocument('file_url'),
  input_audio: readAudio,
  file: readFile,
});

function readPart(value: unknown, path: string): HubPart {
  const part = wire.needObject(value, path);
  const type = wire.needString(part.type, `${path}.type`);
  const reader = PARTS.get(type);
  if (!reader) return wire.unsupported(`${path}.type`, `unknown part type '${type.slice(0, 60)}'.`);
  return reader(part, path, readCacheBreakpoint(part, path));
}

function readCacheBreakpoint(part: JsonObject, path: string): CacheBreakpoint | undefined {
  const breakpoint = wire.optional(part, 'prompt_cache_breakpoint', wire.needObject, path);
  if (!breakpoint) return readCacheControl(part, path);
  return breakpoint.ttl === '12h' ? { long: true } : {};
}

/** Not official: the form of the messages dialect, which aggregators accept in parts and tools. */
export function readCacheControl(holder: JsonObject, path: string): CacheBreakpoint | undefined {
  const control = wire.optional(holder, 'cache_control', wire.needObject, path);
  return control && (control.ttl === '1h' ? { long: true } : {});
}

export function readImage(part: JsonObject, path: string, cache?: CacheBreakpoint): HubPart {
  const at = `${path}.image_url`;
  // A bare string is not official but common.
  const image = typeof part.image_url === 'string' ? { url: part.image_url } : wire.needObject(part.image_url, at);
  return wire.compact({
    kind: 'image' as const,
    source: readUrl(wire.needString(image.url, `${at}.url`), `${at}.url`, 'image/png'),
    detail: wire.optional(image, 'detail', wire.needString, at),
    cache,
  });
}

/** Not official: the form in which servers of video models accept it. */
function readVideo(part: JsonObject, path: string, cache: CacheBreakpoint | undefined): HubPart {
  const at = `${path}.video_url`;
  return wire.compact({ kind: 'video' as const, source: readUrl(urlIn(part.video_url, at), at, 'video/mp4'), cache });
}

/** Not official: a document by its URL, as Mistral and Perplexity name it. */
function readDocument(member: 'document_url' | 'file_url'): PartReader {
  return (part, path, cache) => {
    const at = `${path}.${member}`;
    const title = wire.optional(part, member === 'file_url' ? 'file_name' : 'document_name', wire.needString, path);
    const source = readUrl(urlIn(part[member], at), at, 'application/pdf');
    return wire.compact({ kind: 'file' as const, source, title, cache });
  };
}

/** A URL, bare or in an object. */
const urlIn = (value: unknown, at: string): string =>
  typeof value === 'string' ? value : wire.needString(wire.needObject(value, at).url, `${at}.url`);

function readAudio(part: JsonObject, path: string, cache: CacheBreakpoint | undefined): HubPart {
  const at = `${path}.input_audio`;
  const audio = wire.needObject(part.input_audio, at);
  const format = wire.needString(audio.format, `${at}.format`);
  const data = wire.needString(audio.data, `${at}.data`);
  return wire.compact({
    kind: 'audio' as const,
    source: { kind: 'base64' as const, mime: format === 'mp3' ? 'audio/mpeg' : `audio/${format}`, data },
    cache,
  });
}

function readFile(part: JsonObject, path: string, cache: CacheBreakpoint | undefined): HubPart {
  const at = `${path}.file`;
  const file = wire.needObject(part.file, at);
  const title = wire.optional(file, 'filename', wire.needString, at);
  return wire.compact({ kind: 'file' as const, source: fileSource(file, at, title), title, cache });
}

function fileSource(file: JsonObject, at: string, name: string | undefined): MediaSource {
  if (wire.isGiven(file.file_id))
    return { kind: 'file_id', id: wire.needString(file.file_id, `${at}.file_id`), issuer: 'responses' };
  const data = wire.needString(file.file_data, `${at}.file_data`);
  const mime = mimeOfFile(name, data);
  return /^(?:data|https?):/.test(data) ? readUrl(data, `${at}.file_data`, mime) : { kind: 'base64', mime, data };
}

export const readStringOrList = (value: unknown, path: string): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : wire.needList(value, path).map((one, n) => wire.needString(one, `${path}[${n}]`));

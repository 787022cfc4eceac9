/** Content parts of a client's request. The caller's own parts are read strictly; unknown parts of the assistant's side are left out. */
import type { CacheBreakpoint, HubPart, HubText, JsonObject, MediaSource } from '../../hub/types.ts';
import { readUrl, textOfBytes } from '../../wire/media.ts';
import {
  compact,
  given,
  isObject,
  maybeString,
  needList,
  needObject,
  needString,
  unsupported,
} from '../../wire/read.ts';
import { decodeAnnotations } from '../annotations.ts';

/** Whose content it is: an assistant's may hold provider artefacts, all others are the caller's own words. */
export type Side = 'caller' | 'assistant';

export function decodeContent(value: unknown, path: string, side: Side): HubPart[] {
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  return needList(value, path).flatMap((part, index) => decodePart(part, `${path}[${index}]`, side));
}

/** Instructions are text and nothing else. */
export function decodeTexts(value: unknown, path: string): HubText[] {
  return decodeContent(value, path, 'caller').map((part, index) =>
    part.kind === 'text' ? part : unsupported(`${path}[${index}]`, 'instructions can only hold text.'),
  );
}

function decodePart(value: unknown, path: string, side: Side): HubPart[] {
  const part = needObject(value, path);
  const type = needString(part.type, `${path}.type`);
  const read = PARTS.get(type);
  if (read) return [read(part, path)];
  if (side === 'assistant') return [];
  return unsupported(`${path}.type`, `content of type '${type}' cannot be converted.`);
}

type PartReader = (part: JsonObject, path: string) => HubPart;

const text: PartReader = (part, path) => {
  const annotations = decodeAnnotations(part.annotations);
  return compact({
    kind: 'text',
    text: needString(part.text, `${path}.text`),
    annotations: annotations.length > 0 ? annotations : undefined,
    cache: cacheOf(part),
  });
};

// A table by wire word; a Map, so that a hostile type such as `constructor` finds nothing.
const PARTS: ReadonlyMap<string, PartReader> = new Map<string, PartReader>([
  ['input_text', text],
  ['output_text', text],
  ['text', text],
  ['refusal', (part, path) => ({ kind: 'refusal', text: needString(part.refusal, `${path}.refusal`) })],
  ['input_image', image],
  ['input_file', file],
  ['input_audio', audio],
]);

function image(part: JsonObject, path: string): HubPart {
  const source = given(part.file_id)
    ? fileId(part.file_id, `${path}.file_id`)
    : readUrl(needString(part.image_url, `${path}.image_url`), `${path}.image_url`);
  return compact({ kind: 'image', source, detail: maybeString(part.detail), cache: cacheOf(part) });
}

function file(part: JsonObject, path: string): HubPart {
  return compact({
    kind: 'file',
    source: fileSource(part, path),
    title: maybeString(part.filename),
    cache: cacheOf(part),
  });
}

function fileSource(part: JsonObject, path: string): MediaSource {
  if (given(part.file_id)) return fileId(part.file_id, `${path}.file_id`);
  if (given(part.file_url)) return readUrl(needString(part.file_url, `${path}.file_url`), `${path}.file_url`);
  const data = needString(part.file_data, `${path}.file_data`);
  // Bare base64 is accepted too; PDF is what such files nearly always are.
  if (!data.startsWith('data:')) return { kind: 'base64', mime: 'application/pdf', data };
  const source = readUrl(data, `${path}.file_data`);
  if (source.kind !== 'base64' || !source.mime.startsWith('text/')) return source;
  return { kind: 'text', text: textOfBytes(source) };
}

function audio(part: JsonObject, path: string): HubPart {
  const inner = needObject(part.input_audio, `${path}.input_audio`);
  const format = needString(inner.format, `${path}.input_audio.format`);
  const data = needString(inner.data, `${path}.input_audio.data`);
  return { kind: 'audio', source: { kind: 'base64', mime: `audio/${format}`, data } };
}

const fileId = (value: unknown, path: string): MediaSource => ({
  kind: 'file_id',
  id: needString(value, path),
  issuer: 'responses',
});

function cacheOf(part: JsonObject): CacheBreakpoint | undefined {
  if (!isObject(part.prompt_cache_breakpoint)) return undefined;
  return part.prompt_cache_breakpoint.ttl === '12h' ? { long: true } : {};
}

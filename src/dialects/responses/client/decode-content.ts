/**
 * Decoder of content parts in a client request. Rejects unknown parts
 * of the caller; skips unknown parts of the assistant.
 */
import type { CacheBreakpoint, HubPart, HubText, JsonObject, MediaSource } from '../../hub/types.ts';
import { decodeText, mimeOfFile, readUrl } from '../../wire/media.ts';
import * as wire from '../../wire/read.ts';
import { decodeAnnotations } from '../annotations.ts';

/** Assistant content may contain parts that only its provider understands; all other content comes from the caller. */
type Author = 'caller' | 'assistant';

export function decodeContent(value: unknown, path: string, author: Author): HubPart[] {
  if (typeof value === 'string') return [{ kind: 'text', text: value }];
  return wire.needList(value, path).flatMap((part, index) => decodePart(part, `${path}[${index}]`, author));
}

/** Instructions and system messages may contain only text. */
export function decodeInstructions(value: unknown, path: string): HubText[] {
  return decodeContent(value, path, 'caller').map((part, index) =>
    part.kind === 'text' ? part : wire.unsupported(`${path}[${index}]`, 'instructions must be text.'),
  );
}

function decodePart(value: unknown, path: string, author: Author): HubPart[] {
  const part = wire.needObject(value, path);
  const type = wire.needString(part.type, `${path}.type`);
  const read = PART_READERS.get(type);
  if (read) return [read(part, path)];
  if (author === 'assistant') return [];
  return wire.unsupported(`${path}.type`, `content of type '${type}' is not supported.`);
}

type PartReader = (part: JsonObject, path: string) => HubPart;

const readText: PartReader = (part, path) => {
  const annotations = decodeAnnotations(part.annotations);
  return wire.compact({
    kind: 'text',
    text: wire.needString(part.text, `${path}.text`),
    annotations: annotations.length > 0 ? annotations : undefined,
    cache: cacheBreakpointOf(part),
  });
};

// A Map, so that a type such as `constructor` does not match an inherited member.
const PART_READERS: ReadonlyMap<string, PartReader> = new Map<string, PartReader>([
  ['input_text', readText],
  ['output_text', readText],
  ['text', readText],
  ['refusal', (part, path) => ({ kind: 'refusal', text: wire.needString(part.refusal, `${path}.refusal`) })],
  ['input_image', readImage],
  ['input_file', readFile],
  ['input_audio', readAudio],
]);

function readImage(part: JsonObject, path: string): HubPart {
  const source = wire.isGiven(part.file_id)
    ? readFileId(part.file_id, `${path}.file_id`)
    : readUrl(wire.needString(part.image_url, `${path}.image_url`), `${path}.image_url`);
  return wire.compact({ kind: 'image', source, detail: wire.maybeString(part.detail), cache: cacheBreakpointOf(part) });
}

function readFile(part: JsonObject, path: string): HubPart {
  return wire.compact({
    kind: 'file',
    source: readFileSource(part, path),
    title: wire.maybeString(part.filename),
    cache: cacheBreakpointOf(part),
  });
}

function readFileSource(part: JsonObject, path: string): MediaSource {
  if (wire.isGiven(part.file_id)) return readFileId(part.file_id, `${path}.file_id`);
  if (wire.isGiven(part.file_url))
    return readUrl(wire.needString(part.file_url, `${path}.file_url`), `${path}.file_url`);
  const data = wire.needString(part.file_data, `${path}.file_data`);
  // The API also accepts bare base64.
  const source: MediaSource = data.startsWith('data:')
    ? readUrl(data, `${path}.file_data`)
    : { kind: 'base64', mime: mimeOfFile(wire.maybeString(part.filename), data), data };
  if (source.kind !== 'base64' || !source.mime.startsWith('text/')) return source;
  return { kind: 'text', text: decodeText(source) };
}

function readAudio(part: JsonObject, path: string): HubPart {
  const inner = wire.needObject(part.input_audio, `${path}.input_audio`);
  const format = wire.needString(inner.format, `${path}.input_audio.format`);
  const data = wire.needString(inner.data, `${path}.input_audio.data`);
  return { kind: 'audio', source: { kind: 'base64', mime: `audio/${format}`, data } };
}

const readFileId = (value: unknown, path: string): MediaSource => ({
  kind: 'file_id',
  id: wire.needString(value, path),
  issuer: 'responses',
});

function cacheBreakpointOf(part: JsonObject): CacheBreakpoint | undefined {
  if (!wire.isObject(part.prompt_cache_breakpoint)) return undefined;
  return part.prompt_cache_breakpoint.ttl === '12h' ? { long: true } : {};
}

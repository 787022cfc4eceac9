/** Decoder of input blocks in user messages and tool results: text, images, documents, search results. */
import type { CacheBreakpoint, HubPart, JsonObject, MediaSource } from '../../hub/types.ts';
import {
  compact,
  isGiven,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  readBoolean,
  unsupported,
} from '../../wire/read.ts';

/** Returns undefined for empty text, which most providers reject. */
export function decodePart(block: JsonObject, path: string): HubPart | undefined {
  const type = needString(block.type, `${path}.type`);
  const read = PARTS.get(type);
  return read
    ? read(block, path)
    : unsupported(`${path}.type`, `blocks of type "${type}" are not supported by this model.`);
}

export function readCacheBreakpoint(block: JsonObject, path: string): { cache?: CacheBreakpoint } {
  if (!isGiven(block.cache_control)) return {};
  const control = needObject(block.cache_control, `${path}.cache_control`);
  return { cache: control.ttl === '1h' ? { long: true } : {} };
}

const PARTS: ReadonlyMap<string, (block: JsonObject, path: string) => HubPart | undefined> = new Map(
  Object.entries<(block: JsonObject, path: string) => HubPart | undefined>({
    text(block, path) {
      // Clients return null for a block that had no text.
      const text = block.text === null ? '' : needString(block.text, `${path}.text`);
      return text === '' ? undefined : { kind: 'text', text, ...readCacheBreakpoint(block, path) };
    },
    image: (block, path) => ({
      kind: 'image',
      source: mediaSource(block.source, `${path}.source`),
      ...readCacheBreakpoint(block, path),
    }),
    document: (block, path) =>
      compact({
        kind: 'file' as const,
        source: documentSource(block.source, `${path}.source`),
        title: optional(block, 'title', needString, path),
        context: optional(block, 'context', needString, path),
        citations: readCitations(block, path),
        ...readCacheBreakpoint(block, path),
      }),
    search_result: (block, path) =>
      compact({
        kind: 'search_result' as const,
        source: needString(block.source, `${path}.source`),
        title: needString(block.title, `${path}.title`),
        texts: textsOf(block.content, `${path}.content`),
        citations: readCitations(block, path),
        ...readCacheBreakpoint(block, path),
      }),
  }),
);

const readCitations = (block: JsonObject, path: string): boolean | undefined =>
  optional(
    isGiven(block.citations) ? needObject(block.citations, `${path}.citations`) : {},
    'enabled',
    readBoolean,
    `${path}.citations`,
  );

function mediaSource(value: unknown, path: string): MediaSource {
  const source = needObject(value, path);
  switch (oneOf(['base64', 'url', 'file'])(source.type, `${path}.type`)) {
    case 'base64':
      return {
        kind: 'base64',
        mime: needString(source.media_type, `${path}.media_type`),
        data: needString(source.data, `${path}.data`),
      };
    case 'url':
      return { kind: 'url', url: needString(source.url, `${path}.url`) };
    default:
      return { kind: 'file_id', id: needString(source.file_id, `${path}.file_id`), issuer: 'messages' };
  }
}

function documentSource(value: unknown, path: string): MediaSource {
  const source = needObject(value, path);
  if (source.type === 'text') return { kind: 'text', text: needString(source.data, `${path}.data`) };
  if (source.type !== 'content') return mediaSource(source, path);
  return { kind: 'text', text: textsOf(source.content, `${path}.content`).join('\n\n') };
}

/** Accepts a string or a list of text blocks. */
function textsOf(value: unknown, path: string): string[] {
  if (typeof value === 'string') return [value];
  return needList(value, path).map((entry, n) => {
    const block = needObject(entry, `${path}[${n}]`);
    if (block.type !== 'text') unsupported(`${path}[${n}].type`, 'only text blocks are allowed here.');
    return needString(block.text, `${path}[${n}].text`);
  });
}

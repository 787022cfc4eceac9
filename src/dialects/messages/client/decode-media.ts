/** Decoder of input blocks in user messages and tool results: text, images, documents, search results. */
import type { CacheBreakpoint, HubPart, JsonObject, MediaSource } from '../../hub/types.ts';
import * as wire from '../../wire/read.ts';

/** Returns undefined for empty text, which most providers reject. */
export function decodePart(block: JsonObject, path: string): HubPart | undefined {
  const type = wire.needString(block.type, `${path}.type`);
  const read = PARTS.get(type);
  return read
    ? read(block, path)
    : wire.unsupported(`${path}.type`, `blocks of type "${type}" are not supported by this model.`);
}

export function readCacheBreakpoint(block: JsonObject, path: string): { cache?: CacheBreakpoint } {
  if (!wire.isGiven(block.cache_control)) return {};
  const control = wire.needObject(block.cache_control, `${path}.cache_control`);
  return { cache: control.ttl === '1h' ? { long: true } : {} };
}

const PARTS = wire.tableOf<(block: JsonObject, path: string) => HubPart | undefined>({
  text(block, path) {
    // Clients return null for a block that had no text.
    const text = block.text === null ? '' : wire.needString(block.text, `${path}.text`);
    return text === '' ? undefined : { kind: 'text', text, ...readCacheBreakpoint(block, path) };
  },
  image: (block, path) => ({
    kind: 'image',
    source: mediaSource(block.source, `${path}.source`),
    ...readCacheBreakpoint(block, path),
  }),
  document: (block, path) =>
    wire.compact({
      kind: 'file' as const,
      source: documentSource(block.source, `${path}.source`),
      title: wire.optional(block, 'title', wire.needString, path),
      context: wire.optional(block, 'context', wire.needString, path),
      citations: readCitations(block, path),
      ...readCacheBreakpoint(block, path),
    }),
  search_result: (block, path) =>
    wire.compact({
      kind: 'search_result' as const,
      source: wire.needString(block.source, `${path}.source`),
      title: wire.needString(block.title, `${path}.title`),
      texts: textsOf(block.content, `${path}.content`),
      citations: readCitations(block, path),
      ...readCacheBreakpoint(block, path),
    }),
});

const readCitations = (block: JsonObject, path: string): boolean | undefined =>
  wire.optional(
    wire.isGiven(block.citations) ? wire.needObject(block.citations, `${path}.citations`) : {},
    'enabled',
    wire.readBoolean,
    `${path}.citations`,
  );

function mediaSource(value: unknown, path: string): MediaSource {
  const source = wire.needObject(value, path);
  switch (wire.oneOf(['base64', 'url', 'file'])(source.type, `${path}.type`)) {
    case 'base64':
      return {
        kind: 'base64',
        mime: wire.needString(source.media_type, `${path}.media_type`),
        data: wire.needString(source.data, `${path}.data`),
      };
    case 'url':
      return { kind: 'url', url: wire.needString(source.url, `${path}.url`) };
    default:
      return { kind: 'file_id', id: wire.needString(source.file_id, `${path}.file_id`), issuer: 'messages' };
  }
}

function documentSource(value: unknown, path: string): MediaSource {
  const source = wire.needObject(value, path);
  if (source.type === 'text') return { kind: 'text', text: wire.needString(source.data, `${path}.data`) };
  if (source.type !== 'content') return mediaSource(source, path);
  return { kind: 'text', text: textsOf(source.content, `${path}.content`).join('\n\n') };
}

function textsOf(value: unknown, path: string): string[] {
  if (typeof value === 'string') return [value];
  return wire.needList(value, path).map((entry, n) => {
    const block = wire.needObject(entry, `${path}[${n}]`);
    if (block.type !== 'text') wire.unsupported(`${path}[${n}].type`, 'only text blocks are allowed here.');
    return wire.needString(block.text, `${path}[${n}].text`);
  });
}

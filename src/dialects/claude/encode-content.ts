/** Encoder of hub parts as content blocks. Rejects parts that the provider does not support; drops empty text. */
import { reject, rejectFile } from '../errors/rejection.ts';
import { type ByKind, forKind } from '../hub/by-kind.ts';
import type { CacheBreakpoint, HubPart, JsonObject, MediaSource } from '../hub/types.ts';
import { decodeText, mimeOf } from '../wire/media.ts';
import { compact } from '../wire/read.ts';

/** A mutable block: `limitBreakpoints` may still remove its `cache_control`. */
export type Block = Record<string, unknown>;

/** Role of the turn; an assistant turn accepts text only. */
type PartRole = 'user' | 'assistant';

/** Blocks of users by the kind of their part. */
export type PartBlocks = ByKind<HubPart, void, Block | undefined>;

export function encodeParts(parts: readonly HubPart[], role: PartRole, forms: PartBlocks = USER_BLOCKS): Block[] {
  const encode = role === 'assistant' ? assistantBlock : forKind<HubPart, void, Block | undefined>(forms);
  return parts.map((part) => encode(part)).filter((block) => block !== undefined);
}

/** Returns undefined for blank text, which the provider rejects. */
export const textBlock = (text: string, cache?: CacheBreakpoint): Block | undefined =>
  /\S/.test(text) ? { type: 'text', text, ...cacheControl(cache) } : undefined;

export function cacheControl(cache: CacheBreakpoint | undefined): { cache_control?: Block } {
  if (!cache) return {};
  return { cache_control: cache.long ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' } };
}

function assistantBlock(part: HubPart): Block | undefined {
  if (part.kind === 'text') return textBlock(part.text, part.cache);
  if (part.kind === 'refusal') return textBlock(part.text);
  return { type: 'text', text: `[${part.kind} omitted]` };
}

export const USER_BLOCKS: PartBlocks = {
  text: (part) => textBlock(part.text, part.cache),
  refusal: (part) => textBlock(part.text),
  json: (part) => textBlock(JSON.stringify(part.value) ?? ''),
  image: (part) => ({ type: 'image', source: imageSource(part.source), ...cacheControl(part.cache) }),
  file: fileBlock,
  search_result: (part) => ({
    type: 'search_result',
    source: part.source,
    title: part.title,
    content: part.texts.filter((text) => /\S/.test(text)).map((text) => ({ type: 'text', text })),
    ...(part.citations !== undefined && { citations: { enabled: part.citations } }),
    ...cacheControl(part.cache),
  }),
  audio: () => reject('conversation', 'Audio input is not supported by this model.'),
  video: () => reject('conversation', 'Video input is not supported by this model.'),
};

const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

function imageSource(source: MediaSource): JsonObject {
  if (source.kind !== 'base64') return remoteSource(source);
  const mime = mimeOf(source.mime);
  if (!IMAGE_TYPES.has(mime)) {
    reject('conversation', `Images of type ${mime} are not supported; use JPEG, PNG, GIF or WebP.`, 'invalid_value');
  }
  return { type: 'base64', media_type: mime, data: source.data };
}

function fileBlock(part: HubPart & { kind: 'file' }): Block {
  const { source } = part;
  if (source.kind === 'base64' && source.mime.startsWith('image/')) {
    return { type: 'image', source: imageSource(source), ...cacheControl(part.cache) };
  }
  return compact({
    type: 'document',
    source: documentSource(source),
    title: part.title,
    context: part.context,
    citations: part.citations === undefined ? undefined : { enabled: part.citations },
    ...cacheControl(part.cache),
  });
}

function documentSource(source: MediaSource): JsonObject {
  if (source.kind === 'text') return plainText(source.text);
  if (source.kind !== 'base64') return remoteSource(source);
  if (source.mime === 'application/pdf') return { type: 'base64', media_type: source.mime, data: source.data };
  if (source.mime.startsWith('text/') || source.mime === 'application/json') {
    return plainText(decodeText(source));
  }
  return reject(
    'conversation',
    `Files of type ${source.mime} are not supported; use PDF, text or an image.`,
    'invalid_value',
  );
}

const plainText = (data: string): JsonObject => ({ type: 'text', media_type: 'text/plain', data });

function remoteSource(source: MediaSource): JsonObject {
  if (source.kind === 'url') return { type: 'url', url: source.url };
  if (source.kind === 'file_id' && source.issuer === 'messages') return { type: 'file', file_id: source.id };
  if (source.kind === 'file_id') return rejectFile(source.id);
  return reject('conversation', 'An image must be inline data, a URL or a file id.');
}

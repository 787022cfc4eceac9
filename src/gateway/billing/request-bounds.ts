/**
 * What a provider may read and do for a request beyond the bytes of its text: images, files, stored turns, searches, pictures that it
 * draws. Admission reserves for all of it, because a small body can cause a large charge.
 */
import { randomUUID } from 'node:crypto';
import { hasEscapedLetters, JsonElider } from '../../core/index.ts';
import { imageTokens } from '../../rules/index.ts';

export interface InputBounds {
  /** Bytes that the model reads as text. */
  readonly bodyBytes: number;
  /** Images in the input, inline or by address. */
  readonly inputImages: number;
  /** The request refers to input of unknown size: a file, a video, stored items. */
  readonly readsWholeContext: boolean;
}

export interface ToolBounds {
  readonly maxSearches: number;
  /** Output tokens of pictures that a tool may draw, beside the limit of the request. */
  readonly moreOutput: number;
}

/** Members whose content belongs to tools or to the caller; a provider loads nothing from there. */
const SKIPPED: ReadonlySet<string> = new Set(['parameters', 'input_schema', 'schema', 'metadata', 'arguments']);
const IMAGE_TYPES: ReadonlySet<unknown> = new Set(['image', 'image_url', 'input_image', 'computer_screenshot']);
const FILE_TYPES: ReadonlySet<unknown> = new Set(['file', 'input_file', 'document', 'container_upload', 'video_url']);

type Json = Readonly<Record<string, unknown>>;
type LengthOf = (text: string) => number;

/** Bounds of a request that is parsed already. `bytes` is the size of its text. */
export const inputBoundsOf = (request: unknown, bytes: number, lengthOf: LengthOf = Buffer.byteLength): InputBounds => {
  const media = new MediaCount(lengthOf);
  media.add(request);
  return {
    bodyBytes: Math.max(0, bytes - media.inlineBytes),
    inputImages: media.images,
    readsWholeContext: media.hasFiles,
  };
};

class MediaCount {
  images = 0;
  hasFiles = false;
  /** Bytes of inline media, which the model does not read as text. */
  inlineBytes = 0;
  readonly #lengthOf: LengthOf;

  constructor(lengthOf: LengthOf) {
    this.#lengthOf = lengthOf;
  }

  /** As deep as the JSON limits allow. */
  add(value: unknown): void {
    if (Array.isArray(value)) for (const element of value) this.add(element);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    this.#countObject(value as Json);
    for (const [name, member] of Object.entries(value)) if (!SKIPPED.has(name)) this.add(member);
  }

  #countObject(part: Json): void {
    const { type } = part;
    if (IMAGE_TYPES.has(type)) this.#image(part.image_url, (part.image_url as Json | null)?.url, sourceOf(part).data);
    else if (type === 'image_generation_call' && part.result) this.#image(part.result);
    else if (FILE_TYPES.has(type) && !isText(sourceOf(part)))
      this.#file(sourceOf(part).data, part.file_data, ((part.file ?? {}) as Json).file_data);
    // Parts of generate-content have no type.
    const inline = (part.inlineData ?? part.inline_data) as Json | undefined;
    if (inline) this.#byMime(inline, inline.data);
    const file = part.fileData ?? part.file_data;
    if (typeof file === 'object' && file !== null) this.#byMime(file as Json);
  }

  #byMime(media: Json, ...content: unknown[]): void {
    const mime = String(media.mimeType ?? media.mime_type ?? '');
    if (mime.startsWith('image')) this.#image(...content);
    // Inline audio counts by its bytes.
    else if (!mime.startsWith('audio') || content.length === 0) this.#file(...content);
  }

  #image(...content: unknown[]): void {
    this.images += 1;
    this.#inline(content);
  }

  #file(...content: unknown[]): void {
    this.hasFiles = true;
    this.#inline(content);
  }

  #inline(content: readonly unknown[]): void {
    for (const text of content) if (typeof text === 'string') this.inlineBytes += this.#lengthOf(text);
  }
}

const sourceOf = ({ source }: Json): Json => (typeof source === 'object' && source !== null ? (source as Json) : {});
const isText = ({ type }: Json): boolean => type === 'text' || type === 'content';

/** Words in the bytes of a request that has media. */
const MARKERS = [
  '"image',
  '"input_',
  '"file',
  '"document"',
  'nlineData',
  'nline_data',
  '_upload"',
  '_screenshot"',
  '_url"',
].map((text) => Buffer.from(text));
/** Marks the length of a cut string. Random, so that no caller can write one. */
const MARK = randomUUID();

/** Bounds of a JSON body, which is not parsed unless it has media, and then without its long strings. */
export function inputBoundsOfBody(body: Buffer): InputBounds {
  if (hasEscapedLetters(body)) return inputBoundsOf(parseText(body), body.length);
  if (!MARKERS.some((marker) => body.includes(marker)))
    return { bodyBytes: body.length, inputImages: 0, readsWholeContext: false };
  const skeleton = Buffer.concat(new JsonElider(MARK).push(body));
  return inputBoundsOf(parseText(skeleton), body.length, (text) => {
    const mark = text.lastIndexOf(MARK);
    return mark < 0 ? Buffer.byteLength(text) : Number(text.slice(mark + MARK.length));
  });
}

/** Without the byte order mark that some editors write. */
const parseText = (bytes: Buffer): unknown => JSON.parse(new TextDecoder().decode(bytes));

/** Searches that one request may cause, where it sets no limit. */
const MAX_SEARCHES = 10;

/** `tools` as the request has them; chat requests ask for searches by an option instead. */
export function toolBoundsOf(tools: unknown, searchOptions?: unknown): ToolBounds {
  const list = (Array.isArray(tools) ? tools : []).filter(
    (tool): tool is Json => typeof tool === 'object' && tool !== null,
  );
  const searching = list.filter(isSearch);
  const limits = searching.map(({ max_uses: limit }) =>
    typeof limit === 'number' && limit > 0 ? Math.min(limit, MAX_SEARCHES) : MAX_SEARCHES,
  );
  const drawing = list.filter(({ type }) => type === 'image_generation');
  return {
    maxSearches: searchOptions ? MAX_SEARCHES : Math.max(0, ...limits),
    moreOutput: Math.max(0, ...drawing.map(drawnBy)),
  };
}

const SEARCH_NAMES = ['googleSearch', 'google_search', 'googleSearchRetrieval', 'google_search_retrieval'];
const isSearch = (tool: Json): boolean =>
  String(tool.type ?? '').startsWith('web_search') || SEARCH_NAMES.some((name) => tool[name] !== undefined);

const drawnBy = ({ size, quality, partial_images: partial }: Json): number =>
  imageTokens({
    size: typeof size === 'string' ? size : 'auto',
    quality: typeof quality === 'string' ? quality : 'auto',
    partialImages: typeof partial === 'number' ? Math.min(Math.max(partial, 0), 3) : 0,
  });

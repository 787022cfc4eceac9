/** Encoder of hub parts for a chat upstream. Rejects content that the wire cannot hold, never drops it. */
import type { Capabilities } from '../../../rules/index.ts';
import { asText } from '../../encoding/texts.ts';
import { reject, rejectFile } from '../../errors/rejection.ts';
import type { CacheBreakpoint, HubPart, JsonObject, MediaSource } from '../../hub/types.ts';
import { dataUrl } from '../../wire/media.ts';
import { compact, tableOf } from '../../wire/read.ts';

export interface ContentContext {
  readonly capabilities: Capabilities;
  /** Allocates cache breakpoints. Providers accept four per request, so only the last four are sent. */
  takeBreakpoint(breakpoint: CacheBreakpoint | undefined): JsonObject | undefined;
}

export function openContent(breakpoints: number, capabilities: Capabilities): ContentContext {
  let skip = capabilities.explicitCache ? Math.max(0, breakpoints - 4) : breakpoints;
  return {
    capabilities,
    takeBreakpoint(breakpoint) {
      if (!breakpoint || skip-- > 0) return undefined;
      return { mode: 'explicit', ttl: breakpoint.long ? '12h' : '30m' };
    },
  };
}

/** Encodes content; as a plain string if possible, because every compatible server accepts that. */
export function encodeContent(parts: readonly HubPart[], context: ContentContext): string | readonly JsonObject[] {
  const encoded = parts.flatMap((part) => encodePart(part, context));
  if (!context.capabilities.textParts && encoded.every(({ type }) => type === 'text'))
    return joinTexts(encoded.map(({ text }) => String(text)));
  const [only, ...others] = encoded;
  const isPlain = others.length === 0 && only?.type === 'text' && !only.prompt_cache_breakpoint;
  return isPlain && typeof only.text === 'string' ? only.text : encoded;
}

/** Parts as one text, for servers that take no list. */
export const joinTexts = (texts: readonly string[]): string => texts.join('\n\n');

/** One part of the wire, or two: a file has no member for its context. */
export function encodePart(part: HubPart, context: ContentContext): readonly JsonObject[] {
  const body = encodeBody(part, context);
  const heading = part.kind === 'file' && part.source.kind !== 'text' ? part.context : undefined;
  return heading ? [{ type: 'text', text: heading }, body] : [body];
}

function encodeBody(part: HubPart, context: ContentContext): JsonObject {
  const { imageInput, refusedFields } = context.capabilities;
  const breakpoint = { prompt_cache_breakpoint: context.takeBreakpoint('cache' in part ? part.cache : undefined) };
  switch (part.kind) {
    case 'image':
      if (!imageInput) return reject('conversation', 'Images are not supported by this model.');
      return compact({
        type: 'image_url',
        image_url: compact({
          url: imageUrl(part.source),
          detail: refusedFields.includes('detail') ? undefined : part.detail,
        }),
        ...breakpoint,
      });
    case 'audio':
      return compact({ type: 'input_audio', input_audio: encodeAudio(part.source), ...breakpoint });
    case 'video':
      return reject('conversation', 'Video input is not supported by this model.');
    case 'file':
      return part.source.kind === 'text'
        ? compact({ type: 'text', text: asText(part) ?? '', ...breakpoint })
        : compact({ type: 'file', file: encodeFile(part.source, part.title), ...breakpoint });
    default:
      return compact({ type: 'text', text: asText(part) ?? '', ...breakpoint });
  }
}

function imageUrl(source: MediaSource): string {
  if (source.kind === 'base64') return dataUrl(source);
  return source.kind === 'url' ? source.url : rejectSource(source);
}

const AUDIO = tableOf({
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
});
function encodeAudio(source: MediaSource): JsonObject {
  const format = source.kind === 'base64' ? AUDIO.get(source.mime) : undefined;
  if (source.kind !== 'base64' || !format)
    return reject('conversation', 'Audio must be base64 data in wav or mp3 format for this model.');
  return { data: source.data, format };
}

function encodeFile(source: MediaSource, title: string | undefined): JsonObject {
  if (source.kind === 'base64') return { file_data: dataUrl(source), filename: title ?? fileName(source.mime) };
  return rejectSource(source);
}
/** The wire requires a file name with a matching extension. */
const fileName = (mime: string): string => (mime.startsWith('text/') ? 'document.txt' : 'document.pdf');

const rejectSource = (source: MediaSource): never =>
  source.kind === 'file_id'
    ? rejectFile(source.id)
    : reject('conversation', 'This model accepts images and files as base64 data, and images also by URL.');

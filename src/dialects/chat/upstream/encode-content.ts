/** Hub parts for a chat upstream. What the wire cannot hold is refused with its name, never left out in silence. */

import { reject, rejectFile } from '../../errors/rejection.ts';
import type { CacheBreakpoint, HubPart, JsonObject, MediaSource } from '../../hub/types.ts';
import { dataUrl } from '../../wire/media.ts';
import { compact } from '../../wire/read.ts';

/** Hands out cache breakpoints: the provider writes four at most, so only the last four marks are sent. */
export interface Breakpoints {
  take(mark: CacheBreakpoint | undefined): JsonObject | undefined;
}

export function openBreakpoints(total: number, allowed: boolean): Breakpoints {
  let skip = allowed ? Math.max(0, total - 4) : total;
  return {
    take(mark) {
      if (!mark || skip-- > 0) return undefined;
      return { mode: 'explicit', ttl: mark.long ? '12h' : '30m' };
    },
  };
}

/** A user's content: a plain string where one says it all, which every compatible server reads. */
export function encodeContent(parts: readonly HubPart[], marks: Breakpoints): string | readonly JsonObject[] {
  const encoded = parts.map((part) => encodePart(part, marks));
  const [only] = encoded;
  return encoded.length === 1 && only?.type === 'text' && typeof only.text === 'string' && !only.prompt_cache_breakpoint
    ? only.text
    : encoded;
}

export function encodePart(part: HubPart, marks: Breakpoints): JsonObject {
  const mark = { prompt_cache_breakpoint: marks.take('cache' in part ? part.cache : undefined) };
  switch (part.kind) {
    case 'image':
      return compact({
        type: 'image_url',
        image_url: compact({ url: imageUrl(part.source), detail: part.detail }),
        ...mark,
      });
    case 'audio':
      return compact({ type: 'input_audio', input_audio: encodeAudio(part.source), ...mark });
    case 'video':
      return reject('conversation', 'This model cannot take video.');
    case 'file':
      return part.source.kind === 'text'
        ? compact({ type: 'text', text: asText(part) ?? '', ...mark })
        : compact({ type: 'file', file: encodeFile(part.source, part.title), ...mark });
    default:
      return compact({ type: 'text', text: asText(part) ?? '', ...mark });
  }
}

/** The part in words, or undefined when it has none. */
export function asText(part: HubPart): string | undefined {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text;
    case 'json':
      return JSON.stringify(part.value);
    case 'search_result':
      return [`${part.title} (${part.source})`, ...part.texts].join('\n');
    case 'file':
      if (part.source.kind !== 'text') return undefined;
      return part.title ? `${part.title}\n${part.source.text}` : part.source.text;
    default:
      return undefined;
  }
}

function imageUrl(source: MediaSource): string {
  if (source.kind === 'base64') return dataUrl(source);
  return source.kind === 'url' ? source.url : refuseSource(source);
}

const AUDIO: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
]);
function encodeAudio(source: MediaSource): JsonObject {
  const format = source.kind === 'base64' ? AUDIO.get(source.mime) : undefined;
  if (source.kind !== 'base64' || !format)
    return reject('conversation', 'Audio must be wav or mp3 data for this model.');
  return { data: source.data, format };
}

function encodeFile(source: MediaSource, title: string | undefined): JsonObject {
  if (source.kind === 'base64') return { file_data: dataUrl(source), filename: title ?? fileName(source.mime) };
  if (source.kind === 'file_id' && source.issuer === 'responses') return { file_id: source.id };
  return refuseSource(source);
}
/** The wire asks for a name; it only has to end in a way that fits. */
const fileName = (mime: string): string => (mime.startsWith('text/') ? 'document.txt' : 'document.pdf');

const refuseSource = (source: MediaSource): never =>
  source.kind === 'file_id'
    ? rejectFile(source.id)
    : reject('conversation', 'This model takes images and files as data, and images by address.');

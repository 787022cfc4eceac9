/** Encoder of a user's parts as blocks of Converse. Media are bytes: the API fetches nothing but objects of S3. */
import type { Capabilities } from '../../../rules/index.ts';
import { type Block, cacheControl, type PartBlocks, textBlock, USER_BLOCKS } from '../../claude/encode-content.ts';
import { asText } from '../../encoding/texts.ts';
import { reject, rejectFile } from '../../errors/rejection.ts';
import type { HubPart, MediaSource } from '../../hub/types.ts';
import { mimeOf } from '../../wire/media.ts';
import { compact, tableOf } from '../../wire/read.ts';

/** Names of formats by media type. */
type Formats = ReadonlyMap<string, string>;

const IMAGES: Formats = tableOf({
  'image/jpeg': 'jpeg',
  'image/png': 'png',
  'image/gif': 'gif',
  'image/webp': 'webp',
});
const VIDEOS: Formats = tableOf({
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/x-matroska': 'mkv',
  'video/webm': 'webm',
  'video/x-flv': 'flv',
  'video/mpeg': 'mpeg',
  'video/mpg': 'mpg',
  'video/x-ms-wmv': 'wmv',
  'video/wmv': 'wmv',
  'video/3gpp': 'three_gp',
});
const AUDIO: Formats = tableOf({
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/aac': 'aac',
  'audio/flac': 'flac',
  'audio/ogg': 'ogg',
  'audio/opus': 'opus',
  'audio/mp4': 'm4a',
  'audio/webm': 'webm',
});
const DOCUMENTS: Formats = tableOf({
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'application/json': 'txt',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
});

/** The forms of one request: its documents need names that differ. */
export function partBlocks({ converseFamily }: Capabilities): PartBlocks {
  const taken = new Set<string>();
  return {
    ...USER_BLOCKS,
    image: ({ source, cache }) => ({ image: media('Images', source, IMAGES), ...cacheControl(cache) }),
    video: ({ source, cache }) => ({ video: media('Videos', source, VIDEOS), ...cacheControl(cache) }),
    audio: ({ source, cache }) => ({ audio: media('Audio', source, AUDIO), ...cacheControl(cache) }),
    file: (part) => fileBlock(part, taken),
    // Only Anthropic's models read such a block.
    search_result: (part) =>
      converseFamily === 'anthropic' ? searchBlock(part) : textBlock(asText(part) ?? '', part.cache),
  };
}

function media(what: string, source: MediaSource, formats: Formats): Block {
  if (source.kind === 'file_id') return rejectFile(source.id);
  if (source.kind !== 'base64') return reject('conversation', `${what} must be inline data for this model.`);
  const mime = mimeOf(source.mime);
  const format = formats.get(mime) ?? rejectType(what, mime, formats);
  return { format, source: { bytes: source.data } };
}

const rejectType = (what: string, mime: string, formats: Formats): never =>
  reject(
    'conversation',
    `${what} of type ${mime} are not supported; use ${[...new Set(formats.values())].join(', ')}.`,
    'invalid_value',
  );

function fileBlock(part: HubPart & { kind: 'file' }, taken: Set<string>): Block {
  const { source, title, context, citations, cache } = part;
  if (source.kind === 'base64' && source.mime.startsWith('image/'))
    return { image: media('Images', source, IMAGES), ...cacheControl(cache) };
  const document = compact({
    ...documentSource(source),
    name: documentName(title, taken),
    context,
    citations: citations === undefined ? undefined : { enabled: citations },
  });
  return { document, ...cacheControl(cache) };
}

function documentSource(source: MediaSource): Block {
  if (source.kind === 'text') return { format: 'txt', source: { bytes: Buffer.from(source.text).toString('base64') } };
  const isText = source.kind === 'base64' && source.mime.startsWith('text/') && !DOCUMENTS.has(source.mime);
  return isText ? { format: 'txt', source: { bytes: source.data } } : media('Files', source, DOCUMENTS);
}

/** Letters, digits, single spaces, hyphens and brackets. Two documents of one request must not share a name. */
function documentName(title: string | undefined, taken: Set<string>): string {
  const allowed = (title ?? '')
    .replace(/\.\w{1,8}$/, '')
    .replace(/[^a-zA-Z0-9()[\]-]+/g, ' ')
    .trim();
  const clean = allowed.slice(0, MAX_NAME_CHARS).trim() || 'document';
  let name = clean;
  for (let n = 2; taken.has(name); n += 1) name = `${clean} (${n})`;
  taken.add(name);
  return name;
}
const MAX_NAME_CHARS = 190;

const searchBlock = ({ source, title, texts, citations, cache }: HubPart & { kind: 'search_result' }): Block => ({
  searchResult: compact({
    source,
    title,
    content: texts.filter((text) => /\S/.test(text)).map((text) => ({ text })),
    citations: citations === undefined ? undefined : { enabled: citations },
  }),
  ...cacheControl(cache),
});

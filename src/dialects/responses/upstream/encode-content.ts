/** Encoder of content parts for a responses upstream. Rejects unsupported parts and never drops one silently. */
import { reject, rejectFile } from '../../errors/rejection.ts';
import type { CacheBreakpoint, HubPart, JsonObject, MediaSource } from '../../hub/types.ts';
import { dataUrl } from '../../wire/media.ts';
import { compact, tableOf } from '../../wire/read.ts';

/** Cache breakpoints in wire order. Collected first, because only the last ones are sent. */
export type BreakpointList = { readonly part: Record<string, unknown>; readonly cache: CacheBreakpoint }[];

/** Encodes the parts of a user message, developer message or tool result. Skips empty texts. */
export const encodeInputParts = (parts: readonly HubPart[], breakpoints: BreakpointList): JsonObject[] =>
  parts.flatMap((part) => {
    const body = inputPart(part);
    if (!body) return [];
    if ('cache' in part && part.cache) breakpoints.push({ part: body, cache: part.cache });
    return part.kind === 'file' ? [...fileHeading(part), body] : [body];
  });

function inputPart(part: HubPart): Record<string, unknown> | undefined {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? undefined : { type: 'input_text', text: part.text };
    case 'image':
      return { type: 'input_image', ...imageSource(part.source), detail: part.detail ?? 'auto' };
    case 'file':
      return filePart(part);
    case 'search_result':
      return textWithHeading([part.title, part.source], part.texts.join('\n'));
    case 'json':
      return { type: 'input_text', text: JSON.stringify(part.value) };
    case 'audio':
    case 'video':
      return reject('conversation', `This model does not support ${part.kind} input.`);
  }
}

const textWithHeading = (lines: readonly (string | undefined)[], text: string): Record<string, unknown> => {
  const heading = lines.filter((line) => line).join('\n');
  return { type: 'input_text', text: heading === '' ? text : `${heading}\n\n${text}` };
};

function imageSource(source: MediaSource): JsonObject {
  if (source.kind === 'base64') return { image_url: dataUrl(source) };
  if (source.kind === 'url') return { image_url: source.url };
  if (source.kind === 'file_id') return { file_id: ownFileId(source) };
  return reject('conversation', 'An image source must be base64 data, a URL or a file id.');
}

function filePart(part: HubPart & { kind: 'file' }): Record<string, unknown> {
  const { source, title, context } = part;
  if (source.kind === 'text') return textWithHeading([title, context], source.text);
  const filename = title ?? `file.${EXTENSIONS.get(source.kind === 'base64' ? source.mime : '') ?? 'pdf'}`;
  if (source.kind === 'base64') return { type: 'input_file', filename, file_data: dataUrl(source) };
  if (source.kind === 'url') return { type: 'input_file', file_url: source.url };
  return compact({ type: 'input_file', file_id: ownFileId(source) });
}

/** What a file part has no member for: the context, and the title of a file that is not sent inline. */
function fileHeading({ source, title, context }: HubPart & { kind: 'file' }): JsonObject[] {
  if (source.kind === 'text') return [];
  const lines = [source.kind === 'base64' ? undefined : title, context].filter((line) => line);
  return lines.length > 0 ? [{ type: 'input_text', text: lines.join('\n') }] : [];
}

/** The upstream determines the file type from the name. */
const EXTENSIONS = tableOf({
  'application/pdf': 'pdf',
  'application/json': 'json',
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/csv': 'csv',
  'text/html': 'html',
});

const ownFileId = ({ issuer, id }: MediaSource & { kind: 'file_id' }): string =>
  issuer === 'responses' ? id : rejectFile(id);

/** Encodes the text of an assistant message. Skips generated images, which a message cannot contain. */
export const encodeOutputParts = (parts: readonly HubPart[]): JsonObject[] =>
  parts.flatMap((part): JsonObject[] => {
    if ((part.kind !== 'text' && part.kind !== 'refusal') || part.text === '') return [];
    return part.kind === 'text'
      ? [{ type: 'output_text', text: part.text }]
      : [{ type: 'refusal', refusal: part.text }];
  });

/** Limit of the upstream. The last breakpoints cover the longest prefixes. */
const MAX_BREAKPOINTS = 4;

export function setBreakpoints(breakpoints: BreakpointList): void {
  for (const { part, cache } of breakpoints.slice(-MAX_BREAKPOINTS)) {
    part.prompt_cache_breakpoint = { mode: 'explicit', ttl: cache.long ? '12h' : '30m' };
  }
}

/** Content parts for an upstream of this dialect. What it cannot read is refused by name, never left out in silence. */

import { reject, rejectFile } from '../../errors/rejection.ts';
import type { CacheBreakpoint, HubPart, JsonObject, MediaSource } from '../../hub/types.ts';
import { dataUrl } from '../../wire/media.ts';
import { compact } from '../../wire/read.ts';

/** Cache marks in the order in which their parts are sent; how many of them are set is known at the end only. */
export type Breakpoints = { readonly part: Record<string, unknown>; readonly cache: CacheBreakpoint }[];

/** Parts of a user's or developer's message, or of a tool's answer. Empty texts say nothing and are left out. */
export const encodeInput = (parts: readonly HubPart[], marks: Breakpoints): JsonObject[] =>
  parts.flatMap((part) => {
    const body = inputPart(part);
    if (!body) return [];
    if ('cache' in part && part.cache) marks.push({ part: body, cache: part.cache });
    return [body];
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
      return titled([part.title, part.source], part.texts.join('\n'));
    case 'json':
      return { type: 'input_text', text: JSON.stringify(part.value) };
    case 'audio':
    case 'video':
      return reject('conversation', `This model cannot take ${part.kind}.`);
  }
}

const titled = (lines: readonly (string | undefined)[], text: string): Record<string, unknown> => {
  const head = lines.filter((line) => line).join('\n');
  return { type: 'input_text', text: head === '' ? text : `${head}\n\n${text}` };
};

function imageSource(source: MediaSource): JsonObject {
  if (source.kind === 'base64') return { image_url: dataUrl(source) };
  if (source.kind === 'url') return { image_url: source.url };
  if (source.kind === 'file_id') return { file_id: ownFile(source) };
  return reject('conversation', 'An image cannot be given as text.');
}

function filePart(part: HubPart & { kind: 'file' }): Record<string, unknown> {
  const { source, title, context } = part;
  if (source.kind === 'text') return titled([title, context], source.text);
  const filename = title ?? `file.${EXTENSIONS[source.kind === 'base64' ? source.mime : ''] ?? 'pdf'}`;
  if (source.kind === 'base64') return { type: 'input_file', filename, file_data: dataUrl(source) };
  if (source.kind === 'url') return { type: 'input_file', file_url: source.url };
  return compact({ type: 'input_file', file_id: ownFile(source) });
}

/** The upstream tells the kind of a file by its name. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'application/json': 'json',
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/csv': 'csv',
  'text/html': 'html',
};

const ownFile = ({ issuer, id }: MediaSource & { kind: 'file_id' }): string =>
  issuer === 'responses' ? id : rejectFile(id);

/** An assistant's own words. Pictures it made cannot be handed back in a message. */
export const encodeOutputText = (parts: readonly HubPart[]): JsonObject[] =>
  parts.flatMap((part): JsonObject[] => {
    if ((part.kind !== 'text' && part.kind !== 'refusal') || part.text === '') return [];
    return part.kind === 'text'
      ? [{ type: 'output_text', text: part.text }]
      : [{ type: 'refusal', refusal: part.text }];
  });

/** The upstream takes four breakpoints; the last ones reach furthest. */
const MAX_BREAKPOINTS = 4;

export function setBreakpoints(marks: Breakpoints): void {
  for (const { part, cache } of marks.slice(-MAX_BREAKPOINTS)) {
    part.prompt_cache_breakpoint = { mode: 'explicit', ttl: cache.long ? '12h' : '30m' };
  }
}

/**
 * Files that a request names by the ids of the gateway, and the request with their content in the place of the ids.
 * A provider gets what it would get from a caller who sends the content itself, so that limits,
 * prices and conversions hold as they are. Everything else of the body stays byte for byte. Pure: a thread can do it.
 */
import { randomBytes } from 'node:crypto';
import {
  elementsAt,
  entryOf,
  failAt,
  measureMembers,
  membersAt,
  type Span,
  type StepBudget,
  spliceAll,
  valueAt,
} from '../../core/index.ts';
import { movable, type ThreadJob } from '../../platform/threads/index.ts';
import { FILE_CARRIERS, FILE_ID, REQUEST_JSON_LIMITS } from '../../rules/index.ts';
import { asJson } from '../request-scan.ts';

/** What a part becomes. */
export interface PlacedFile {
  readonly name: string;
  readonly mediaType: string;
  readonly content: Buffer;
}

type Json = Readonly<Record<string, unknown>>;

interface FileReference {
  readonly id: string;
  /** Of the whole part. */
  readonly span: Span;
  readonly withContent: (file: PlacedFile) => unknown;
}

const PREFIX = Buffer.from(FILE_ID.prefix);

/**
 * Nearly every body has none, which costs one native search.
 * An id that is hidden by escapes is not found, and refused as one of the provider.
 */
export const mayNameFiles = (body: Buffer): boolean => body.includes(PREFIX);

/** The ids that the request names where a file can stand, one for each place. */
export const fileIdsJob: ThreadJob<{ readonly bytes: Buffer }, readonly string[]> = {
  module: import.meta.url,
  name: 'fileIdsJob',
  run: ({ bytes }, steps) => asJson(() => referencesIn(bytes, steps)).map(({ id }) => id),
};

interface Placement {
  readonly bytes: Buffer;
  readonly files: ReadonlyMap<string, PlacedFile>;
}

export const placeFilesJob: ThreadJob<Placement, Uint8Array> = {
  module: import.meta.url,
  name: 'placeFilesJob',
  inlineBytes: 0,
  memoryOf: movable,
  /** A file that is named often is encoded once, and copied only into the whole. */
  run({ bytes, files }, steps) {
    const encoded = new Map<string, Buffer>();
    const changes = referencesIn(bytes, steps).flatMap(({ id, span, withContent }) => {
      const { name, mediaType, content } = files.get(id) as PlacedFile;
      const file = Buffer.from(content);
      const [head, tail, ...others] = JSON.stringify(withContent({ name, mediaType, content: MARK })).split(
        MARK_BASE64,
      );
      if (head === undefined || tail === undefined || others.length > 0)
        return [{ span, bytes: Buffer.from(JSON.stringify(withContent({ name, mediaType, content: file }))) }];
      const base64 = entryOf(encoded, id, () => Buffer.from(file.toString('base64'), 'latin1'));
      const after = { start: span.end, end: span.end };
      return [
        { span, bytes: Buffer.from(head) },
        { span: after, bytes: base64 },
        { span: after, bytes: Buffer.from(tail) },
      ];
    });
    return spliceAll(bytes, changes);
  },
};

/** Stands for the content until the rest of the part is known. No name contains it, because it is made here. */
const MARK = randomBytes(24);
const MARK_BASE64 = MARK.toString('base64');

function referencesIn(body: Buffer, steps: StepBudget): FileReference[] {
  const { members, values } = measureMembers(body, WATCHED, REQUEST_JSON_LIMITS);
  steps.take(values);
  const found: FileReference[] = [];
  for (const [name, member] of members) if (FILE_CARRIERS.has(name)) visit(body, member, found, 0);
  return found;
}

/** Turns, their parts, and the parts of a tool's result; each level is read once more. */
const MAX_DEPTH = 8;

/** Goes down where a span holds an id, and only through members that hold parts. */
function visit(body: Buffer, span: Span, found: FileReference[], depth: number): void {
  if (depth > MAX_DEPTH || !body.subarray(span.start, span.end).includes(PREFIX)) return;
  for (const element of elementsAt(body, span)) visit(body, element, found, depth + 1);
  const members = membersAt(body, span, WATCHED);
  const reference = readReference(body, span, members);
  if (reference) return void found.push(reference);
  for (const [name, member] of members) if (FILE_CARRIERS.has(name)) visit(body, member, found, depth + 1);
}

/** Members that name a file, and how a part with the content looks in its dialect. */
const FORMS: Readonly<Record<string, (part: Json, value: unknown) => Omit<FileReference, 'span'> | undefined>> = {
  // Responses: the part itself.
  file_id: (part, value) => {
    const { file_id: _, ...rest } = part;
    if (part.type !== 'input_file' && part.type !== 'input_image') return undefined;
    return named(value, (file) =>
      part.type === 'input_image'
        ? { ...rest, image_url: dataUrl(file) }
        : { ...rest, filename: file.name, file_data: dataUrl(file) },
    );
  },
  // Chat completions.
  file: (part, value) => {
    const { file_id: id, ...rest } = objectOf(value);
    return named(id, (file) =>
      file.mediaType.startsWith('image/')
        ? { type: 'image_url', image_url: { url: dataUrl(file) } }
        : { ...part, file: { ...rest, filename: file.name, file_data: dataUrl(file) } },
    );
  },
  // Messages.
  source: (part, value) => {
    const { file_id: id, type } = objectOf(value);
    if (type !== 'file') return undefined;
    return named(id, (file) => ({ ...part, source: blockSource(part, file) }));
  },
  fileData: (part, value) => inlineData('fileData', part, value),
  file_data: (part, value) => inlineData('file_data', part, value),
};

const WATCHED: ReadonlySet<string> = new Set([...FILE_CARRIERS, ...Object.keys(FORMS)]);

function readReference(body: Buffer, span: Span, members: ReadonlyMap<string, Span>): FileReference | undefined {
  for (const [name, form] of Object.entries(FORMS)) {
    const member = members.get(name);
    if (!member || !body.subarray(member.start, member.end).includes(PREFIX)) continue;
    const found = form(valueAt(body, span) as Json, valueAt(body, member));
    if (found) return { ...found, span };
  }
  return undefined;
}

const named = (id: unknown, withContent: FileReference['withContent']): Omit<FileReference, 'span'> | undefined =>
  typeof id === 'string' && FILE_ID.pattern.test(id) ? { id, withContent } : undefined;

/** Generate-content names a file by its address. */
function inlineData(member: string, part: Json, value: unknown): Omit<FileReference, 'span'> | undefined {
  const { fileUri, file_uri: other = fileUri, mimeType, mime_type: type = mimeType } = objectOf(value);
  const { [member]: _, ...rest } = part;
  const id = typeof other === 'string' ? /(?:^|\/)files\/(\w+)$/.exec(other)?.[1] : undefined;
  return named(id, ({ mediaType, content }) => ({
    ...rest,
    inlineData: { mimeType: typeof type === 'string' ? type : mediaType, data: content.toString('base64') },
  }));
}

/** Documents of text have a form of their own. */
function blockSource(part: Json, { mediaType, content }: PlacedFile): Json {
  if (part.type === 'document' && /^text\/|^application\/json\b/.test(mediaType))
    return { type: 'text', media_type: 'text/plain', data: content.toString() };
  if (part.type === 'document' && mediaType !== 'application/pdf')
    throw failAt('invalid_value', 'file_id', `documents are PDF or text, and this file is ${mediaType}.`);
  return { type: 'base64', media_type: mediaType, data: content.toString('base64') };
}

const dataUrl = ({ mediaType, content }: PlacedFile): string =>
  `data:${mediaType};base64,${content.toString('base64')}`;

const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});

/**
 * The form of an image edit (G 2): spooled to disk while it arrives, checked, and sent with the bytes as they came. Only the model's
 * name changes, and a `response_format` part is cut out.
 */
import { type ApiError, fail, hasSignature, type Span } from '../../../core/index.ts';
import type { StreamedBody } from '../../../platform/http/index.ts';
import type { Call, Spool, SpooledBody } from '../../../platform/web/index.ts';
import {
  IMAGE_FIELDS,
  IMAGE_FILES,
  IMAGE_FORM_FIELDS,
  type ImageField,
  type ImageFieldRule,
  REMOVED_IMAGE_FIELD,
} from '../../../rules/index.ts';
import { imageValues, invalid } from '../../images/fields.ts';
import type { ImageBody } from './body.ts';
import { type FormPart, FormScanner } from './form-scanner.ts';

export async function readImageForm(spool: Spool, call: Call, limit: number): Promise<ImageBody> {
  const scanner = new FormScanner(boundaryOf(call.header('content-type') ?? ''));
  const body = await spool.receive(call, limit, (chunk) => scanner.push(chunk));
  scanner.end();
  return imageForm(scanner.parts, body);
}

export function boundaryOf(contentType: string): string {
  const match = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined)
    throw fail('invalid_request', 'content-type: the multipart boundary is missing.', { param: 'content-type' });
  return boundary;
}

export function imageForm(parts: readonly FormPart[], body: SpooledBody): ImageBody {
  const fields = readFields(parts);
  const text = (name: string): string | undefined => fields.get(name)?.bytes.toString('utf8');
  const files = checkFiles(parts);
  const model = fields.get('model');
  const removed = fields.get(REMOVED_IMAGE_FIELD);
  return {
    model: text('model'),
    values: imageValues((field) => formValue(field, text(field))),
    files,
    unknown: parts.find(({ name }) => !isKnown(name))?.name,
    dropped: removed ? [REMOVED_IMAGE_FIELD] : [],
    bodyFor(name) {
      const changes: Change[] = removed ? [{ span: removed.whole, bytes: Buffer.alloc(0) }] : [];
      if (model && text('model') !== name) changes.push({ span: model.content, bytes: Buffer.from(name) });
      return withChanges(body, changes);
    },
  };
}

const TEXT_FIELDS: ReadonlySet<string> = new Set([...Object.keys(IMAGE_FIELDS), 'model', REMOVED_IMAGE_FIELD]);

/** The fields that are checked. Each occurs once, because parsers differ on which of two duplicates counts. */
function readFields(parts: readonly FormPart[]): Map<string, FormPart> {
  const fields = new Map<string, FormPart>();
  for (const part of parts) {
    if (!TEXT_FIELDS.has(part.name)) continue;
    if (part.isFile) throw invalid(part.name, 'expected a text field, found a file.');
    if (fields.has(part.name)) throw invalid(part.name, 'the field occurs twice.');
    fields.set(part.name, part);
  }
  return fields;
}

/** Forms carry numbers and booleans as text. */
function formValue(field: ImageField, text: string | undefined): unknown {
  const { kind }: ImageFieldRule = IMAGE_FIELDS[field];
  if (kind === 'integer' && text !== undefined && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text)) return Number(text);
  if (kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

const IMAGE_NAME = /^image(?:\[\d{0,2}\])?$/;
const isKnown = (name: string): boolean => IMAGE_FORM_FIELDS.has(name) || IMAGE_NAME.test(name) || name === 'mask';

/** Returns the number of files. */
function checkFiles(parts: readonly FormPart[]): number {
  const images = parts.filter(({ name }) => IMAGE_NAME.test(name));
  const masks = parts.filter(({ name }) => name === 'mask');
  if (images.length === 0)
    throw invalid('image', 'at least one image file is required, as form field image or image[].');
  if (images.length > IMAGE_FILES.maxImages)
    throw invalid('image', `at most ${IMAGE_FILES.maxImages} images are possible, found ${images.length}.`);
  if (masks.length > 1) throw invalid('mask', 'the field occurs twice.');
  for (const [n, image] of images.entries())
    checkFile('image', image, images.length > 1 ? `image ${n + 1}` : 'the file');
  for (const mask of masks) checkFile('mask', mask, 'the file');
  return images.length + masks.length;
}

function checkFile(field: 'image' | 'mask', { isFile, content, bytes }: FormPart, which: string): void {
  const types = IMAGE_FILES.types[field];
  const names = types.map((type) => type.slice('image/'.length)).join(', ');
  if (!isFile)
    throw invalid(
      field,
      `expected a file, found text; with curl, write -F ${field}=@FILE to send the content of a file.`,
    );
  const size = content.end - content.start;
  if (size === 0) throw invalid(field, `${which} is empty.`);
  if (size > IMAGE_FILES.maxBytes)
    throw invalid(field, `${which} has ${size} bytes; at most ${IMAGE_FILES.maxBytes} are possible.`);
  if (!types.some((type) => hasSignature(type, bytes)))
    throw invalid(field, `${which} is none of the types ${names}, judged by its first bytes.`);
}

interface Change {
  readonly span: Span;
  readonly bytes: Buffer;
}

/** The form with some spans replaced, read from the file when it is sent. */
function withChanges(body: SpooledBody, changes: readonly Change[]): StreamedBody {
  const sorted = [...changes].sort((a, b) => a.span.start - b.span.start);
  const grown = sorted.reduce((sum, { span, bytes }) => sum + bytes.length - (span.end - span.start), 0);
  return {
    length: body.length + grown,
    async *chunks() {
      let at = 0;
      for (const { span, bytes } of sorted) {
        yield* body.read({ start: at, end: span.start });
        if (bytes.length > 0) yield bytes;
        at = span.end;
      }
      yield* body.read({ start: at, end: body.length });
    },
  };
}

/** A form in another media type than the endpoint takes. */
export const notAForm = (): ApiError =>
  fail('unsupported_media_type', 'content-type: this endpoint takes multipart/form-data or application/json.', {
    param: 'content-type',
  });

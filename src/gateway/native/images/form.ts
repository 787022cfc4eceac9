/**
 * The form of an image edit (G 2): spooled while it arrives, checked,
 * sent as it came but for the model and `response_format`.
 */
import { type ApiError, failAt, hasSignature, type SpanChange } from '../../../core/index.ts';
import type { StreamedBody } from '../../../platform/http/index.ts';
import * as web from '../../../platform/web/index.ts';
import * as rules from '../../../rules/index.ts';
import { IMAGE_TEXTS, imageValues, invalid } from '../../images/fields.ts';
import type { ImageBody } from './json.ts';

export async function readImageForm(spool: web.Spool, call: web.Call, limit: number): Promise<ImageBody> {
  const scanner = new web.FormScanner(web.boundaryOf(call.header('content-type') ?? ''));
  const body = await spool.receive(call, limit, (chunk) => scanner.push(chunk));
  scanner.end();
  return imageForm(scanner.parts, body);
}

export function imageForm(parts: readonly web.FormPart[], body: web.SpooledBody): ImageBody {
  const fields = readFields(parts);
  const text = (name: string): string | undefined => fields.get(name)?.bytes.toString('utf8');
  const files = checkFiles(parts);
  const model = fields.get('model');
  const removed = fields.get(rules.REMOVED_IMAGE_FIELD);
  return {
    model: text('model'),
    values: imageValues((field) => formValue(field, text(field))),
    files,
    unknown: parts.find(({ name }) => !isKnown(name))?.name,
    dropped: removed ? [rules.REMOVED_IMAGE_FIELD] : [],
    bodyFor(name) {
      const changes: SpanChange[] = removed ? [{ span: removed.whole, bytes: Buffer.alloc(0) }] : [];
      if (model && text('model') !== name) changes.push({ span: model.content, bytes: Buffer.from(name) });
      return withChanges(body, changes);
    },
  };
}

const TEXT_FIELDS: ReadonlySet<string> = new Set(IMAGE_TEXTS);

/** The fields that are checked. Each occurs once, because parsers differ on which of two duplicates counts. */
function readFields(parts: readonly web.FormPart[]): Map<string, web.FormPart> {
  const fields = new Map<string, web.FormPart>();
  for (const part of parts) {
    if (!TEXT_FIELDS.has(part.name)) continue;
    if (part.isFile) throw invalid(part.name, 'expected a text field, found a file.');
    if (fields.has(part.name)) throw invalid(part.name, 'the field occurs twice.');
    fields.set(part.name, part);
  }
  return fields;
}

function formValue(field: rules.ImageField, text: string | undefined): unknown {
  const { kind }: rules.ImageFieldRule = rules.IMAGE_FIELDS[field];
  if (kind === 'integer' && text !== undefined && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text)) return Number(text);
  if (kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

const IMAGE_NAME = /^image(?:\[\d{0,2}\])?$/;
const isKnown = (name: string): boolean =>
  rules.IMAGE_FORM_FIELDS.has(name) || IMAGE_NAME.test(name) || name === 'mask';

function checkFiles(parts: readonly web.FormPart[]): number {
  const images = parts.filter(({ name }) => IMAGE_NAME.test(name));
  const masks = parts.filter(({ name }) => name === 'mask');
  if (images.length === 0)
    throw invalid('image', 'at least one image file is required, as form field image or image[].');
  if (images.length > rules.IMAGE_FILES.maxImages)
    throw invalid('image', `at most ${rules.IMAGE_FILES.maxImages} images are possible, found ${images.length}.`);
  if (masks.length > 1) throw invalid('mask', 'the field occurs twice.');
  for (const [n, image] of images.entries())
    checkFile('image', image, images.length > 1 ? `image ${n + 1}` : 'the file');
  for (const mask of masks) checkFile('mask', mask, 'the file');
  return images.length + masks.length;
}

function checkFile(field: 'image' | 'mask', { isFile, content, bytes }: web.FormPart, which: string): void {
  const types = rules.IMAGE_FILES.types[field];
  const names = types.map((type) => type.slice('image/'.length)).join(', ');
  if (!isFile)
    throw invalid(
      field,
      `expected a file, found text; with curl, write -F ${field}=@FILE to send the content of a file.`,
    );
  const size = content.end - content.start;
  if (size === 0) throw invalid(field, `${which} is empty.`);
  if (size > rules.IMAGE_FILES.maxBytes)
    throw invalid(field, `${which} has ${size} bytes; at most ${rules.IMAGE_FILES.maxBytes} are possible.`);
  if (!types.some((type) => hasSignature(type, bytes)))
    throw invalid(field, `${which} is none of the types ${names}, judged by its first bytes.`);
}

/** The form with some spans replaced, read from the file when it is sent. */
function withChanges(body: web.SpooledBody, changes: readonly SpanChange[]): StreamedBody {
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

export const notAForm = (): ApiError =>
  failAt('unsupported_media_type', 'content-type', 'this endpoint takes multipart/form-data or application/json.');

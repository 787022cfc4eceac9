/**
 * A multipart form that is forwarded byte for byte, with its boundary; only the value of its `model` field may change. It is read in
 * full before anything is sent, because failover needs it again, and because a form that is too large, has too many parts or names
 * two models must not reach a provider. Files are never decoded and never written to disk.
 */
import { fail, splice } from '../../core/index.ts';
import { MULTIPART } from '../../rules/index.ts';
import { type Call, mediaType, readBody } from '../../web/index.ts';
import type { ImageCount } from '../billing/admission.ts';
import { imagesOf } from './request.ts';

export interface Form {
  readonly model: string | undefined;
  readonly isStream: boolean;
  readonly bytes: number;
  readonly images: ImageCount;
  /** Returns the form with the model's name replaced. */
  bodyFor(model: string): Buffer;
}

const MAX_PART_HEADER = 8 * 1024;

export async function readMultipart(call: Call, limit: number): Promise<Form> {
  if (mediaType(call) !== 'multipart/form-data') {
    throw fail('unsupported_media_type', 'content-type: this endpoint takes multipart/form-data.', {
      param: 'content-type',
    });
  }
  const boundary = boundaryOf(call.header('content-type') ?? '');
  return formOf(await readBody(call, limit), boundary);
}

export function boundaryOf(contentType: string): string {
  const match = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined)
    throw fail('invalid_request', 'content-type: the multipart boundary is missing.', { param: 'content-type' });
  return boundary;
}

export function formOf(body: Buffer, boundary: string): Form {
  const fields = readFields(body, boundary);
  const model = fields.get('model');
  return {
    model: model?.value,
    isStream: fields.get('stream')?.value === 'true',
    bytes: body.length,
    images: imagesOf((name) => fields.get(name)?.value),
    bodyFor: (name) => (model && model.value !== name ? splice(body, model, Buffer.from(name)) : body),
  };
}

interface Field {
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** Reads the text fields. A delimiter counts only at the beginning of a line, because a file may contain the same bytes. */
function readFields(body: Buffer, boundary: string): Map<string, Field> {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const fields = new Map<string, Field>();
  let at = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2)) ? -2 : body.indexOf(delimiter);
  for (let parts = 0; at !== -1; parts += 1) {
    const start = at + delimiter.length;
    if (body.toString('latin1', start, start + 2) === '--') return fields;
    if (parts === MULTIPART.parts)
      throw fail('invalid_request', `The multipart form has more than ${MULTIPART.parts} parts.`);
    const headerEnd = body.subarray(start, start + MAX_PART_HEADER).indexOf('\r\n\r\n');
    if (headerEnd < 0)
      throw fail(
        'invalid_request',
        `A part of the multipart form has an unterminated header (limit ${MAX_PART_HEADER / 1024} KiB).`,
      );
    const value = start + headerEnd + 4;
    // In an empty part, the line break that ends the header also begins the next delimiter.
    at = body.indexOf(delimiter, value - 2);
    if (at >= 0) takeField(fields, body, body.toString('latin1', start, start + headerEnd), value, Math.max(at, value));
  }
  throw fail('invalid_request', 'The multipart form ends before its closing boundary.');
}

/** Fields that determine the charge; parsers differ on which of two duplicates counts. */
const ONCE: ReadonlySet<string> = new Set(['model', 'stream', 'n', 'size', 'quality']);

function takeField(fields: Map<string, Field>, body: Buffer, header: string, start: number, end: number): void {
  const [, quoted, bare] = /\bname=(?:"([^"]{0,64})"|([^\s;"]{1,64}))/i.exec(header) ?? [];
  const name = quoted ?? bare;
  if (name === undefined || /\bfilename\*?=/i.test(header)) return;
  if (end - start > MULTIPART.fieldBytes)
    throw fail('invalid_request', `${name}: the field is longer than ${MULTIPART.fieldBytes} bytes.`, { param: name });
  if (ONCE.has(name) && fields.has(name))
    throw fail('invalid_request', `${name}: the field occurs twice.`, { param: name });
  fields.set(name, { value: body.toString('utf8', start, end), start, end });
}

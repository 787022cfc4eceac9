/** A reader of multipart/form-data bodies. */
import { createHash } from 'node:crypto';
import { invalid } from './errors.ts';
import type { JsonObject } from './json.ts';

export interface Field {
  name: string;
  filename?: string;
  /** The content type of the part. */
  type?: string;
  value: Buffer;
}

/** A field without its value, for the journal. */
export interface FieldDigest extends Omit<Field, 'value'> {
  length: number;
  sha256: string;
}

export function digestField({ value, ...field }: Field): FieldDigest {
  return { ...field, length: value.length, sha256: createHash('sha256').update(value).digest('hex') };
}

/** The text fields of a form as a JSON object. */
export function fieldValues(fields: readonly Field[]): JsonObject {
  const texts = fields.filter((field) => field.filename === undefined);
  return Object.fromEntries(texts.map(({ name, value }) => [name, plainValue(value.toString('utf8'), name)]));
}

function plainValue(value: string, name: string): string | number | boolean {
  if (name === 'prompt' || name === 'model') return value;
  if (value === 'true' || value === 'false') return value === 'true';
  return /^\d+$/.test(value) ? Number(value) : value;
}

export function readMultipart(contentType: string, body: Buffer): Field[] {
  const match = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) throw invalid('The multipart body has no boundary.');
  const delimiter = Buffer.from(`--${boundary}`);
  const fields: Field[] = [];
  let at = body.indexOf(delimiter);
  if (at < 0) throw invalid('The multipart body does not contain its boundary.');
  for (;;) {
    const start = at + delimiter.length;
    if (body.subarray(start, start + 2).toString('latin1') === '--') return fields;
    // The line break before a delimiter belongs to the delimiter, not to the value.
    const next = body.indexOf(`\r\n--${boundary}`, start);
    if (next < 0) throw invalid('The multipart body ends before its closing boundary.');
    fields.push(readPart(body.subarray(start + 2, next)));
    at = next + 2;
  }
}

function readPart(part: Buffer): Field {
  const split = part.indexOf('\r\n\r\n');
  if (split < 0) throw invalid('A part of the multipart body has no headers.');
  const head = part.subarray(0, split).toString('utf8');
  const name = /^content-disposition:.*?[;\s]name="([^"]*)"/im.exec(head)?.[1];
  if (name === undefined) throw invalid('A part of the multipart body has no name.');
  const filename = /^content-disposition:.*?filename="([^"]*)"/im.exec(head)?.[1];
  const type = /^content-type:\s*([^\s;]+)/im.exec(head)?.[1]?.toLowerCase();
  return {
    name,
    ...(filename !== undefined && { filename }),
    ...(type !== undefined && { type }),
    value: part.subarray(split + 4),
  };
}

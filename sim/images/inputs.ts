/** The pictures and the mask of an edit, in a form or in JSON. */
import { invalid } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { isObject, type Json, type JsonObject, listOf, textOf } from '../json.ts';
import type { Field } from '../multipart.ts';
import { missing } from './options.ts';
import { PICTURE_FORMATS } from './picture.ts';

const MAX_INPUTS = 16;
const PICTURE_TYPES = PICTURE_FORMATS.map((format) => `image/${format}`);

/** Validates the inputs of an edit; the number of its pictures. */
export function countInputs(exchange: Exchange): number {
  const count = exchange.form ? countFiles(exchange.form) : countReferences(exchange.json);
  if (count > MAX_INPUTS) throw invalid(`'image' may hold at most ${MAX_INPUTS} images.`, 'image');
  return count;
}

const IMAGE_FIELD = /^image(\[\d*\])?$/;

function countFiles(form: readonly Field[]): number {
  const images = form.filter((field) => IMAGE_FIELD.test(field.name));
  if (images.length === 0) throw missing('image');
  const masks = form.filter((field) => field.name === 'mask');
  for (const field of [...images, ...masks]) checkFile(field);
  if (masks.length > 1) throw invalid("'mask' may be given once.", 'mask');
  return images.length;
}

function checkFile({ name, filename, type, value }: Field): void {
  const param = name.split('[', 1)[0] ?? name;
  if (filename === undefined) {
    throw invalid(`Invalid type for '${param}': expected a file, but got a string instead.`, param, 'invalid_type');
  }
  if (value.length === 0) throw invalid(`Invalid file '${param}': the file is empty.`, param, 'invalid_image_file');
  if (type !== undefined && !PICTURE_TYPES.includes(type)) {
    const supported = PICTURE_TYPES.map((known) => `'${known}'`).join(', ');
    const message = `Invalid file '${param}': unsupported mimetype ('${type}'). Supported file formats are ${supported}.`;
    throw invalid(message, param, 'unsupported_mimetype');
  }
}

function countReferences(json: JsonObject): number {
  const images = listOf(json.images);
  if (images.length === 0) throw missing('image');
  for (const [index, image] of images.entries()) checkReference(image, `images[${index}]`);
  if (json.mask !== undefined) checkReference(json.mask, 'mask');
  return images.length;
}

function checkReference(reference: Json, param: string): void {
  const { image_url, file_id } = isObject(reference) ? reference : {};
  const hasUrl = textOf(image_url) !== '';
  if (hasUrl === (textOf(file_id) !== '')) {
    throw invalid(`Invalid value for '${param}': give either image_url or file_id.`, param, 'invalid_value');
  }
}

/** Reads and validates the options of image requests. */
import { type Failure, invalid } from '../errors.ts';
import type { Fault } from '../faults.ts';
import { type Json, type JsonObject, numberOf, textOf } from '../json.ts';
import type { PictureCache } from './cache.ts';
import { PICTURE_FORMATS, type Picture, type PictureFormat } from './picture.ts';

/** How the pictures of a request look; `auto` is replaced by the value that is used. */
export interface Look {
  width: number;
  height: number;
  quality: string;
  isTransparent: boolean;
  format: PictureFormat;
  compression: number;
  partials: number;
}

export interface ImageOptions {
  prompt: string;
  count: number;
  look: Look;
  isStream: boolean;
  /** Number of pictures to edit. */
  imagesIn: number;
}

const PIXEL_BUDGET = 8_294_400;
const LONGEST_EDGE = 3840;
const LONGEST_PROMPT = 32_000;
const MAX_IMAGES = 10;
const MAX_PARTIALS = 3;

export async function readOptions(json: JsonObject, imagesIn: number, pictures: PictureCache): Promise<ImageOptions> {
  const prompt = textOf(json.prompt);
  if (prompt === '') throw missing('prompt');
  if (prompt.length > LONGEST_PROMPT) throw invalid("'prompt' is too long.", 'prompt', 'string_above_max_length');
  if (json.response_format !== undefined) {
    throw invalid("Unknown parameter: 'response_format'.", 'response_format', 'unknown_parameter');
  }
  const count = integer(json.n ?? 1, 1, MAX_IMAGES);
  if (count === undefined) throw invalid(`'n' must be between 1 and ${MAX_IMAGES}.`, 'n');
  return { prompt, count, look: await readLook(json, pictures), isStream: json.stream === true, imagesIn };
}

/** `at`: the place of the options in the request, such as `tools[0].`. */
export async function readLook(json: JsonObject, pictures: PictureCache, at = ''): Promise<Look> {
  const partials = integer(json.partial_images ?? 0, 0, MAX_PARTIALS);
  if (partials === undefined) {
    throw invalid(`'partial_images' must be between 0 and ${MAX_PARTIALS}.`, `${at}partial_images`);
  }
  const format = oneOf(json.output_format ?? 'png', PICTURE_FORMATS, `${at}output_format`);
  const background = oneOf(json.background ?? 'auto', ['transparent', 'opaque', 'auto'], `${at}background`);
  if (background === 'transparent' && format === 'jpeg') {
    throw invalid('Transparent background is not supported for jpeg.', `${at}background`);
  }
  const compression = integer(json.output_compression ?? 100, 0, 100);
  if (compression === undefined) {
    throw invalid("'output_compression' must be between 0 and 100.", `${at}output_compression`);
  }
  if (compression !== 100 && format === 'png') {
    throw invalid('Compression is not supported for png.', `${at}output_compression`);
  }
  const quality = oneOf(json.quality ?? 'auto', ['low', 'medium', 'high', 'auto'], `${at}quality`);
  const size = readSize(json.size, `${at}size`);
  await checkEncoder(format, pictures, `${at}output_format`);
  return {
    ...size,
    quality: quality === 'auto' ? 'medium' : quality,
    isTransparent: background === 'transparent',
    format,
    compression,
    partials,
  };
}

/** The members of a response that say how its pictures look. */
export function lookMembers({ isTransparent, format, quality, width, height }: Look): JsonObject {
  const background = isTransparent ? 'transparent' : 'opaque';
  return { background, output_format: format, quality, size: `${width}x${height}` };
}

export function pictureOf(look: Look, index: number, fault: Fault): Picture {
  const { partials: _partials, ...picture } = look;
  return { ...picture, index, ...(fault.imageBytes !== undefined && { bytes: fault.imageBytes }) };
}

export function missing(field: string): Failure {
  return invalid(`Missing required parameter: '${field}'.`, field, 'missing_required_parameter');
}

function readSize(given: unknown, param: string): Pick<Look, 'width' | 'height'> {
  const size = textOf(given) || 'auto';
  const match = /^(\d{1,5})x(\d{1,5})$/.exec(size === 'auto' ? '1024x1024' : size);
  if (!match) throw invalid(`Invalid size '${size}'.`, param);
  const [width, height] = [Number(match[1]), Number(match[2])];
  if (width * height > PIXEL_BUDGET) {
    throw invalid(`Invalid size '${size}': the requested resolution exceeds the current pixel budget.`, param);
  }
  const ratio = width / height;
  if (width === 0 || width % 16 !== 0 || height % 16 !== 0 || !(ratio >= 1 / 3 && ratio <= 3)) {
    throw invalid(`Invalid size '${size}'.`, param);
  }
  if (Math.max(width, height) > LONGEST_EDGE) {
    throw invalid(`Invalid size '${size}': the longest edge is ${LONGEST_EDGE}.`, param);
  }
  return { width, height };
}

async function checkEncoder(format: PictureFormat, pictures: PictureCache, param: string): Promise<void> {
  if (await pictures.canDraw(format)) return;
  const message = `The simulated provider draws only png here, because the package sharp is not installed; request png instead of ${format}.`;
  throw invalid(message, param);
}

function oneOf<T extends string>(given: Json, values: readonly T[], param: string): T {
  const known = values.find((value) => value === given);
  if (known !== undefined) return known;
  const supported = values.map((value) => `'${value}'`).join(', ');
  throw invalid(`Invalid value: '${String(given)}'. Supported values are: ${supported}.`, param, 'invalid_value');
}

function integer(given: Json, min: number, max: number): number | undefined {
  const value = numberOf(given);
  return value !== undefined && Number.isInteger(value) && value >= min && value <= max ? value : undefined;
}

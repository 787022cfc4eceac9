/** The image endpoints of the OpenAI-style provider. */
import { invalid, openaiError, statusFailure } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { Frame } from './frames.ts';
import { nowSeconds } from './ids.ts';
import { type JsonObject, numberOf, objectsOf, textOf } from './json.ts';
import { readMultipart } from './multipart.ts';
import { gradientPng } from './png.ts';
import { sendStream } from './stream.ts';
import { distortUsage, tokensIn } from './usage.ts';

const PIXEL_BUDGET = 8_294_400;
const LONGEST_EDGE_SENT = 256;
const TOKENS_PER_IMAGE_IN = 200;
const TOKENS_PER_IMAGE_OUT: Record<string, number> = { low: 272, medium: 1056, high: 4160, auto: 1056 };

interface ImageOptions {
  prompt: string;
  count: number;
  width: number;
  height: number;
  size: string;
  quality: string;
  background: string;
  format: string;
  partials: number;
  stream: boolean;
  imagesIn: number;
}

export async function generateImages(exchange: Exchange): Promise<void> {
  await sendImages(exchange, readOptions(exchange.json, 0), 'image_generation');
}

/** The edit is a form in the older API and JSON with `images` in the newer one. */
export async function editImages(exchange: Exchange): Promise<void> {
  const form = isForm(exchange);
  const images = form ? countFiles(exchange) : objectsOf(exchange.json.images).length;
  if (images === 0) throw invalid("Missing required parameter: 'image'.", 'image', 'missing_required_parameter');
  if (images > 16) throw invalid("'image' may hold at most 16 images.", 'image');
  await sendImages(exchange, readOptions(exchange.json, images), 'image_edit');
}

export function isForm(exchange: Exchange): boolean {
  return exchange.header('content-type').toLowerCase().startsWith('multipart/form-data');
}

/** The text fields of a form as a JSON object. */
export function formFields(exchange: Exchange): JsonObject {
  const fields = readMultipart(exchange.header('content-type'), exchange.body);
  const entries = fields
    .filter((field) => field.filename === undefined)
    .map((field) => [field.name, plain(field.value.toString('utf8'), field.name)] as const);
  return Object.fromEntries(entries);
}

function plain(value: string, name: string): string | number | boolean {
  if (name === 'prompt' || name === 'model') return value;
  if (value === 'true' || value === 'false') return value === 'true';
  return /^\d+$/.test(value) ? Number(value) : value;
}

function countFiles(exchange: Exchange): number {
  const fields = readMultipart(exchange.header('content-type'), exchange.body);
  return fields.filter((field) => field.filename !== undefined && /^image(\[\d*\])?$/.test(field.name)).length;
}

function readOptions(json: JsonObject, imagesIn: number): ImageOptions {
  const prompt = textOf(json.prompt);
  if (prompt === '') throw invalid("Missing required parameter: 'prompt'.", 'prompt', 'missing_required_parameter');
  if (prompt.length > 32_000) throw invalid("'prompt' is too long.", 'prompt', 'string_above_max_length');
  if (json.response_format !== undefined) {
    throw invalid("Unknown parameter: 'response_format'.", 'response_format', 'unknown_parameter');
  }
  const count = numberOf(json.n) ?? 1;
  if (!Number.isInteger(count) || count < 1 || count > 10) throw invalid("'n' must be between 1 and 10.", 'n');
  const partials = numberOf(json.partial_images) ?? 0;
  if (partials < 0 || partials > 3) throw invalid("'partial_images' must be between 0 and 3.", 'partial_images');
  const format = textOf(json.output_format) || 'png';
  const background = textOf(json.background) || 'opaque';
  if (background === 'transparent' && format === 'jpeg') {
    throw invalid('Transparent background is not supported for jpeg.', 'background');
  }
  if (json.output_compression !== undefined && json.output_compression !== 100 && format === 'png') {
    throw invalid('Compression is not supported for png.', 'output_compression');
  }
  const quality = textOf(json.quality) || 'medium';
  const stream = json.stream === true;
  return { prompt, count, ...readSize(json.size), quality, background, format, partials, stream, imagesIn };
}

function readSize(given: unknown): Pick<ImageOptions, 'width' | 'height' | 'size'> {
  const size = textOf(given) || 'auto';
  const match = /^(\d{1,5})x(\d{1,5})$/.exec(size === 'auto' ? '1024x1024' : size);
  if (!match) throw invalid(`Invalid size '${size}'.`, 'size');
  const [width, height] = [Number(match[1]), Number(match[2])];
  if (width * height > PIXEL_BUDGET) {
    throw invalid(`Invalid size '${size}': the requested resolution exceeds the current pixel budget.`, 'size');
  }
  const ratio = width / height;
  if (width === 0 || width % 16 !== 0 || height % 16 !== 0 || !(ratio >= 1 / 3 && ratio <= 3)) {
    throw invalid(`Invalid size '${size}'.`, 'size');
  }
  if (Math.max(width, height) > 3840) throw invalid(`Invalid size '${size}': the longest edge is 3840.`, 'size');
  return { width, height, size: `${width}x${height}` };
}

async function sendImages(exchange: Exchange, options: ImageOptions, kind: string): Promise<void> {
  const usage = distortUsage(usageOf(options), exchange.fault.usage);
  const { background, quality, size } = options;
  const look = { background, output_format: options.format, quality, size };
  if (!options.stream) {
    const data = Array.from({ length: options.count }, (_unused, index) => ({ b64_json: draw(options, index) }));
    return exchange.sendJson({ created: nowSeconds(), data, ...look, usage });
  }
  const failure = (): Frame[] => {
    const error = openaiError(statusFailure('openai', exchange.fault));
    return [{ event: 'error', data: JSON.stringify({ type: 'error', error }) }];
  };
  await sendStream(exchange, { frames: frames(options, kind, look, usage), failure });
}

function* frames(
  options: ImageOptions,
  kind: string,
  look: JsonObject,
  usage: JsonObject | undefined,
): Generator<Frame> {
  const emit = (type: string, data: JsonObject, flags: Partial<Frame>): Frame => ({
    event: type,
    data: JSON.stringify({ type, ...data, created_at: nowSeconds(), ...look }),
    ...flags,
  });
  for (let index = 0; index < options.count; index++) {
    for (let partial = 0; partial < options.partials; partial++) {
      const data = { b64_json: draw(options, partial), partial_image_index: partial };
      yield emit(`${kind}.partial_image`, data, { content: true });
    }
    yield emit(`${kind}.completed`, { b64_json: draw(options, index), usage }, { last: true });
  }
}

/** Keeps the requested aspect ratio and limits the size. */
function draw(options: ImageOptions, index: number): string {
  const scale = Math.min(1, LONGEST_EDGE_SENT / Math.max(options.width, options.height));
  const [width, height] = [options.width, options.height].map((edge) => Math.max(1, Math.round(edge * scale)));
  return gradientPng(width ?? 1, height ?? 1, 64 + index * 32).toString('base64');
}

function usageOf(options: ImageOptions): JsonObject {
  const text = tokensIn(options.prompt);
  const images = options.imagesIn * TOKENS_PER_IMAGE_IN;
  const size = (options.width * options.height) / (1024 * 1024);
  const each = Math.ceil((TOKENS_PER_IMAGE_OUT[options.quality] ?? 1056) * size);
  const output = options.count * (each + options.partials * 100);
  return {
    input_tokens: text + images,
    input_tokens_details: { text_tokens: text, image_tokens: images },
    output_tokens: output,
    output_tokens_details: { text_tokens: 0, image_tokens: output },
    total_tokens: text + images + output,
  };
}

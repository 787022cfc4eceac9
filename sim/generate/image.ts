/** The picture of a generateContent response, when the request asks for the modality IMAGE. */
import { invalid } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { Picture } from '../images/picture.ts';
import { type JsonObject, objectOf, stringsOf, textOf } from '../json.ts';
import type { Reply } from '../reply.ts';
import { either } from './request.ts';

export interface ImageRequest {
  width: number;
  height: number;
  tokens: number;
  /** The label of the size: 1K, 2K or 4K. */
  size: string;
  /** False: the reply is the picture alone. */
  hasText: boolean;
}

/** Width and height for the size 1K. */
const RATIOS: Record<string, readonly [width: number, height: number]> = {
  '1:1': [1024, 1024],
  '2:3': [848, 1264],
  '3:2': [1264, 848],
  '3:4': [896, 1200],
  '4:3': [1200, 896],
  '4:5': [928, 1152],
  '5:4': [1152, 928],
  '9:16': [768, 1376],
  '16:9': [1376, 768],
  '21:9': [1584, 672],
};

const SIZES: Record<string, { scale: number; tokens: number }> = {
  '1K': { scale: 1, tokens: 1120 },
  '2K': { scale: 2, tokens: 1120 },
  '4K': { scale: 4, tokens: 2000 },
};

/** Undefined if the reply has no picture: none was requested, or the model calls tools or declines. */
export function readImageRequest({ json, fault }: Exchange, reply: Reply): ImageRequest | undefined {
  const config = objectOf(either(json, 'generationConfig'));
  const modalities = stringsOf(either(config, 'responseModalities')).map((name) => name.toUpperCase());
  if (!modalities.includes('IMAGE')) return undefined;
  if (fault.textOnly) throw invalid('Model does not support the requested response modalities: image');
  const image = objectOf(either(config, 'imageConfig'));
  const ratio = textOf(either(image, 'aspectRatio')) || '1:1';
  const size = textOf(either(image, 'imageSize')) || '1K';
  const [width, height] = choose(RATIOS, ratio, 'aspect_ratio');
  const { scale, tokens } = choose(SIZES, size, 'image_size');
  if (reply.calls.length > 0 || reply.refusal !== undefined) return undefined;
  return { width: width * scale, height: height * scale, tokens, size, hasText: modalities.includes('TEXT') };
}

export async function drawPart(exchange: Exchange, { width, height, size }: ImageRequest): Promise<JsonObject> {
  const { fault, state } = exchange;
  const picture: Picture = {
    width,
    height,
    format: 'png',
    compression: 100,
    isTransparent: false,
    quality: size,
    index: 0,
    ...(fault.imageBytes !== undefined && { bytes: fault.imageBytes }),
  };
  return { inlineData: { mimeType: 'image/png', data: (await state.pictures.get(picture)).text } };
}

function choose<T>(table: Record<string, T>, name: string, field: string): T {
  const found = Object.hasOwn(table, name) ? table[name] : undefined;
  if (found !== undefined) return found;
  const known = Object.keys(table).join(', ');
  throw invalid(`Invalid value at 'generation_config.image_config.${field}': "${name}". Supported values: ${known}.`);
}

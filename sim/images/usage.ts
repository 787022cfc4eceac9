/** The tokens of image requests. */
import type { JsonObject } from '../json.ts';
import { tokensIn } from '../usage.ts';
import type { Look } from './options.ts';

const TOKENS_PER_IMAGE_IN = 200;
const TOKENS_PER_PARTIAL = 100;
/** For 1024x1024 pixels. */
const TOKENS_PER_IMAGE_OUT: Record<string, number> = { low: 272, medium: 1056, high: 4160 };

export interface ImageWork {
  prompt: string;
  imagesIn: number;
  count: number;
  look: Look;
}

export function imageUsage({ prompt, imagesIn, count, look }: ImageWork): JsonObject {
  const text = tokensIn(prompt);
  const images = imagesIn * TOKENS_PER_IMAGE_IN;
  const size = (look.width * look.height) / (1024 * 1024);
  const each = Math.ceil((TOKENS_PER_IMAGE_OUT[look.quality] ?? 0) * size);
  const output = count * (each + look.partials * TOKENS_PER_PARTIAL);
  return {
    input_tokens: text + images,
    input_tokens_details: { text_tokens: text, image_tokens: images },
    output_tokens: output,
    output_tokens_details: { text_tokens: 0, image_tokens: output },
    total_tokens: text + images + output,
  };
}

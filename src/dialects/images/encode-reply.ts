/** Unary responses of the images API. Size and format are those of the picture, not those of the request. */
import type { ReplyContext } from '../codec.ts';
import type { HubReply, HubUsage, JsonObject } from '../hub/types.ts';
import { compact } from '../wire/read.ts';
import { formatOfPicture, picturesIn, sizeOfPicture } from './pictures.ts';

export function encodeReply({ items, usage }: HubReply, { created }: ReplyContext): JsonObject {
  const pictures = picturesIn(items);
  const [first] = pictures;
  return compact({
    created,
    data: pictures.map(({ data }) => ({ b64_json: data })),
    output_format: first && formatOfPicture(first),
    size: first && sizeOfPicture(first),
    usage: encodeUsage(usage),
  });
}

/** Returns undefined where the provider reported no usage. Without details, all output except reasoning is an image. */
export function encodeUsage(usage: HubUsage): JsonObject | undefined {
  if (usage.estimated) return undefined;
  const inputImage = Math.min(usage.inputImage ?? 0, usage.input);
  const outputImage = Math.min(usage.outputImage ?? usage.output - (usage.reasoning ?? 0), usage.output);
  return {
    input_tokens: usage.input,
    input_tokens_details: { text_tokens: usage.input - inputImage, image_tokens: inputImage },
    output_tokens: usage.output,
    output_tokens_details: { text_tokens: usage.output - outputImage, image_tokens: outputImage },
    total_tokens: usage.input + usage.output,
  };
}

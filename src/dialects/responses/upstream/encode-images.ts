/** Encoder of image output: a client that asks for images by modality gets the image tool, forced if it wants nothing else. */
import { rejectImageOnly } from '../../errors/rejection.ts';
import { type HubField, holdsGeneratedImage } from '../../hub/fields.ts';
import type { HubItem, JsonObject } from '../../hub/types.ts';
import { imageOptions, imageToolFor, imageToolOf, sizeOfSettings } from '../../tools/images.ts';
import type { ToolContext } from '../encode-tools.ts';

export interface EncodedImages {
  /** The tool, unless the request lists it itself. */
  readonly tools: readonly JsonObject[];
  readonly choice?: JsonObject;
  readonly droppedFields: readonly HubField[];
  readonly droppedToolOptions: readonly string[];
}

export function encodeImages({ request, target }: ToolContext): EncodedImages {
  const { modalities, image } = request.output;
  const listed = imageToolOf(request);
  const asksByModality = modalities?.includes('image') === true;
  const isOnly = asksByModality && !modalities.includes('text');
  const isAvailable = target.capabilities.imageOutput;
  if (!isAvailable && isOnly) rejectImageOnly();
  const usesModality = asksByModality && isAvailable && !listed;
  const dropped: Partial<Record<HubField, boolean>> = {
    imageOutput: asksByModality && !isAvailable,
    imageSettings: image !== undefined && !(usesModality && sizeOfSettings(image) !== undefined),
    imageHistory: request.items.some((item) => holdsGeneratedImage(item) && !isOwnCall(item)),
  };
  const isChosen = isOnly && request.toolChoice.kind === 'auto';
  return {
    tools: usesModality ? [imageToolFor(image)] : [],
    ...(isChosen && { choice: { type: 'image_generation' } }),
    droppedFields: (Object.keys(dropped) as HubField[]).filter((field) => dropped[field]),
    droppedToolOptions: listed && request.dialect !== 'responses' ? imageOptions(listed).filter(isPartials) : [],
  };
}

const isOwnCall = (item: HubItem): boolean => item.kind === 'server_call' && item.issuer === 'responses';

const isPartials = (option: string): boolean => option === 'partial_images';

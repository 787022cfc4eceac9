/**
 * Encoder of image output: a client that asks for images by modality
 * gets the image tool, forced if it wants nothing else.
 */
import { rejectImageOnly } from '../../errors/rejection.ts';
import { type HubField, holdsGeneratedImage } from '../../hub/fields.ts';
import type { HubItem } from '../../hub/types.ts';
import { imageOptions, imageToolFor, imageToolOf, sizeOfSettings } from '../../tools/images.ts';
import type { ToolContext } from '../encode-tools.ts';

export function encodeImages({ request, target }: ToolContext) {
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
    // The tool, unless the request lists it itself.
    tools: usesModality ? [imageToolFor(image)] : [],
    ...(isChosen && { choice: { type: 'image_generation' } }),
    droppedFields: (Object.keys(dropped) as HubField[]).filter((field) => dropped[field]),
    droppedToolOptions: listed && request.dialect !== 'responses' ? imageOptions(listed).filter(isPartials) : [],
  };
}

const isOwnCall = (item: HubItem): boolean => item.kind === 'server_call' && item.issuer === 'responses';

const isPartials = (option: string): boolean => option === 'partial_images';

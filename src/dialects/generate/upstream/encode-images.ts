/**
 * Encoder of image output: the image tool and the image modality of
 * other dialects become `responseModalities` and `imageConfig`.
 */
import type { UpstreamTarget } from '../../codec.ts';
import { rejectImageOnly } from '../../errors/rejection.ts';
import type { HubField } from '../../hub/fields.ts';
import type { HubImageSettings, HubRequest, JsonObject } from '../../hub/types.ts';
import { forcesImageTool, imageOptions, imageToolOf, settingsOfTool } from '../../tools/images.ts';
import { compact } from '../../wire/read.ts';

export interface EncodedImages {
  /** Members of `generationConfig`. */
  readonly config: JsonObject;
  readonly droppedFields: readonly HubField[];
  readonly droppedToolOptions: readonly string[];
}

export function encodeImages(request: HubRequest, { capabilities }: UpstreamTarget): EncodedImages {
  const tool = imageToolOf(request);
  const { modalities, image } = request.output;
  const asksByModality = modalities?.includes('image') === true;
  const isForced = forcesImageTool(request);
  if (!capabilities.imageOutput) return withoutImages(request);
  // The provider has no tool here: a client that forbids tools gets no image.
  const offersTool = tool !== undefined && request.toolChoice.kind !== 'none';
  const names = !offersTool || asksByModality ? modalities : (['text', 'image'] as const);
  const wanted = isForced ? (['image'] as const) : names;
  const fromTool = offersTool ? settingsOfTool(tool) : {};
  const lostSize = fromTool ? [] : ['size'];
  return {
    config: compact({
      responseModalities: wanted?.map((modality) => modality.toUpperCase()),
      imageConfig: imageConfig({ ...image, ...fromTool }),
    }),
    droppedFields: [],
    droppedToolOptions: tool ? [...imageOptions(tool), ...lostSize] : [],
  };
}

/** The model generates no images: drops the request for one, or rejects it if the client accepts nothing else. */
function withoutImages({ output }: HubRequest): EncodedImages {
  const { modalities, image } = output;
  const dropped: HubField[] = [];
  const others = modalities?.filter((modality) => modality !== 'image');
  if (modalities?.includes('image')) {
    if (others?.length === 0) rejectImageOnly();
    dropped.push('imageOutput');
  }
  if (image) dropped.push('imageSettings');
  return {
    config: compact({ responseModalities: others?.map((modality) => modality.toUpperCase()) }),
    droppedFields: dropped,
    droppedToolOptions: [],
  };
}

const imageConfig = ({ aspectRatio, tier }: HubImageSettings): JsonObject | undefined =>
  aspectRatio === undefined && tier === undefined ? undefined : compact({ aspectRatio, imageSize: tier });

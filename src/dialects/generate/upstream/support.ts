/** Support of each hub field by generateContent upstreams. */
import { type SupportTable, WITHOUT_FIELDS } from '../../hub/fields.ts';

export const support: SupportTable = {
  // Documents are read but not cited. Some models accept a resolution for each image; all others reject it. Prefixes are cached without
  // breakpoints.
  ...WITHOUT_FIELDS,
  temperature: 'kept',
  topP: 'kept',
  topK: 'kept',
  seed: 'kept',
  presencePenalty: 'kept',
  frequencyPenalty: 'kept',
  // The first five are sent upstream; the gateway emulates the others.
  stop: 'changed',
  // For models that generate images; others drop it, or reject it if the client wants nothing else.
  imageOutput: 'kept',
  imageOnlyOutput: 'kept',
  imageSettings: 'kept',
  // A level or a budget, depending on the model.
  reasoning: 'changed',
  structuredOutput: 'changed',
  // One mode for all functions.
  strictTools: 'changed',
  // Unsupported ones are dropped, not rejected, because agents always list them.
  hostedTools: 'changed',
  // Becomes the image modality, with the size as aspect ratio and tier. Other options of the tool are dropped.
  imageTool: 'changed',
  // As inline data; a call without its result is dropped.
  imageHistory: 'changed',
  allowedTools: 'changed',
  // Not sent. The key keeps the conversation on one account, and with it on one cache.
  cacheKey: 'changed',
  serviceTier: 'kept',
};

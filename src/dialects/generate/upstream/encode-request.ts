/** Request encoder for generateContent upstreams. Model and method are in the path, not in the body. */
import type { EncodedRequest, UpstreamTarget } from '../../codec.ts';
import { encodeSampling, maxOutputFor } from '../../encoding/limits.ts';
import { effectiveRequest } from '../../hub/effective-request.ts';
import type { HubField } from '../../hub/fields.ts';
import type { HubFormat, HubItem, HubRequest, JsonObject } from '../../hub/types.ts';
import { mapToolNames } from '../../tools/names.ts';
import { namedSchema } from '../../tools/schemas.ts';
import { compact } from '../../wire/read.ts';
import { encodeContents, leadingSystem } from './encode-contents.ts';
import { encodeImages } from './encode-images.ts';
import { textOf } from './encode-parts.ts';
import { encodeThinkingConfig, lacksBudget, showsThoughts } from './encode-thinking.ts';
import { encodeTools } from './encode-tools.ts';
import { toGoogleSchema } from './to-google-schema.ts';

/** The provider's limit on stop sequences; the gateway emulates the others. */
const MAX_STOP_SEQUENCES = 5;

export function encodeRequest(original: HubRequest, target: UpstreamTarget): EncodedRequest {
  const request = effectiveRequest(original);
  const names = mapToolNames(request, 'generate');
  const { hasFunctions, tools, toolConfig, droppedSearchOptions } = encodeTools(request, names, target);
  const images = encodeImages(request, target);
  const format = encodeFormat(request.output.format, hasFunctions && !target.capabilities.functionsWithSchema, target);
  const stops = request.sampling.stop ?? [];
  const dropped: HubField[] = [];
  const generationConfig = compact({
    ...encodeSampling(request, target, SAMPLING, dropped),
    seed: request.sampling.seed,
    maxOutputTokens: maxOutputFor(request, target),
    stopSequences: stops.length > 0 ? stops.slice(0, MAX_STOP_SEQUENCES) : undefined,
    ...format.config,
    ...images.config,
    thinkingConfig: encodeThinkingConfig(request.reasoning, target.capabilities),
  });
  const system = systemTexts(request, format.instruction);
  const { serviceTier } = request.meta;
  const body = compact({
    systemInstruction: system.length > 0 ? { parts: system.map((text) => ({ text })) } : undefined,
    contents: encodeContents(request, names, target),
    tools,
    toolConfig,
    generationConfig: Object.keys(generationConfig).length > 0 ? generationConfig : undefined,
    serviceTier: serviceTier === 'auto' ? undefined : serviceTier,
    continuationToken: request.continuationToken,
  });
  dropped.push(...droppedReasoning(request, target), ...images.droppedFields);
  if (request.items.some(lacksImage)) dropped.push('imageHistory');
  return {
    body,
    headers: {},
    droppedFields: dropped,
    ...(images.droppedToolOptions.length > 0 && { droppedToolOptions: images.droppedToolOptions }),
    ...(droppedSearchOptions.length > 0 && { droppedSearchOptions }),
    names: names.originals,
    emulateStop: stops.slice(MAX_STOP_SEQUENCES),
  };
}

/** An image call that a client refers to by id alone: the gateway has no copy of the image. */
const lacksImage = (item: HubItem): boolean =>
  item.kind === 'server_call' && item.tool === 'image_gen' && item.image === undefined;

const SAMPLING = {
  temperature: 'temperature',
  topP: 'topP',
  topK: 'topK',
  presence: 'presencePenalty',
  frequency: 'frequencyPenalty',
} as const;

function systemTexts(request: HubRequest, instruction: string | undefined): string[] {
  const own = request.system.map((part) => part.text);
  const leading = leadingSystem(request).flatMap((message) => message.parts.map(textOf));
  return [...own, ...leading, instruction ?? ''].filter((text) => text !== '');
}

/** `asInstruction`: the model rejects a response format next to functions, so the format becomes an instruction. */
function encodeFormat(
  format: HubFormat,
  asInstruction: boolean,
  target: UpstreamTarget,
): { readonly config: JsonObject; readonly instruction?: string } {
  if (format.kind === 'text') return { config: {} };
  if (format.kind === 'json') {
    if (asInstruction) return { config: {}, instruction: 'Reply with one JSON object and nothing else.' };
    return { config: { responseMimeType: 'application/json' } };
  }
  if (asInstruction) {
    const schema = JSON.stringify(namedSchema(format));
    return {
      config: {},
      instruction: `Reply with one JSON value that fits this JSON Schema and nothing else:\n${schema}`,
    };
  }
  const schema = target.capabilities.jsonSchemaTools
    ? { responseJsonSchema: namedSchema(format) }
    : { responseSchema: toGoogleSchema(namedSchema(format)) };
  return { config: { responseMimeType: 'application/json', ...schema } };
}

/** What is asked of the model's reasoning that it does not have. */
function droppedReasoning({ reasoning, dialect }: HubRequest, { capabilities }: UpstreamTarget): HubField[] {
  const asksForReasoning = reasoning.mode !== undefined || reasoning.effort !== undefined;
  // Chat clients receive summaries where there are any; only a responses client asks for them.
  const asksForSummary = dialect === 'responses' && reasoning.show === 'summary' && reasoning.mode !== 'off';
  const lacksReasoning =
    (asksForReasoning && capabilities.thinkingConfig === 'none') || lacksBudget(reasoning, capabilities);
  if (lacksReasoning) return ['reasoning'];
  return asksForSummary && !showsThoughts(reasoning, capabilities) ? ['reasoningStyle'] : [];
}

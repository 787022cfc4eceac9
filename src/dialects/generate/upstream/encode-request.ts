/** A hub request as the body of generateContent. Model and method stand in the path, so neither is in the body. */
import type { EncodedRequest, UpstreamTarget } from '../../codec.ts';
import { effectiveRequest } from '../../hub/effective-request.ts';
import type { HubField } from '../../hub/fields.ts';
import type { HubFormat, HubRequest, HubSampling, JsonObject } from '../../hub/types.ts';
import { mapNames } from '../../tools/names.ts';
import { compact } from '../../wire/read.ts';
import { encodeContents, leadingSystem } from './encode-contents.ts';
import { textOf } from './encode-parts.ts';
import { thinkingConfig } from './encode-thinking.ts';
import { encodeTools } from './encode-tools.ts';
import { toGoogleSchema } from './to-google-schema.ts';

/** The provider takes this many; the pipeline watches for the others. */
const MAX_STOPS = 5;

export function encodeRequest(original: HubRequest, target: UpstreamTarget): EncodedRequest {
  const request = effectiveRequest(original);
  const names = mapNames(request, 'generate');
  const { functions, tools, toolConfig, leftOut } = encodeTools(request, names, target);
  const shape = formatOf(request.output.format, functions && !target.capabilities.functionsWithSchema, target);
  const stops = request.sampling.stop ?? [];
  const sampling = target.capabilities.sampling === 'full' ? samplingOf(request.sampling) : {};
  const generationConfig = compact({
    ...sampling,
    seed: request.sampling.seed,
    maxOutputTokens: maxOutput(request, target),
    stopSequences: stops.length > 0 ? stops.slice(0, MAX_STOPS) : undefined,
    ...shape.config,
    responseModalities: request.output.modalities?.map((modality) => modality.toUpperCase()),
    thinkingConfig: thinkingConfig(request.reasoning, target.capabilities),
  });
  const system = systemTexts(request, shape.instruction);
  const { serviceTier } = request.meta;
  const body = compact({
    systemInstruction: system.length > 0 ? { parts: system.map((text) => ({ text })) } : undefined,
    contents: encodeContents(request, names, target),
    tools,
    toolConfig,
    generationConfig: Object.keys(generationConfig).length > 0 ? generationConfig : undefined,
    serviceTier: serviceTier === 'auto' ? undefined : serviceTier,
  });
  const dropped = droppedBy(request, target);
  if (leftOut) dropped.push('hostedTools');
  return { body, headers: {}, droppedFields: dropped, names: names.back, emulateStop: stops.slice(MAX_STOPS) };
}

const samplingOf = (sampling: HubSampling) => ({
  temperature: sampling.temperature,
  topP: sampling.topP,
  topK: sampling.topK,
  presencePenalty: sampling.presence,
  frequencyPenalty: sampling.frequency,
});

function maxOutput(request: HubRequest, target: UpstreamTarget): number | undefined {
  const asked = request.limits.maxOutput;
  return asked === undefined ? undefined : Math.min(asked, target.maxOutput ?? target.capabilities.maxOutput);
}

function systemTexts(request: HubRequest, instruction: string | undefined): string[] {
  const own = request.system.map((part) => part.text);
  const leading = leadingSystem(request).flatMap((message) => message.parts.map(textOf));
  return [...own, ...leading, instruction ?? ''].filter((text) => text !== '');
}

interface Shape {
  readonly config: JsonObject;
  readonly instruction?: string;
}

/** `inWords`: the model takes functions or a response type, not both, so the type is asked for in words. */
function formatOf(format: HubFormat, inWords: boolean, target: UpstreamTarget): Shape {
  if (format.kind === 'text') return { config: {} };
  if (format.kind === 'json') {
    if (inWords) return { config: {}, instruction: 'Reply with one JSON object and nothing else.' };
    return { config: { responseMimeType: 'application/json' } };
  }
  if (inWords) {
    const schema = JSON.stringify(format.schema);
    return {
      config: {},
      instruction: `Reply with one JSON value that fits this JSON Schema and nothing else:\n${schema}`,
    };
  }
  const schema = target.capabilities.jsonSchemaTools
    ? { responseJsonSchema: format.schema }
    : { responseSchema: toGoogleSchema(format.schema) };
  return { config: { responseMimeType: 'application/json', ...schema } };
}

/** Asked for, known to the dialect, but not taken by this model. */
function droppedBy({ sampling, reasoning }: HubRequest, target: UpstreamTarget): HubField[] {
  const dropped: HubField[] = [];
  if (target.capabilities.sampling === 'none') {
    if (sampling.temperature !== undefined) dropped.push('temperature');
    if (sampling.topP !== undefined) dropped.push('topP');
    if (sampling.topK !== undefined) dropped.push('topK');
    if (sampling.presence !== undefined) dropped.push('presencePenalty');
    if (sampling.frequency !== undefined) dropped.push('frequencyPenalty');
  }
  const wished = reasoning.mode !== undefined || reasoning.effort !== undefined;
  if (wished && target.capabilities.thinkingConfig === 'none') dropped.push('reasoning');
  return dropped;
}

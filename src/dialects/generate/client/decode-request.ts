/** Decoder of a client's request body. Model and method come from the path. */
import { fail } from '../../../core/index.ts';
import type { ClientRequestHead } from '../../codec.ts';
import type * as hub from '../../hub/types.ts';
import { readEffort } from '../../wire/efforts.ts';
import * as wire from '../../wire/read.ts';
import { field, optionalField, snakeOf } from '../wire.ts';
import { decodeContents, decodeSystem } from './decode-contents.ts';
import { decodeFormat, decodeToolConfig, decodeTools } from './decode-tools.ts';
import { rejectWrongDialect } from './wrong-dialect.ts';

export function decodeRequest(value: unknown, from: ClientRequestHead): hub.HubRequest {
  const body = wire.needObject(value, 'body');
  rejectWrongDialect(body);
  // Both refer to state at one provider.
  for (const name of ['cachedContent', 'continuationToken']) {
    if (wire.isGiven(field(body, name)))
      wire.unsupported(name, 'not supported by this model; it refers to state at another provider.');
  }
  const config = section(body, 'generationConfig');
  const thinking = decodeThinking(section(config, 'thinkingConfig', 'generationConfig'));
  const metadata = wire.optional(body, 'labels', wire.readStringMap);
  const serviceTier = tierOf(body);
  return {
    dialect: 'generate',
    model: modelOf(body, from),
    stream: from.stream ?? false,
    system: decodeSystem(field(body, 'systemInstruction')),
    items: decodeContents(body.contents),
    tools: decodeTools(body.tools),
    ...decodeToolConfig(field(body, 'toolConfig')),
    reasoning: thinking,
    output: decodeOutput(config),
    limits: wire.compact({ maxOutput: readSetting(config, 'maxOutputTokens', wire.readCount) }),
    sampling: decodeSampling(config),
    cache: {},
    state: wire.compact({ store: wire.isGiven(body.store) ? wire.readBoolean(body.store, 'store') : undefined }),
    meta: wire.compact({ metadata, serviceTier }),
    unknown: unknownOf(body, config),
    clientOptions: wire.compact({
      thoughts: thinking.show === 'summary',
      logprobs: readSetting(config, 'responseLogprobs', wire.readBoolean),
    }),
  };
}

const section = (holder: hub.JsonObject, name: string, path?: string): hub.JsonObject =>
  optionalField(holder, name, wire.needObject, path) ?? {};

/** Reads one member of `generationConfig`. */
const readSetting = <T>(config: hub.JsonObject, name: string, read: wire.Reader<T>): T | undefined =>
  optionalField(config, name, read, 'generationConfig');

function modelOf(body: hub.JsonObject, from: ClientRequestHead): string {
  const name = from.model ?? (typeof body.model === 'string' ? body.model : '');
  if (name === '') throw fail('invalid_request', 'The path does not contain a model name.', { param: 'model' });
  return name.replace(/^models\//, '');
}

function decodeSampling(config: hub.JsonObject): hub.HubSampling {
  const logprobs = readSetting(config, 'responseLogprobs', wire.readBoolean);
  return wire.compact({
    temperature: readSetting(config, 'temperature', wire.readNumber),
    topP: readSetting(config, 'topP', wire.readNumber),
    topK: readSetting(config, 'topK', wire.readNumber),
    seed: readSetting(config, 'seed', wire.readNumber),
    presence: readSetting(config, 'presencePenalty', wire.readNumber),
    frequency: readSetting(config, 'frequencyPenalty', wire.readNumber),
    n: readSetting(config, 'candidateCount', wire.readCount),
    logprobs,
    topLogprobs: readSetting(config, 'logprobs', wire.readCount),
    stop: readSetting(config, 'stopSequences', wire.readStrings),
  });
}

function decodeOutput(config: hub.JsonObject): hub.HubOutput {
  const names = readSetting(config, 'responseModalities', wire.readStrings)?.map((name) => name.toLowerCase());
  const modality = wire.oneOf(['text', 'image', 'audio'] as const);
  const modalities = names?.map((name, n) => modality(name, `generationConfig.responseModalities[${n}]`));
  const image = decodeImageConfig(section(config, 'imageConfig', 'generationConfig'));
  return wire.compact({ format: decodeFormat(config), modalities, image });
}

function decodeImageConfig(config: hub.JsonObject): hub.HubImageSettings | undefined {
  const read = (name: string): string | undefined =>
    optionalField(config, name, wire.needString, 'generationConfig.imageConfig');
  const settings = wire.compact({ aspectRatio: read('aspectRatio'), tier: read('imageSize') });
  return Object.keys(settings).length > 0 ? settings : undefined;
}

function decodeThinking(config: hub.JsonObject): hub.HubReasoning {
  const path = 'generationConfig.thinkingConfig';
  const budget = field(config, 'thinkingBudget');
  const levelField = field(config, 'thinkingLevel');
  if (wire.isGiven(budget) && wire.isGiven(levelField))
    wire.wrongValue(path, 'thinkingBudget and thinkingLevel are mutually exclusive.');
  const include = optionalField(config, 'includeThoughts', wire.readBoolean, path);
  const shown = include ? ('summary' as const) : ('none' as const);
  const show = include === undefined ? undefined : shown;
  if (wire.isGiven(budget))
    return wire.compact({ ...decodeBudget(wire.readNumber(budget, `${path}.thinkingBudget`), path), show });
  if (!wire.isGiven(levelField)) return wire.compact({ show });
  const level = wire.needString(levelField, `${path}.thinkingLevel`).toLowerCase();
  if (level === 'thinking_level_unspecified') return wire.compact({ show });
  return wire.compact({ effort: readEffort(level, `${path}.thinkingLevel`), show });
}

function decodeBudget(budget: number, path: string): hub.HubReasoning {
  if (budget === -1) return { mode: 'auto' };
  if (budget === 0) return { mode: 'off' };
  return { mode: 'budget', budget: wire.readCount(budget, `${path}.thinkingBudget`) };
}

function tierOf(body: hub.JsonObject): 'auto' | 'standard' | 'priority' | 'flex' | undefined {
  const tier = field(body, 'serviceTier');
  if (!wire.isGiven(tier)) return undefined;
  const name = wire.oneOf(['unspecified', 'standard', 'priority', 'flex'] as const)(
    wire.needString(tier, 'serviceTier').toLowerCase(),
    'serviceTier',
  );
  return name === 'unspecified' ? 'auto' : name;
}

const KNOWN_FIELDS = spellings(
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'labels',
  'serviceTier',
  'store',
  'model',
);
const KNOWN_SETTINGS = spellings(
  'temperature',
  'topP',
  'topK',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'candidateCount',
  'maxOutputTokens',
  'stopSequences',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  'responseFormat',
  'responseModalities',
  'thinkingConfig',
  'responseLogprobs',
  'logprobs',
  'imageConfig',
);
const KNOWN_IMAGE_SETTINGS = spellings('aspectRatio', 'imageSize');

function spellings(...names: readonly string[]): ReadonlySet<string> {
  return new Set(names.flatMap((name) => [name, snakeOf(name)]));
}

/** Includes `safetySettings`, which only this provider can apply. */
const unknownOf = (body: hub.JsonObject, config: hub.JsonObject): string[] => [
  ...unknownIn(body, KNOWN_FIELDS, ''),
  ...unknownIn(config, KNOWN_SETTINGS, 'generationConfig.'),
  ...unknownIn(wire.maybeObject(field(config, 'imageConfig')), KNOWN_IMAGE_SETTINGS, 'generationConfig.imageConfig.'),
];
const unknownIn = (holder: hub.JsonObject, known: ReadonlySet<string>, path: string): string[] =>
  Object.keys(holder).flatMap((name) => (wire.isGiven(holder[name]) && !known.has(name) ? path + name : []));

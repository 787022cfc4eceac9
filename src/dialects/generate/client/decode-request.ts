/** Decoder of a client's request body. Model and method come from the path. */
import { fail } from '../../../core/index.ts';
import type { ClientRequestHead } from '../../codec.ts';
import type {
  Effort,
  HubImageSettings,
  HubOutput,
  HubReasoning,
  HubRequest,
  HubSampling,
  JsonObject,
} from '../../hub/types.ts';
import {
  compact,
  isGiven,
  maybeObject,
  needObject,
  needString,
  oneOf,
  optional,
  readBoolean,
  readCount,
  readNumber,
  readStringMap,
  readStrings,
  unsupported,
  wrongValue,
} from '../../wire/read.ts';
import { field, snakeOf } from '../wire.ts';
import { decodeContents, decodeSystem } from './decode-contents.ts';
import { decodeFormat, decodeToolConfig, decodeTools } from './decode-tools.ts';
import { rejectWrongDialect } from './wrong-dialect.ts';

export function decodeRequest(value: unknown, from: ClientRequestHead): HubRequest {
  const body = needObject(value, 'body');
  rejectWrongDialect(body);
  // Both refer to state at one provider.
  for (const name of ['cachedContent', 'continuationToken']) {
    if (isGiven(field(body, name)))
      unsupported(name, 'not supported by this model; it refers to state at another provider.');
  }
  const config = section(body, 'generationConfig');
  const thinking = decodeThinking(section(config, 'thinkingConfig', 'generationConfig'));
  const metadata = optional(body, 'labels', readStringMap);
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
    limits: compact({ maxOutput: readSetting(config, 'maxOutputTokens', readCount) }),
    sampling: decodeSampling(config),
    cache: {},
    state: compact({ store: isGiven(body.store) ? readBoolean(body.store, 'store') : undefined }),
    meta: compact({ metadata, serviceTier }),
    unknown: unknownOf(body, config),
    clientOptions: compact({
      thoughts: thinking.show === 'summary',
      logprobs: readSetting(config, 'responseLogprobs', readBoolean),
    }),
  };
}

const section = (holder: JsonObject, name: string, path = ''): JsonObject =>
  isGiven(field(holder, name)) ? needObject(field(holder, name), path ? `${path}.${name}` : name) : {};

/** Reads one member of `generationConfig`, in either spelling. */
const readSetting = <T>(
  config: JsonObject,
  name: string,
  reader: (value: unknown, path: string) => T,
): T | undefined => {
  const value = field(config, name);
  return isGiven(value) ? reader(value, `generationConfig.${name}`) : undefined;
};

function modelOf(body: JsonObject, from: ClientRequestHead): string {
  const name = from.model ?? (typeof body.model === 'string' ? body.model : '');
  if (name === '') throw fail('invalid_request', 'The path does not contain a model name.', { param: 'model' });
  return name.replace(/^models\//, '');
}

function decodeSampling(config: JsonObject): HubSampling {
  const logprobs = readSetting(config, 'responseLogprobs', readBoolean);
  return compact({
    temperature: readSetting(config, 'temperature', readNumber),
    topP: readSetting(config, 'topP', readNumber),
    topK: readSetting(config, 'topK', readNumber),
    seed: readSetting(config, 'seed', readNumber),
    presence: readSetting(config, 'presencePenalty', readNumber),
    frequency: readSetting(config, 'frequencyPenalty', readNumber),
    n: readSetting(config, 'candidateCount', readCount),
    logprobs,
    topLogprobs: readSetting(config, 'logprobs', readCount),
    stop: readSetting(config, 'stopSequences', readStrings),
  });
}

function decodeOutput(config: JsonObject): HubOutput {
  const names = readSetting(config, 'responseModalities', readStrings)?.map((name) => name.toLowerCase());
  const modality = oneOf(['text', 'image', 'audio'] as const);
  const modalities = names?.map((name, n) => modality(name, `generationConfig.responseModalities[${n}]`));
  const image = decodeImageConfig(section(config, 'imageConfig', 'generationConfig'));
  return compact({ format: decodeFormat(config), modalities, image });
}

function decodeImageConfig(config: JsonObject): HubImageSettings | undefined {
  const read = (name: string): string | undefined =>
    isGiven(field(config, name)) ? needString(field(config, name), `generationConfig.imageConfig.${name}`) : undefined;
  const settings = compact({ aspectRatio: read('aspectRatio'), tier: read('imageSize') });
  return Object.keys(settings).length > 0 ? settings : undefined;
}

const LEVELS: Readonly<Record<string, Effort | undefined>> = {
  MINIMAL: 'minimal',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
  THINKING_LEVEL_UNSPECIFIED: undefined,
};

function decodeThinking(config: JsonObject): HubReasoning {
  const path = 'generationConfig.thinkingConfig';
  const budget = field(config, 'thinkingBudget');
  const levelField = field(config, 'thinkingLevel');
  const include = field(config, 'includeThoughts');
  if (isGiven(budget) && isGiven(levelField))
    wrongValue(path, 'thinkingBudget and thinkingLevel are mutually exclusive.');
  const show = isGiven(include) ? (readBoolean(include, `${path}.includeThoughts`) ? 'summary' : 'none') : undefined;
  if (isGiven(budget)) return compact({ ...decodeBudget(readNumber(budget, `${path}.thinkingBudget`), path), show });
  if (!isGiven(levelField)) return compact({ show });
  const level = needString(levelField, `${path}.thinkingLevel`).toUpperCase();
  if (!Object.hasOwn(LEVELS, level)) wrongValue(`${path}.thinkingLevel`, 'expected MINIMAL, LOW, MEDIUM or HIGH.');
  return compact({ effort: LEVELS[level], show });
}

function decodeBudget(budget: number, path: string): HubReasoning {
  if (budget === -1) return { mode: 'auto' };
  if (budget === 0) return { mode: 'off' };
  return { mode: 'budget', budget: readCount(budget, `${path}.thinkingBudget`) };
}

function tierOf(body: JsonObject): 'auto' | 'standard' | 'priority' | 'flex' | undefined {
  const tier = field(body, 'serviceTier');
  if (!isGiven(tier)) return undefined;
  const name = oneOf(['unspecified', 'standard', 'priority', 'flex'] as const)(
    needString(tier, 'serviceTier').toLowerCase(),
    'serviceTier',
  );
  return name === 'unspecified' ? 'auto' : name;
}

const KNOWN_FIELDS = spellings([
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  'labels',
  'serviceTier',
  'store',
  'model',
]);
const KNOWN_SETTINGS = spellings(
  ['temperature', 'topP', 'topK', 'seed', 'presencePenalty', 'frequencyPenalty', 'candidateCount', 'maxOutputTokens'],
  ['stopSequences', 'responseMimeType', 'responseSchema', 'responseJsonSchema', 'responseFormat', 'responseModalities'],
  ['thinkingConfig', 'responseLogprobs', 'logprobs', 'imageConfig'],
);
const KNOWN_IMAGE_SETTINGS = spellings(['aspectRatio', 'imageSize']);

function spellings(...lists: string[][]): ReadonlySet<string> {
  return new Set(lists.flat().flatMap((name) => [name, snakeOf(name)]));
}

/** Includes `safetySettings`, which only this provider can apply. */
const unknownOf = (body: JsonObject, config: JsonObject): string[] => [
  ...Object.keys(body).filter((name) => isGiven(body[name]) && !KNOWN_FIELDS.has(name)),
  ...Object.keys(config)
    .filter((name) => isGiven(config[name]) && !KNOWN_SETTINGS.has(name))
    .map((name) => `generationConfig.${name}`),
  ...Object.entries(maybeObject(field(config, 'imageConfig')))
    .filter(([name, value]) => isGiven(value) && !KNOWN_IMAGE_SETTINGS.has(name))
    .map(([name]) => `generationConfig.imageConfig.${name}`),
];

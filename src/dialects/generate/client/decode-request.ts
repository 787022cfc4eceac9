/** A client's generateContent request as a hub request. Model and method come from the path. */
import { fail } from '../../../core/index.ts';
import type { ClientRequestHead } from '../../codec.ts';
import type { Effort, HubOutput, HubReasoning, HubRequest, HubSampling, JsonObject } from '../../hub/types.ts';
import {
  aBoolean,
  aCount,
  aNumber,
  compact,
  given,
  needObject,
  needString,
  oneOf,
  optional,
  stringMap,
  strings,
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
  // Both hold state at the provider that no other one can see.
  for (const name of ['cachedContent', 'continuationToken']) {
    if (given(field(body, name))) unsupported(name, 'cannot be carried over to another provider.');
  }
  const config = section(body, 'generationConfig');
  const thinking = decodeThinking(section(config, 'thinkingConfig', 'generationConfig'));
  const metadata = optional(body, 'labels', stringMap);
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
    limits: compact({ maxOutput: read(config, 'maxOutputTokens', aCount) }),
    sampling: decodeSampling(config),
    cache: {},
    state: compact({ store: given(body.store) ? aBoolean(body.store, 'store') : undefined }),
    meta: compact({ metadata, serviceTier }),
    unknown: unknownOf(body, config),
    clientOptions: compact({
      thoughts: thinking.show === 'summary',
      logprobs: read(config, 'responseLogprobs', aBoolean),
    }),
  };
}

const section = (holder: JsonObject, name: string, path = ''): JsonObject =>
  given(field(holder, name)) ? needObject(field(holder, name), path ? `${path}.${name}` : name) : {};

/** One setting of `generationConfig`, in either spelling. */
const read = <T>(config: JsonObject, name: string, reader: (value: unknown, path: string) => T): T | undefined => {
  const value = field(config, name);
  return given(value) ? reader(value, `generationConfig.${name}`) : undefined;
};

function modelOf(body: JsonObject, from: ClientRequestHead): string {
  const name = from.model ?? (typeof body.model === 'string' ? body.model : '');
  if (name === '') throw fail('invalid_request', 'The path names no model.', { param: 'model' });
  return name.replace(/^models\//, '');
}

function decodeSampling(config: JsonObject): HubSampling {
  const logprobs = read(config, 'responseLogprobs', aBoolean);
  return compact({
    temperature: read(config, 'temperature', aNumber),
    topP: read(config, 'topP', aNumber),
    topK: read(config, 'topK', aNumber),
    seed: read(config, 'seed', aNumber),
    presence: read(config, 'presencePenalty', aNumber),
    frequency: read(config, 'frequencyPenalty', aNumber),
    n: read(config, 'candidateCount', aCount),
    logprobs,
    topLogprobs: read(config, 'logprobs', aCount),
    stop: read(config, 'stopSequences', strings),
  });
}

function decodeOutput(config: JsonObject): HubOutput {
  const words = read(config, 'responseModalities', strings)?.map((word) => word.toLowerCase());
  const modality = oneOf(['text', 'image', 'audio'] as const);
  const modalities = words?.map((word, n) => modality(word, `generationConfig.responseModalities[${n}]`));
  return { format: decodeFormat(config), ...(modalities && { modalities }) };
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
  const word = field(config, 'thinkingLevel');
  const shown = field(config, 'includeThoughts');
  if (given(budget) && given(word)) wrongValue(path, 'thinkingBudget and thinkingLevel cannot be given together.');
  const show = given(shown) ? (aBoolean(shown, `${path}.includeThoughts`) ? 'summary' : 'none') : undefined;
  if (given(budget)) return compact({ ...amountOf(aNumber(budget, `${path}.thinkingBudget`), path), show });
  if (!given(word)) return compact({ show });
  const level = needString(word, `${path}.thinkingLevel`).toUpperCase();
  if (!Object.hasOwn(LEVELS, level)) wrongValue(`${path}.thinkingLevel`, 'expected MINIMAL, LOW, MEDIUM or HIGH.');
  return compact({ effort: LEVELS[level], show });
}

function amountOf(budget: number, path: string): HubReasoning {
  if (budget === -1) return { mode: 'auto' };
  if (budget === 0) return { mode: 'off' };
  return { mode: 'budget', budget: aCount(budget, `${path}.thinkingBudget`) };
}

function tierOf(body: JsonObject): 'auto' | 'standard' | 'priority' | 'flex' | undefined {
  const tier = field(body, 'serviceTier');
  if (!given(tier)) return undefined;
  const word = oneOf(['unspecified', 'standard', 'priority', 'flex'] as const)(
    needString(tier, 'serviceTier').toLowerCase(),
    'serviceTier',
  );
  return word === 'unspecified' ? 'auto' : word;
}

const KNOWN = spellings([
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
const KNOWN_CONFIG = spellings(
  ['temperature', 'topP', 'topK', 'seed', 'presencePenalty', 'frequencyPenalty', 'candidateCount', 'maxOutputTokens'],
  ['stopSequences', 'responseMimeType', 'responseSchema', 'responseJsonSchema', 'responseFormat', 'responseModalities'],
  ['thinkingConfig', 'responseLogprobs', 'logprobs'],
);

function spellings(...lists: string[][]): ReadonlySet<string> {
  return new Set(lists.flat().flatMap((name) => [name, snakeOf(name)]));
}

/** Safety settings among them: only their own provider can apply them. */
const unknownOf = (body: JsonObject, config: JsonObject): string[] => [
  ...Object.keys(body).filter((name) => given(body[name]) && !KNOWN.has(name)),
  ...Object.keys(config)
    .filter((name) => given(config[name]) && !KNOWN_CONFIG.has(name))
    .map((name) => `generationConfig.${name}`),
];

/**
 * What models of Bedrock take by Converse, by name: an id such as `amazon.nova-pro-v1:0`, or an inference profile such as
 * `eu.amazon.nova-pro-v1:0`. A row states what differs from `OTHERS`; the first match wins. Models of Anthropic have the flags of their
 * family in `model-families.ts` as well. An ARN names no model: then `capabilities` of the model say what it takes.
 */
import type { CapabilityOverrides } from './capabilities.ts';

/** The API itself: media are bytes, and instructions come first. */
const CONVERSE: CapabilityOverrides = { urlMedia: false, midSystem: false, schemaFormat: 'none' };

const OTHERS: CapabilityOverrides = {
  ...CONVERSE,
  thinking: 'none',
  sampling: 'full',
  efforts: [],
  prefill: false,
  explicitCache: false,
  toolChoices: [],
  converseFamily: 'other',
};

const CLAUDE: CapabilityOverrides = { ...CONVERSE, toolChoices: ['required', 'named'], converseFamily: 'anthropic' };
const NOVA: CapabilityOverrides = {
  ...OTHERS,
  explicitCache: true,
  toolChoices: ['required', 'named'],
  converseFamily: 'nova',
};
const SCHEMAS: CapabilityOverrides = { ...OTHERS, schemaFormat: 'json_schema' };

interface ConverseModel {
  readonly name: RegExp;
  readonly flags: CapabilityOverrides;
}

const MODELS: readonly ConverseModel[] = [
  { name: /\bclaude-(?:sonnet|opus|haiku)-4[.-][56]/, flags: { ...CLAUDE, schemaFormat: 'json_schema' } },
  { name: /\bclaude-/, flags: CLAUDE },
  {
    name: /\bamazon\.nova-2/,
    flags: { ...NOVA, efforts: ['low', 'medium', 'high'], thinkingField: 'reasoningConfig', maxOutput: 64_000 },
  },
  { name: /\bamazon\.nova-/, flags: { ...NOVA, maxOutput: 10_000 } },
  { name: /\bopenai\.gpt-oss/, flags: { ...OTHERS, efforts: ['low', 'medium', 'high'] } },
  { name: /\bqwen\.qwen3/, flags: { ...SCHEMAS, efforts: ['low', 'high'], thinkingField: 'reasoning_config' } },
  { name: /\bdeepseek\.r1/, flags: { ...OTHERS, reasoningHistory: 'reasoning_content', maxOutput: 32_768 } },
  { name: /\bmistral\.(?:magistral-small|ministral-3|mistral-large-3|voxtral)/, flags: SCHEMAS },
  { name: /\b(?:minimax\.minimax-m2|nvidia\.nemotron-nano|google\.gemma-3-(?:12|27)b)/, flags: SCHEMAS },
  { name: /\b(?:zai|moonshot|moonshotai)\./, flags: { ...SCHEMAS, toolChoices: ['required', 'named'] } },
  { name: /\bmeta\.llama3/, flags: { ...OTHERS, maxOutput: 8_192 } },
  // The simulated models.
  {
    name: /^demo-/,
    flags: {
      ...CONVERSE,
      toolChoices: ['required', 'named'],
      converseFamily: 'anthropic',
      schemaFormat: 'json_schema',
    },
  },
];

export const converseFlags = (model: string): CapabilityOverrides =>
  MODELS.find(({ name }) => name.test(model))?.flags ?? OTHERS;

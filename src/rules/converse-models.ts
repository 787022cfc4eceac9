/**
 * What models of Bedrock take by Converse, by name: an id such as `amazon.nova-pro-v1:0`, or an inference profile such
 * as `eu.amazon.nova-pro-v1:0`. A row states what differs from `OTHERS`; the first match wins. Models of Anthropic have
 * the flags of their family in `model-families.ts` as well. An ARN names no model: then `capabilities` of the model say
 * what it takes.
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

const MODELS: readonly (readonly [name: RegExp, flags: CapabilityOverrides])[] = [
  [/\bclaude-(?:sonnet|opus|haiku)-4[.-][56]/, { ...CLAUDE, schemaFormat: 'json_schema' }],
  [/\bclaude-/, CLAUDE],
  [
    /\bamazon\.nova-2/,
    { ...NOVA, efforts: ['low', 'medium', 'high'], thinkingField: 'reasoningConfig', maxOutput: 64_000 },
  ],
  [/\bamazon\.nova-/, { ...NOVA, maxOutput: 10_000 }],
  [/\bopenai\.gpt-oss/, { ...OTHERS, efforts: ['low', 'medium', 'high'] }],
  [/\bqwen\.qwen3/, { ...SCHEMAS, efforts: ['low', 'high'], thinkingField: 'reasoning_config' }],
  [/\bdeepseek\.r1/, { ...OTHERS, reasoningHistory: 'reasoning_content', maxOutput: 32_768 }],
  [/\bmistral\.(?:magistral-small|ministral-3|mistral-large-3|voxtral)/, SCHEMAS],
  [/\b(?:minimax\.minimax-m2|nvidia\.nemotron-nano|google\.gemma-3-(?:12|27)b)/, SCHEMAS],
  [/\b(?:zai|moonshot|moonshotai)\./, { ...SCHEMAS, toolChoices: ['required', 'named'] }],
  [/\bmeta\.llama3/, { ...OTHERS, maxOutput: 8192 }],
  // The simulated models.
  [/^demo-/, { ...CLAUDE, schemaFormat: 'json_schema' }],
];

export const converseFlags = (model: string): CapabilityOverrides =>
  MODELS.find(([name]) => name.test(model))?.[1] ?? OTHERS;

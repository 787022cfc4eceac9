/**
 * What model families are known for, by name: what differs from the style; the first match wins. Unconfirmed values are
 * left out; `demo-*` are simulated.
 */
import { type Capabilities, type CapabilityOverrides, DEFAULT_CAPABILITIES } from './capabilities.ts';
import type { Style } from './groups.ts';
import { CONTRACT_IMAGES } from './images.ts';

/** The name is matched without the prefix of a platform. */
type ModelFamily = readonly [name: RegExp, flags: CapabilityOverrides];

/** Claude before 4.6: thinks only with a budget, continues a prefilled turn, and takes sampling. */
const OLDER_CLAUDE: CapabilityOverrides = { thinking: 'manual', sampling: 'full', prefill: true, display: false };
/** Claude before 3.7 has no thinking at all. */
const UNTHINKING_CLAUDE: CapabilityOverrides = { ...OLDER_CLAUDE, thinking: 'none', efforts: [] };
const CLAUDE_128K: CapabilityOverrides = { maxOutput: 128_000, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] };

const MESSAGES: readonly ModelFamily[] = [
  [/^claude-(fable|mythos)-5/, { ...CLAUDE_128K, thinkingOff: false, midSystem: true }],
  [/^claude-opus-5[.-]5/, { ...CLAUDE_128K, thinkingOff: false, midSystem: true }],
  [/^claude-sonnet-5[.-]5/, { ...CLAUDE_128K, thinkingOff: 'between_tools', midSystem: true }],
  [/^claude-(opus|sonnet)-5/, { ...CLAUDE_128K, midSystem: true }],
  [/^claude-haiku-5/, CLAUDE_128K],
  [/^claude-opus-4[.-][78]/, CLAUDE_128K],
  // Accepts 128,000 tokens too, but not beside a long input where the context is the smaller one.
  [/^claude-(opus|sonnet)-4[.-]6/, { thinking: 'both', sampling: 'full', efforts: ['low', 'medium', 'high', 'max'] }],
  // A date may follow the major version: claude-opus-4-20250514.
  [/^claude-opus-4(?![.-]\d\b)|^claude-opus-4[.-][01]\b/, { ...OLDER_CLAUDE, maxOutput: 32_000 }],
  [/^claude-(opus|sonnet|haiku)-4/, OLDER_CLAUDE],
  [/^claude-(3[.-]7-sonnet|sonnet-3[.-]7)/, OLDER_CLAUDE],
  [/^claude-(3[.-]5-(sonnet|haiku)|(sonnet|haiku)-3[.-]5)/, { ...UNTHINKING_CLAUDE, maxOutput: 8_192 }],
  [/^claude-(3-(opus|sonnet|haiku)|(opus|sonnet|haiku)-3\b|2|instant)/, { ...UNTHINKING_CLAUDE, maxOutput: 4_096 }],
  [/^demo-/, { thinking: 'both', sampling: 'full', prefill: true, midSystem: true }],
];

const UNREASONING: CapabilityOverrides = { sampling: 'full', efforts: [], encryptedReasoning: false };

const RESPONSES: readonly ModelFamily[] = [
  [/^gpt-4\.1/, { ...UNREASONING, maxOutput: 32_768 }],
  [/^(chatgpt-4o|gpt-4o|gpt-4\.5)/, { ...UNREASONING, maxOutput: 16_384 }],
  [/^gpt-(4-turbo|4-\d{4}-preview|3\.5)/, { ...UNREASONING, maxOutput: 4_096 }],
  [/^gpt-4(-|$)/, { ...UNREASONING, maxOutput: 8_192 }],
  // Tuned for the chat product: the first generation does not reason, later ones at one fixed effort.
  [/^gpt-5-chat/, { ...UNREASONING, maxOutput: 16_384 }],
  [/^gpt-\d+(\.\d+)?-chat/, { efforts: [], encryptedReasoning: false, maxOutput: 16_384 }],
  [/-deep-research/, { efforts: ['medium'] }],
  [/^o[134](-|$)/, { efforts: ['low', 'medium', 'high'], maxOutput: 100_000 }],
  [/^gpt-5-pro/, { efforts: ['high'] }],
  [/^gpt-5\.\d+-pro/, { efforts: ['medium', 'high', 'xhigh'] }],
  [/^gpt-5(\.1)?-codex(?!-max)/, { efforts: ['low', 'medium', 'high'] }],
  [/^gpt-5\.\d+-codex/, { efforts: ['low', 'medium', 'high', 'xhigh'] }],
  [/^gpt-5(-|$)/, { efforts: ['minimal', 'low', 'medium', 'high'] }],
  [/^gpt-5\.1(-|$)/, { efforts: ['none', 'low', 'medium', 'high'] }],
  [/^gpt-5\.[2-5](-|$)/, { efforts: ['none', 'low', 'medium', 'high', 'xhigh'] }],
  [/^gpt-5\./, { efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] }],
  [
    /^gpt-6-(sol|luna)/,
    { efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'], phase: true, explicitCache: true },
  ],
  [/^gpt-6/, { efforts: ['low', 'medium', 'high', 'xhigh', 'max'], phase: true, explicitCache: true }],
  // openai, `ImageGenerateParams`.
  [
    /^gpt-image-2\.[56]/,
    {
      ...CONTRACT_IMAGES,
      imageQualities: [...CONTRACT_IMAGES.imageQualities, 'xhigh', 'max'],
      imageFormats: [...CONTRACT_IMAGES.imageFormats, 'gif', 'svg'],
    },
  ],
  [/^(gpt-image-[12]|chatgpt-image)/, CONTRACT_IMAGES],
  [/^demo-/, { ...CONTRACT_IMAGES, sampling: 'full' }],
];

/** Gemini before 3: functions exclude search and schemas, and tool results are text. */
const OLDER_GEMINI: CapabilityOverrides = {
  functionsWithSearch: false,
  functionsWithSchema: false,
  resultMedia: false,
};
const ALL_LEVELS = ['minimal', 'low', 'medium', 'high'] as const;

const GENERATE_CONTENT: readonly ModelFamily[] = [
  [/^gemini-(2\.5|2\.0).*-image\b/, { ...OLDER_GEMINI, thinkingConfig: 'none', imageOutput: true, maxOutput: 32_768 }],
  [/-pro-image\b/, { imageOutput: true, efforts: ['high'] }],
  [/-image\b/, { imageOutput: true, efforts: ['minimal', 'high'] }],
  [
    /^gemini-2\.5-pro/,
    { ...OLDER_GEMINI, thinkingConfig: 'budget', thinkingBudget: [128, 32_768], thinksByDefault: true },
  ],
  [/^gemini-2\.5-flash-lite/, { ...OLDER_GEMINI, thinkingConfig: 'budget' }],
  [/^gemini-2\.5/, { ...OLDER_GEMINI, thinkingConfig: 'budget', thinksByDefault: true }],
  [/^gemini-[12]\./, { ...OLDER_GEMINI, thinkingConfig: 'none', maxOutput: 8_192 }],
  [/^gemma-[123]/, { ...OLDER_GEMINI, thinkingConfig: 'none', maxOutput: 8_192 }],
  [/^gemini-3-pro/, { efforts: ['low', 'high'], thinksByDefault: true }],
  [/^gemini-(\d+(\.\d+)?-flash-lite|flash-lite-latest)/, { efforts: ALL_LEVELS }],
  [/^gemini-3(\.[0-6])?-flash/, { efforts: ALL_LEVELS, thinksByDefault: true }],
  [/^gemini-3(\.\d+)?-(pro|flash)/, { efforts: ['low', 'medium', 'high'], thinksByDefault: true }],
  [/^gemini-(\d+(\.\d+)?-)?(pro|flash)/, { thinksByDefault: true }],
  [/^demo-/, { efforts: ALL_LEVELS, thinksByDefault: true }],
];

const FAMILIES: Readonly<Record<Style, readonly ModelFamily[]>> = {
  messages: MESSAGES,
  responses: RESPONSES,
  'generate-content': GENERATE_CONTENT,
};

/**
 * The flags of an upstream model: defaults of its side, what its family is known for, what its server and the operator
 * say.
 */
export function capabilitiesOf(
  style: Style,
  model: string,
  ...overrides: readonly CapabilityOverrides[]
): Capabilities {
  const name = withoutPlatform(model);
  const [, flags] = FAMILIES[style].find(([known]) => known.test(name)) ?? [];
  return Object.assign({}, DEFAULT_CAPABILITIES[style], flags, ...overrides);
}

/**
 * Platforms put their own prefix before a model's name: `google/gemini-...`, `models/gemini-...`,
 * `us.anthropic.claude-...`.
 */
const withoutPlatform = (model: string): string =>
  model.slice(model.lastIndexOf('/') + 1).replace(/^([a-z-]{1,20}\.){0,2}(?=claude-)/, '');

/**
 * Models that embed texts and write nothing have it in their names: `text-embedding-3-small`,
 * `amazon.titan-embed-text-v2:0`.
 */
export const isEmbeddingModel = (name: string): boolean => /embed/i.test(name);

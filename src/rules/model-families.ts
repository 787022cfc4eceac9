/**
 * What model families are known for, by name. A row states only what differs from the defaults of its style; the first match wins. A
 * value that no documentation confirms is left out, so that the cautious default applies. `demo-*` are the simulated models.
 */
import { type Capabilities, type CapabilityOverrides, DEFAULT_CAPABILITIES } from './capabilities.ts';
import type { Style } from './groups.ts';

interface ModelFamily {
  readonly style: Style;
  /** Matched against the name without the prefix of a platform. */
  readonly name: RegExp;
  readonly flags: CapabilityOverrides;
}

/** Claude before 4.6: thinks only with a budget, continues a prefilled turn, and takes sampling. */
const OLDER_CLAUDE: CapabilityOverrides = { thinking: 'manual', sampling: 'full', prefill: true, display: false };
/** Claude before 3.7 has no thinking at all. */
const UNTHINKING_CLAUDE: CapabilityOverrides = { ...OLDER_CLAUDE, thinking: 'none', efforts: [] };
const CLAUDE_128K: CapabilityOverrides = { maxOutput: 128_000 };

const MESSAGES: readonly Omit<ModelFamily, 'style'>[] = [
  { name: /^claude-(fable|mythos)-5/, flags: { ...CLAUDE_128K, thinkingOff: false, midSystem: true } },
  { name: /^claude-opus-5[.-]5/, flags: { ...CLAUDE_128K, thinkingOff: false, midSystem: true } },
  { name: /^claude-sonnet-5[.-]5/, flags: { ...CLAUDE_128K, thinkingOff: 'between_tools', midSystem: true } },
  { name: /^claude-(opus|sonnet)-5/, flags: { ...CLAUDE_128K, midSystem: true } },
  { name: /^claude-haiku-5/, flags: CLAUDE_128K },
  { name: /^claude-opus-4[.-][78]/, flags: CLAUDE_128K },
  // Accepts 128,000 tokens too, but not beside a long input where the context is the smaller one.
  {
    name: /^claude-(opus|sonnet)-4[.-]6/,
    flags: { thinking: 'both', sampling: 'full', efforts: ['low', 'medium', 'high', 'max'] },
  },
  // A date may follow the major version: claude-opus-4-20250514.
  { name: /^claude-opus-4(?![.-]\d\b)|^claude-opus-4[.-][01]\b/, flags: { ...OLDER_CLAUDE, maxOutput: 32_000 } },
  { name: /^claude-(opus|sonnet|haiku)-4/, flags: OLDER_CLAUDE },
  { name: /^claude-(3[.-]7-sonnet|sonnet-3[.-]7)/, flags: OLDER_CLAUDE },
  {
    name: /^claude-(3[.-]5-(sonnet|haiku)|(sonnet|haiku)-3[.-]5)/,
    flags: { ...UNTHINKING_CLAUDE, maxOutput: 8_192 },
  },
  {
    name: /^claude-(3-(opus|sonnet|haiku)|(opus|sonnet|haiku)-3\b|2|instant)/,
    flags: { ...UNTHINKING_CLAUDE, maxOutput: 4_096 },
  },
  { name: /^demo-/, flags: { thinking: 'both', sampling: 'full', prefill: true, midSystem: true } },
];

/** Models that do not reason. */
const UNREASONING: CapabilityOverrides = { sampling: 'full', efforts: [], encryptedReasoning: false };

const RESPONSES: readonly Omit<ModelFamily, 'style'>[] = [
  { name: /^gpt-4\.1/, flags: { ...UNREASONING, maxOutput: 32_768 } },
  { name: /^(chatgpt-4o|gpt-4o|gpt-4\.5)/, flags: { ...UNREASONING, maxOutput: 16_384 } },
  { name: /^gpt-(4-turbo|4-\d{4}-preview|3\.5)/, flags: { ...UNREASONING, maxOutput: 4_096 } },
  { name: /^gpt-4(-|$)/, flags: { ...UNREASONING, maxOutput: 8_192 } },
  // Tuned for the chat product: the first generation does not reason, later ones at one fixed effort.
  { name: /^gpt-5-chat/, flags: { ...UNREASONING, maxOutput: 16_384 } },
  { name: /^gpt-\d+(\.\d+)?-chat/, flags: { efforts: [], encryptedReasoning: false, maxOutput: 16_384 } },
  { name: /-deep-research/, flags: { efforts: ['medium'] } },
  { name: /^o[134](-|$)/, flags: { efforts: ['low', 'medium', 'high'], maxOutput: 100_000 } },
  { name: /^gpt-5-pro/, flags: { efforts: ['high'] } },
  { name: /^gpt-5\.\d+-pro/, flags: { efforts: ['medium', 'high', 'xhigh'] } },
  { name: /^gpt-5(\.1)?-codex(?!-max)/, flags: { efforts: ['low', 'medium', 'high'] } },
  { name: /^gpt-5\.\d+-codex/, flags: { efforts: ['low', 'medium', 'high', 'xhigh'] } },
  { name: /^gpt-5(-|$)/, flags: { efforts: ['minimal', 'low', 'medium', 'high'] } },
  { name: /^gpt-5\.1(-|$)/, flags: { efforts: ['none', 'low', 'medium', 'high'] } },
  { name: /^gpt-5\.[2-5](-|$)/, flags: { efforts: ['none', 'low', 'medium', 'high', 'xhigh'] } },
  { name: /^gpt-5\./, flags: { efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] } },
  {
    name: /^gpt-6-(sol|luna)/,
    flags: { efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'], phase: true, explicitCache: true },
  },
  {
    name: /^gpt-6/,
    flags: { efforts: ['low', 'medium', 'high', 'xhigh', 'max'], phase: true, explicitCache: true },
  },
  { name: /^demo-/, flags: { sampling: 'full' } },
];

/** Gemini before 3: functions exclude search and schemas, and tool results are text. */
const OLDER_GEMINI: CapabilityOverrides = {
  functionsWithSearch: false,
  functionsWithSchema: false,
  resultMedia: false,
};
const ALL_LEVELS = ['minimal', 'low', 'medium', 'high'] as const;

const GENERATE_CONTENT: readonly Omit<ModelFamily, 'style'>[] = [
  {
    name: /^gemini-(2\.5|2\.0).*-image\b/,
    flags: { ...OLDER_GEMINI, thinkingConfig: 'none', imageOutput: true, maxOutput: 32_768 },
  },
  { name: /-pro-image\b/, flags: { imageOutput: true, efforts: ['high'] } },
  { name: /-image\b/, flags: { imageOutput: true, efforts: ['minimal', 'high'] } },
  {
    name: /^gemini-2\.5-pro/,
    flags: { ...OLDER_GEMINI, thinkingConfig: 'budget', thinkingBudget: [128, 32_768], thinksByDefault: true },
  },
  { name: /^gemini-2\.5-flash-lite/, flags: { ...OLDER_GEMINI, thinkingConfig: 'budget' } },
  { name: /^gemini-2\.5/, flags: { ...OLDER_GEMINI, thinkingConfig: 'budget', thinksByDefault: true } },
  { name: /^gemini-[12]\./, flags: { ...OLDER_GEMINI, thinkingConfig: 'none', maxOutput: 8_192 } },
  { name: /^gemma-[123]/, flags: { ...OLDER_GEMINI, thinkingConfig: 'none', maxOutput: 8_192 } },
  { name: /^gemini-3-pro/, flags: { efforts: ['low', 'high'], thinksByDefault: true } },
  { name: /^gemini-(\d+(\.\d+)?-flash-lite|flash-lite-latest)/, flags: { efforts: ALL_LEVELS } },
  { name: /^gemini-3(\.[0-6])?-flash/, flags: { efforts: ALL_LEVELS, thinksByDefault: true } },
  { name: /^gemini-(\d+(\.\d+)?-)?(pro|flash)/, flags: { thinksByDefault: true } },
  { name: /^demo-/, flags: { efforts: ALL_LEVELS, thinksByDefault: true } },
];

const FAMILIES: readonly ModelFamily[] = [
  ...MESSAGES.map((row) => ({ style: 'messages' as const, ...row })),
  ...RESPONSES.map((row) => ({ style: 'responses' as const, ...row })),
  ...GENERATE_CONTENT.map((row) => ({ style: 'generate-content' as const, ...row })),
];

/** The flags of an upstream model: defaults of its side, what its family is known for, what its server and the operator say. */
export function capabilitiesOf(
  style: Style,
  model: string,
  ...overrides: readonly CapabilityOverrides[]
): Capabilities {
  const name = withoutPlatform(model);
  const family = FAMILIES.find((row) => row.style === style && row.name.test(name));
  return Object.assign({}, DEFAULT_CAPABILITIES[style], family?.flags, ...overrides);
}

/** Platforms put their own prefix before a model's name: `google/gemini-...`, `models/gemini-...`, `us.anthropic.claude-...`. */
const withoutPlatform = (model: string): string =>
  model.slice(model.lastIndexOf('/') + 1).replace(/^([a-z-]{1,20}\.){0,2}(?=claude-)/, '');

/** Models that embed texts and write nothing have it in their names: `text-embedding-3-small`, `amazon.titan-embed-text-v2:0`. */
export const isEmbeddingModel = (name: string): boolean => /embed/i.test(name);

/**
 * What a model accepts: defaults by style, families by name, overrides of the catalog. When in doubt a flag is off: a
 * wrong "on" would make requests fail.
 */
import type { Abilities } from './abilities.ts';
import type { Style } from './groups.ts';
import { ANY_IMAGES, CONTRACT_IMAGES, type ImageCapabilities } from './images.ts';
import type { ServerTool } from './tool-forms.ts';

export interface Capabilities extends ImageCapabilities, Partial<Abilities> {
  /** Which forms of thinking the messages side accepts. */
  readonly thinking: 'adaptive' | 'manual' | 'both' | 'none';
  /** `thinking: disabled` is accepted, or `between_tools` in its place. */
  readonly thinkingOff: boolean | 'between_tools';
  /** Temperature and its like are accepted. */
  readonly sampling: 'full' | 'none';
  /** Accepted reasoning efforts; others become the nearest one. `any`: a word that no table knows passes too. */
  readonly efforts: readonly string[];
  /** How thinking is configured on the generate side. */
  readonly thinkingConfig: 'level' | 'budget' | 'none';
  /** Smallest and largest thinking budget in tokens. */
  readonly thinkingBudget: readonly [number, number];
  /** The model thinks without being asked to. Only then does the generate side accept a request for thoughts alone. */
  readonly thinksByDefault: boolean;
  /** Reasoning is returned encrypted on request, so that the client can carry it. */
  readonly encryptedReasoning: boolean;
  /** The conversation may end with an assistant turn that the model continues. */
  readonly prefill: boolean;
  /** System messages may appear in mid-conversation. */
  readonly midSystem: boolean;
  /** Reasoning display can be chosen. */
  readonly display: boolean;
  /** A `stop` field exists and is honoured. */
  readonly stop: boolean;
  readonly customTools: boolean;
  /** Hosted tools that its server has, beside those of the client's own dialect; `any`: all that its dialect has. */
  readonly hostedTools: readonly ServerTool[] | 'any';
  /** Assistant messages carry a phase. */
  readonly phase: boolean;
  /** Explicit cache breakpoints are accepted. */
  readonly explicitCache: boolean;
  /** Tool parameters may be full JSON Schema; otherwise the restricted schema form is sent. */
  readonly jsonSchemaTools: boolean;
  readonly functionsWithSearch: boolean;
  /** Functions and a response schema may be asked for together. */
  readonly functionsWithSchema: boolean;
  readonly resultMedia: boolean;
  /** Images and files may be named by https address. */
  readonly urlMedia: boolean;
  /** The most tokens that one image in the input counts; admission reserves them. */
  readonly imageTokens: number;
  /** Replies may contain generated images. */
  readonly imageOutput: boolean;
  /** The images endpoint reaches the model by conversion, where the matrix offers that; only the operator sets it. */
  readonly imagesEndpoint: boolean;
  readonly maxOutput: number;
  readonly outputLimitField: 'max_completion_tokens' | 'max_tokens';
  /** Optional fields that a chat-completions server rejects. They are dropped; stop sequences are emulated. */
  readonly refusedFields: readonly ChatField[];
  /** Forms of `tool_choice` that a chat-completions server accepts beside `auto`. */
  readonly toolChoices: readonly ToolChoiceForm[];
  /** The strictest response format of a chat-completions server; a schema that it lacks becomes an instruction. */
  readonly schemaFormat: 'json_schema' | 'json_object' | 'none';
  /** Message content may be a list of text parts; otherwise their texts are joined. */
  readonly textParts: boolean;
  /** Images may be sent. */
  readonly imageInput: boolean;
  /** The field in which a chat-completions server is asked to think. */
  readonly thinkingField: ThinkingField;
  /** The form in which assistant messages with tool calls carry their reasoning back; `none` drops it. */
  readonly reasoningHistory: ReasoningHistory;
  /** Replies may begin with reasoning between `<think>` and `</think>`. */
  readonly thinkTags: boolean;
  /** Whose fields a model of Converse takes beside those of all models. */
  readonly converseFamily: ConverseFamily;
}
export type ConverseFamily = 'anthropic' | 'nova' | 'other';
export type CapabilityOverrides = Partial<Capabilities>;

export const CHAT_FIELDS = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'logit_bias',
  'stop',
  'parallel_tool_calls',
  'strict',
  'verbosity',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'web_search_options',
  'stream_options',
  'detail',
] as const;
/** Members of a chat-completions request; `strict` is the one of its tools, `detail` the one of its images. */
export type ChatField = (typeof CHAT_FIELDS)[number];

export const TOOL_CHOICE_FORMS = ['none', 'required', 'named', 'allowed_tools'] as const;
export type ToolChoiceForm = (typeof TOOL_CHOICE_FORMS)[number];

/**
 * `reasoning_effort` alone, or `thinking.type`, `enable_thinking`, also in `chat_template_kwargs`, or
 * `reasoning.effort`. The last two: Qwen and Nova at Bedrock.
 */
export const THINKING_FIELDS = [
  'reasoning_effort',
  'thinking',
  'enable_thinking',
  'chat_template_kwargs',
  'reasoning',
  'reasoning_config',
  'reasoningConfig',
] as const;
export type ThinkingField = (typeof THINKING_FIELDS)[number];

export const REASONING_HISTORIES = ['none', 'reasoning_content', 'reasoning', 'think_tags'] as const;
export type ReasoningHistory = (typeof REASONING_HISTORIES)[number];

/** What OpenAI's own chat completions take. `chat-presets.ts` states how other servers differ. */
const OPENAI_CHAT = {
  outputLimitField: 'max_completion_tokens',
  refusedFields: [],
  toolChoices: TOOL_CHOICE_FORMS,
  schemaFormat: 'json_schema',
  textParts: true,
  imageInput: true,
  thinkingField: 'reasoning_effort',
  reasoningHistory: 'none',
  thinkTags: false,
  converseFamily: 'other',
} as const satisfies CapabilityOverrides;

/** From the least to the most. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export const ANY_EFFORT = 'any';
export type Effort = (typeof EFFORTS)[number];
/** The name of an effort, known or not. */
export const EFFORT_WORD = /^[a-z][a-z0-9_-]{0,31}$/;
export const isKnownEffort = (word: string): word is Effort => (EFFORTS as readonly string[]).includes(word);

/** What most sides have; each below states what differs. */
const MOST_SIDES = {
  thinking: 'none',
  sampling: 'none',
  thinkingConfig: 'none',
  stop: true,
  urlMedia: true,
  thinkingOff: true,
  display: true,
  jsonSchemaTools: true,
  functionsWithSearch: true,
  functionsWithSchema: true,
  resultMedia: true,
  encryptedReasoning: false,
  prefill: false,
  midSystem: false,
  customTools: false,
  explicitCache: false,
  imageOutput: false,
  thinksByDefault: false,
  phase: false,
  thinkingBudget: [0, 0],
  imageTokens: 5_000,
  imagesEndpoint: false,
  hostedTools: 'any',
  ...OPENAI_CHAT,
} as const satisfies CapabilityOverrides;

/** Unknown names get these: what the newest generation of each side takes. */
export const DEFAULT_CAPABILITIES: Readonly<Record<Style, Capabilities>> = {
  messages: {
    ...MOST_SIDES,
    thinking: 'adaptive',
    efforts: ['low', 'medium', 'high', 'xhigh', 'max', ANY_EFFORT],
    thinkingBudget: [1024, 32_000],
    explicitCache: true,
    maxOutput: 64_000,
    ...CONTRACT_IMAGES,
  },
  responses: {
    ...MOST_SIDES,
    efforts: [...EFFORTS, ANY_EFFORT],
    encryptedReasoning: true,
    midSystem: true,
    stop: false,
    customTools: true,
    imageTokens: 16_000,
    imageOutput: true,
    maxOutput: 128_000,
    ...ANY_IMAGES,
  },
  'generate-content': {
    ...MOST_SIDES,
    sampling: 'full',
    efforts: ['low', 'medium', 'high', ANY_EFFORT],
    thinkingConfig: 'level',
    thinkingBudget: [0, 24_576],
    prefill: true,
    urlMedia: false,
    maxOutput: 65_536,
    // Their requests are converted, so that the gateway has to know the values.
    ...CONTRACT_IMAGES,
  },
};

/**
 * What a model accepts: defaults by style, model families by name, overridable per model in the catalog. A converted request is
 * encoded for these flags. When in doubt a flag is off: that drops a field, where a wrong "on" would make the provider reject the request.
 */
import type { Style } from './groups.ts';
import { ANY_IMAGES, CONTRACT_IMAGES, type ImageCapabilities } from './images.ts';
import { words } from './notation.ts';
import type { ServerTool } from './tool-forms.ts';

export interface Capabilities extends ImageCapabilities {
  /** Which forms of thinking the messages side accepts. */
  readonly thinking: 'adaptive' | 'manual' | 'both' | 'none';
  /** `thinking: disabled` is accepted, or `between_tools` in its place. */
  readonly thinkingOff: boolean | 'between_tools';
  /** Temperature and its like are accepted. */
  readonly sampling: 'full' | 'none';
  /** Accepted reasoning efforts; others become the nearest one. */
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
  /** Functions and web search may be offered together. */
  readonly functionsWithSearch: boolean;
  /** Functions and a response schema may be asked for together. */
  readonly functionsWithSchema: boolean;
  /** Tool results may hold media. */
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
  /** The name of the output limit on a chat-completions server. */
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
  ...(['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'seed', 'logit_bias', 'stop'] as const),
  ...(['parallel_tool_calls', 'strict', 'verbosity', 'prompt_cache_key', 'safety_identifier'] as const),
  ...(['service_tier', 'web_search_options', 'stream_options', 'detail'] as const),
] as const;
/** Members of a chat-completions request; `strict` is the one of its tools, `detail` the one of its images. */
export type ChatField = (typeof CHAT_FIELDS)[number];

export const TOOL_CHOICE_FORMS = ['none', 'required', 'named', 'allowed_tools'] as const;
export type ToolChoiceForm = (typeof TOOL_CHOICE_FORMS)[number];

/**
 * `reasoning_effort` alone, as OpenAI has it; or beside it `thinking.type`, `enable_thinking`, the same inside `chat_template_kwargs`, or
 * `reasoning.effort` in its place. The last two are those of Qwen and of Nova at Bedrock.
 */
export const THINKING_FIELDS = words(
  'reasoning_effort thinking enable_thinking chat_template_kwargs reasoning reasoning_config reasoningConfig',
);
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

const OPENAI_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

const EVERY_SIDE = {
  thinkingOff: true,
  thinksByDefault: false,
  display: true,
  phase: false,
  jsonSchemaTools: true,
  functionsWithSearch: true,
  functionsWithSchema: true,
  resultMedia: true,
  imagesEndpoint: false,
  hostedTools: 'any',
  ...OPENAI_CHAT,
} as const satisfies CapabilityOverrides;

/** Unknown names get these: what the newest generation of each side takes. */
export const DEFAULT_CAPABILITIES: Readonly<Record<Style, Capabilities>> = {
  messages: {
    thinking: 'adaptive',
    sampling: 'none',
    efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
    thinkingConfig: 'none',
    thinkingBudget: [1024, 32_000],
    encryptedReasoning: false,
    prefill: false,
    midSystem: false,
    stop: true,
    customTools: false,
    explicitCache: true,
    urlMedia: true,
    imageTokens: 5_000,
    imageOutput: false,
    maxOutput: 64_000,
    ...EVERY_SIDE,
    ...CONTRACT_IMAGES,
  },
  responses: {
    thinking: 'none',
    sampling: 'none',
    efforts: OPENAI_EFFORTS,
    thinkingConfig: 'none',
    thinkingBudget: [0, 0],
    encryptedReasoning: true,
    prefill: false,
    midSystem: true,
    stop: false,
    customTools: true,
    explicitCache: false,
    urlMedia: true,
    imageTokens: 16_000,
    imageOutput: true,
    maxOutput: 128_000,
    ...EVERY_SIDE,
    ...ANY_IMAGES,
  },
  'generate-content': {
    thinking: 'none',
    sampling: 'full',
    efforts: ['low', 'medium', 'high'],
    thinkingConfig: 'level',
    thinkingBudget: [0, 24_576],
    encryptedReasoning: false,
    prefill: true,
    midSystem: false,
    stop: true,
    customTools: false,
    explicitCache: false,
    urlMedia: false,
    imageTokens: 5_000,
    imageOutput: false,
    maxOutput: 65_536,
    ...EVERY_SIDE,
    // Their requests are converted, so that the gateway has to know the values.
    ...CONTRACT_IMAGES,
  },
};

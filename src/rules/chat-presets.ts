/**
 * Servers that speak chat completions, and how each differs from OpenAI's. A row is chosen by the host of the account's base URL, or by
 * `preset` of the account; capabilities of the model and of the account override it. What a server rejects beyond its row is learned
 * (`added-options.ts`). A value that no documentation confirms is left out, so that the cautious row `generic` applies.
 */
import type { CapabilityOverrides, ChatField } from './capabilities.ts';
import type { Feature } from './groups.ts';
import { words } from './notation.ts';

/** Fields that only OpenAI has. Strict servers reject them, others ignore them. */
const ONLY_OPENAI: readonly ChatField[] = words(
  'verbosity prompt_cache_key safety_identifier service_tier web_search_options',
);

/** Beside the penalties, these servers lack `detail`. */
const NO_PENALTIES: readonly ChatField[] = ['presence_penalty', 'frequency_penalty', 'detail'];

/** What the smallest server takes: the fields of the first chat completions, and one text for each message. */
const GENERIC = {
  sampling: 'full',
  stop: true,
  efforts: [],
  customTools: false,
  encryptedReasoning: false,
  midSystem: false,
  prefill: false,
  explicitCache: false,
  urlMedia: false,
  imageOutput: false,
  outputLimitField: 'max_tokens',
  refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'logit_bias', 'detail'],
  toolChoices: ['none', 'required', 'named'],
  textParts: false,
  thinkTags: true,
} as const satisfies CapabilityOverrides;

/** The same, with lists of text parts in messages, which most servers take. */
const WITH_PARTS: CapabilityOverrides = { ...GENERIC, textParts: true };

const EFFORTS = ['low', 'medium', 'high'] as const;

interface ChatPresetRow {
  readonly label: string;
  /** Where its API is by default; the form of an account begins with it. */
  readonly baseUrl?: string;
  /** Matched against host and port of the base URL. */
  readonly hosts?: RegExp;
  readonly flags: CapabilityOverrides;
}

/** A server that takes what most do, apart from `flags`. */
const server = (
  label: string,
  baseUrl: string,
  hosts: RegExp | undefined,
  flags: CapabilityOverrides,
): ChatPresetRow => ({
  label,
  baseUrl,
  ...(hosts && { hosts }),
  flags: { ...WITH_PARTS, ...flags },
});

export const CHAT_PRESETS = {
  /** OpenAI itself, and Azure. */
  openai: {
    label: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    hosts: /^api\.openai\.com$|\.openai\.azure\.com$/,
    flags: {},
  },
  /** docs.vllm.ai, "OpenAI-Compatible Server" and "Reasoning Outputs": unknown fields are ignored; `reasoning` replaces `reasoning_content`. */
  vllm: server('vLLM', 'http://localhost:8000/v1', undefined, {
    efforts: EFFORTS,
    urlMedia: true,
    refusedFields: ONLY_OPENAI,
    thinkingField: 'chat_template_kwargs',
    reasoningHistory: 'reasoning',
  }),
  /** docs.sglang.ai, "OpenAI APIs - Completions": `chat_template_kwargs` and `reasoning_content`. */
  sglang: server('SGLang', 'http://localhost:30000/v1', undefined, {
    efforts: EFFORTS,
    urlMedia: true,
    refusedFields: ONLY_OPENAI,
    thinkingField: 'chat_template_kwargs',
    reasoningHistory: 'reasoning_content',
  }),
  /** docs.ollama.com, "OpenAI compatibility": no tool choice, no parallel tool calls; images only as data. 11434 is its usual port. */
  ollama: server('Ollama', 'http://localhost:11434/v1', /^ollama\.com$|:11434$/, {
    efforts: ['none', ...EFFORTS],
    toolChoices: [],
    reasoningHistory: 'reasoning',
  }),
  /** lmstudio.ai, "OpenAI Compatibility Endpoints": the only forced choice is `required`. 1234 is its usual port. */
  lmstudio: server('LM Studio', 'http://localhost:1234/v1', /^(?:localhost|127\.0\.0\.1):1234$/, {
    textParts: false,
    toolChoices: ['none', 'required'],
  }),
  /** llama.cpp, tools/server/README.md: templates of models may reject later system messages and lists of parts. */
  llamacpp: server('llama.cpp', 'http://localhost:8080/v1', undefined, {
    textParts: false,
    toolChoices: ['none', 'required'],
    thinkingField: 'chat_template_kwargs',
    reasoningHistory: 'reasoning_content',
  }),
  /** api-docs.deepseek.com, "Thinking Mode" and "JSON Output": text only, no schemas; calls need their reasoning, even if it is empty. */
  deepseek: server('DeepSeek', 'https://api.deepseek.com/v1', /^api\.deepseek\.com$/, {
    efforts: ['low', 'high', 'max'],
    midSystem: true,
    refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'seed', 'logit_bias', 'detail'],
    schemaFormat: 'json_object',
    imageInput: false,
    thinkingField: 'thinking',
    reasoningHistory: 'reasoning_content',
    thinkTags: false,
  }),
  /** Alibaba Cloud Model Studio, "OpenAI compatible - Chat" and "Deep thinking". A tool can be named, but a call not required. */
  qwen: server(
    'Qwen (Alibaba Cloud)',
    'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    /^dashscope(?:-[a-z]+)?\.aliyuncs\.com$/,
    {
      urlMedia: true,
      refusedFields: [...ONLY_OPENAI, 'strict', 'logit_bias', 'frequency_penalty', 'detail'],
      toolChoices: ['none', 'named'],
      schemaFormat: 'json_object',
      thinkingField: 'enable_thinking',
      reasoningHistory: 'reasoning_content',
      thinkTags: false,
    },
  ),
  /** docs.mistral.ai, "Chat Completion API": unknown fields are rejected with 422; the seed has another name; no `reasoning_content`. */
  mistral: server('Mistral', 'https://api.mistral.ai/v1', /^api\.mistral\.ai$/, {
    urlMedia: true,
    refusedFields: [...ONLY_OPENAI, 'seed', 'logit_bias', 'stream_options', 'detail'],
    thinkTags: false,
  }),
  /** console.groq.com, "OpenAI Compatibility" and "Reasoning". */
  groq: server('Groq', 'https://api.groq.com/openai/v1', /^api\.groq\.com$/, {
    efforts: EFFORTS,
    midSystem: true,
    urlMedia: true,
    outputLimitField: 'max_completion_tokens',
    refusedFields: [...ONLY_OPENAI, 'strict', 'logit_bias'],
  }),
  /** docs.together.ai, "OpenAI Compatibility" and "Reasoning". */
  together: server('Together', 'https://api.together.xyz/v1', /^api\.together\.(?:xyz|ai)$/, {
    efforts: EFFORTS,
    midSystem: true,
    urlMedia: true,
    refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'detail'],
  }),
  /** openrouter.ai, "API Parameters" and "Reasoning Tokens": leaves out what a model lacks. */
  openrouter: server('OpenRouter', 'https://openrouter.ai/api/v1', /^openrouter\.ai$/, {
    efforts: ['none', 'minimal', ...EFFORTS, 'xhigh'],
    midSystem: true,
    urlMedia: true,
    refusedFields: ['prompt_cache_key', 'safety_identifier', 'service_tier', 'web_search_options'],
    thinkingField: 'reasoning',
    reasoningHistory: 'reasoning',
    thinkTags: false,
  }),
  /** docs.x.ai, "Reasoning": reasoning models reject penalties and stop sequences. */
  xai: server('xAI', 'https://api.x.ai/v1', /^api\.x\.ai$/, {
    efforts: EFFORTS,
    midSystem: true,
    urlMedia: true,
    outputLimitField: 'max_completion_tokens',
    refusedFields: [...ONLY_OPENAI, 'presence_penalty', 'frequency_penalty', 'stop', 'logit_bias'],
    thinkTags: false,
  }),
  /** platform.moonshot.ai, "Chat Completion" and "Use Kimi thinking models": images only as data; a call cannot be required. */
  moonshot: server('Moonshot (Kimi)', 'https://api.moonshot.ai/v1', /^api\.moonshot\.(?:ai|cn)$/, {
    midSystem: true,
    refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'seed', 'logit_bias', 'detail'],
    toolChoices: ['none'],
    thinkingField: 'thinking',
    reasoningHistory: 'reasoning_content',
    thinkTags: false,
  }),
  /** docs.z.ai, "Chat Completion" and "Thinking Mode": the model always chooses its tools by itself. */
  zai: server('Z.ai (GLM)', 'https://api.z.ai/api/paas/v4', /^api\.z\.ai$|^open\.bigmodel\.cn$/, {
    midSystem: true,
    urlMedia: true,
    refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'seed', 'logit_bias', ...NO_PENALTIES],
    toolChoices: [],
    schemaFormat: 'json_object',
    thinkingField: 'thinking',
    reasoningHistory: 'reasoning_content',
    thinkTags: false,
  }),
  /** platform.minimax.io, "OpenAI API compatible": thoughts are part of the content, and history must keep them there. */
  minimax: server('MiniMax', 'https://api.minimax.io/v1', /^api\.minimax(?:i)?\.(?:io|com|chat)$/, {
    textParts: false,
    outputLimitField: 'max_completion_tokens',
    refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'seed', 'logit_bias', ...NO_PENALTIES],
    toolChoices: ['none'],
    schemaFormat: 'none',
    reasoningHistory: 'think_tags',
  }),
  /** docs.fireworks.ai, "OpenAI compatibility" and "Reasoning". */
  fireworks: server('Fireworks', 'https://api.fireworks.ai/inference/v1', /^api\.fireworks\.ai$/, {
    efforts: EFFORTS,
    midSystem: true,
    urlMedia: true,
    refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'detail'],
    reasoningHistory: 'reasoning_content',
  }),
  /** inference-docs.cerebras.ai, "OpenAI Compatibility": 400 for penalties and biases; text only; a call cannot be required. */
  cerebras: server('Cerebras', 'https://api.cerebras.ai/v1', /^api\.cerebras\.ai$/, {
    efforts: EFFORTS,
    outputLimitField: 'max_completion_tokens',
    refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'logit_bias', ...NO_PENALTIES],
    toolChoices: ['none'],
    imageInput: false,
    reasoningHistory: 'reasoning',
  }),
  /** docs.cohere.com, "Using Cohere models via the OpenAI SDK": no tool choice; the effort is all or nothing. */
  cohere: server('Cohere', 'https://api.cohere.ai/compatibility/v1', /^api\.cohere\.(?:ai|com)$/, {
    efforts: ['none', 'high'],
    refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'logit_bias', 'stream_options', 'detail'],
    toolChoices: [],
  }),
  /** docs.perplexity.ai, "OpenAI SDK Compatibility": every request searches; tools of the client are not part of it. */
  perplexity: server('Perplexity', 'https://api.perplexity.ai', /^api\.perplexity\.ai$/, {
    efforts: ['minimal', ...EFFORTS],
    urlMedia: true,
    toolChoices: [],
  }),
  /** huggingface.co/docs/inference-providers, "Chat Completion": a router; what a model lacks depends on the provider behind it. */
  huggingface: server('Hugging Face', 'https://router.huggingface.co/v1', /^router\.huggingface\.co$/, {
    urlMedia: true,
  }),
  /** docs.deepinfra.com, "OpenAI Chat Completions": a call cannot be required. */
  deepinfra: server('DeepInfra', 'https://api.deepinfra.com/v1/openai', /^api\.deepinfra\.com$/, {
    efforts: ['none', ...EFFORTS],
    urlMedia: true,
    toolChoices: ['none'],
    reasoningHistory: 'reasoning_content',
  }),
  /** docs.nvidia.com, "NIM for LLMs, API Reference": vLLM behind a check that rejects unknown fields. */
  nvidia: server('NVIDIA NIM', 'https://integrate.api.nvidia.com/v1', /^integrate\.api\.nvidia\.com$/, {
    refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'logit_bias', 'detail'],
    reasoningHistory: 'reasoning_content',
  }),
  /** docs.snowflake.com, "Cortex Chat Completions API": `max_tokens` is deprecated there. The host is that of the account. */
  snowflake: server(
    'Snowflake Cortex',
    'https://account.snowflakecomputing.com/api/v2/cortex/v1',
    /\.snowflakecomputing\.com$/,
    { outputLimitField: 'max_completion_tokens' },
  ),
  /** learn.microsoft.com, "Endpoints for Foundry Models": models of several vendors as deployments of one resource. */
  foundry: server(
    'Azure AI Foundry',
    'https://resource.services.ai.azure.com/openai/v1',
    /\.services\.ai\.azure\.com$/,
    { efforts: EFFORTS, urlMedia: true },
  ),
  generic: { label: 'Another server', flags: GENERIC },
} as const satisfies Record<string, ChatPresetRow>;

export type ChatPreset = keyof typeof CHAT_PRESETS;
export const CHAT_PRESET_NAMES = Object.keys(CHAT_PRESETS) as ChatPreset[];

/** The preset of an account: the one that the operator names, else that of its host. */
export function chatPresetOf(baseUrl: string, named?: ChatPreset): ChatPreset {
  if (named) return named;
  const { host } = new URL(baseUrl);
  const rows = Object.entries<ChatPresetRow>(CHAT_PRESETS);
  return (rows.find(([, { hosts }]) => hosts?.test(host))?.[0] as ChatPreset | undefined) ?? 'generic';
}

export const chatPresetFlags = (preset: ChatPreset): CapabilityOverrides => CHAT_PRESETS[preset].flags;

/** What forms show for the choice of a server. An account of OpenAI itself has all features of its style, so it lists none. */
export const chatServerChoices = (): readonly ChatServerChoice[] =>
  Object.entries<ChatPresetRow>(CHAT_PRESETS).map(([preset, { label, baseUrl, flags }]) => ({
    preset: preset as ChatPreset,
    label,
    baseUrl,
    features: preset === 'openai' ? undefined : ['chat'],
    flags,
  }));

export interface ChatServerChoice {
  readonly preset: ChatPreset;
  readonly label: string;
  readonly baseUrl: string | undefined;
  readonly features: readonly Feature[] | undefined;
  readonly flags: CapabilityOverrides;
}

/**
 * Servers that speak chat completions, and how each differs from OpenAI's. A row is chosen by the host of the account's
 * base URL, or by `preset` of the account; capabilities of the model and of the account override it. What a server
 * rejects beyond its row is learned (`added-options.ts`). A value that no documentation confirms is left out, so that
 * the cautious row `generic` applies.
 */
import type { CapabilityOverrides, ChatField } from './capabilities.ts';

/** Fields that only OpenAI has. Strict servers reject them, others ignore them. */
const ONLY_OPENAI: readonly ChatField[] = [
  'verbosity',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'web_search_options',
];

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
  textParts: false,
  outputLimitField: 'max_tokens',
  refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'logit_bias', 'detail'],
  toolChoices: ['none', 'required', 'named'],
  thinkTags: true,
} as const satisfies CapabilityOverrides;

/** The same, with lists of text parts in messages, which most servers take. */
const WITH_PARTS: CapabilityOverrides = { ...GENERIC, textParts: true };

interface ChatPresetRow {
  readonly label: string;
  /** Where its API is by default; the form of an account begins with it. */
  readonly baseUrl?: string;
  /** Matched against host and port of the base URL. */
  readonly hosts?: RegExp;
  readonly flags: CapabilityOverrides;
}

/** Below OpenAI, servers take what most do, apart from the flags of their row. */
export const CHAT_PRESETS = {
  /** OpenAI itself, and Azure. */
  openai: {
    label: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    hosts: /^api\.openai\.com$|\.openai\.azure\.com$/,
    flags: {},
  },
  // docs.vllm.ai, "OpenAI-Compatible Server" and "Reasoning Outputs": unknown fields are ignored; `reasoning` replaces
  // `reasoning_content`.
  vllm: {
    label: 'vLLM',
    baseUrl: 'http://localhost:8000/v1',
    flags: {
      ...WITH_PARTS,
      refusedFields: ONLY_OPENAI,
      efforts: ['low', 'medium', 'high'],
      urlMedia: true,
      thinkingField: 'chat_template_kwargs',
      reasoningHistory: 'reasoning',
    },
  },
  // docs.sglang.ai, "OpenAI APIs - Completions": `chat_template_kwargs` and `reasoning_content`.
  sglang: {
    label: 'SGLang',
    baseUrl: 'http://localhost:30000/v1',
    flags: {
      ...WITH_PARTS,
      refusedFields: ONLY_OPENAI,
      efforts: ['low', 'medium', 'high'],
      urlMedia: true,
      thinkingField: 'chat_template_kwargs',
      reasoningHistory: 'reasoning_content',
    },
  },
  // docs.ollama.com, "OpenAI compatibility": no tool choice, no parallel tool calls; images only as data. 11434 is its
  // usual port.
  ollama: {
    label: 'Ollama',
    baseUrl: 'http://localhost:11434/v1',
    hosts: /^ollama\.com$|:11434$/,
    flags: {
      ...WITH_PARTS,
      efforts: ['none', 'low', 'medium', 'high'],
      toolChoices: [],
      reasoningHistory: 'reasoning',
    },
  },
  // lmstudio.ai, "OpenAI Compatibility Endpoints": the only forced choice is `required`. 1234 is its usual port.
  lmstudio: {
    label: 'LM Studio',
    baseUrl: 'http://localhost:1234/v1',
    hosts: /^(?:localhost|127\.0\.0\.1):1234$/,
    flags: { ...WITH_PARTS, textParts: false, toolChoices: ['none', 'required'] },
  },
  // llama.cpp, tools/server/README.md: templates of models may reject later system messages and lists of parts.
  llamacpp: {
    label: 'llama.cpp',
    baseUrl: 'http://localhost:8080/v1',
    flags: {
      ...WITH_PARTS,
      textParts: false,
      toolChoices: ['none', 'required'],
      thinkingField: 'chat_template_kwargs',
      reasoningHistory: 'reasoning_content',
    },
  },
  // api-docs.deepseek.com, "Thinking Mode" and "JSON Output": text only, no schemas; calls need their reasoning, even
  // if it is empty.
  deepseek: {
    label: 'DeepSeek',
    baseUrl: 'https://api.deepseek.com/v1',
    hosts: /^api\.deepseek\.com$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'seed', 'logit_bias', 'detail'],
      efforts: ['low', 'high', 'max'],
      midSystem: true,
      schemaFormat: 'json_object',
      imageInput: false,
      thinkingField: 'thinking',
      reasoningHistory: 'reasoning_content',
      thinkTags: false,
    },
  },
  // Alibaba Cloud Model Studio, "OpenAI compatible - Chat" and "Deep thinking". A tool can be named, but a call not
  // required.
  qwen: {
    label: 'Qwen (Alibaba Cloud)',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    hosts: /^dashscope(?:-[a-z]+)?\.aliyuncs\.com$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'strict', 'logit_bias', 'frequency_penalty', 'detail'],
      urlMedia: true,
      toolChoices: ['none', 'named'],
      schemaFormat: 'json_object',
      thinkingField: 'enable_thinking',
      reasoningHistory: 'reasoning_content',
      thinkTags: false,
    },
  },
  // docs.mistral.ai, "Chat Completion API": unknown fields are rejected with 422; the seed has another name; no
  // `reasoning_content`.
  mistral: {
    label: 'Mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    hosts: /^api\.mistral\.ai$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'seed', 'logit_bias', 'stream_options', 'detail'],
      urlMedia: true,
      thinkTags: false,
    },
  },
  // console.groq.com, "OpenAI Compatibility" and "Reasoning".
  groq: {
    label: 'Groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    hosts: /^api\.groq\.com$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'strict', 'logit_bias'],
      efforts: ['low', 'medium', 'high'],
      midSystem: true,
      urlMedia: true,
      outputLimitField: 'max_completion_tokens',
    },
  },
  // docs.together.ai, "OpenAI Compatibility" and "Reasoning".
  together: {
    label: 'Together',
    baseUrl: 'https://api.together.xyz/v1',
    hosts: /^api\.together\.(?:xyz|ai)$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'detail'],
      efforts: ['low', 'medium', 'high'],
      midSystem: true,
      urlMedia: true,
    },
  },
  // openrouter.ai, "API Parameters" and "Reasoning Tokens": leaves out what a model lacks.
  openrouter: {
    label: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    hosts: /^openrouter\.ai$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: ['prompt_cache_key', 'safety_identifier', 'service_tier', 'web_search_options'],
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
      midSystem: true,
      urlMedia: true,
      thinkingField: 'reasoning',
      reasoningHistory: 'reasoning',
      thinkTags: false,
    },
  },
  // docs.x.ai, "Reasoning": reasoning models reject penalties and stop sequences.
  xai: {
    label: 'xAI',
    baseUrl: 'https://api.x.ai/v1',
    hosts: /^api\.x\.ai$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'presence_penalty', 'frequency_penalty', 'stop', 'logit_bias'],
      efforts: ['low', 'medium', 'high'],
      midSystem: true,
      urlMedia: true,
      outputLimitField: 'max_completion_tokens',
      thinkTags: false,
    },
  },
  // platform.moonshot.ai, "Chat Completion" and "Use Kimi thinking models": images only as data; a call cannot be
  // required.
  moonshot: {
    label: 'Moonshot (Kimi)',
    baseUrl: 'https://api.moonshot.ai/v1',
    hosts: /^api\.moonshot\.(?:ai|cn)$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'seed', 'logit_bias', 'detail'],
      midSystem: true,
      toolChoices: ['none'],
      thinkingField: 'thinking',
      reasoningHistory: 'reasoning_content',
      thinkTags: false,
    },
  },
  // docs.z.ai, "Chat Completion" and "Thinking Mode": the model always chooses its tools by itself.
  zai: {
    label: 'Z.ai (GLM)',
    baseUrl: 'https://api.z.ai/api/paas/v4',
    hosts: /^api\.z\.ai$|^open\.bigmodel\.cn$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'seed', 'logit_bias', ...NO_PENALTIES],
      midSystem: true,
      urlMedia: true,
      toolChoices: [],
      schemaFormat: 'json_object',
      thinkingField: 'thinking',
      reasoningHistory: 'reasoning_content',
      thinkTags: false,
    },
  },
  // platform.minimax.io, "OpenAI API compatible": thoughts are part of the content, and history must keep them there.
  minimax: {
    label: 'MiniMax',
    baseUrl: 'https://api.minimax.io/v1',
    hosts: /^api\.minimax(?:i)?\.(?:io|com|chat)$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'seed', 'logit_bias', ...NO_PENALTIES],
      textParts: false,
      outputLimitField: 'max_completion_tokens',
      toolChoices: ['none'],
      schemaFormat: 'none',
      reasoningHistory: 'think_tags',
    },
  },
  // docs.fireworks.ai, "OpenAI compatibility" and "Reasoning".
  fireworks: {
    label: 'Fireworks',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    hosts: /^api\.fireworks\.ai$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'detail'],
      efforts: ['low', 'medium', 'high'],
      midSystem: true,
      urlMedia: true,
      reasoningHistory: 'reasoning_content',
    },
  },
  // inference-docs.cerebras.ai, "OpenAI Compatibility": 400 for penalties and biases; text only; a call cannot be
  // required.
  cerebras: {
    label: 'Cerebras',
    baseUrl: 'https://api.cerebras.ai/v1',
    hosts: /^api\.cerebras\.ai$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'logit_bias', ...NO_PENALTIES],
      efforts: ['low', 'medium', 'high'],
      outputLimitField: 'max_completion_tokens',
      toolChoices: ['none'],
      imageInput: false,
      reasoningHistory: 'reasoning',
    },
  },
  // docs.cohere.com, "Using Cohere models via the OpenAI SDK": no tool choice; the effort is all or nothing.
  cohere: {
    label: 'Cohere',
    baseUrl: 'https://api.cohere.ai/compatibility/v1',
    hosts: /^api\.cohere\.(?:ai|com)$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'logit_bias', 'stream_options', 'detail'],
      efforts: ['none', 'high'],
      toolChoices: [],
    },
  },
  // docs.perplexity.ai, "OpenAI SDK Compatibility": every request searches; tools of the client are not part of it.
  perplexity: {
    label: 'Perplexity',
    baseUrl: 'https://api.perplexity.ai',
    hosts: /^api\.perplexity\.ai$/,
    flags: { ...WITH_PARTS, efforts: ['minimal', 'low', 'medium', 'high'], urlMedia: true, toolChoices: [] },
  },
  // huggingface.co/docs/inference-providers, "Chat Completion": a router; what a model lacks depends on the provider
  // behind it.
  huggingface: {
    label: 'Hugging Face',
    baseUrl: 'https://router.huggingface.co/v1',
    hosts: /^router\.huggingface\.co$/,
    flags: { ...WITH_PARTS, urlMedia: true },
  },
  // docs.deepinfra.com, "OpenAI Chat Completions": a call cannot be required.
  deepinfra: {
    label: 'DeepInfra',
    baseUrl: 'https://api.deepinfra.com/v1/openai',
    hosts: /^api\.deepinfra\.com$/,
    flags: {
      ...WITH_PARTS,
      efforts: ['none', 'low', 'medium', 'high'],
      urlMedia: true,
      toolChoices: ['none'],
      reasoningHistory: 'reasoning_content',
    },
  },
  // docs.nvidia.com, "NIM for LLMs, API Reference": vLLM behind a check that rejects unknown fields.
  nvidia: {
    label: 'NVIDIA NIM',
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    hosts: /^integrate\.api\.nvidia\.com$/,
    flags: {
      ...WITH_PARTS,
      refusedFields: [...ONLY_OPENAI, 'parallel_tool_calls', 'strict', 'logit_bias', 'detail'],
      reasoningHistory: 'reasoning_content',
    },
  },
  // docs.snowflake.com, "Cortex Chat Completions API": `max_tokens` is deprecated there. The host is that of the
  // account.
  snowflake: {
    label: 'Snowflake Cortex',
    baseUrl: 'https://account.snowflakecomputing.com/api/v2/cortex/v1',
    hosts: /\.snowflakecomputing\.com$/,
    flags: { ...WITH_PARTS, outputLimitField: 'max_completion_tokens' },
  },
  // learn.microsoft.com, "Endpoints for Foundry Models": models of several vendors as deployments of one resource.
  foundry: {
    label: 'Azure AI Foundry',
    baseUrl: 'https://resource.services.ai.azure.com/openai/v1',
    hosts: /\.services\.ai\.azure\.com$/,
    flags: { ...WITH_PARTS, efforts: ['low', 'medium', 'high'], urlMedia: true },
  },
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

/**
 * What forms show for the choice of a server. An account of OpenAI itself has all features of its style, so it lists
 * none.
 */
export const chatServerChoices = () =>
  Object.entries<ChatPresetRow>(CHAT_PRESETS).map(([preset, { label, baseUrl, flags }]) => ({
    preset: preset as ChatPreset,
    label,
    baseUrl,
    features: preset === 'openai' ? undefined : (['chat'] as const),
    flags,
  }));

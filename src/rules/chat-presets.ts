/**
 * Servers that speak chat completions, and how each differs from OpenAI's. A row is chosen by the host of the account's base URL, or by
 * `preset` of the account; capabilities of the model and of the account override it. What a server rejects beyond its row is learned
 * (`added-options.ts`). A value that no documentation confirms is left out, so that the cautious row `generic` applies.
 */
import { type CapabilityOverrides, type ChatField, flagsIn } from './capabilities.ts';
import { each, rowsIn, words } from './notation.ts';

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
  ...each(false, 'customTools encryptedReasoning midSystem prefill explicitCache urlMedia imageOutput textParts'),
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

/** Words for several fields, in the column of those that a server rejects. */
const FIELDS: Readonly<Record<string, readonly ChatField[]>> = {
  'only-openai': ONLY_OPENAI,
  'no-penalties': NO_PENALTIES,
};
const fieldsIn = (cell: string): readonly ChatField[] =>
  words(cell).flatMap((word) => FIELDS[word] ?? (word as ChatField));

/** Servers that take what most do, apart from their flags: label, base URL, hosts, rejected fields and flags, with `-` for those of most. */
const SERVERS = rowsIn(
  `
# docs.vllm.ai, "OpenAI-Compatible Server" and "Reasoning Outputs": unknown fields are ignored; 'reasoning' replaces 'reasoning_content'.
vllm: vLLM | http://localhost:8000/v1 | - | only-openai
  | efforts=low,medium,high urlMedia thinkingField=chat_template_kwargs reasoningHistory=reasoning
# docs.sglang.ai, "OpenAI APIs - Completions": 'chat_template_kwargs' and 'reasoning_content'.
sglang: SGLang | http://localhost:30000/v1 | - | only-openai
  | efforts=low,medium,high urlMedia thinkingField=chat_template_kwargs reasoningHistory=reasoning_content
# docs.ollama.com, "OpenAI compatibility": no tool choice, no parallel tool calls; images only as data. 11434 is its usual port.
ollama: Ollama | http://localhost:11434/v1 | ^ollama\\.com$|:11434$ | - | efforts=none,low,medium,high toolChoices= reasoningHistory=reasoning
# lmstudio.ai, "OpenAI Compatibility Endpoints": the only forced choice is 'required'. 1234 is its usual port.
lmstudio: LM Studio | http://localhost:1234/v1 | ^(?:localhost|127\\.0\\.0\\.1):1234$ | - | !textParts toolChoices=none,required
# llama.cpp, tools/server/README.md: templates of models may reject later system messages and lists of parts.
llamacpp: llama.cpp | http://localhost:8080/v1 | - | -
  | !textParts toolChoices=none,required thinkingField=chat_template_kwargs reasoningHistory=reasoning_content
# api-docs.deepseek.com, "Thinking Mode" and "JSON Output": text only, no schemas; calls need their reasoning, even if it is empty.
deepseek: DeepSeek | https://api.deepseek.com/v1 | ^api\\.deepseek\\.com$ | only-openai parallel_tool_calls strict seed logit_bias detail
  | efforts=low,high,max midSystem schemaFormat=json_object !imageInput thinkingField=thinking reasoningHistory=reasoning_content !thinkTags
# Alibaba Cloud Model Studio, "OpenAI compatible - Chat" and "Deep thinking". A tool can be named, but a call not required.
qwen: Qwen (Alibaba Cloud) | https://dashscope-intl.aliyuncs.com/compatible-mode/v1 | ^dashscope(?:-[a-z]+)?\\.aliyuncs\\.com$
  | only-openai strict logit_bias frequency_penalty detail
  | urlMedia toolChoices=none,named schemaFormat=json_object thinkingField=enable_thinking reasoningHistory=reasoning_content !thinkTags
# docs.mistral.ai, "Chat Completion API": unknown fields are rejected with 422; the seed has another name; no 'reasoning_content'.
mistral: Mistral | https://api.mistral.ai/v1 | ^api\\.mistral\\.ai$ | only-openai seed logit_bias stream_options detail | urlMedia !thinkTags
# console.groq.com, "OpenAI Compatibility" and "Reasoning".
groq: Groq | https://api.groq.com/openai/v1 | ^api\\.groq\\.com$ | only-openai strict logit_bias
  | efforts=low,medium,high midSystem urlMedia outputLimitField=max_completion_tokens
# docs.together.ai, "OpenAI Compatibility" and "Reasoning".
together: Together | https://api.together.xyz/v1 | ^api\\.together\\.(?:xyz|ai)$ | only-openai parallel_tool_calls strict detail
  | efforts=low,medium,high midSystem urlMedia
# openrouter.ai, "API Parameters" and "Reasoning Tokens": leaves out what a model lacks.
openrouter: OpenRouter | https://openrouter.ai/api/v1 | ^openrouter\\.ai$
  | prompt_cache_key safety_identifier service_tier web_search_options
  | efforts=none,minimal,low,medium,high,xhigh midSystem urlMedia thinkingField=reasoning reasoningHistory=reasoning !thinkTags
# docs.x.ai, "Reasoning": reasoning models reject penalties and stop sequences.
xai: xAI | https://api.x.ai/v1 | ^api\\.x\\.ai$ | only-openai presence_penalty frequency_penalty stop logit_bias
  | efforts=low,medium,high midSystem urlMedia outputLimitField=max_completion_tokens !thinkTags
# platform.moonshot.ai, "Chat Completion" and "Use Kimi thinking models": images only as data; a call cannot be required.
moonshot: Moonshot (Kimi) | https://api.moonshot.ai/v1 | ^api\\.moonshot\\.(?:ai|cn)$ | only-openai parallel_tool_calls strict seed logit_bias detail
  | midSystem toolChoices=none thinkingField=thinking reasoningHistory=reasoning_content !thinkTags
# docs.z.ai, "Chat Completion" and "Thinking Mode": the model always chooses its tools by itself.
zai: Z.ai (GLM) | https://api.z.ai/api/paas/v4 | ^api\\.z\\.ai$|^open\\.bigmodel\\.cn$
  | only-openai parallel_tool_calls strict seed logit_bias no-penalties
  | midSystem urlMedia toolChoices= schemaFormat=json_object thinkingField=thinking reasoningHistory=reasoning_content !thinkTags
# platform.minimax.io, "OpenAI API compatible": thoughts are part of the content, and history must keep them there.
minimax: MiniMax | https://api.minimax.io/v1 | ^api\\.minimax(?:i)?\\.(?:io|com|chat)$
  | only-openai parallel_tool_calls strict seed logit_bias no-penalties
  | !textParts outputLimitField=max_completion_tokens toolChoices=none schemaFormat=none reasoningHistory=think_tags
# docs.fireworks.ai, "OpenAI compatibility" and "Reasoning".
fireworks: Fireworks | https://api.fireworks.ai/inference/v1 | ^api\\.fireworks\\.ai$ | only-openai parallel_tool_calls strict detail
  | efforts=low,medium,high midSystem urlMedia reasoningHistory=reasoning_content
# inference-docs.cerebras.ai, "OpenAI Compatibility": 400 for penalties and biases; text only; a call cannot be required.
cerebras: Cerebras | https://api.cerebras.ai/v1 | ^api\\.cerebras\\.ai$ | only-openai parallel_tool_calls strict logit_bias no-penalties
  | efforts=low,medium,high outputLimitField=max_completion_tokens toolChoices=none !imageInput reasoningHistory=reasoning
# docs.cohere.com, "Using Cohere models via the OpenAI SDK": no tool choice; the effort is all or nothing.
cohere: Cohere | https://api.cohere.ai/compatibility/v1 | ^api\\.cohere\\.(?:ai|com)$
  | only-openai parallel_tool_calls strict logit_bias stream_options detail | efforts=none,high toolChoices=
# docs.perplexity.ai, "OpenAI SDK Compatibility": every request searches; tools of the client are not part of it.
perplexity: Perplexity | https://api.perplexity.ai | ^api\\.perplexity\\.ai$ | - | efforts=minimal,low,medium,high urlMedia toolChoices=
# huggingface.co/docs/inference-providers, "Chat Completion": a router; what a model lacks depends on the provider behind it.
huggingface: Hugging Face | https://router.huggingface.co/v1 | ^router\\.huggingface\\.co$ | - | urlMedia
# docs.deepinfra.com, "OpenAI Chat Completions": a call cannot be required.
deepinfra: DeepInfra | https://api.deepinfra.com/v1/openai | ^api\\.deepinfra\\.com$ | -
  | efforts=none,low,medium,high urlMedia toolChoices=none reasoningHistory=reasoning_content
# docs.nvidia.com, "NIM for LLMs, API Reference": vLLM behind a check that rejects unknown fields.
nvidia: NVIDIA NIM | https://integrate.api.nvidia.com/v1 | ^integrate\\.api\\.nvidia\\.com$
  | only-openai parallel_tool_calls strict logit_bias detail | reasoningHistory=reasoning_content
# docs.snowflake.com, "Cortex Chat Completions API": 'max_tokens' is deprecated there. The host is that of the account.
snowflake: Snowflake Cortex | https://account.snowflakecomputing.com/api/v2/cortex/v1 | \\.snowflakecomputing\\.com$ | -
  | outputLimitField=max_completion_tokens
# learn.microsoft.com, "Endpoints for Foundry Models": models of several vendors as deployments of one resource.
foundry: Azure AI Foundry | https://resource.services.ai.azure.com/openai/v1 | \\.services\\.ai\\.azure\\.com$ | -
  | efforts=low,medium,high urlMedia
`,
  ([label = '', baseUrl = '', hosts = '-', refused = '-', flags = '']): ChatPresetRow => ({
    ...{ label, baseUrl, ...(hosts !== '-' && { hosts: new RegExp(hosts) }) },
    flags: { ...WITH_PARTS, ...(refused !== '-' && { refusedFields: fieldsIn(refused) }), ...flagsIn(flags) },
  }),
);

export const CHAT_PRESETS = {
  /** OpenAI itself, and Azure. */
  openai: {
    label: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    hosts: /^api\.openai\.com$|\.openai\.azure\.com$/,
    flags: {},
  },
  ...SERVERS,
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
export const chatServerChoices = () =>
  Object.entries<ChatPresetRow>(CHAT_PRESETS).map(([preset, { label, baseUrl, flags }]) => ({
    preset: preset as ChatPreset,
    label,
    baseUrl,
    features: preset === 'openai' ? undefined : (['chat'] as const),
    flags,
  }));

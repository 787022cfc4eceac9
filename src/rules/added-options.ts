/**
 * Options that the gateway itself writes into a provider's request: fields that the caller did not send, or sent in
 * another form. When a provider rejects one of them, the gateway sends the request again without it. A row states where
 * the body carries the option, how providers name it in their errors, and what the gateway does without from then on.
 * The rows of a dialect are tried in their order.
 */
import type { CapabilityOverrides, ChatField } from './capabilities.ts';
import type { UpstreamDialect } from './groups.ts';

export interface AddedOption {
  /** The name in logs and metrics. */
  readonly option: string;
  readonly dialect: UpstreamDialect;
  /** The member of the body that carries it. */
  readonly path: string;
  /** Only this value of the member, or this entry of its list. */
  readonly value?: string;
  /** The name by which errors with a `param`, or with a list of field violations, mean it. */
  readonly param?: string;
  /** Messages that mean it. */
  readonly message: RegExp;
  /** Not removed where the caller sent the same value, because the error then concerns the caller. */
  readonly unlessCallers?: 'effort' | 'maxOutput' | 'cacheKey';
  /** Says nothing about other requests, so it is not remembered. */
  readonly isForThisCall?: true;
  readonly lesson: Lesson;
}

export type Lesson =
  /** The member is left out. `names` is the caller's field that is lost with it. */
  | { readonly remove: true; readonly names?: 'userId' | 'compaction' }
  /** All of its members are left out, each by its name. */
  | { readonly removeEach: true }
  /** The model lacks a capability, and requests are encoded for that. */
  | { readonly set: CapabilityOverrides }
  /** The error states the values that the model accepts; `otherwise` applies to an error that states none. */
  | { readonly read: Reading; readonly otherwise?: CapabilityOverrides }
  /** The model lacks the effort that was sent. */
  | { readonly withoutEffort: true }
  /** The server rejects a field of chat completions, which is left out and named as dropped. */
  | { readonly refuse: ChatField };

type Reading = 'efforts' | 'budget' | 'maxOutput' | 'room';

type OptionRow = Omit<AddedOption, 'dialect'>;

/** What a model without the newer forms of thinking takes: a budget. */
const MANUAL_THINKING: CapabilityOverrides = { thinking: 'manual', display: false, efforts: [] };

/** Providers of this dialect differ most, because many servers speak it. */
const CHAT: readonly OptionRow[] = [
  {
    option: 'stream_options',
    path: 'stream_options',
    param: 'stream_options',
    message: /\bstream_options\b|\binclude_usage\b/,
    lesson: { remove: true },
  },
  // The two names of the output limit. Each server that lacks one has the other.
  {
    option: 'max_completion_tokens',
    path: 'max_completion_tokens',
    message:
      /\bmax_completion_tokens\b.{0,60}\b(?:unsupported|not supported|extra inputs|unknown|unrecogni[sz]ed|not permitted)|\b(?:unsupported|unknown|unrecogni[sz]ed|unexpected)\b.{0,60}\bmax_completion_tokens\b/is,
    lesson: { set: { outputLimitField: 'max_tokens' } },
  },
  {
    option: 'max_tokens',
    path: 'max_tokens',
    message: /\bmax_tokens\b.{0,80}\bmax_completion_tokens\b/is,
    lesson: { set: { outputLimitField: 'max_completion_tokens' } },
  },
  {
    option: 'reasoning_effort',
    path: 'reasoning_effort',
    param: 'reasoning_effort',
    unlessCallers: 'effort',
    message: /\breasoning_?effort\b/i,
    lesson: { read: 'efforts', otherwise: { efforts: [] } },
  },
  {
    option: 'thinking',
    path: 'thinking',
    param: 'thinking',
    message: /['"`]thinking['"`]|\bthinking: extra inputs/i,
    lesson: { set: { thinkingField: 'reasoning_effort', efforts: [] } },
  },
  {
    option: 'chat_template_kwargs',
    path: 'chat_template_kwargs',
    param: 'chat_template_kwargs',
    message: /\bchat_template_kwargs\b/,
    lesson: { set: { thinkingField: 'reasoning_effort' } },
  },
  {
    option: 'reasoning history',
    path: 'messages',
    message: /\breasoning_content\b.{0,80}\bmust be passed back|\breasoning_content is missing/i,
    lesson: { set: { reasoningHistory: 'reasoning_content' } },
  },
  {
    option: 'reasoning history',
    path: 'messages',
    message:
      /\breasoning(?:_content)?\b.{0,60}\bextra inputs|\b(?:unknown|unexpected|unrecogni[sz]ed)\b.{0,60}\breasoning(?:_content)?\b/is,
    lesson: { set: { reasoningHistory: 'none' } },
  },
  {
    option: 'system message',
    path: 'messages',
    message: /system message must be (?:at the beginning|the first)|roles must alternate/i,
    lesson: { set: { midSystem: false, textParts: false } },
  },
  {
    option: 'text parts',
    path: 'messages',
    message:
      /\bcontent\b.{0,60}(?:should be a valid string|must be a string|expected a string)|invalid type: sequence, expected a string/is,
    lesson: { set: { textParts: false } },
  },
  {
    option: 'response_format.json_schema',
    path: 'response_format.type',
    value: 'json_schema',
    message: /\bresponse_format\b|\bjson_schema\b/,
    lesson: { set: { schemaFormat: 'json_object' } },
  },
  {
    option: 'prompt_cache_key',
    path: 'prompt_cache_key',
    param: 'prompt_cache_key',
    message: /\bprompt_cache_key\b/,
    lesson: { refuse: 'prompt_cache_key' },
  },
  {
    option: 'safety_identifier',
    path: 'safety_identifier',
    param: 'safety_identifier',
    message: /\bsafety_identifier\b/,
    lesson: { refuse: 'safety_identifier' },
  },
  {
    option: 'parallel_tool_calls',
    path: 'parallel_tool_calls',
    param: 'parallel_tool_calls',
    message: /\bparallel_tool_calls\b/,
    lesson: { refuse: 'parallel_tool_calls' },
  },
  {
    option: 'strict',
    path: 'tools',
    message:
      /\bstrict\b.{0,60}\b(?:extra inputs|not supported|unknown|unexpected)|\b(?:unsupported|unknown|unexpected)\b.{0,60}\bstrict\b/is,
    lesson: { refuse: 'strict' },
  },
];

const RESPONSES: readonly OptionRow[] = [
  {
    option: 'encrypted_content',
    path: 'include',
    value: 'reasoning.encrypted_content',
    message: /encrypted[ _]content is not supported|\breasoning\.encrypted_content\b/i,
    lesson: { set: { encryptedReasoning: false } },
  },
  {
    option: 'include',
    path: 'include',
    param: 'include',
    message: /['"`]include['"`]/,
    lesson: { remove: true },
  },
  {
    option: 'reasoning.summary',
    path: 'reasoning.summary',
    param: 'reasoning.summary',
    message: /\breasoning summar|\breasoning\.summary\b/i,
    lesson: { set: { display: false } },
  },
  {
    option: 'reasoning.effort',
    path: 'reasoning.effort',
    param: 'reasoning.effort',
    unlessCallers: 'effort',
    message: /\breasoning[._]effort\b/,
    lesson: { read: 'efforts', otherwise: { efforts: [] } },
  },
  {
    option: 'reasoning',
    path: 'reasoning',
    param: 'reasoning',
    unlessCallers: 'effort',
    message: /['"`]reasoning['"`]/,
    lesson: { set: { efforts: [] } },
  },
  {
    option: 'safety_identifier',
    path: 'safety_identifier',
    param: 'safety_identifier',
    message: /\bsafety_identifier\b/,
    lesson: { remove: true, names: 'userId' },
  },
  // Not an invalid value: callers choose it with their session id.
  {
    option: 'prompt_cache_key',
    path: 'prompt_cache_key',
    unlessCallers: 'cacheKey',
    message:
      /\bun(?:known|supported|recogni[sz]ed)\b.{0,40}\bprompt_cache_key\b|\bprompt_cache_key\b.{0,60}\bextra inputs\b/i,
    lesson: { remove: true },
  },
];

const MESSAGES: readonly OptionRow[] = [
  {
    option: 'context_management',
    path: 'context_management',
    message: /\bcontext_management\b|\bcompact_20\d{6}\b/,
    lesson: { remove: true, names: 'compaction' },
  },
  {
    option: 'thinking.adaptive',
    path: 'thinking.type',
    value: 'adaptive',
    message: /adaptive thinking is not supported|thinking\.type\.adaptive"? is not supported|input tag 'adaptive'/i,
    lesson: { set: MANUAL_THINKING },
  },
  {
    option: 'thinking.enabled',
    path: 'thinking.type',
    value: 'enabled',
    message: /thinking\.type\.enabled"? is not supported|input tag 'enabled'/i,
    lesson: { set: { thinking: 'adaptive' } },
  },
  {
    option: 'thinking.disabled',
    path: 'thinking.type',
    value: 'disabled',
    message: /\bbetween_tools\b/,
    lesson: { set: { thinkingOff: 'between_tools' } },
  },
  {
    option: 'thinking.disabled',
    path: 'thinking.type',
    value: 'disabled',
    message: /thinking\.type\.disabled"? is not supported|thinking cannot be disabled|input tag 'disabled'/i,
    lesson: { set: { thinkingOff: false } },
  },
  {
    option: 'thinking.display',
    path: 'thinking.display',
    message: /\bthinking\.(?:\w+\.)?display\b/,
    lesson: { set: { display: false } },
  },
  {
    option: 'output_config.effort',
    path: 'output_config.effort',
    message: /\beffort parameter\b|\boutput_config\.effort\b|\boutput_config: /i,
    lesson: { read: 'efforts', otherwise: MANUAL_THINKING },
  },
  {
    option: 'thinking',
    path: 'thinking',
    message: /\bthinking: extra inputs|\bdoes not support (?:extended )?thinking\b|\bthinking is not supported\b/i,
    lesson: { set: { thinking: 'none' } },
  },
  {
    option: 'max_tokens',
    path: 'max_tokens',
    unlessCallers: 'maxOutput',
    isForThisCall: true,
    message: /\bmax_tokens\b.{0,40}\d \+ \d+ > \d/,
    lesson: { read: 'room' },
  },
  {
    option: 'max_tokens',
    path: 'max_tokens',
    unlessCallers: 'maxOutput',
    message: /\bmax_tokens\b.{0,20}\d > \d/,
    lesson: { read: 'maxOutput' },
  },
  {
    option: 'metadata',
    path: 'metadata',
    message: /\bmetadata(?:\.user_id)?: /,
    lesson: { remove: true, names: 'userId' },
  },
  {
    option: 'cache_control',
    path: 'messages',
    message: /\bcache_control\b/,
    lesson: { set: { explicitCache: false } },
  },
  // A header of the client, of which the gateway sends Bedrock what its models take. The error does not say which one
  // it means.
  {
    option: 'anthropic-beta',
    path: 'anthropic-beta',
    message: /\binvalid beta flag/i,
    lesson: { removeEach: true },
  },
];

const THINKING = 'generationConfig.thinkingConfig';
const GENERATE: readonly OptionRow[] = [
  {
    option: 'includeThoughts',
    path: `${THINKING}.includeThoughts`,
    param: `${THINKING}.includeThoughts`,
    message: /\binclude_?thoughts\b/i,
    lesson: { set: { thinksByDefault: false } },
  },
  {
    option: 'includeThoughts',
    path: `${THINKING}.includeThoughts`,
    param: `${THINKING}.includeThoughts`,
    message: /\binclude_?thoughts\b/i,
    lesson: { set: { display: false } },
  },
  {
    option: 'thinkingLevel',
    path: `${THINKING}.thinkingLevel`,
    param: `${THINKING}.thinkingLevel`,
    message: /\bthinking[ _]level[ _](?:minimal|low|medium|high)\b/i,
    lesson: { withoutEffort: true },
  },
  {
    option: 'thinkingLevel',
    path: `${THINKING}.thinkingLevel`,
    message: /\bthinking[ _]?level is not supported|unknown name "thinking_?level"/i,
    lesson: { set: { thinkingConfig: 'budget' } },
  },
  {
    option: 'thinkingBudget',
    path: `${THINKING}.thinkingBudget`,
    param: `${THINKING}.thinkingBudget`,
    message: /\bthinking[ _]?budget\b|\bbudget -?\d+ is invalid/i,
    lesson: { read: 'budget', otherwise: { thinkingConfig: 'none' } },
  },
  {
    option: 'thinkingConfig',
    path: THINKING,
    param: THINKING,
    message:
      /\bthinking_?config is not supported|\bthinking is not (?:enabled|supported)|unknown name "thinking_?config"/i,
    lesson: { set: { thinkingConfig: 'none' } },
  },
  {
    option: 'responseJsonSchema',
    path: 'generationConfig.responseJsonSchema',
    message: /unknown name "response_?json_?schema"/i,
    lesson: { set: { jsonSchemaTools: false } },
  },
  {
    option: 'parametersJsonSchema',
    path: 'tools',
    message: /unknown name "parameters_?json_?schema"/i,
    lesson: { set: { jsonSchemaTools: false } },
  },
];

const EXTRA = 'additionalModelRequestFields';
const CONVERSE: readonly OptionRow[] = [
  ...MESSAGES.filter(({ path }) => /^(?:thinking|output_config)\b/.test(path)).map((row) => ({
    ...row,
    path: `${EXTRA}.${row.path}`,
  })),
  {
    option: 'reasoning_effort',
    path: `${EXTRA}.reasoning_effort`,
    message: /\[?reasoning_effort\b/,
    lesson: { set: { efforts: [] } },
  },
  {
    option: 'reasoning_config',
    path: `${EXTRA}.reasoning_config`,
    message: /\[?reasoning_config\b/,
    lesson: { set: { efforts: [] } },
  },
  {
    option: 'reasoningConfig',
    path: `${EXTRA}.reasoningConfig`,
    message: /\[?reasoningConfig\b/,
    lesson: { set: { efforts: [] } },
  },
  {
    option: 'outputConfig',
    path: 'outputConfig',
    message: /\boutput_?config\b|\bstructured outputs?\b|\bjson_?schema\b/i,
    lesson: { set: { schemaFormat: 'none' } },
  },
  {
    option: 'strict',
    path: 'toolConfig',
    message: /\bstrict\b/,
    lesson: { set: { schemaFormat: 'none' } },
  },
  {
    option: 'toolChoice',
    path: 'toolConfig.toolChoice',
    message: /\btoolChoice\b/,
    lesson: { set: { toolChoices: [] } },
  },
  {
    option: 'cachePoint',
    path: 'messages',
    message: /\bprompt caching\b|\bcachePoint\b/i,
    lesson: { set: { explicitCache: false } },
  },
  {
    option: 'stopSequences',
    path: 'inferenceConfig.stopSequences',
    message: /\bstopSequences field\b/,
    lesson: { set: { stop: false } },
  },
];

const optionsOf = (dialect: UpstreamDialect, rows: readonly OptionRow[]): readonly AddedOption[] =>
  rows.map((row) => ({ dialect, ...row }));

export const ADDED_OPTIONS: Readonly<Record<UpstreamDialect, readonly AddedOption[]>> = {
  chat: optionsOf('chat', CHAT),
  responses: optionsOf('responses', RESPONSES),
  messages: optionsOf('messages', MESSAGES),
  generate: optionsOf('generate', GENERATE),
  converse: optionsOf('converse', CONVERSE),
};

/** Statuses of a provider that rejects a request before it works on it. */
export const REJECTION_STATUSES: ReadonlySet<number> = new Set([400, 422]);

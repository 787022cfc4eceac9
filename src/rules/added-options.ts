/**
 * Options that the gateway itself writes into a provider's request: fields that the caller did not send, or sent in another form. When
 * a provider rejects one of them, the gateway sends the request again without it. A row states where the body carries the option, how
 * providers name it in their errors, and what the gateway does without from then on. The rows of a dialect are tried in their order.
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
  | { readonly remove: true; readonly names?: 'userId' }
  /** The model lacks a capability, and requests are encoded for that. */
  | { readonly set: CapabilityOverrides }
  /** The error states the values that the model accepts; `otherwise` applies to an error that states none. */
  | { readonly read: 'efforts' | 'budget' | 'maxOutput' | 'room'; readonly otherwise?: CapabilityOverrides }
  /** The model lacks the effort that was sent. */
  | { readonly withoutEffort: true }
  /** The server rejects a field of chat completions, which is left out and named as dropped. */
  | { readonly refuse: ChatField };

/** What a model without the newer forms of thinking takes: a budget. */
const MANUAL_THINKING: CapabilityOverrides = { thinking: 'manual', display: false, efforts: [] };

type Row = Omit<AddedOption, 'dialect'>;

/** An option that is called like the member that carries it; in `named` also where errors have a `param`. */
const at = (name: string) => ({ option: name, path: name });
const inside = (path: string, option: string, value?: string) => ({ option, path, ...(value && { value }) });
const named = (name: string) => ({ ...at(name), param: name });

/** Providers of this dialect differ most, because many servers speak it. */
const CHAT: readonly Row[] = [
  { ...named('stream_options'), message: /\bstream_options\b|\binclude_usage\b/, lesson: { remove: true } },
  // The two names of the output limit. Each server that lacks one has the other.
  {
    ...at('max_completion_tokens'),
    message:
      /\bmax_completion_tokens\b.{0,60}\b(?:unsupported|not supported|extra inputs|unknown|unrecogni[sz]ed|not permitted)|\b(?:unsupported|unknown|unrecogni[sz]ed|unexpected)\b.{0,60}\bmax_completion_tokens\b/is,
    lesson: { set: { outputLimitField: 'max_tokens' } },
  },
  {
    ...at('max_tokens'),
    message: /\bmax_tokens\b.{0,80}\bmax_completion_tokens\b/is,
    lesson: { set: { outputLimitField: 'max_completion_tokens' } },
  },
  {
    ...named('reasoning_effort'),
    message: /\breasoning_?effort\b/i,
    unlessCallers: 'effort',
    lesson: { read: 'efforts', otherwise: { efforts: [] } },
  },
  {
    ...named('thinking'),
    message: /['"`]thinking['"`]|\bthinking: extra inputs/i,
    lesson: { set: { thinkingField: 'reasoning_effort', efforts: [] } },
  },
  {
    ...named('chat_template_kwargs'),
    message: /\bchat_template_kwargs\b/,
    lesson: { set: { thinkingField: 'reasoning_effort' } },
  },
  {
    ...inside('messages', 'reasoning history'),
    message: /\breasoning_content\b.{0,80}\bmust be passed back|\breasoning_content is missing/i,
    lesson: { set: { reasoningHistory: 'reasoning_content' } },
  },
  {
    ...inside('messages', 'reasoning history'),
    message:
      /\breasoning(?:_content)?\b.{0,60}\bextra inputs|\b(?:unknown|unexpected|unrecogni[sz]ed)\b.{0,60}\breasoning(?:_content)?\b/is,
    lesson: { set: { reasoningHistory: 'none' } },
  },
  {
    ...inside('messages', 'system message'),
    message: /system message must be (?:at the beginning|the first)|roles must alternate/i,
    lesson: { set: { midSystem: false, textParts: false } },
  },
  {
    ...inside('messages', 'text parts'),
    message:
      /\bcontent\b.{0,60}(?:should be a valid string|must be a string|expected a string)|invalid type: sequence, expected a string/is,
    lesson: { set: { textParts: false } },
  },
  {
    ...inside('response_format.type', 'response_format.json_schema', 'json_schema'),
    message: /\bresponse_format\b|\bjson_schema\b/,
    lesson: { set: { schemaFormat: 'json_object' } },
  },
  { ...named('prompt_cache_key'), message: /\bprompt_cache_key\b/, lesson: { refuse: 'prompt_cache_key' } },
  { ...named('safety_identifier'), message: /\bsafety_identifier\b/, lesson: { refuse: 'safety_identifier' } },
  { ...named('parallel_tool_calls'), message: /\bparallel_tool_calls\b/, lesson: { refuse: 'parallel_tool_calls' } },
  {
    ...inside('tools', 'strict'),
    message:
      /\bstrict\b.{0,60}\b(?:extra inputs|not supported|unknown|unexpected)|\b(?:unsupported|unknown|unexpected)\b.{0,60}\bstrict\b/is,
    lesson: { refuse: 'strict' },
  },
];

const RESPONSES: readonly Row[] = [
  {
    ...inside('include', 'encrypted_content', 'reasoning.encrypted_content'),
    message: /encrypted[ _]content is not supported|\breasoning\.encrypted_content\b/i,
    lesson: { set: { encryptedReasoning: false } },
  },
  { ...named('include'), message: /['"`]include['"`]/, lesson: { remove: true } },
  {
    ...named('reasoning.summary'),
    message: /\breasoning summar|\breasoning\.summary\b/i,
    lesson: { set: { display: false } },
  },
  {
    ...named('reasoning.effort'),
    message: /\breasoning[._]effort\b/,
    unlessCallers: 'effort',
    lesson: { read: 'efforts', otherwise: { efforts: [] } },
  },
  { ...named('reasoning'), message: /['"`]reasoning['"`]/, unlessCallers: 'effort', lesson: { set: { efforts: [] } } },
  { ...named('safety_identifier'), message: /\bsafety_identifier\b/, lesson: { remove: true, names: 'userId' } },
  {
    ...at('prompt_cache_key'),
    // Not an invalid value: callers choose it with their session id.
    message:
      /\bun(?:known|supported|recogni[sz]ed)\b.{0,40}\bprompt_cache_key\b|\bprompt_cache_key\b.{0,60}\bextra inputs\b/i,
    unlessCallers: 'cacheKey',
    lesson: { remove: true },
  },
];

const MESSAGES: readonly Row[] = [
  {
    ...inside('thinking.type', 'thinking.adaptive', 'adaptive'),
    message: /adaptive thinking is not supported|thinking\.type\.adaptive"? is not supported|input tag 'adaptive'/i,
    lesson: { set: MANUAL_THINKING },
  },
  {
    ...inside('thinking.type', 'thinking.enabled', 'enabled'),
    message: /thinking\.type\.enabled"? is not supported|input tag 'enabled'/i,
    lesson: { set: { thinking: 'adaptive' } },
  },
  {
    ...inside('thinking.type', 'thinking.disabled', 'disabled'),
    message: /\bbetween_tools\b/,
    lesson: { set: { thinkingOff: 'between_tools' } },
  },
  {
    ...inside('thinking.type', 'thinking.disabled', 'disabled'),
    message: /thinking\.type\.disabled"? is not supported|thinking cannot be disabled|input tag 'disabled'/i,
    lesson: { set: { thinkingOff: false } },
  },
  { ...at('thinking.display'), message: /\bthinking\.(?:\w+\.)?display\b/, lesson: { set: { display: false } } },
  {
    ...at('output_config.effort'),
    message: /\beffort parameter\b|\boutput_config\.effort\b|\boutput_config: /i,
    lesson: { read: 'efforts', otherwise: MANUAL_THINKING },
  },
  {
    ...at('thinking'),
    message: /\bthinking: extra inputs|\bdoes not support (?:extended )?thinking\b|\bthinking is not supported\b/i,
    lesson: { set: { thinking: 'none' } },
  },
  {
    ...at('max_tokens'),
    message: /\bmax_tokens\b.{0,40}\d \+ \d+ > \d/,
    unlessCallers: 'maxOutput',
    isForThisCall: true,
    lesson: { read: 'room' },
  },
  {
    ...at('max_tokens'),
    message: /\bmax_tokens\b.{0,20}\d > \d/,
    unlessCallers: 'maxOutput',
    lesson: { read: 'maxOutput' },
  },
  { ...at('metadata'), message: /\bmetadata(?:\.user_id)?: /, lesson: { remove: true, names: 'userId' } },
];

const THINKING = 'generationConfig.thinkingConfig';
const thinking = (name: string) => ({ ...named(`${THINKING}.${name}`), option: name });
const GENERATE: readonly Row[] = [
  {
    ...thinking('includeThoughts'),
    message: /\binclude_?thoughts\b/i,
    lesson: { set: { thinksByDefault: false } },
  },
  {
    ...thinking('includeThoughts'),
    message: /\binclude_?thoughts\b/i,
    lesson: { set: { display: false } },
  },
  {
    ...thinking('thinkingLevel'),
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
    ...thinking('thinkingBudget'),
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
    ...inside('generationConfig.responseJsonSchema', 'responseJsonSchema'),
    message: /unknown name "response_?json_?schema"/i,
    lesson: { set: { jsonSchemaTools: false } },
  },
  {
    ...inside('tools', 'parametersJsonSchema'),
    message: /unknown name "parameters_?json_?schema"/i,
    lesson: { set: { jsonSchemaTools: false } },
  },
];

const EXTRA = 'additionalModelRequestFields';
const CONVERSE: readonly Row[] = [
  ...MESSAGES.filter(({ path }) => /^(?:thinking|output_config)\b/.test(path)).map((row) => ({
    ...row,
    path: `${EXTRA}.${row.path}`,
  })),
  ...['reasoning_effort', 'reasoning_config', 'reasoningConfig'].map(
    (name): Row => ({
      option: name,
      path: `${EXTRA}.${name}`,
      message: new RegExp(`\\[?${name}\\b`),
      lesson: { set: { efforts: [] } },
    }),
  ),
  {
    ...at('outputConfig'),
    message: /\boutput_?config\b|\bstructured outputs?\b|\bjson_?schema\b/i,
    lesson: { set: { schemaFormat: 'none' } },
  },
  { option: 'strict', path: 'toolConfig', message: /\bstrict\b/, lesson: { set: { schemaFormat: 'none' } } },
  {
    ...inside('toolConfig.toolChoice', 'toolChoice'),
    message: /\btoolChoice\b/,
    lesson: { set: { toolChoices: [] } },
  },
  {
    ...inside('messages', 'cachePoint'),
    message: /\bprompt caching\b|\bcachePoint\b/i,
    lesson: { set: { explicitCache: false } },
  },
  {
    ...inside('inferenceConfig.stopSequences', 'stopSequences'),
    message: /\bstopSequences field\b/,
    lesson: { set: { stop: false } },
  },
];

const optionsOf = (dialect: UpstreamDialect, rows: readonly Row[]): readonly AddedOption[] =>
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

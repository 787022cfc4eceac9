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
  | { readonly remove: true; readonly names?: 'userId' | 'compaction' }
  /** All of its members are left out, each by its name. */
  | { readonly removeEach: true }
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

const option = (
  where: Omit<Row, 'message' | 'lesson'>,
  message: RegExp,
  lesson: Lesson,
  more?: Pick<Row, 'unlessCallers' | 'isForThisCall'>,
): Row => ({ ...where, message, ...more, lesson });

/** Providers of this dialect differ most, because many servers speak it. */
const CHAT: readonly Row[] = [
  option(named('stream_options'), /\bstream_options\b|\binclude_usage\b/, { remove: true }),
  // The two names of the output limit. Each server that lacks one has the other.
  option(
    at('max_completion_tokens'),
    /\bmax_completion_tokens\b.{0,60}\b(?:unsupported|not supported|extra inputs|unknown|unrecogni[sz]ed|not permitted)|\b(?:unsupported|unknown|unrecogni[sz]ed|unexpected)\b.{0,60}\bmax_completion_tokens\b/is,
    { set: { outputLimitField: 'max_tokens' } },
  ),
  option(at('max_tokens'), /\bmax_tokens\b.{0,80}\bmax_completion_tokens\b/is, {
    set: { outputLimitField: 'max_completion_tokens' },
  }),
  option(
    named('reasoning_effort'),
    /\breasoning_?effort\b/i,
    { read: 'efforts', otherwise: { efforts: [] } },
    { unlessCallers: 'effort' },
  ),
  option(named('thinking'), /['"`]thinking['"`]|\bthinking: extra inputs/i, {
    set: { thinkingField: 'reasoning_effort', efforts: [] },
  }),
  option(named('chat_template_kwargs'), /\bchat_template_kwargs\b/, { set: { thinkingField: 'reasoning_effort' } }),
  option(
    inside('messages', 'reasoning history'),
    /\breasoning_content\b.{0,80}\bmust be passed back|\breasoning_content is missing/i,
    { set: { reasoningHistory: 'reasoning_content' } },
  ),
  option(
    inside('messages', 'reasoning history'),
    /\breasoning(?:_content)?\b.{0,60}\bextra inputs|\b(?:unknown|unexpected|unrecogni[sz]ed)\b.{0,60}\breasoning(?:_content)?\b/is,
    { set: { reasoningHistory: 'none' } },
  ),
  option(
    inside('messages', 'system message'),
    /system message must be (?:at the beginning|the first)|roles must alternate/i,
    { set: { midSystem: false, textParts: false } },
  ),
  option(
    inside('messages', 'text parts'),
    /\bcontent\b.{0,60}(?:should be a valid string|must be a string|expected a string)|invalid type: sequence, expected a string/is,
    { set: { textParts: false } },
  ),
  option(
    inside('response_format.type', 'response_format.json_schema', 'json_schema'),
    /\bresponse_format\b|\bjson_schema\b/,
    { set: { schemaFormat: 'json_object' } },
  ),
  option(named('prompt_cache_key'), /\bprompt_cache_key\b/, { refuse: 'prompt_cache_key' }),
  option(named('safety_identifier'), /\bsafety_identifier\b/, { refuse: 'safety_identifier' }),
  option(named('parallel_tool_calls'), /\bparallel_tool_calls\b/, { refuse: 'parallel_tool_calls' }),
  option(
    inside('tools', 'strict'),
    /\bstrict\b.{0,60}\b(?:extra inputs|not supported|unknown|unexpected)|\b(?:unsupported|unknown|unexpected)\b.{0,60}\bstrict\b/is,
    { refuse: 'strict' },
  ),
];

const RESPONSES: readonly Row[] = [
  option(
    inside('include', 'encrypted_content', 'reasoning.encrypted_content'),
    /encrypted[ _]content is not supported|\breasoning\.encrypted_content\b/i,
    { set: { encryptedReasoning: false } },
  ),
  option(named('include'), /['"`]include['"`]/, { remove: true }),
  option(named('reasoning.summary'), /\breasoning summar|\breasoning\.summary\b/i, { set: { display: false } }),
  option(
    named('reasoning.effort'),
    /\breasoning[._]effort\b/,
    { read: 'efforts', otherwise: { efforts: [] } },
    { unlessCallers: 'effort' },
  ),
  option(named('reasoning'), /['"`]reasoning['"`]/, { set: { efforts: [] } }, { unlessCallers: 'effort' }),
  option(named('safety_identifier'), /\bsafety_identifier\b/, { remove: true, names: 'userId' }),
  // Not an invalid value: callers choose it with their session id.
  option(
    at('prompt_cache_key'),
    /\bun(?:known|supported|recogni[sz]ed)\b.{0,40}\bprompt_cache_key\b|\bprompt_cache_key\b.{0,60}\bextra inputs\b/i,
    { remove: true },
    { unlessCallers: 'cacheKey' },
  ),
];

const MESSAGES: readonly Row[] = [
  option(at('context_management'), /\bcontext_management\b|\bcompact_20\d{6}\b/, { remove: true, names: 'compaction' }),
  option(
    inside('thinking.type', 'thinking.adaptive', 'adaptive'),
    /adaptive thinking is not supported|thinking\.type\.adaptive"? is not supported|input tag 'adaptive'/i,
    { set: MANUAL_THINKING },
  ),
  option(
    inside('thinking.type', 'thinking.enabled', 'enabled'),
    /thinking\.type\.enabled"? is not supported|input tag 'enabled'/i,
    { set: { thinking: 'adaptive' } },
  ),
  option(inside('thinking.type', 'thinking.disabled', 'disabled'), /\bbetween_tools\b/, {
    set: { thinkingOff: 'between_tools' },
  }),
  option(
    inside('thinking.type', 'thinking.disabled', 'disabled'),
    /thinking\.type\.disabled"? is not supported|thinking cannot be disabled|input tag 'disabled'/i,
    { set: { thinkingOff: false } },
  ),
  option(at('thinking.display'), /\bthinking\.(?:\w+\.)?display\b/, { set: { display: false } }),
  option(at('output_config.effort'), /\beffort parameter\b|\boutput_config\.effort\b|\boutput_config: /i, {
    read: 'efforts',
    otherwise: MANUAL_THINKING,
  }),
  option(
    at('thinking'),
    /\bthinking: extra inputs|\bdoes not support (?:extended )?thinking\b|\bthinking is not supported\b/i,
    { set: { thinking: 'none' } },
  ),
  option(
    at('max_tokens'),
    /\bmax_tokens\b.{0,40}\d \+ \d+ > \d/,
    { read: 'room' },
    { unlessCallers: 'maxOutput', isForThisCall: true },
  ),
  option(at('max_tokens'), /\bmax_tokens\b.{0,20}\d > \d/, { read: 'maxOutput' }, { unlessCallers: 'maxOutput' }),
  option(at('metadata'), /\bmetadata(?:\.user_id)?: /, { remove: true, names: 'userId' }),
  option(inside('messages', 'cache_control'), /\bcache_control\b/, { set: { explicitCache: false } }),
  // A header of the client, of which the gateway sends Bedrock what its models take. The error does not say which one it means.
  option(at('anthropic-beta'), /\binvalid beta flag/i, { removeEach: true }),
];

const THINKING = 'generationConfig.thinkingConfig';
const thinking = (name: string) => ({ ...named(`${THINKING}.${name}`), option: name });
const GENERATE: readonly Row[] = [
  option(thinking('includeThoughts'), /\binclude_?thoughts\b/i, { set: { thinksByDefault: false } }),
  option(thinking('includeThoughts'), /\binclude_?thoughts\b/i, { set: { display: false } }),
  option(thinking('thinkingLevel'), /\bthinking[ _]level[ _](?:minimal|low|medium|high)\b/i, { withoutEffort: true }),
  {
    option: 'thinkingLevel',
    path: `${THINKING}.thinkingLevel`,
    message: /\bthinking[ _]?level is not supported|unknown name "thinking_?level"/i,
    lesson: { set: { thinkingConfig: 'budget' } },
  },
  option(thinking('thinkingBudget'), /\bthinking[ _]?budget\b|\bbudget -?\d+ is invalid/i, {
    read: 'budget',
    otherwise: { thinkingConfig: 'none' },
  }),
  {
    option: 'thinkingConfig',
    path: THINKING,
    param: THINKING,
    message:
      /\bthinking_?config is not supported|\bthinking is not (?:enabled|supported)|unknown name "thinking_?config"/i,
    lesson: { set: { thinkingConfig: 'none' } },
  },
  option(
    inside('generationConfig.responseJsonSchema', 'responseJsonSchema'),
    /unknown name "response_?json_?schema"/i,
    { set: { jsonSchemaTools: false } },
  ),
  option(inside('tools', 'parametersJsonSchema'), /unknown name "parameters_?json_?schema"/i, {
    set: { jsonSchemaTools: false },
  }),
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
  option(at('outputConfig'), /\boutput_?config\b|\bstructured outputs?\b|\bjson_?schema\b/i, {
    set: { schemaFormat: 'none' },
  }),
  { option: 'strict', path: 'toolConfig', message: /\bstrict\b/, lesson: { set: { schemaFormat: 'none' } } },
  option(inside('toolConfig.toolChoice', 'toolChoice'), /\btoolChoice\b/, { set: { toolChoices: [] } }),
  option(inside('messages', 'cachePoint'), /\bprompt caching\b|\bcachePoint\b/i, { set: { explicitCache: false } }),
  option(inside('inferenceConfig.stopSequences', 'stopSequences'), /\bstopSequences field\b/, { set: { stop: false } }),
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

/**
 * Options that the gateway itself writes into a provider's request: fields that the caller did not send, or sent in another form. When
 * a provider rejects one of them, the gateway sends the request again without it. A row states where the body carries the option, how
 * providers name it in their errors, and what the gateway does without from then on. The rows of a dialect are tried in their order.
 */
import { type CapabilityOverrides, type ChatField, flagsIn } from './capabilities.ts';
import type { UpstreamDialect } from './groups.ts';
import { linesOf } from './notation.ts';

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

/** What a model without the newer forms of thinking takes: a budget. */
const MANUAL_THINKING = 'thinking=manual !display efforts=';

/** `remove`, `remove userId`, `removeEach`, `set FLAGS`, `read efforts`, with `otherwise FLAGS`, `withoutEffort`, `refuse FIELD`. */
function lessonIn(text: string): Lesson {
  const [, what = '', rest = '', otherwise] = /^(\w+) ?(.*?)(?: otherwise (.*))?$/.exec(text) ?? [];
  if (what === 'remove') return { remove: true, ...(rest && { names: rest as 'userId' | 'compaction' }) };
  if (what === 'set') return { set: flagsIn(rest) };
  if (what === 'refuse') return { refuse: rest as ChatField };
  if (what === 'read') return { read: rest as Reading, ...(otherwise && { otherwise: flagsIn(otherwise) }) };
  return what === 'removeEach' ? { removeEach: true } : { withoutEffort: true };
}

/**
 * A line is `option: where | lesson | /message/`. `where` is the path of the member, with `=value`; then `param` where errors name the path so,
 * `unless=` as in `unlessCallers`, and `once` for `isForThisCall`.
 */
const optionsIn = (dialect: UpstreamDialect, text: string): readonly AddedOption[] =>
  linesOf(text).map((line) => {
    const [, option = '', where = '', lesson = '', message = '', flags] =
      /^(.+?): (.+?) \| (.+?) \| \/(.*)\/(\w*)$/.exec(line) ?? [];
    const [member = '', ...more] = where.split(' ');
    const [path = '', value] = member.split('=');
    const unless = more.find((word) => word.startsWith('unless='))?.slice('unless='.length);
    return {
      ...{ dialect, option, path, message: new RegExp(message, flags), lesson: lessonIn(lesson) },
      ...(value && { value }),
      ...(more.includes('param') && { param: path }),
      ...(unless && { unlessCallers: unless as NonNullable<AddedOption['unlessCallers']> }),
      ...(more.includes('once') && { isForThisCall: true as const }),
    };
  });

/** Providers of this dialect differ most, because many servers speak it. */
const CHAT = optionsIn(
  'chat',
  String.raw`
stream_options: stream_options param | remove | /\bstream_options\b|\binclude_usage\b/
# The two names of the output limit. Each server that lacks one has the other.
max_completion_tokens: max_completion_tokens | set outputLimitField=max_tokens
  | /\bmax_completion_tokens\b.{0,60}\b(?:unsupported|not supported|extra inputs|unknown|unrecogni[sz]ed|not permitted)|\b(?:unsupported|unknown|unrecogni[sz]ed|unexpected)\b.{0,60}\bmax_completion_tokens\b/is
max_tokens: max_tokens | set outputLimitField=max_completion_tokens | /\bmax_tokens\b.{0,80}\bmax_completion_tokens\b/is
reasoning_effort: reasoning_effort param unless=effort | read efforts otherwise efforts= | /\breasoning_?effort\b/i
thinking: thinking param | set thinkingField=reasoning_effort efforts= | /['"\x60]thinking['"\x60]|\bthinking: extra inputs/i
chat_template_kwargs: chat_template_kwargs param | set thinkingField=reasoning_effort | /\bchat_template_kwargs\b/
reasoning history: messages | set reasoningHistory=reasoning_content | /\breasoning_content\b.{0,80}\bmust be passed back|\breasoning_content is missing/i
reasoning history: messages | set reasoningHistory=none
  | /\breasoning(?:_content)?\b.{0,60}\bextra inputs|\b(?:unknown|unexpected|unrecogni[sz]ed)\b.{0,60}\breasoning(?:_content)?\b/is
system message: messages | set !midSystem !textParts | /system message must be (?:at the beginning|the first)|roles must alternate/i
text parts: messages | set !textParts
  | /\bcontent\b.{0,60}(?:should be a valid string|must be a string|expected a string)|invalid type: sequence, expected a string/is
response_format.json_schema: response_format.type=json_schema | set schemaFormat=json_object | /\bresponse_format\b|\bjson_schema\b/
prompt_cache_key: prompt_cache_key param | refuse prompt_cache_key | /\bprompt_cache_key\b/
safety_identifier: safety_identifier param | refuse safety_identifier | /\bsafety_identifier\b/
parallel_tool_calls: parallel_tool_calls param | refuse parallel_tool_calls | /\bparallel_tool_calls\b/
strict: tools | refuse strict
  | /\bstrict\b.{0,60}\b(?:extra inputs|not supported|unknown|unexpected)|\b(?:unsupported|unknown|unexpected)\b.{0,60}\bstrict\b/is
`,
);

const RESPONSES = optionsIn(
  'responses',
  String.raw`
encrypted_content: include=reasoning.encrypted_content | set !encryptedReasoning | /encrypted[ _]content is not supported|\breasoning\.encrypted_content\b/i
include: include param | remove | /['"\x60]include['"\x60]/
reasoning.summary: reasoning.summary param | set !display | /\breasoning summar|\breasoning\.summary\b/i
reasoning.effort: reasoning.effort param unless=effort | read efforts otherwise efforts= | /\breasoning[._]effort\b/
reasoning: reasoning param unless=effort | set efforts= | /['"\x60]reasoning['"\x60]/
safety_identifier: safety_identifier param | remove userId | /\bsafety_identifier\b/
# Not an invalid value: callers choose it with their session id.
prompt_cache_key: prompt_cache_key unless=cacheKey | remove
  | /\bun(?:known|supported|recogni[sz]ed)\b.{0,40}\bprompt_cache_key\b|\bprompt_cache_key\b.{0,60}\bextra inputs\b/i
`,
);

const MESSAGES = optionsIn(
  'messages',
  String.raw`
context_management: context_management | remove compaction | /\bcontext_management\b|\bcompact_20\d{6}\b/
thinking.adaptive: thinking.type=adaptive | set ${MANUAL_THINKING}
  | /adaptive thinking is not supported|thinking\.type\.adaptive"? is not supported|input tag 'adaptive'/i
thinking.enabled: thinking.type=enabled | set thinking=adaptive | /thinking\.type\.enabled"? is not supported|input tag 'enabled'/i
thinking.disabled: thinking.type=disabled | set thinkingOff=between_tools | /\bbetween_tools\b/
thinking.disabled: thinking.type=disabled | set !thinkingOff
  | /thinking\.type\.disabled"? is not supported|thinking cannot be disabled|input tag 'disabled'/i
thinking.display: thinking.display | set !display | /\bthinking\.(?:\w+\.)?display\b/
output_config.effort: output_config.effort | read efforts otherwise ${MANUAL_THINKING} | /\beffort parameter\b|\boutput_config\.effort\b|\boutput_config: /i
thinking: thinking | set thinking=none
  | /\bthinking: extra inputs|\bdoes not support (?:extended )?thinking\b|\bthinking is not supported\b/i
max_tokens: max_tokens unless=maxOutput once | read room | /\bmax_tokens\b.{0,40}\d \+ \d+ > \d/
max_tokens: max_tokens unless=maxOutput | read maxOutput | /\bmax_tokens\b.{0,20}\d > \d/
metadata: metadata | remove userId | /\bmetadata(?:\.user_id)?: /
cache_control: messages | set !explicitCache | /\bcache_control\b/
# A header of the client, of which the gateway sends Bedrock what its models take. The error does not say which one it means.
anthropic-beta: anthropic-beta | removeEach | /\binvalid beta flag/i
`,
);

const THINKING = 'generationConfig.thinkingConfig';
const GENERATE = optionsIn(
  'generate',
  String.raw`
includeThoughts: ${THINKING}.includeThoughts param | set !thinksByDefault | /\binclude_?thoughts\b/i
includeThoughts: ${THINKING}.includeThoughts param | set !display | /\binclude_?thoughts\b/i
thinkingLevel: ${THINKING}.thinkingLevel param | withoutEffort | /\bthinking[ _]level[ _](?:minimal|low|medium|high)\b/i
thinkingLevel: ${THINKING}.thinkingLevel | set thinkingConfig=budget | /\bthinking[ _]?level is not supported|unknown name "thinking_?level"/i
thinkingBudget: ${THINKING}.thinkingBudget param | read budget otherwise thinkingConfig=none | /\bthinking[ _]?budget\b|\bbudget -?\d+ is invalid/i
thinkingConfig: ${THINKING} param | set thinkingConfig=none
  | /\bthinking_?config is not supported|\bthinking is not (?:enabled|supported)|unknown name "thinking_?config"/i
responseJsonSchema: generationConfig.responseJsonSchema | set !jsonSchemaTools | /unknown name "response_?json_?schema"/i
parametersJsonSchema: tools | set !jsonSchemaTools | /unknown name "parameters_?json_?schema"/i
`,
);

const EXTRA = 'additionalModelRequestFields';
const CONVERSE: readonly AddedOption[] = [
  ...MESSAGES.filter(({ path }) => /^(?:thinking|output_config)\b/.test(path)).map((row) => ({
    ...{ ...row, dialect: 'converse' as const, path: `${EXTRA}.${row.path}` },
  })),
  ...optionsIn(
    'converse',
    String.raw`
reasoning_effort: ${EXTRA}.reasoning_effort | set efforts= | /\[?reasoning_effort\b/
reasoning_config: ${EXTRA}.reasoning_config | set efforts= | /\[?reasoning_config\b/
reasoningConfig: ${EXTRA}.reasoningConfig | set efforts= | /\[?reasoningConfig\b/
outputConfig: outputConfig | set schemaFormat=none | /\boutput_?config\b|\bstructured outputs?\b|\bjson_?schema\b/i
strict: toolConfig | set schemaFormat=none | /\bstrict\b/
toolChoice: toolConfig.toolChoice | set toolChoices= | /\btoolChoice\b/
cachePoint: messages | set !explicitCache | /\bprompt caching\b|\bcachePoint\b/i
stopSequences: inferenceConfig.stopSequences | set !stop | /\bstopSequences field\b/
`,
  ),
];

export const ADDED_OPTIONS: Readonly<Record<UpstreamDialect, readonly AddedOption[]>> = {
  ...{ chat: CHAT, responses: RESPONSES, messages: MESSAGES, generate: GENERATE, converse: CONVERSE },
};

/** Statuses of a provider that rejects a request before it works on it. */
export const REJECTION_STATUSES: ReadonlySet<number> = new Set([400, 422]);

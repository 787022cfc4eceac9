import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Account } from '../../catalog/index.ts';
import { createLog } from '../../core/index.ts';
import type { HubRequest, JsonObject } from '../../dialects/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { capabilitiesOf, type Style, type UpstreamDialect } from '../../rules/index.ts';
import type { Lessons } from './lessons.ts';
import { OptionRetry } from './option-retry.ts';
import { RejectedOptions } from './rejected-options.ts';

const ACCOUNT = { id: 'a' } as Account;
const STYLES: Readonly<Record<UpstreamDialect, Style>> = {
  converse: 'messages',
  chat: 'responses',
  responses: 'responses',
  messages: 'messages',
  generate: 'generate-content',
};
const REQUEST = { reasoning: {}, limits: {}, cache: {} } as HubRequest;

interface Setting {
  readonly dialect: UpstreamDialect;
  readonly body: JsonObject;
  readonly request?: Partial<HubRequest>;
  readonly status?: number;
  readonly sends?: 'once';
  readonly headersSent?: boolean;
}

/** What a call learns from an error body; undefined when it is not sent again. */
function learned(error: unknown, { dialect, body, request, status = 400, sends, headersSent = false }: Setting) {
  const retry = new OptionRetry({
    call: { id: 'r', response: { headersSent }, addLogFields() {} } as unknown as Call,
    log: createLog('error', { write() {} }),
    rejectedOptions: new RejectedOptions(),
    sends: sends ?? 'again',
  });
  const text = typeof error === 'string' ? error : JSON.stringify(error);
  const isRetried = retry.onRejected(
    { status, headers: {}, body: text },
    {
      dialect,
      account: ACCOUNT,
      model: 'm',
      body,
      capabilities: capabilitiesOf(STYLES[dialect], 'new-model'),
      request: { ...REQUEST, ...request },
      isChangedBy: () => true,
    },
  );
  const { overrides, removed } = retry.lessonsFor(ACCOUNT, 'm');
  return isRetried ? { ...overrides, ...(removed.length > 0 && { removed }) } : undefined;
}

const openai = (message: string, param: string | null = null, code: string | null = null) => ({
  error: { message, type: 'invalid_request_error', param, code },
});
const anthropic = (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } });
const google = (message: string) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } });

test('errors of Converse teach what a model lacks', () => {
  const extra = (field: object) => ({ additionalModelRequestFields: field });
  for (const [message, body, lesson] of [
    [
      "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try again.",
      { toolConfig: { toolChoice: { any: {} } } },
      { toolChoices: [] },
    ],
    [
      "This model doesn't support the stopSequences field. Remove stopSequences and try again.",
      { inferenceConfig: { stopSequences: ['x'] } },
      { stop: false },
    ],
    [
      'You invoked an unsupported model or your request did not allow prompt caching.',
      { messages: [] },
      { explicitCache: false },
    ],
    [
      "This model doesn't support the outputConfig field. Remove outputConfig and try again.",
      { outputConfig: {} },
      { schemaFormat: 'none' },
    ],
    [
      'Malformed input request: #: extraneous key [reasoning_effort] is not permitted, ' +
        'please reformat your input and try again.',
      extra({ reasoning_effort: 'low' }),
      { efforts: [] },
    ],
    [
      'adaptive thinking is not supported on this model',
      extra({ thinking: { type: 'adaptive' } }),
      { thinking: 'manual', display: false, efforts: [] },
    ],
  ] as const)
    assert.deepEqual(learned(anthropic(message), { dialect: 'converse', body }), lesson, message);
});

test('errors of a chat provider about stream_options remove it, in every form', () => {
  const body = { stream_options: { include_usage: true } };
  const removed = { removed: ['stream_options'] };
  for (const error of [
    openai('Unrecognized request argument supplied: stream_options', 'stream_options'),
    openai('Unknown field.', 'stream_options'),
    { error: { message: 'Unknown field: stream_options' } },
    { error: 'json: unknown field "stream_options"' },
    {
      object: 'error',
      message:
        "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': " +
        "'Extra inputs are not permitted', 'input': {}}]",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    { detail: [{ type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' }] },
    { error: { message: "Extra inputs are not permitted, field: 'stream_options'" } },
    { detail: 'stream_options is not supported' },
    'unknown field stream_options',
  ])
    assert.deepEqual(learned(error, { dialect: 'chat', body }), removed, JSON.stringify(error));
  assert.deepEqual(learned(openai('x', 'stream_options'), { dialect: 'chat', body, status: 422 }), removed);
});

test('errors of chat servers teach what the server lacks', () => {
  const body = {
    messages: [],
    max_completion_tokens: 9,
    reasoning_effort: 'high',
    chat_template_kwargs: {},
    prompt_cache_key: 'k',
    safety_identifier: 't',
    parallel_tool_calls: false,
    tools: [{}],
    response_format: { type: 'json_schema' },
  };
  const extra = (...loc: readonly string[]) => ({
    detail: [{ type: 'extra_forbidden', loc: ['body', ...loc], msg: 'Extra inputs are not permitted' }],
  });
  const refused = (name: string) => ({ refusedFields: [name] });
  const cases: readonly (readonly [object, object])[] = [
    // Mistral puts the list of FastAPI into the message.
    [{ object: 'error', message: extra('max_completion_tokens') }, { outputLimitField: 'max_tokens' }],
    [openai('Unrecognized request argument supplied: max_completion_tokens'), { outputLimitField: 'max_tokens' }],
    [openai("reasoning_effort: Input should be 'low' or 'medium'"), { efforts: ['low', 'medium'] }],
    [openai('Model does not support parameter reasoningEffort'), { efforts: [] }],
    [extra('chat_template_kwargs'), { thinkingField: 'reasoning_effort' }],
    [extra('messages', '1', 'assistant', 'reasoning_content'), { reasoningHistory: 'none' }],
    [
      openai('The `reasoning_content` in the thinking mode must be passed back to the API.'),
      { reasoningHistory: 'reasoning_content' },
    ],
    [openai('System message must be at the beginning.'), { midSystem: false, textParts: false }],
    [openai('messages[0].content must be a string'), { textParts: false }],
    [openai('This response_format type is unavailable now'), { schemaFormat: 'json_object' }],
    [extra('prompt_cache_key'), refused('prompt_cache_key')],
    [openai('Unknown name: safety_identifier'), refused('safety_identifier')],
    [openai("Unsupported parameter: 'parallel_tool_calls'", 'parallel_tool_calls'), refused('parallel_tool_calls')],
    [extra('tools', '0', 'function', 'strict'), refused('strict')],
  ];
  for (const [error, expected] of cases)
    assert.deepEqual(learned(error, { dialect: 'chat', body, status: 422 }), expected, JSON.stringify(error));
  const limit = openai("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.");
  assert.deepEqual(learned(limit, { dialect: 'chat', body: { max_tokens: 9 } }), {
    outputLimitField: 'max_completion_tokens',
  });
});

test('errors of a responses provider teach what the model lacks', () => {
  const body = {
    include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
    reasoning: { effort: 'none', summary: 'auto' },
    safety_identifier: 'tag',
    prompt_cache_key: 'session',
  };
  const efforts = ['low', 'medium', 'high'];
  const cases: readonly (readonly [object, object])[] = [
    [openai('Encrypted content is not supported with this model.', 'include'), { encryptedReasoning: false }],
    [openai("Invalid value: 'web_search_call.action.sources'.", 'include[1]'), { removed: ['include'] }],
    [
      openai('Your organization must be verified to generate reasoning summaries.', 'reasoning.summary'),
      { display: false },
    ],
    [
      openai(
        "Unsupported value: 'none' is not supported with the 'm' model. " +
          "Supported values are: 'low', 'medium', and 'high'.",
        'reasoning.effort',
        'unsupported_value',
      ),
      { efforts },
    ],
    [
      openai("Unsupported parameter: 'reasoning.effort' is not supported with this model.", 'reasoning.effort'),
      { efforts: [] },
    ],
    [openai("Unknown parameter: 'reasoning'.", 'reasoning'), { efforts: [] }],
    [openai("Unknown parameter: 'safety_identifier'.", 'safety_identifier'), { removed: ['safety_identifier'] }],
    [openai("Unknown parameter: 'prompt_cache_key'.", 'prompt_cache_key'), { removed: ['prompt_cache_key'] }],
    [
      { detail: [{ loc: ['body', 'prompt_cache_key'], msg: 'Extra inputs are not permitted' }] },
      { removed: ['prompt_cache_key'] },
    ],
  ];
  for (const [error, expected] of cases)
    assert.deepEqual(learned(error, { dialect: 'responses', body }), expected, JSON.stringify(error));
});

test('errors of a messages provider teach what the model lacks', () => {
  const manual = { thinking: 'manual', display: false, efforts: [] };
  const adaptive = { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'xhigh' } };
  const off = { thinking: { type: 'disabled' } };
  const enabled = { thinking: { type: 'enabled', budget_tokens: 2_000 } };
  const cases: readonly (readonly [string, JsonObject, object])[] = [
    ['adaptive thinking is not supported on this model', adaptive, manual],
    ["thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags", adaptive, manual],
    ['This model does not support the effort parameter.', adaptive, manual],
    [
      "output_config.effort: Input should be 'low', 'medium', 'high' or 'max'",
      adaptive,
      { efforts: ['low', 'medium', 'high', 'max'] },
    ],
    ['thinking.adaptive.display: Extra inputs are not permitted', adaptive, { display: false }],
    ['thinking: Extra inputs are not permitted', adaptive, { thinking: 'none' }],
    ["'claude-x' does not support thinking.", enabled, { thinking: 'none' }],
    [
      '"thinking.type.enabled" is not supported for this model. ' +
        'Use "thinking.type.adaptive" and "output_config.effort".',
      enabled,
      { thinking: 'adaptive' },
    ],
    [
      '"thinking.type.disabled" is not supported for this model. ' +
        'Use "thinking.type.adaptive" and "output_config.effort".',
      off,
      { thinkingOff: false },
    ],
    [
      'To turn thinking off on this model, send "thinking": {"type": "between_tools"}.',
      off,
      { thinkingOff: 'between_tools' },
    ],
    [
      'max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022',
      { max_tokens: 64_000 },
      { maxOutput: 8_192 },
    ],
    [
      'input length and `max_tokens` exceed context limit: ' +
        '188240 + 64000 > 200000, decrease input length or `max_tokens`',
      { max_tokens: 64_000 },
      { maxOutput: 11_760 },
    ],
    ['metadata: Extra inputs are not permitted', { metadata: { user_id: 'tag' } }, { removed: ['metadata'] }],
  ];
  for (const [message, body, expected] of cases)
    assert.deepEqual(learned(anthropic(message), { dialect: 'messages', body }), expected, message);
});

test('errors of a generate-content provider teach what the model lacks', () => {
  const thinking = (thinkingConfig: object): JsonObject => ({ generationConfig: { thinkingConfig } });
  const thoughts = thinking({ includeThoughts: true });
  const low = thinking({ thinkingLevel: 'LOW' });
  const cases: readonly (readonly [string, JsonObject, object])[] = [
    [
      'Unable to submit request because Thinking_config.include_thoughts is only enabled when thinking is enabled.',
      thoughts,
      { thinksByDefault: false },
    ],
    ['Thinking is not enabled for models/gemini-2.0-flash', thoughts, { thinkingConfig: 'none' }],
    ['thinking_config is not supported.', thoughts, { thinkingConfig: 'none' }],
    [
      'Thinking level LOW is not supported for this model. Please retry with other thinking level.',
      low,
      { efforts: ['medium', 'high', 'any'] },
    ],
    [
      'Unable to submit request because thinking_level LOW is not supported by this model.',
      low,
      { efforts: ['medium', 'high', 'any'] },
    ],
    ['Thinking level is unsupported: THINKING_LEVEL_LOW', low, { efforts: ['medium', 'high', 'any'] }],
    ['Thinking level is not supported for this model.', low, { thinkingConfig: 'budget' }],
    [
      'Budget 0 is invalid. This model only works in thinking mode.',
      thinking({ thinkingBudget: 0 }),
      { thinkingBudget: [128, 24_576] },
    ],
    [
      'The thinking budget 100 is invalid. Please choose a value between 512 and 24576.',
      thinking({ thinkingBudget: 100 }),
      { thinkingBudget: [512, 24_576] },
    ],
    ['Thinking budget is not supported for this model.', thinking({ thinkingBudget: 100 }), { thinkingConfig: 'none' }],
    [
      'Invalid JSON payload received. Unknown name "parametersJsonSchema" at \'tools[0].function_declarations[0]\': Cannot find field.',
      { tools: [{}] },
      { jsonSchemaTools: false },
    ],
  ];
  for (const [message, body, expected] of cases) {
    assert.deepEqual(learned(google(message), { dialect: 'generate', body }), expected, message);
    assert.deepEqual(learned([google(message)], { dialect: 'generate', body }), expected, `${message} in a list`);
  }
  const field = 'generation_config.thinking_config';
  const details = [{ fieldViolations: [{ field, description: 'Invalid.' }] }];
  const error = { error: { ...google('Invalid argument.').error, details } };
  assert.deepEqual(learned(error, { dialect: 'generate', body: low }), { thinkingConfig: 'none' });
});

test('errors about anything else, and other failures, teach nothing', () => {
  const sent = { dialect: 'chat', body: { stream_options: { include_usage: true } } } as const;
  const error = openai('Unknown field.', 'stream_options');
  assert.equal(learned(openai("Invalid 'messages'.", 'messages'), sent), undefined);
  for (const status of [401, 404, 429, 500, 503])
    assert.equal(learned(error, { ...sent, status }), undefined, `${status}`);
  const keyed = { dialect: 'responses', body: { prompt_cache_key: 'session' } } as const;
  assert.equal(learned(openai("Invalid 'prompt_cache_key'.", 'prompt_cache_key'), keyed), undefined);
  assert.equal(learned('<html>stream_options</html>', sent), undefined);
  assert.equal(learned(error, { ...sent, body: {} }), undefined, 'not sent');
  assert.equal(learned(error, { ...sent, sends: 'once' }), undefined, 'sent once');
  assert.equal(learned(error, { ...sent, headersSent: true }), undefined, 'the client has received something');
});

test('values that the caller sent are not left out', () => {
  const effort = openai("Unsupported value: 'minimal'.", 'reasoning.effort');
  const reasoning = { dialect: 'responses', body: { reasoning: { effort: 'minimal' } } } as const;
  assert.equal(learned(effort, { ...reasoning, request: { reasoning: { effort: 'minimal' } } }), undefined);
  assert.deepEqual(learned(effort, { ...reasoning, request: { reasoning: { mode: 'budget', budget: 9 } } }), {
    efforts: [],
  });
  // Nothing is learned from a word that no table knows, whichever provider refuses it.
  const word = { dialect: 'messages', body: { output_config: { effort: 'ultra' } } } as const;
  const unknown = anthropic('output_config.effort: unknown value');
  assert.equal(learned(unknown, { ...word, request: { reasoning: { effort: 'ultra' } } }), undefined);
  const limit = anthropic('max_tokens: 9000 > 8192, which is the maximum');
  const tokens = { dialect: 'messages', body: { max_tokens: 9_000 } } as const;
  assert.equal(learned(limit, { ...tokens, request: { limits: { maxOutput: 9_000 } } }), undefined);
  const key = openai("Unknown parameter: 'prompt_cache_key'.", 'prompt_cache_key');
  const cached = { dialect: 'responses', body: { prompt_cache_key: 'k' } } as const;
  assert.equal(learned(key, { ...cached, request: { cache: { key: 'k' } } }), undefined);
});

test('a lesson that concerns one request only is not remembered', () => {
  const remembered = (message: string): object => {
    const rejectedOptions = new RejectedOptions();
    const call = { id: 'r', response: { headersSent: false }, addLogFields() {} } as unknown as Call;
    const retry = new OptionRetry({ call, log: createLog('error', { write() {} }), rejectedOptions, sends: 'again' });
    const capabilities = capabilitiesOf('messages', 'new-model');
    const sent = {
      dialect: 'messages',
      account: ACCOUNT,
      model: 'm',
      body: { max_tokens: 64_000 },
      capabilities,
    } as const;
    const failure = { status: 400, headers: {}, body: JSON.stringify(anthropic(message)) };
    assert.equal(retry.onRejected(failure, { ...sent, isChangedBy: () => true }), true);
    assert.deepEqual(rejectedOptions.lessonsFor(ACCOUNT, 'm').overrides, {}, 'not before it has helped');
    retry.onAccepted(ACCOUNT, 'm');
    return rejectedOptions.lessonsFor(ACCOUNT, 'm').overrides;
  };
  assert.deepEqual(remembered('input length and `max_tokens` exceed context limit: 188240 + 64000 > 200000'), {});
  assert.deepEqual(remembered('max_tokens: 64000 > 8192, which is the maximum'), { maxOutput: 8_192 });
});

test('rejected options are remembered by account and model, within a limit', () => {
  const rejected = new RejectedOptions();
  const lessons = (name: string): Lessons => ({ overrides: {}, removed: [name], dropped: [] });
  const other = { id: 'b' } as Account;
  rejected.add(ACCOUNT, 'm', lessons('x'));
  rejected.add(ACCOUNT, 'm', lessons('y'));
  assert.deepEqual(rejected.lessonsFor(ACCOUNT, 'm').removed, ['x', 'y']);
  assert.deepEqual(rejected.lessonsFor(ACCOUNT, 'n').removed, []);
  assert.deepEqual(rejected.lessonsFor(other, 'm').removed, []);
  for (let n = 0; n < 500; n += 1) rejected.add(ACCOUNT, `m${n}`, lessons('x'));
  assert.deepEqual(rejected.lessonsFor(ACCOUNT, 'm').removed, [], 'the oldest is forgotten');
  assert.deepEqual(rejected.lessonsFor(ACCOUNT, 'm499').removed, ['x']);
});

/** Differences of chat-completions servers, as their presets state them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTEXT, decode, decodeAll, target } from '../../../../test/support/dialects/chat.ts';
import { type ChatPreset, chatPresetFlags } from '../../../rules/index.ts';
import { fold } from '../../hub/fold.ts';
import type { HubItem, HubReasoning } from '../../hub/types.ts';
import { encodeRequest } from './encode-request.ts';
import { decodeReply } from './stream-decoder.ts';

const encode = (preset: ChatPreset, body: object, reasoning?: HubReasoning) => {
  const request = decode(body);
  return encodeRequest(reasoning ? { ...request, reasoning } : request, target(chatPresetFlags(preset)));
};
const FIND = { type: 'function', function: { name: 'find', parameters: { type: 'object' }, strict: true } };
const READ = { type: 'function', function: { name: 'read', parameters: { type: 'object' } } };

test('encodeRequest asks each server for thinking in its own field', () => {
  const off = { mode: 'off' } as const;
  const budget = { mode: 'budget', budget: 20_000 } as const;
  const cases: readonly (readonly [ChatPreset, HubReasoning, object])[] = [
    ['openai', budget, { reasoning_effort: 'high' }],
    ['deepseek', off, { thinking: { type: 'disabled' } }],
    ['deepseek', { effort: 'medium' }, { thinking: { type: 'enabled' }, reasoning_effort: 'low' }],
    ['zai', { mode: 'auto' }, { thinking: { type: 'enabled' } }],
    ['qwen', budget, { enable_thinking: true, thinking_budget: 20_000 }],
    ['qwen', off, { enable_thinking: false }],
    ['vllm', off, { chat_template_kwargs: { enable_thinking: false } }],
    ['vllm', budget, { chat_template_kwargs: { enable_thinking: true }, reasoning_effort: 'high' }],
    ['openrouter', budget, { reasoning: { max_tokens: 20_000 } }],
    ['openrouter', { effort: 'max' }, { reasoning: { effort: 'xhigh' } }],
    ['openrouter', { mode: 'auto' }, { reasoning: { enabled: true } }],
    ['generic', budget, {}],
  ];
  for (const [preset, reasoning, expected] of cases) {
    const { model: _, messages: __, ...rest } = encode(preset, {}, reasoning).body;
    assert.deepEqual(rest, expected, `${preset} ${JSON.stringify(reasoning)}`);
  }
  assert.deepEqual(encode('generic', {}, budget).droppedFields, ['reasoning']);
  assert.deepEqual(encode('deepseek', {}, {}).body.thinking, undefined, 'only when the caller says so');
});

test('encodeRequest names the output limit as the server does', () => {
  assert.equal(encode('mistral', { max_completion_tokens: 7 }).body.max_tokens, 7);
  assert.equal(encode('minimax', { max_tokens: 7 }).body.max_completion_tokens, 7);
});

test('encodeRequest drops and names what a server refuses, and emulates stop sequences', () => {
  const { body, droppedFields, emulateStop } = encode('xai', {
    presence_penalty: 1,
    seed: 3,
    stop: ['END'],
    service_tier: 'flex',
    tools: [FIND],
  });
  assert.equal(body.seed, 3);
  assert.deepEqual(droppedFields, ['serviceTier', 'presencePenalty']);
  assert.deepEqual(emulateStop, ['END']);
  assert.equal(body.stop, undefined);
  assert.deepEqual(encode('generic', { tools: [FIND] }).body.tools, [
    { type: 'function', function: { name: 'find', parameters: { type: 'object' } } },
  ]);
  assert.deepEqual(encode('generic', { tools: [FIND] }).droppedFields, ['strictTools']);
});

test('encodeRequest turns a choice that a server lacks into a shorter list of tools', () => {
  const named = { type: 'function', function: { name: 'read' } };
  const tools = [FIND, READ];
  const read = { type: 'function', function: { name: 'read', parameters: { type: 'object' } } };
  const lmstudio = encode('lmstudio', { tools, tool_choice: named });
  assert.deepEqual([lmstudio.body.tools, lmstudio.body.tool_choice], [[read], 'required']);
  const ollama = encode('ollama', { tools: [READ], tool_choice: named });
  assert.deepEqual([ollama.body.tools, ollama.body.tool_choice], [[read], undefined]);
  assert.deepEqual(ollama.droppedFields, ['toolChoice']);
  assert.equal(encode('ollama', { tools: [READ], tool_choice: 'none' }).body.tools, undefined);
  const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named] } };
  assert.deepEqual(encode('generic', { tools, tool_choice: allowed }).body.tools, [read]);
});

test('encodeRequest writes a schema that a server lacks as an instruction', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const response_format = { type: 'json_schema', json_schema: { name: 'n', schema } };
  const { body, droppedFields } = encode('deepseek', { response_format });
  assert.deepEqual(body.response_format, { type: 'json_object' });
  assert.match(JSON.stringify(body.messages), /JSON Schema/);
  assert.deepEqual(droppedFields, ['structuredOutput']);
  assert.equal(encode('minimax', { response_format }).body.response_format, undefined);
  assert.deepEqual(encode('deepseek', { response_format: { type: 'json_object' } }).droppedFields, []);
});

test('encodeRequest returns reasoning with the calls that it led to, in the form of the server', () => {
  const call: HubItem = { kind: 'tool_call', callId: 'c1', name: 'find', form: 'function', args: '{}' };
  const opaque = { issuer: 'responses', kind: 'reasoning', data: 'x' } as const;
  const items = (reasoning: HubItem): HubItem[] => [
    { kind: 'reasoning', summary: ['old'] },
    { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'no call here' }] },
    { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'go' }] },
    reasoning,
    call,
    { kind: 'tool_result', callId: 'c1', form: 'function', parts: [{ kind: 'text', text: 'ok' }] },
  ];
  const assistants = (preset: ChatPreset, reasoning: HubItem) =>
    (
      encodeRequest({ ...decode({}), items: items(reasoning) }, target(chatPresetFlags(preset))).body
        .messages as Record<string, unknown>[]
    )
      .filter(({ role }) => role === 'assistant')
      .map(({ role: _, tool_calls: __, ...rest }) => rest);
  const thought: HubItem = { kind: 'reasoning', summary: ['hm'] };
  const plain = { content: 'no call here' };
  assert.deepEqual(assistants('deepseek', thought), [plain, { reasoning_content: 'hm', content: null }]);
  assert.deepEqual(assistants('vllm', thought), [plain, { reasoning: 'hm', content: null }]);
  assert.deepEqual(assistants('minimax', thought), [plain, { content: '<think>\nhm\n</think>\n\n' }]);
  assert.deepEqual(assistants('mistral', thought), [plain, { content: null }]);
  const foreign = assistants('deepseek', { kind: 'reasoning', summary: ['of another model'], opaque });
  assert.deepEqual(foreign, [plain, { reasoning_content: '', content: null }]);
});

const stream = (chunks: readonly object[], thinkTags = false) =>
  fold(
    decodeAll([...chunks.map((data) => ({ data: JSON.stringify(data) })), { data: '[DONE]' }], {
      ...CONTEXT,
      thinkTags,
    }),
  );
const chunk = (delta: object, more: object = {}) => ({ id: 'x', choices: [{ index: 0, delta, ...more }] });
const end = chunk({}, { finish_reason: 'stop' });
const kinds = (folded: ReturnType<typeof stream>) =>
  'reply' in folded
    ? folded.reply.items.map((item) => (item.kind === 'reasoning' ? item.summary : item.kind))
    : folded.error.code;

test('the decoder reads reasoning in every form, streamed as unary', () => {
  const forms: readonly object[] = [
    { reasoning_content: 'hm' },
    { reasoning: 'hm' },
    { reasoning_content: 'hm', reasoning: 'hm' },
    {
      reasoning_details: [
        { type: 'reasoning.text', text: 'hm' },
        { type: 'reasoning.encrypted', data: 'x' },
      ],
    },
    { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] },
  ];
  for (const form of forms) {
    assert.deepEqual(
      kinds(stream([chunk(form), chunk({ content: 'Yes.' }), end])),
      [['hm'], 'message'],
      JSON.stringify(form),
    );
  }
  const tagged = '<think>hm</think>\n\nYes.';
  assert.deepEqual(kinds(stream([...tagged].map((content) => chunk({ content })).concat(end), true)), [
    ['hm'],
    'message',
  ]);
  const message = { role: 'assistant', content: tagged };
  const wire = { id: 'x', choices: [{ index: 0, message, finish_reason: 'stop' }] };
  const { items } = decodeReply(wire, { ...CONTEXT, thinkTags: true });
  assert.deepEqual(items, [
    { kind: 'reasoning', summary: ['hm'] },
    { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'Yes.' }] },
  ]);
  assert.deepEqual(kinds(stream([chunk({ content: tagged }), end])), ['message'], 'only where the server does so');
});

test('the decoder reads usage wherever a server puts it', () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4 };
  const input = (folded: ReturnType<typeof stream>) => ('reply' in folded ? folded.reply.usage.input : undefined);
  assert.equal(input(stream([chunk({ content: 'a' }), chunk({}, { finish_reason: 'stop', usage })])), 3);
  assert.equal(input(stream([chunk({ content: 'a' }), { ...end, x_groq: { usage } }])), 3);
});

test('the decoder reads finish reasons and errors of its own names', () => {
  const stopOf = (finish_reason: string) => {
    const folded = stream([chunk({ content: 'a' }), chunk({}, { finish_reason })]);
    return 'reply' in folded ? folded.reply.stop : folded.error.code;
  };
  assert.equal(stopOf('model_length'), 'length');
  assert.equal(stopOf('sensitive'), 'filter');
  assert.equal(stopOf('eos'), 'end');
  assert.equal(stopOf('insufficient_system_resource'), 'upstream_error');
  const limited = { base_resp: { status_code: 1002, status_msg: 'rate limit' } };
  assert.throws(() => decodeReply(limited, CONTEXT), { code: 'rate_limit_exceeded' });
  const failed = stream([limited]);
  assert.equal('error' in failed && failed.error.code, 'rate_limit_exceeded');
});

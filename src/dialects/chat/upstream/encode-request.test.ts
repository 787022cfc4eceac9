import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decode, target } from '../../../../test/support/dialects/chat.ts';
import { deepFreeze } from '../../../../test/support/dialects/codecs.ts';
import { runs } from '../../../../test/support/properties.ts';
import { checkSupport } from '../../hub/fields.ts';
import type { HubItem, HubRequest, HubTool } from '../../hub/types.ts';
import { maybeList } from '../../wire/read.ts';
import { fieldNames, support } from '../fields.ts';
import { encodeRequest } from './encode-request.ts';

const base = decode({});
const request = (more: Partial<HubRequest>): HubRequest => ({ ...base, ...more });
const body = (more: Partial<HubRequest>, to = target()) => encodeRequest(request(more), to).body;
const messages = (items: readonly HubItem[], to = target()) => maybeList(body({ items }, to).messages);

const text = (value: string) => ({ kind: 'text', text: value }) as const;
const user = (value: string): HubItem => ({ kind: 'message', role: 'user', parts: [text(value)] });
const assistant = (value: string): HubItem => ({ kind: 'message', role: 'assistant', parts: [text(value)] });
const call = (callId: string, more: object = {}): HubItem => ({
  kind: 'tool_call',
  callId,
  name: 'f',
  form: 'function',
  args: '{}',
  ...more,
});
const result = (callId: string, value: string, more: object = {}): HubItem => ({
  kind: 'tool_result',
  callId,
  form: 'function',
  parts: [text(value)],
  ...more,
});
const fn = (name: string, more: object = {}): HubTool => ({
  kind: 'function',
  name,
  schema: { type: 'object' },
  ...more,
});
const wireCall = (id: string, name = 'f', args = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});

test('encodeRequest adds nothing to a minimal request', () => {
  assert.deepEqual(encodeRequest(base, target()), {
    body: { model: 'up-model', messages: [{ role: 'user', content: 'hi' }] },
    headers: {},
    droppedFields: [],
    names: new Map(),
    emulateStop: [],
  });
});

test('encodeRequest reproduces a chat request', () => {
  const wire = {
    messages: [
      { role: 'system', content: 'Be kind.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
        ],
      },
      {
        role: 'assistant',
        content: 'Hm.',
        tool_calls: [wireCall('a'), { id: 'b', type: 'custom', custom: { name: 'p', input: 'x' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'tool', tool_call_id: 'b', content: '2' },
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'And?' },
    ],
    tools: [
      { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: false } },
      {
        type: 'custom',
        custom: { name: 'p', format: { type: 'grammar', grammar: { definition: 'start: "a"', syntax: 'lark' } } },
      },
    ],
    tool_choice: { type: 'custom', custom: { name: 'p' } },
    parallel_tool_calls: false,
    web_search_options: {
      search_context_size: 'low',
      user_location: { type: 'approximate', approximate: { city: 'Rome' } },
    },
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: false } },
    reasoning_effort: 'high',
    verbosity: 'low',
    max_completion_tokens: 100,
    temperature: 0,
    top_p: 0.5,
    presence_penalty: 1,
    frequency_penalty: 1,
    seed: 7,
    logit_bias: { 1: 2 },
    stop: ['END'],
    prompt_cache_key: 'k',
    service_tier: 'flex',
  };
  assert.deepEqual(encodeRequest(decode(wire), target()).body, { model: 'up-model', ...wire });
});

test('encodeRequest requests usage for streams', () => {
  const { stream, stream_options } = body({ stream: true });
  assert.deepEqual([stream, stream_options], [true, { include_usage: true }]);
});

// ---------------------------------------------------------------- conversation

test('encodeRequest joins text and calls of a turn and puts results after them in call order', () => {
  const items = [
    user('go'),
    assistant('A'),
    call('1'),
    assistant('B'),
    call('2'),
    user('wait'),
    result('2', 'two'),
    result('1', 'one'),
  ];
  assert.deepEqual(messages(items), [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: 'AB', tool_calls: [wireCall('1'), wireCall('2')] },
    { role: 'tool', tool_call_id: '1', content: 'one' },
    { role: 'tool', tool_call_id: '2', content: 'two' },
    { role: 'user', content: 'wait' },
  ]);
});

test('encodeRequest keeps results with their calls when a client reuses call ids', () => {
  const items = [user('go'), call('0'), result('0', 'first'), assistant('next'), call('0'), result('0', 'second')];
  const tools = messages(items).filter((one) => JSON.stringify(one).includes('"tool"'));
  assert.deepEqual(tools, [
    { role: 'tool', tool_call_id: '0', content: 'first' },
    { role: 'tool', tool_call_id: '0', content: 'second' },
  ]);
});

test('encodeRequest adds a missing result and rejects a result without a call', () => {
  assert.deepEqual(messages([user('go'), call('1'), user('never mind')]).slice(2), [
    { role: 'tool', tool_call_id: '1', content: 'Error: No output was recorded for this call.' },
    { role: 'user', content: 'never mind' },
  ]);
  assert.throws(() => messages([user('go'), result('9', 'x')]), { code: 'invalid_request', message: /9/ });
});

test('encodeRequest sends tool errors as text, data as JSON and images after the results', () => {
  const image = { kind: 'image', source: { kind: 'url', url: 'https://example.org/a.png' } } as const;
  const items = [
    user('go'),
    call('1'),
    call('2'),
    result('1', 'boom', { isError: true }),
    result('2', '', { parts: [{ kind: 'json', value: { a: 1 } }, image] }),
  ];
  assert.deepEqual(messages(items).slice(2), [
    { role: 'tool', tool_call_id: '1', content: 'Error: boom' },
    { role: 'tool', tool_call_id: '2', content: '{"a":1}' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'From the result of tool call 2:' },
        { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
      ],
    },
  ]);
});

test('encodeRequest drops reasoning and opaque items, and writes hosted calls as text', () => {
  const items: HubItem[] = [
    user('go'),
    { kind: 'reasoning', summary: ['secret'], opaque: { issuer: 'messages', kind: 'thinking', data: 's' } },
    { kind: 'opaque', issuer: 'responses', raw: {} },
    { kind: 'server_call', id: 'w', tool: 'web_search', issuer: 'messages', status: 'completed', queries: ['a', 'b'] },
    { kind: 'server_call', id: 'x', tool: 'web_search', issuer: 'messages', status: 'completed' },
    assistant('Hi'),
    user('on'),
  ];
  const search = '<tool_call tool="web_search">\n<input>\na\nb\n</input>\n</tool_call>';
  assert.deepEqual(messages(items)[1], { role: 'assistant', content: `${search}\nHi` });
});

test('encodeRequest sends a signature only to the account that issued it', () => {
  const signature = { issuer: 'generate-content', kind: 'thought', account: 'acc', data: 's' } as const;
  const items = [user('go'), call('1', { signature }), result('1', 'x')];
  const has = (account?: string) =>
    JSON.stringify(messages(items, target({}, account ? { account } : {}))).includes('thought_signature');
  assert.deepEqual([has('acc'), has('other'), has()], [true, false, false]);
});

test('encodeRequest maps a long call id and an invalid tool name consistently', () => {
  const long = 'x'.repeat(100);
  const items = [user('go'), call(long, { name: 'read.file', namespace: 'fs' }), result(long, 'x')];
  const tools = [fn('read.file', { namespace: 'fs' })];
  const encoded = encodeRequest(
    request({ items, tools, toolChoice: { kind: 'named', name: 'read.file', namespace: 'fs' } }),
    target(),
  );
  const written = JSON.stringify(encoded.body);
  assert.equal(written.split('"fs__read_file"').length - 1, 3);
  assert.deepEqual(encoded.names.get('fs__read_file'), { name: 'read.file', namespace: 'fs' });
  const ids = [...written.matchAll(/"(?:id|tool_call_id)":"([^"]+)"/g)].map((found) => found[1]);
  assert.equal(new Set(ids).size, 1);
  assert.ok((ids[0]?.length ?? 99) <= 64);
});

test('encodeRequest sends documents and rejects foreign files and video', () => {
  const one = (part: object) => body({ items: [{ kind: 'message', role: 'user', parts: [part as never] }] });
  const pdf = { kind: 'file', source: { kind: 'base64', mime: 'application/pdf', data: 'AA==' } };
  assert.deepEqual(maybeList(one(pdf).messages)[0], {
    role: 'user',
    content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'document.pdf' } }],
  });
  const note = { kind: 'file', title: 'Note', source: { kind: 'text', text: 'abc' } };
  assert.deepEqual(maybeList(one(note).messages)[0], { role: 'user', content: 'Note\nabc' });
  const foreign = { kind: 'file', source: { kind: 'file_id', id: 'f_1', issuer: 'messages' } };
  assert.throws(() => one(foreign), { code: 'unsupported_parameter', message: /f_1/ });
  assert.throws(() => one({ kind: 'video', source: { kind: 'url', url: 'https://x' } }), {
    code: 'unsupported_parameter',
  });
});

test('encodeRequest continues a compacted conversation only if it has text', () => {
  assert.deepEqual(messages([{ kind: 'compaction', text: 'So far.' }, user('on')])[0], {
    role: 'user',
    content: 'So far.',
  });
  assert.throws(() => messages([{ kind: 'compaction' }, user('on')]), { code: 'invalid_request' });
});

test('encodeRequest gives a longer conversation the same leading bytes', () => {
  const turn = fc.constantFrom<HubItem[]>(
    [user('a')],
    [assistant('b')],
    [call('1'), result('1', 'x')],
    [assistant('t'), call('1'), call('2'), result('2', 'y'), result('1', 'x', { isError: true })],
    [{ kind: 'message', role: 'system', parts: [text('s')] }],
  );
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 8 }), fc.array(turn, { maxLength: 4 }), (before, after) => {
      const history = [...before.flat(), user('now')];
      const short = messages(history);
      const long = messages([...history, ...after.flat(), user('then')]);
      assert.deepEqual(JSON.stringify(long.slice(0, short.length)), JSON.stringify(short));
    }),
    { numRuns: runs(200) },
  );
});

// ---------------------------------------------------------------- settings

test('encodeRequest drops sampling fields for models without them and reports it', () => {
  const sampling = { temperature: 1, topP: 0.5, presence: 1, frequency: 1, seed: 3, stop: ['a', 'b'] };
  const encoded = encodeRequest(request({ sampling }), target({ sampling: 'none', stop: false }));
  assert.deepEqual(encoded.droppedFields, ['temperature', 'topP', 'presencePenalty', 'frequencyPenalty']);
  assert.deepEqual(encoded.emulateStop, ['a', 'b']);
  assert.deepEqual(Object.keys(encoded.body), ['model', 'messages', 'seed']);
});

test('encodeRequest sends four stop sequences and emulates the others', () => {
  const encoded = encodeRequest(request({ sampling: { stop: ['a', 'b', 'c', 'd', 'e'] } }), target());
  assert.deepEqual([encoded.body.stop, encoded.emulateStop], [['a', 'b', 'c', 'd'], ['e']]);
});

test('encodeRequest chooses the nearest effort that the model supports', () => {
  const effort = (reasoning: HubRequest['reasoning'], efforts: readonly string[]) =>
    body({ reasoning }, target({ efforts })).reasoning_effort;
  const some = ['low', 'medium', 'high'];
  assert.equal(effort({ effort: 'max' }, some), 'high');
  assert.equal(effort({ effort: 'minimal' }, ['none', ...some]), 'low');
  assert.equal(effort({ mode: 'off' }, some), 'low');
  assert.equal(effort({ mode: 'off' }, ['none', ...some]), 'none');
  assert.equal(effort({ mode: 'budget', budget: 2000 }, some), 'low');
  assert.equal(effort({ mode: 'budget', budget: 10_000 }, some), 'medium');
  assert.equal(effort({ mode: 'budget', budget: 20_000 }, some), 'high');
  assert.equal(effort({ mode: 'between_tools' }, some), 'low');
  assert.equal(effort({ mode: 'auto' }, some), undefined);
  assert.deepEqual(encodeRequest(request({ reasoning: { effort: 'low' } }), target({ efforts: [] })).droppedFields, [
    'reasoning',
  ]);
});

test('encodeRequest applies setting changes in the conversation to the whole request', () => {
  const items: HubItem[] = [
    user('a'),
    { kind: 'config_change', effort: 'low' },
    { kind: 'tool_change', add: [fn('late')] },
  ];
  const encoded = body({ items, reasoning: { effort: 'high' }, tools: [fn('early')] });
  assert.equal(encoded.reasoning_effort, 'low');
  assert.equal(maybeList(encoded.tools).length, 2);
});

test('encodeRequest marks a schema as strict when the client did or the schema allows it', () => {
  const strict = (schema: object, more: object = {}) =>
    JSON.stringify(
      body({ output: { format: { kind: 'schema', schema: schema as never, ...more } } }).response_format,
    ).includes('"strict":true');
  const closed = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  };
  assert.deepEqual(
    [strict(closed), strict({ ...closed, required: [] }), strict({ type: 'object' }, { strict: true })],
    [true, false, true],
  );
});

test('encodeRequest sends the last four cache breakpoints, or drops all if the model has none', () => {
  const parts = Array.from({ length: 6 }, (_, n) => ({ ...text(`p${n}`), cache: n === 5 ? { long: true } : {} }));
  const marked = request({ items: [{ kind: 'message', role: 'user', parts }] });
  const written = JSON.stringify(encodeRequest(marked, target({ explicitCache: true })).body);
  assert.equal(written.split('prompt_cache_breakpoint').length - 1, 4);
  assert.ok(!written.includes('{"type":"text","text":"p1","prompt_cache_breakpoint"'));
  assert.ok(written.includes('"ttl":"12h"'));
  const without = encodeRequest(marked, target());
  assert.deepEqual(without.droppedFields, ['cacheBreakpoints']);
  assert.ok(!JSON.stringify(without.body).includes('prompt_cache_breakpoint'));
});

test('encodeRequest sends the user id as a hash and the session as cache key', () => {
  const encoded = body({ meta: { userId: 'someone@example.org' }, session: 'session-1' });
  assert.match(String(encoded.safety_identifier), /^[\w-]{40}$/);
  assert.equal(encoded.prompt_cache_key, 'session-1');
});

test('encodeRequest sends custom tools as functions when the model has none', () => {
  const custom: HubTool = {
    kind: 'custom',
    name: 'p',
    description: 'Patch.',
    grammar: { syntax: 'lark', definition: 'start: "a"' },
  };
  const items = [
    user('go'),
    call('1', { name: 'p', form: 'custom', args: 'a "b"' }),
    result('1', 'ok', { form: 'custom' }),
  ];
  const encoded = body(
    { tools: [custom], items, toolChoice: { kind: 'named', name: 'p' } },
    target({ customTools: false }),
  );
  assert.ok(JSON.stringify(encoded.tools).includes('lark grammar'));
  assert.deepEqual(encoded.tool_choice, { type: 'function', function: { name: 'p' } });
  assert.deepEqual(maybeList(encoded.messages)[1], {
    role: 'assistant',
    content: null,
    tool_calls: [wireCall('1', 'p', '{"input":"a \\"b\\""}')],
  });
});

test('encodeRequest sends known builtin tools as functions and rejects others', () => {
  const bash: HubTool = { kind: 'builtin', builtin: 'bash_20250124', name: 'bash', raw: {} };
  assert.ok(JSON.stringify(body({ tools: [bash] }).tools).includes('"command"'));
  const browser: HubTool = { kind: 'builtin', builtin: 'browser_toolset_20260801', name: 'browser', raw: {} };
  assert.throws(() => body({ tools: [browser] }), { code: 'unsupported_parameter' });
});

test('encodeRequest writes web search as an option of the request', () => {
  const tools: HubTool[] = [{ kind: 'server', tool: 'web_search', options: {}, raw: {} }];
  assert.deepEqual(body({ tools }).web_search_options, {});
  const required = {
    code: 'unsupported_parameter',
    message: /'web_search' can be offered to this model, but not forced/,
  };
  assert.throws(() => body({ tools, toolChoice: { kind: 'required' } }), required);
});

test('encodeRequest lists allowed tools in the wire form of each', () => {
  const custom: HubTool = { kind: 'custom', name: 'p' };
  const encoded = body({
    tools: [fn('f'), custom],
    allowedTools: { mode: 'auto', names: [{ name: 'f' }, { name: 'p' }] },
  });
  assert.deepEqual(encoded.tool_choice, {
    type: 'allowed_tools',
    allowed_tools: {
      mode: 'auto',
      tools: [
        { type: 'function', function: { name: 'f' } },
        { type: 'custom', custom: { name: 'p' } },
      ],
    },
  });
});

test("checkSupport rejects and drops fields under the client's names", () => {
  assert.throws(() => checkSupport(request({ sampling: { n: 2 } }), support, fieldNames), { details: { param: 'n' } });
  const lossy = request({ sampling: { topK: 4 }, meta: { metadata: {} } });
  assert.deepEqual(checkSupport(lossy, support, fieldNames), ['topK', 'metadata']);
});

test('encodeRequest does not modify the request', () => {
  const frozen = deepFreeze(
    decode({ messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }], stop: ['a'] }),
  );
  assert.doesNotThrow(() => encodeRequest(frozen, target()));
});

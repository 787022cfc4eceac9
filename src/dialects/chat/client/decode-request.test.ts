import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decode } from '../../../../test/support/dialects/chat.ts';
import { runs } from '../../../../test/support/properties.ts';
import { ApiError } from '../../../core/index.ts';
import { capabilitiesOf } from '../../../rules/index.ts';
import { codecOf, encodeRequestFor } from '../../index.ts';
import { wrap } from '../../opaque/envelope.ts';
import { decodeRequest } from './decode-request.ts';

const HEAD = { headers: {} };
const user = { role: 'user', content: 'hi' };
const messages = (...list: object[]) => decode({ messages: list });

/** Returns the error code and field for an invalid body. */
function rejectionOf(body: object): readonly [string, string | undefined] {
  try {
    decode(body);
  } catch (error) {
    if (error instanceof ApiError) return [error.code, error.details.param];
    throw error;
  }
  throw new Error('the body was accepted');
}

test('decodeRequest returns a complete hub request for a minimal body', () => {
  assert.deepEqual(decode({}), {
    dialect: 'chat',
    model: 'm',
    stream: false,
    system: [],
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
    tools: [],
    toolChoice: { kind: 'auto' },
    reasoning: { show: 'summary' },
    output: { format: { kind: 'text' } },
    limits: {},
    sampling: {},
    cache: {},
    state: {},
    meta: {},
    unknown: [],
    clientOptions: {},
  });
});

test('decodeRequest treats null as absent', () => {
  const names = [
    'temperature',
    'stop',
    'tools',
    'tool_choice',
    'response_format',
    'metadata',
    'n',
    'moderation',
    'foo',
  ];
  assert.deepEqual(decode(Object.fromEntries(names.map((name) => [name, null]))), decode({}));
});

test('decodeRequest maps every setting to its hub field', () => {
  const request = decode({
    stream: true,
    stream_options: { include_usage: true, include_obfuscation: false },
    max_tokens: 5,
    max_completion_tokens: 7,
    temperature: 0,
    top_p: 0.5,
    presence_penalty: -1,
    frequency_penalty: 1,
    seed: -3,
    logit_bias: { 50256: -100 },
    n: 2,
    logprobs: true,
    top_logprobs: 3,
    stop: 'END',
    verbosity: 'low',
    reasoning_effort: 'high',
    service_tier: 'default',
    store: false,
    metadata: { a: 'b' },
    user: 'u',
    safety_identifier: 's',
    prompt_cache_key: 'k',
    parallel_tool_calls: false,
    modalities: ['text', 'audio'],
    audio: { voice: 'x', format: 'wav' },
    prediction: { type: 'content' },
    some_new_field: 1,
  });
  assert.equal(request.stream, true);
  assert.deepEqual(request.clientOptions, { usageChunk: true, logprobs: true });
  assert.deepEqual(request.limits, { maxOutput: 7 });
  assert.deepEqual(request.sampling, {
    temperature: 0,
    topP: 0.5,
    seed: -3,
    presence: -1,
    frequency: 1,
    logitBias: { 50256: -100 },
    n: 2,
    logprobs: true,
    topLogprobs: 3,
    stop: ['END'],
  });
  assert.deepEqual(request.output, { format: { kind: 'text' }, verbosity: 'low', modalities: ['text', 'audio'] });
  assert.deepEqual(request.reasoning, { effort: 'high', show: 'summary' });
  assert.deepEqual(request.meta, { userId: 's', metadata: { a: 'b' }, serviceTier: 'standard' });
  assert.deepEqual([request.cache, request.session], [{ key: 'k' }, 'k']);
  assert.deepEqual([request.state, request.parallelTools], [{ store: false }, false]);
  assert.deepEqual(request.unknown, ['stream_options.include_obfuscation', 'audio', 'prediction', 'some_new_field']);
});

test('decodeRequest turns reasoning off for effort none', () => {
  assert.deepEqual(decode({ reasoning_effort: 'none' }).reasoning, { mode: 'off', effort: 'none', show: 'none' });
});

test('decodeRequest reads response formats', () => {
  const format = (response_format: object) => decode({ response_format }).output.format;
  assert.deepEqual(format({ type: 'json_object' }), { kind: 'json' });
  assert.deepEqual(
    format({ type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } }),
    {
      kind: 'schema',
      schema: { type: 'object' },
      name: 'n',
      strict: true,
    },
  );
});

test('decodeRequest rejects invalid fields with their path', () => {
  const cases: [object, string, string][] = [
    [{ model: 7 }, 'invalid_request', 'model'],
    [{ messages: 'hi' }, 'invalid_request', 'messages'],
    [{ messages: [] }, 'invalid_value', 'messages'],
    [{ messages: [{ role: 'robot', content: 'x' }] }, 'invalid_value', 'messages[0].role'],
    [{ messages: [{ role: 'user' }] }, 'invalid_request', 'messages[0].content'],
    [
      { messages: [user, { role: 'user', content: [{ type: 'text', text: 3 }] }] },
      'invalid_request',
      'messages[1].content[0].text',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] },
      'unsupported_parameter',
      'messages[0].content[0].type',
    ],
    [
      { messages: [{ role: 'system', content: [{ type: 'image_url', image_url: { url: 'https://x' } }] }] },
      'invalid_value',
      'messages[0].content[0].type',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'file:///x' } }] }] },
      'invalid_value',
      'messages[0].content[0].image_url.url',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png,abc' } }] }] },
      'invalid_value',
      'messages[0].content[0].image_url.url',
    ],
    [
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f' } }] }] },
      'invalid_request',
      'messages[0].tool_calls[0].function.arguments',
    ],
    [
      { messages: [user, { role: 'tool', tool_call_id: 'x', content: 'y' }] },
      'invalid_value',
      'messages[1].tool_call_id',
    ],
    [{ temperature: '1' }, 'invalid_request', 'temperature'],
    [{ temperature: 2.5 }, 'invalid_value', 'temperature'],
    [{ max_tokens: 0 }, 'invalid_value', 'max_tokens'],
    [{ max_completion_tokens: 1.5 }, 'invalid_request', 'max_completion_tokens'],
    [{ n: 0 }, 'invalid_value', 'n'],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'invalid_value', 'stop'],
    [{ stop: '' }, 'invalid_value', 'stop'],
    [{ stop: [1] }, 'invalid_request', 'stop[0]'],
    [{ metadata: { a: 1 } }, 'invalid_request', 'metadata.a'],
    [{ response_format: { type: 'xml' } }, 'invalid_value', 'response_format.type'],
    [{ reasoning_effort: 7 }, 'invalid_value', 'reasoning_effort'],
    [{ tools: [{ type: 'function', name: 'flat' }] }, 'invalid_request', 'tools[0].function'],
    [{ tools: [{ type: 7 }] }, 'invalid_request', 'tools[0].type'],
    [{ tool_choice: 'required' }, 'invalid_value', 'tool_choice'],
    [{ tool_choice: { type: 'function', function: { name: 'g' } } }, 'invalid_value', 'tool_choice.function.name'],
    [{ moderation: { model: 'x' } }, 'unsupported_parameter', 'moderation'],
    [{ service_tier: 'gold' }, 'invalid_value', 'service_tier'],
  ];
  for (const [body, code, param] of cases) assert.deepEqual(rejectionOf(body), [code, param], JSON.stringify(body));
});

// ---------------------------------------------------------------- messages

test('decodeRequest takes leading system messages as instructions and keeps later ones in position', () => {
  const request = messages(
    { role: 'system', content: 'One' },
    {
      role: 'developer',
      content: [{ type: 'text', text: 'Two', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }],
    },
    user,
    { role: 'system', content: 'Three' },
  );
  assert.deepEqual(request.system, [
    { kind: 'text', text: 'One' },
    { kind: 'text', text: 'Two', cache: { long: true } },
  ]);
  assert.deepEqual(request.items.at(-1), { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'Three' }] });
});

test('decodeRequest reads every part type of a user message', () => {
  const [item] = messages({
    role: 'user',
    content: [
      { type: 'text', text: '', prompt_cache_breakpoint: { mode: 'explicit' } },
      { type: 'image_url', image_url: { url: 'data:image/jpg;base64,QUJD', detail: 'low' } },
      { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
      { type: 'input_audio', input_audio: { data: 'QUJD', format: 'mp3' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,QUJD', filename: 'a.pdf' } },
      { type: 'file', file: { file_data: 'QUJD', filename: 'a.csv' } },
      { type: 'file', file: { file_id: 'file-1' } },
    ],
  }).items;
  assert.deepEqual(item?.kind === 'message' && item.parts, [
    { kind: 'text', text: '', cache: {} },
    { kind: 'image', source: { kind: 'base64', mime: 'image/jpeg', data: 'QUJD' }, detail: 'low' },
    { kind: 'image', source: { kind: 'url', url: 'https://example.org/a.png' } },
    { kind: 'audio', source: { kind: 'base64', mime: 'audio/mpeg', data: 'QUJD' } },
    { kind: 'file', source: { kind: 'base64', mime: 'application/pdf', data: 'QUJD' }, title: 'a.pdf' },
    { kind: 'file', source: { kind: 'base64', mime: 'text/csv', data: 'QUJD' }, title: 'a.csv' },
    { kind: 'file', source: { kind: 'file_id', id: 'file-1', issuer: 'responses' } },
  ]);
});

test('decodeRequest orders an assistant message as reasoning, text, refusal, calls and omits empty text', () => {
  const { items } = messages(
    user,
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Well' },
        { type: 'refusal', refusal: 'No' },
      ],
      reasoning_content: 'Hm',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x": 1}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: '42' }] },
    { role: 'assistant', content: '', tool_calls: [{ id: 'b', type: 'custom', custom: { name: 'p', input: 'raw' } }] },
    { role: 'tool', tool_call_id: 'b', content: 'ok' },
    { role: 'assistant', content: null },
  );
  assert.deepEqual(items.slice(1), [
    { kind: 'reasoning', summary: ['Hm'] },
    {
      kind: 'message',
      role: 'assistant',
      parts: [
        { kind: 'text', text: 'Well' },
        { kind: 'refusal', text: 'No' },
      ],
    },
    { kind: 'tool_call', callId: 'a', name: 'f', form: 'function', args: '{"x": 1}' },
    { kind: 'tool_result', callId: 'a', name: 'f', form: 'function', parts: [{ kind: 'text', text: '42' }] },
    { kind: 'tool_call', callId: 'b', name: 'p', form: 'custom', args: 'raw' },
    { kind: 'tool_result', callId: 'b', name: 'p', form: 'custom', parts: [{ kind: 'text', text: 'ok' }] },
  ]);
});

test('decodeRequest reads bare and wrapped thought signatures and ignores malformed ones', () => {
  const signature = (thought_signature: string) => {
    const fn = { name: 'f', arguments: '{}' };
    const call = { id: 'a', type: 'function', function: fn, extra_content: { google: { thought_signature } } };
    const item = messages(user, { role: 'assistant', tool_calls: [call] }).items.at(-1);
    return item?.kind === 'tool_call' ? item.signature : 'no call';
  };
  assert.deepEqual(signature('abc'), { issuer: 'generate-content', kind: 'thought', data: 'abc' });
  const owned = { issuer: 'generate-content', kind: 'thought', account: 'x', data: 'abc' } as const;
  assert.deepEqual(signature(wrap(owned)), owned);
  assert.equal(signature('gw1.broken'), undefined);
});

test('decodeRequest reads legacy functions as tools with call ids that stay stable as the conversation grows', () => {
  const first = { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } };
  const list = [user, first, { role: 'function', name: 'f', content: '1' }];
  const body = { functions: [{ name: 'f', parameters: { type: 'object' } }], function_call: { name: 'f' } };
  const request = decode({ ...body, messages: list });
  assert.deepEqual(request.tools, [{ kind: 'function', name: 'f', schema: { type: 'object' } }]);
  assert.deepEqual(request.toolChoice, { kind: 'named', name: 'f' });
  assert.equal(request.parallelTools, false);
  const [, call, result] = request.items;
  assert.ok(call?.kind === 'tool_call' && result?.kind === 'tool_result' && call.callId === result.callId);
  const longer = decode({ ...body, messages: [...list, first, { role: 'function', name: 'f', content: '2' }] });
  assert.deepEqual(longer.items.slice(0, 3), request.items);
  assert.notDeepEqual(longer.items[3], longer.items[1]);
});

test('decodeRequest reads the transcript of an earlier recording, and rejects a recording without one', () => {
  const spoken = (more: object) => messages(user, { role: 'assistant', ...more }).items.at(-1);
  const said = { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'Hi.' }] };
  assert.deepEqual(spoken({ audio: { id: 'audio_1', transcript: 'Hi.' } }), said);
  assert.deepEqual(spoken({ audio: { id: 'audio_1' }, content: 'Hi.' }), said);
  assert.throws(() => spoken({ audio: { id: 'audio_1' } }), { details: { param: 'messages[1].audio' } });
});

test('decodeRequest ignores an empty logit_bias, which many clients send', () => {
  assert.equal(decode({ logit_bias: {} }).sampling.logitBias, undefined);
});

// ---------------------------------------------------------------- tools

test('decodeRequest reads tools, tool choice and web search options', () => {
  const request = decode({
    tools: [
      { type: 'function', function: { name: 'f', description: 'd', strict: true } },
      {
        type: 'custom',
        custom: { name: 'p', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } } },
      },
    ],
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'custom', custom: { name: 'p' } }] },
    },
    web_search_options: {
      search_context_size: 'low',
      user_location: { type: 'approximate', approximate: { city: 'Rome', country: 'IT' } },
    },
  });
  assert.deepEqual(request.tools, [
    { kind: 'function', name: 'f', description: 'd', schema: { type: 'object', properties: {} }, strict: true },
    { kind: 'custom', name: 'p', grammar: { syntax: 'lark', definition: 'start: "a"' } },
    {
      kind: 'server',
      tool: 'web_search',
      options: { userLocation: { type: 'approximate', city: 'Rome', country: 'IT' }, contextSize: 'low' },
      raw: {
        search_context_size: 'low',
        user_location: { type: 'approximate', approximate: { city: 'Rome', country: 'IT' } },
      },
      at: 'web_search_options',
    },
  ]);
  assert.deepEqual(request.toolChoice, { kind: 'required' });
  assert.deepEqual(request.allowedTools, { mode: 'required', names: [{ name: 'p' }] });
  const tools = [{ type: 'custom', custom: { name: 'p' } }];
  const named = decode({ tools, tool_choice: { type: 'custom', custom: { name: 'p' } } });
  assert.deepEqual(named.toolChoice, { kind: 'named', name: 'p' });
});

test('decodeRequest accepts or rejects arbitrary bodies without crashing', () => {
  const part = fc.record({
    type: fc.constantFrom('text', 'image_url', 'file', 'x'),
    text: fc.anything(),
    file: fc.anything(),
  });
  const message = fc.record(
    {
      role: fc.constantFrom('system', 'user', 'assistant', 'tool', 'function', 'x'),
      content: fc.oneof(fc.string(), fc.array(part), fc.anything()),
      tool_calls: fc.anything(),
      function_call: fc.anything(),
      tool_call_id: fc.anything(),
    },
    { requiredKeys: ['role'] },
  );
  const body = fc.record(
    {
      model: fc.constant('m'),
      messages: fc.oneof(fc.array(message), fc.anything()),
      tools: fc.anything(),
      tool_choice: fc.anything(),
      stop: fc.anything(),
      response_format: fc.anything(),
      web_search_options: fc.anything(),
    },
    { requiredKeys: ['model', 'messages'] },
  );
  fc.assert(
    fc.property(fc.oneof(body, fc.anything()), (value) => {
      try {
        decodeRequest(value, HEAD);
      } catch (error) {
        assert.ok(error instanceof ApiError, String(error));
      }
    }),
    { numRuns: runs(300) },
  );
});

test('decodeRequest takes a tool and a tool choice without a type as functions', () => {
  const { tools, toolChoice, unknown } = decode({
    tools: [{ function: { name: 'find', parameters: {} } }],
    tool_choice: { function: { name: 'find' } },
  });
  assert.deepEqual(tools, [{ kind: 'function', name: 'find', schema: {} }]);
  assert.deepEqual(toolChoice, { kind: 'named', name: 'find' });
  assert.deepEqual(unknown, []);
});

test('decodeRequest reads cache_control of parts and tools, and drops it under that name', () => {
  const cache_control = { type: 'ephemeral', ttl: '1h' };
  const request = decode({
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control }] },
      { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] },
      { role: 'assistant', content: [{ type: 'text', text: 'yes', cache_control }] },
      user,
    ],
    tools: [{ type: 'function', function: { name: 'find' }, cache_control }],
  });
  assert.deepEqual(request.system, [{ kind: 'text', text: 'Be brief.', cache: { long: true } }]);
  assert.deepEqual(
    request.items.flatMap((item) => (item.kind === 'message' ? item.parts : [])),
    [
      { kind: 'text', text: 'hi', cache: {} },
      { kind: 'text', text: 'yes', cache: { long: true } },
      { kind: 'text', text: 'hi' },
    ],
  );
  assert.deepEqual(request.tools[0]?.cache, { long: true });
  assert.deepEqual(request.unknown, []);
  const { dropped } = encodeRequestFor(
    { client: codecOf('chat').client, upstream: codecOf('generate').upstream },
    request,
    {
      model: 'm',
      capabilities: capabilitiesOf('generate-content', 'm'),
    },
  );
  assert.deepEqual(dropped, ['cache_control']);
});

test('decodeRequest reads the reasoning options of aggregators and of open-model servers', () => {
  const reasoning = (body: object) => decode(body).reasoning;
  assert.deepEqual(reasoning({ reasoning: { effort: 'high' } }), { effort: 'high', show: 'summary' });
  assert.deepEqual(reasoning({ reasoning: { max_tokens: 2_000 } }), { mode: 'budget', budget: 2_000, show: 'summary' });
  assert.deepEqual(reasoning({ reasoning: { enabled: true } }), { mode: 'auto', show: 'summary' });
  assert.deepEqual(reasoning({ reasoning: { enabled: false } }), { mode: 'off', effort: 'none', show: 'none' });
  assert.deepEqual(reasoning({ reasoning_effort: 'default' }), { show: 'summary' });
  for (const hidden of [
    { reasoning: { exclude: true } },
    { reasoning_format: 'hidden' },
    { include_reasoning: false },
  ]) {
    const request = decode(hidden);
    assert.deepEqual([request.reasoning, request.clientOptions.thoughts], [{ show: 'none' }, false]);
    assert.deepEqual(request.unknown, []);
  }
  assert.deepEqual(decode({ reasoning_format: 'raw' }).unknown, ['reasoning_format']);
  assert.deepEqual(decode({ reasoning: { effort: 'low' } }).fieldNames, { reasoning: ['reasoning'] });
});

test('decodeRequest reads videos and documents by their URL', () => {
  const parts = (...content: object[]) =>
    messages({ role: 'user', content }).items.flatMap((item) => (item.kind === 'message' ? item.parts : []));
  const url = 'https://example.org/a';
  assert.deepEqual(
    parts(
      { type: 'video_url', video_url: { url } },
      { type: 'document_url', document_url: url, document_name: 'a.pdf' },
      { type: 'file', file: { filename: 'b.pdf', file_data: url } },
      { type: 'file_url', file_url: { url }, file_name: 'c.pdf' },
    ).map((part) => [part.kind, 'source' in part && typeof part.source === 'object' ? part.source.kind : undefined]),
    [
      ['video', 'url'],
      ['file', 'url'],
      ['file', 'url'],
      ['file', 'url'],
    ],
  );
});

test('decodeRequest reads the reasoning of assistant messages in the members of every server', () => {
  for (const message of [
    { reasoning_content: 'why', content: 'a' },
    { reasoning: 'why', content: 'a' },
    {
      reasoning_details: [
        { type: 'reasoning.text', text: 'w' },
        { type: 'reasoning.summary', summary: 'hy' },
      ],
      content: 'a',
    },
    {
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'why' }] },
        { type: 'text', text: 'a' },
      ],
    },
  ])
    assert.deepEqual(messages(user, { role: 'assistant', ...message }, user).items[1], {
      kind: 'reasoning',
      summary: ['why'],
    });
});

/** Requests in the form that public clients send them, over providers that lack a part of it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { codecOf, encodeRequestFor, pairOf } from '../../src/dialects/index.ts';
import type { CapabilityOverrides, Dialect, UpstreamDialect } from '../../src/rules/index.ts';
import { targetFor } from './dialect-pairs.ts';

type Json = Readonly<Record<string, unknown>>;

const MINIMAL: Readonly<Partial<Record<Dialect, Json>>> = {
  messages: { model: 'm', max_tokens: 4_000, messages: [{ role: 'user', content: 'hi' }] },
  chat: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: 'm', input: 'hi' },
};

/** Converts the smallest request of the client with `more` in it. */
function convert(client: Dialect, upstream: UpstreamDialect, more: Json, flags: CapabilityOverrides = {}) {
  const request = codecOf(client).client.decodeRequest({ ...MINIMAL[client], ...more }, { headers: {} });
  return encodeRequestFor(pairOf({ client, upstream }), request, targetFor(upstream, 'some-model', flags));
}

const PROVIDERS = ['messages', 'responses', 'generate', 'chat'] as const;
const others = (client: Dialect): readonly Dialect[] => PROVIDERS.filter((upstream) => upstream !== client);

describe('names of what is left out', () => {
  test('thoughts of a chat client are named by the members that held them', () => {
    const assistant = (more: Json) => ({ role: 'assistant', content: 'hello', ...more });
    const messages = [
      { role: 'user', content: 'hi' },
      assistant({ reasoning: 'hm' }),
      assistant({ reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] }),
      assistant({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }),
      { role: 'user', content: 'go on' },
    ];
    for (const upstream of others('chat'))
      assert.deepEqual(convert('chat', upstream, { messages }).dropped.toSorted(), [
        'messages.content.thinking',
        'messages.reasoning',
        'messages.reasoning_details',
      ]);
  });

  test('an effort that is left out with its thinking is named too', () => {
    const more = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
    const { dropped } = convert('messages', 'chat', more, { efforts: [] });
    assert.deepEqual(dropped, ['thinking', 'output_config.effort']);
  });

  test('a required call is refused by its place when no tool is left to call', () => {
    const refused = { code: 'unsupported_parameter', details: { param: 'tools[0]' } };
    const tools = [{ type: 'code_interpreter', container: { type: 'auto' } }];
    assert.throws(() => convert('responses', 'chat', { tools, tool_choice: 'required' }), refused);
    const search = { tools: [{ type: 'file_search', vector_store_ids: ['vs'] }], tool_choice: 'required' };
    for (const upstream of ['messages', 'generate'] as const)
      assert.throws(() => convert('responses', upstream, search), refused);
    const advisor = {
      tools: [{ type: 'advisor_20260301', name: 'advisor', model: 'm' }],
      tool_choice: { type: 'any' },
    };
    assert.throws(() => convert('messages', 'responses', advisor), refused);
  });

  test('the style of a summary is named, by the member that holds it', () => {
    for (const upstream of others('responses'))
      for (const member of ['summary', 'generate_summary'])
        assert.deepEqual(
          convert('responses', upstream, { reasoning: { effort: 'low', [member]: 'concise' } }).dropped,
          [`reasoning.${member}`],
        );
  });

  test('a summary is named when the model is not asked to think', () => {
    assert.deepEqual(convert('responses', 'messages', { reasoning: { summary: 'auto' } }).dropped, [
      'reasoning.summary',
    ]);
    assert.deepEqual(convert('responses', 'messages', { reasoning: { effort: 'low', summary: 'auto' } }).dropped, []);
    assert.deepEqual(convert('responses', 'converse', { reasoning: { summary: 'auto' } }).dropped, [
      'reasoning.summary',
    ]);
  });
});

describe('an effort that no table knows', () => {
  const more = { reasoning_effort: 'ultra' };

  test('reaches a model of which no table says what it accepts', () => {
    const bodyFor = (upstream: Dialect) => convert('chat', upstream, more).body;
    assert.deepEqual(bodyFor('messages').output_config, { effort: 'ultra' });
    assert.equal((bodyFor('responses').reasoning as Json).effort, 'ultra');
    assert.equal(((bodyFor('generate').generationConfig as Json).thinkingConfig as Json).thinkingLevel, 'ULTRA');
    for (const [client, own] of [
      ['messages', { output_config: { effort: 'ultra' } }],
      ['responses', { reasoning: { effort: 'ultra' } }],
    ] as const)
      assert.equal(convert(client, 'chat', own).body.reasoning_effort, 'ultra');
    const level = {
      contents: [{ parts: [{ text: 'hi' }] }],
      generationConfig: { thinkingConfig: { thinkingLevel: 'ULTRA' } },
    };
    const request = codecOf('generate').client.decodeRequest(level, { model: 'm', headers: {} });
    assert.equal(request.reasoning.effort, 'ultra');
  });

  test('is named where the model thinks by tokens, or not at all', () => {
    const flags = [
      ['messages', { thinking: 'manual' }],
      ['messages', { thinking: 'none' }],
      ['generate', { thinkingConfig: 'budget' }],
      ['responses', { efforts: [] }],
    ] as const;
    for (const [upstream, lacks] of flags)
      assert.deepEqual(convert('chat', upstream, more, lacks).dropped, ['reasoning_effort'], upstream);
  });

  test('is refused where a table, or the operator, says what the model accepts', () => {
    const message = "reasoning_effort: expected one of low, high, not 'ultra'.";
    for (const upstream of others('chat'))
      assert.throws(() => convert('chat', upstream, more, { efforts: ['low', 'high'] }), {
        code: 'invalid_value',
        message,
      });
    assert.deepEqual(convert('chat', 'messages', more, { efforts: ['low', 'ultra'] }).body.output_config, {
      effort: 'ultra',
    });
    assert.throws(() => convert('chat', 'messages', { reasoning_effort: 'U ltra' }), { code: 'invalid_value' });
  });
});

describe('values of other servers', () => {
  test('service tiers of Groq', () => {
    assert.equal(convert('chat', 'responses', { service_tier: 'on_demand' }).body.service_tier, 'default');
    assert.equal(convert('chat', 'responses', { service_tier: 'performance' }).body.service_tier, 'priority');
  });

  test("Mistral's tool choice `any` requires a call", () => {
    const tools = [{ type: 'function', function: { name: 'find' } }];
    assert.equal(convert('chat', 'responses', { tools, tool_choice: 'any' }).body.tool_choice, 'required');
    assert.deepEqual(convert('chat', 'messages', { tools, tool_choice: 'any' }).body.tool_choice, { type: 'any' });
  });

  test("OpenRouter's web search is a web search, and its other tools are named", () => {
    const parameters = { max_uses: 1, search_context_size: 'low', allowed_domains: ['a.example'] };
    const tools = [{ type: 'openrouter:web_search', parameters }];
    const { body, dropped } = convert('chat', 'messages', { tools });
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 1, allowed_domains: ['a.example'] };
    assert.deepEqual([body.tools, dropped], [[search], ['tools.search_context_size']]);
    assert.throws(() => convert('chat', 'generate', { tools }), { details: { param: 'tools.allowed_domains' } });
    const advisor = { tools: [{ type: 'openrouter:advisor', parameters: { model: 'm' } }] };
    for (const upstream of others('chat')) {
      const converted = convert('chat', upstream, advisor);
      assert.deepEqual([converted.body.tools, converted.dropped], [undefined, ['tools']]);
    }
  });
});

describe('a final assistant message', () => {
  const turns = (client: Dialect): Json => {
    const list = [
      { role: 'user', content: 'What is 6 * 7?' },
      { role: 'assistant', content: 'The answer is' },
    ];
    return client === 'responses' ? { input: list } : { messages: list };
  };

  test('is history for clients of the OpenAI dialects, which the model answers', () => {
    for (const client of ['chat', 'responses'] as const) {
      const { messages } = convert(client, 'messages', turns(client)).body as { messages: Json[] };
      assert.deepEqual(messages.at(-1), { role: 'user', content: [{ type: 'text', text: 'Continue.' }] });
      const { contents } = convert(client, 'generate', turns(client), { prefill: false }).body as { contents: Json[] };
      assert.deepEqual(contents.at(-1), { role: 'user', parts: [{ text: 'Continue.' }] });
    }
    const { input } = convert('chat', 'responses', turns('chat')).body as { input: Json[] };
    assert.equal(input.at(-1)?.role, 'assistant');
  });

  test('is rejected for a client that wants it continued, with models that can', () => {
    for (const upstream of ['responses', 'chat'] as const)
      assert.throws(() => convert('messages', upstream, turns('messages')), {
        message: /^This model does not support assistant message prefill\. .*Claude before 4\.6/,
        details: { param: 'messages' },
      });
  });

  test('continues a turn that a hosted tool has paused', () => {
    const content = [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
      { type: 'text', text: 'I found' },
    ];
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content },
    ];
    for (const upstream of others('messages'))
      assert.match(JSON.stringify(convert('messages', upstream, { messages }).body), /I found/);
  });
});

test('the result of a tool search that the client ran may be a function call output', () => {
  const call = { type: 'tool_search_call', call_id: 'c1', execution: 'client', arguments: { queries: ['rates'] } };
  const input = [
    { role: 'user', content: 'hi' },
    call,
    { type: 'function_call_output', call_id: 'c1', output: 'Found one tool.' },
    { role: 'user', content: 'go on' },
  ];
  for (const upstream of others('responses')) {
    const text = JSON.stringify(convert('responses', upstream, { input }).body);
    assert.match(text, /rates.*Found one tool\./s);
  }
});

test('the error of a hosted tool stays in the history', () => {
  for (const [name, input] of [
    ['web_search', { query: 'x' }],
    ['web_fetch', { url: 'https://a.example/' }],
  ] as const) {
    const error = { type: `${name}_tool_result_error`, error_code: 'max_uses_exceeded' };
    const content = [
      { type: 'server_tool_use', id: 'srvtoolu_1', name, input },
      { type: `${name}_tool_result`, tool_use_id: 'srvtoolu_1', content: error },
    ];
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content },
      { role: 'user', content: 'go on' },
    ];
    for (const upstream of others('messages'))
      assert.match(JSON.stringify(convert('messages', upstream, { messages }).body), /max_uses_exceeded/);
  }
});

test('rejections of an encoder begin with the member of the client', () => {
  const file = { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }] };
  const cases: readonly [Json, string][] = [
    [
      {
        tools: [{ type: 'mcp_toolset', mcp_server_name: 'a' }],
        mcp_servers: [{ type: 'url', name: 'a', url: 'https://a.example' }],
      },
      'mcp_servers[0]',
    ],
    [{ messages: [file] }, 'messages'],
  ];
  for (const [more, member] of cases)
    assert.throws(() => convert('messages', 'generate', more), {
      message: new RegExp(`^${RegExp.escape(member)}: `),
      details: { param: member },
    });
});

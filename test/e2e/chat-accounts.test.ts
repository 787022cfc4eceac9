/** Accounts that speak only chat completions: every dialect of a responses group works on them, alone and beside other accounts. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, openai } from '../support/sdk.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

/** Servers that the simulator plays, each with the preset of its name. */
const SERVERS = ['vllm', 'deepseek', 'mistral', 'minimax', 'moonshot', 'groq', 'openrouter'] as const;
const GROUPS = ['local', 'mixed', 'out', 'blind', ...SERVERS];

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  const account = (group: string, more: object = {}) => ({
    id: `${group}-1`,
    group,
    base_url: `${sim.url}/v1`,
    api_key: `sk-upstream-${group}-1`,
    features: ['chat'],
    ...more,
  });
  const beside = (group: string, more: object = {}) =>
    account(group, { id: `${group}-full`, api_key: `sk-upstream-${group}-2`, features: undefined, ...more });
  keys = await gateway.apply({
    groups: GROUPS.map((id) => ({ id, style: 'responses' })),
    accounts: [
      account('local'),
      account('blind', { capabilities: { imageInput: false, schemaFormat: 'none', toolChoices: [] } }),
      account('mixed'),
      beside('mixed'),
      account('out'),
      beside('out', { models: { 'demo-a': 'demo-a@status=429;retry_after=60', 'demo-b': 'demo-b@status=503' } }),
      ...SERVERS.map((preset) => account(preset, { preset })),
    ],
    models: [{ id: 'demo-*', groups: GROUPS }],
    users: [{ id: 'ana' }],
    keys: GROUPS.map((group) => ({ user: 'ana', group })),
  });
});
beforeEach(() => sim.journal.clear());
after(async () => {
  await gateway.stop();
  await sim.close();
});

const paths = (): string[] => sim.journal.requests.map(({ path }) => path);
const bodies = (): Record<string, unknown>[] => sim.journal.requests.map(({ body }) => JSON.parse(String(body)));
const send = (group: string, path: string, body: object, method = 'POST'): Promise<Response> =>
  fetch(gateway.url + path, {
    method,
    headers: { authorization: `Bearer ${key(group)}`, 'content-type': 'application/json' },
    ...(method === 'POST' && { body: JSON.stringify(body) }),
  });
const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string; message: string; param: string | null } }).error;

const CHAT = '/v1/chat/completions';
const USER = [{ role: 'user' as const, content: 'hello there' }];
const PATH = { type: 'object' as const, properties: { path: { type: 'string' } }, required: ['path'] };
const TOOLS = [{ name: 'read_file', description: 'Gives a file.', input_schema: PATH }];

describe('a group with one chat-only account', () => {
  test('a chat-only account gets chat completions for messages, responses and chat callers', async () => {
    const converted = [];
    for (const stream of [false, true]) {
      for (const [path, body] of [
        ['/v1/messages', { max_tokens: 100, messages: USER }],
        ['/v1/responses', { input: 'hello there' }],
        [CHAT, { messages: USER }],
      ] as const) {
        const response = await send('local', path, { model: 'demo-x', stream, ...body });
        assert.match(await response.text(), /simulated/);
        converted.push(response.headers.get('x-gateway-converted'));
      }
    }
    assert.deepEqual(converted, [
      ...['messages->chat', 'responses->chat', null],
      ...['messages->chat', 'responses->chat', null],
    ]);
    assert.deepEqual(new Set(paths()), new Set([CHAT]));
  });

  test('a server of unknown kind gets only the common fields, and the caller reads what was dropped', async () => {
    const response = await send('local', '/v1/responses', {
      model: 'demo-x@server=small',
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: 'one' },
        { role: 'developer', content: 'Use plain words.' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'two' },
            { type: 'input_text', text: 'three' },
          ],
        },
      ],
      tools: [{ type: 'function', name: 'read_file', parameters: PATH, strict: true }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'read_file' }] },
      parallel_tool_calls: false,
      reasoning: { effort: 'high' },
      prompt_cache_key: 'k',
      safety_identifier: 'u',
      service_tier: 'flex',
      text: { verbosity: 'low' },
      max_output_tokens: 500,
      stream: true,
    });
    assert.equal(response.status, 200, await response.clone().text());
    assert.match(await response.text(), /response\.completed/);
    const dropped = response.headers.get('x-gateway-dropped')?.split(',').sort();
    assert.deepEqual(dropped, [
      ...['parallel_tool_calls', 'prompt_cache_key', 'reasoning', 'safety_identifier', 'service_tier'],
      ...['text.verbosity', 'tools.strict'],
    ]);
    assert.deepEqual(bodies()[0]?.messages, [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one\n\n<system>Use plain words.</system>\n\ntwo\n\nthree' },
    ]);
  });

  test('a server that rejects the usage option is asked without it from then on', async () => {
    const ask = () =>
      send('local', '/v1/messages', { model: 'demo-y@server=small', max_tokens: 9, messages: USER, stream: true });
    assert.match(await (await ask()).text(), /message_stop/);
    assert.deepEqual(
      sim.journal.requests.map(({ status }) => status),
      [400, 200],
    );
    const reply = await ask();
    assert.match(await reply.text(), /"output_tokens":[1-9]/, 'usage is estimated');
    assert.equal(sim.journal.requests.length, 3);
  });

  test('capabilities of an account override its preset', async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const refused = await send('blind', '/v1/messages', {
      model: 'demo-x',
      max_tokens: 9,
      messages: [{ role: 'user', content: [image] }],
    });
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), /Images are not supported by this model/);
    const asked = await send('blind', '/v1/responses', {
      model: 'demo-x',
      input: 'Describe "lamp".',
      tools: [{ type: 'function', name: 'read_file', parameters: PATH }],
      tool_choice: 'required',
      text: { format: { type: 'json_schema', name: 'file', schema: PATH } },
    });
    assert.deepEqual(asked.headers.get('x-gateway-dropped')?.split(',').sort(), ['text.format', 'tool_choice']);
    const [body] = bodies();
    assert.equal(body?.response_format, undefined);
    assert.match(JSON.stringify(body?.messages), /JSON Schema.*path/);
  });

  test('a chat-only account counts by estimate, and compacts', async () => {
    const count = await send('local', '/v1/responses/input_tokens', { model: 'demo-x', input: 'some words to count' });
    assert.equal(count.headers.get('x-gateway-token-count'), 'estimated');
    assert.ok(((await count.json()) as { input_tokens: number }).input_tokens > 0);
    const compacted = await send('local', '/v1/responses/compact', { model: 'demo-x', input: 'a long story' });
    assert.match(await compacted.text(), /"type":"compaction"/);
  });

  test('what needs another feature is rejected with its name', async () => {
    for (const [path, body] of [
      ['/v1/images/generations', { model: 'demo-x', prompt: 'a lamp' }],
      ['/v1/embeddings', { model: 'demo-x', input: 'a' }],
    ] as const) {
      const response = await send('local', path, body);
      const { code, message } = await errorOf(response);
      assert.equal(code, 'endpoint_not_supported');
      assert.match(message, /feature "(?:images|embeddings)"/);
    }
    const file = await send('local', '/v1/responses', {
      model: 'demo-x',
      input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-of-another-user' }] }],
    });
    assert.equal(file.status, 400);
    assert.equal(sim.journal.requests.length, 0);
  });
});

describe('servers with a preset', () => {
  for (const server of SERVERS) {
    test(`the preset ${server} lets a thinking tool loop run without a rejected attempt`, async () => {
      const client = anthropic(gateway.url, key(server));
      const body = {
        model: `demo-x@server=${server}`,
        max_tokens: 4_000,
        thinking: { type: 'enabled' as const, budget_tokens: 2_000 },
        system: [
          { type: 'text' as const, text: 'Be brief.' },
          { type: 'text' as const, text: 'Be kind.' },
        ],
        tools: TOOLS,
      };
      const ask = { role: 'user' as const, content: 'Explain, and use read_file for "a.ts".' };
      const first = await client.messages.stream({ ...body, messages: [ask] }).finalMessage();
      const use = first.content.find((block) => block.type === 'tool_use') ?? assert.fail('no call');
      assert.deepEqual(use.input, { path: 'a.ts' });
      const thinking = first.content.find((block) => block.type === 'thinking');
      if (server !== 'mistral') assert.match(thinking?.thinking ?? '', /The user wrote/);
      assert.equal(first.content.find((block) => block.type === 'text')?.text, 'I will use read_file.');
      const result = { type: 'tool_result' as const, tool_use_id: use.id, content: 'sunny' };
      const messages = [
        ask,
        { role: 'assistant' as const, content: first.content },
        { role: 'user' as const, content: [result] },
      ];
      const second = await client.messages.create({ ...body, messages });
      assert.match(JSON.stringify(second.content), /sunny/);
      assert.deepEqual(
        sim.journal.requests.map(({ status }) => status),
        [200, 200],
      );
      assert.ok(first.usage.output_tokens > 0 && first.usage.input_tokens > 0);
    });
  }

  test('a call without thoughts still carries the empty reasoning that its server demands', async () => {
    const response = await send('deepseek', '/v1/responses', {
      model: 'demo-x@server=deepseek',
      input: [
        { role: 'user', content: 'go' },
        { type: 'function_call', call_id: 'call_1', name: 'read_file', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'done' },
      ],
    });
    assert.equal(response.status, 200, await response.clone().text());
  });
});

describe('a group with accounts of both kinds', () => {
  test('a call uses the account that speaks its best dialect', async () => {
    for (let n = 0; n < 3; n += 1) {
      await (await send('mixed', '/v1/responses', { model: 'demo-x', input: 'hi' })).text();
      await (await send('mixed', '/v1/messages', { model: 'demo-x', max_tokens: 9, messages: USER })).text();
    }
    assert.deepEqual(new Set(paths()), new Set(['/v1/responses']));
  });

  test('a call moves to the chat-only account when the others are out, before the client receives anything', async () => {
    const client = openai(gateway.url, key('out'));
    const { data, response } = await client.responses.create({ model: 'demo-a', input: 'hello there' }).withResponse();
    assert.match(data.output_text, /simulated/);
    assert.equal(response.headers.get('x-gateway-converted'), 'responses->chat');
    assert.deepEqual(paths(), ['/v1/responses', CHAT]);
    sim.journal.clear();
    // The first account is cooling down now, and is not tried while the other one is ready.
    const streamed = await client.responses.stream({ model: 'demo-a', input: 'hello there' }).finalResponse();
    assert.equal(streamed.output_text, data.output_text);
    const message = await anthropic(gateway.url, key('out')).messages.create({
      model: 'demo-a',
      max_tokens: 90,
      messages: USER,
    });
    assert.match(JSON.stringify(message.content), /simulated/);
    assert.deepEqual(paths(), [CHAT, CHAT]);
  });

  test('a response of the chat-only account is continued, read and deleted from our own store', async () => {
    const client = openai(gateway.url, key('out'));
    const first = await client.responses.create({ model: 'demo-a', input: 'the word is apple' });
    sim.journal.clear();
    // The first account could serve this model, but does not hold the response.
    const second = await client.responses.create({
      model: 'demo-c',
      input: 'and pear',
      previous_response_id: first.id,
    });
    assert.match(String(sim.journal.requests.at(-1)?.body), /apple.*pear/s);
    assert.deepEqual(paths(), [CHAT]);
    assert.equal((await client.responses.retrieve(second.id)).output_text, second.output_text);
    assert.match(JSON.stringify((await client.responses.inputItems.list(second.id)).data), /apple/);
    const count = { model: 'demo-c', input: 'x', previous_response_id: second.id };
    assert.equal(
      (await send('out', '/v1/responses/input_tokens', count)).headers.get('x-gateway-token-count'),
      'estimated',
    );
    const cancelled = await send('out', `/v1/responses/${second.id}/cancel`, {});
    assert.equal(cancelled.status, 400);
    const socket = await new ResponsesSocketClient(gateway.url, key('out')).open();
    const turn = await socket.turn({ model: 'demo-c', input: 'and plum', previous_response_id: second.id });
    assert.equal(turn.type, 'response.completed');
    assert.match(String(sim.journal.requests.at(-1)?.body), /apple.*pear.*plum/s);
    socket.socket.close();
    await client.responses.delete(second.id);
    assert.equal((await send('out', `/v1/responses/${second.id}`, {}, 'GET')).status, 404);
  });

  test('a summary that the chat-only account wrote is read by an account that takes conversions', async () => {
    const compacted = await send('out', '/v1/responses/compact', { model: 'demo-a', input: 'the word is apple' });
    const { output } = (await compacted.json()) as { output: { type: string }[] };
    assert.ok(output.some(({ type }) => type === 'compaction'));
    sim.journal.clear();
    const input = [...output, { role: 'user', content: 'go on' }];
    assert.equal((await send('out', '/v1/responses', { model: 'demo-c', input })).status, 200);
    assert.deepEqual(paths(), [CHAT]);
    assert.match(String(sim.journal.requests[0]?.body), /apple/);
  });

  test('a response that its provider holds is not looked for elsewhere while the provider is out', async () => {
    const client = openai(gateway.url, key('out'));
    const first = await client.responses.create({ model: 'demo-d', input: 'kept at the provider' });
    sim.journal.clear();
    const next = await send('out', '/v1/responses', { model: 'demo-b', input: 'x', previous_response_id: first.id });
    assert.equal((await errorOf(next)).code, 'server_is_overloaded');
    assert.deepEqual(paths(), ['/v1/responses']);
  });
});

/** What the Open Responses specification asks of an endpoint, on keys of all three groups. */
import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { blockData, parseBlocks } from '../support/conversion-harness.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { assertEvents, assertShape, compactionSchema, itemSchema, responseSchema } from '../support/open-responses.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

const GROUPS = ['openai', 'claude', 'gemini'] as const;
const MODEL = 'demo-x';
const HEART =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(basicSetup(sim.url));
});
after(async () => {
  await gateway.stop();
  await sim.close();
});

const user = (content: unknown) => ({ type: 'message', role: 'user', content });

const send = (group: string, path: string, body?: object): Promise<Response> =>
  fetch(`${gateway.url}/v1/responses${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });

async function create(group: string, body: object) {
  const response = await send(group, '', { model: MODEL, ...body });
  const value: unknown = await response.json();
  assert.equal(response.status, 200, JSON.stringify(value));
  return assertShape(responseSchema, value);
}

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};

for (const group of GROUPS)
  describe(`Open Responses over HTTP on the ${group} group`, () => {
    for (const [about, body] of [
      ['a text', { input: [user('Say hello in exactly 3 words.')] }],
      [
        'phases of earlier messages',
        {
          input: [
            { type: 'message', role: 'assistant', phase: 'commentary', content: 'I answer with the number.' },
            { type: 'message', role: 'assistant', phase: 'final_answer', content: 'The number is four.' },
            user('Repeat only the number.'),
          ],
        },
      ],
      ['a system message', { input: [{ type: 'message', role: 'system', content: 'Be brief.' }, user('Say hello.')] }],
      [
        'an image',
        {
          input: [
            user([
              { type: 'input_text', text: 'What is this?' },
              { type: 'input_image', image_url: HEART },
            ]),
          ],
        },
      ],
      [
        'several turns',
        {
          input: [
            user('My name is Alice.'),
            { type: 'message', role: 'assistant', content: 'Hello Alice!' },
            user('What is my name?'),
          ],
        },
      ],
      [
        'a JSON schema',
        {
          input: 'Reply as JSON.',
          text: { format: { type: 'json_schema', name: 'answer', schema: { type: 'object', properties: {} } } },
        },
      ],
    ] as const)
      test(`the response to ${about} has every required member`, async () => {
        const { status, output } = await create(group, body);
        assert.equal(status, 'completed');
        assert.ok(output.length > 0);
      });

    test('a tool call has every required member, and so has the echo of its tool', async () => {
      const { output, tools } = await create(group, {
        input: [user('Use get_weather for "Paris".')],
        tools: [WEATHER],
      });
      assert.ok(output.some(({ type }) => type === 'function_call'));
      assert.equal(tools[0]?.description, null);
    });

    test('every event of a stream has every required member', async () => {
      const response = await send(group, '', {
        model: MODEL,
        input: [user('Use get_weather for "Paris".')],
        tools: [WEATHER],
        reasoning: { effort: 'high', summary: 'auto' },
        stream: true,
      });
      const blocks = parseBlocks(await response.text()).filter(({ data }) => data !== undefined && data !== '[DONE]');
      const { status, output } = assertEvents(blocks.map(blockData));
      assert.equal(status, 'completed');
      assert.ok(output.some(({ type }) => type === 'function_call'));
    });

    test('input_items lists full items for shorthand input', async () => {
      const { id } = await create(group, {
        input: [
          { role: 'user', content: 'Use get_weather for "Paris".' },
          { role: 'assistant', content: 'I will.' },
          { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"location":"Paris"}' },
          { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
          user([{ type: 'input_image', image_url: HEART }]),
        ],
        tools: [WEATHER],
      });
      const response = await send(group, `/${id}/input_items?order=asc`);
      const { data } = (await response.json()) as { data: unknown[] };
      const items = data.map((item) => assertShape(itemSchema, item));
      assert.deepEqual(
        items.map(({ type }) => type),
        ['message', 'message', 'function_call', 'function_call_output', 'message'],
      );
      assert.equal(new Set(items.map((item) => item.id)).size, items.length);
    });

    // A provider answers for what it stores itself.
    if (group !== 'openai')
      test('input_items continues after an item, and rejects one that the response does not have', async () => {
        const { id } = await create(group, { input: [user('One.'), user('Two.'), user('Three.')] });
        const page = async (query: string) =>
          (await (await send(group, `/${id}/input_items?order=asc&limit=2${query}`)).json()) as {
            readonly data: readonly { readonly id: string }[];
            readonly last_id: string;
            readonly has_more: boolean;
            readonly error?: { readonly code: string; readonly param: string };
          };
        const first = await page('');
        const second = await page(`&after=${first.last_id}`);
        assert.deepEqual([first.data.length, first.has_more, second.data.length, second.has_more], [2, true, 1, false]);
        const { error } = await page('&after=msg_of_another_response');
        assert.deepEqual([error?.code, error?.param], ['invalid_value', 'after']);
      });

    test('compact returns the messages of the user and a summary that a later request continues from', async () => {
      const compacted = await compact(group, { input: CONVERSATION, prompt_cache_key: 'compact-test' });
      assert.deepEqual(
        compacted.output.map((item) => (item.type === 'message' ? item.role : item.type)),
        ['user', 'user', 'compaction'],
      );
      assert.ok(compacted.usage.input_tokens > 0 && compacted.usage.output_tokens > 0);
      sim.journal.clear();
      const { status } = await create(group, { input: [...compacted.output, user('Continue from here.')] });
      assert.equal(status, 'completed');
      const sent = String(sim.journal.requests.at(-1)?.body);
      assert.ok(sent.includes('slate'), 'the messages of the user are there');
      if (group !== 'openai') assert.ok(sent.includes('Summary of the conversation so far'), sent);
    });

    test('compact without a model is rejected', async () => {
      const response = await send(group, '/compact', { input: CONVERSATION });
      assert.equal(response.status, 400);
    });
  });

const CONVERSATION = [
  user([{ type: 'input_text', text: 'Remember the code word: slate.' }]),
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'OK.' }] },
  { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"location":"Paris"}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'sunny in Paris' },
  user('Compress this conversation.'),
];

async function compact(group: string, body: object) {
  const response = await send(group, '/compact', { model: MODEL, ...body });
  const value: unknown = await response.json();
  assert.equal(response.status, 200, JSON.stringify(value));
  return assertShape(compactionSchema, value);
}

for (const group of ['claude', 'gemini'] as const)
  describe(`compaction by conversion on the ${group} group`, () => {
    test('the provider reads calls and results as text, without tools', async () => {
      sim.journal.clear();
      await compact(group, { input: CONVERSATION, tools: [WEATHER] });
      const sent = JSON.parse(String(sim.journal.requests.at(-1)?.body));
      const text = JSON.stringify(sent.messages ?? sent.contents);
      assert.match(text, /called the tool get_weather with:.*Paris/);
      assert.match(text, /sunny in Paris/);
      assert.match(text, /Summarize the conversation above/);
      assert.equal(sent.tools, undefined);
    });

    test('compact reads stored turns, and a summary can be summarized again', async () => {
      const { id } = await create(group, { input: 'Remember the code word: copper.' });
      const first = await compact(group, { previous_response_id: id, input: 'And slate.' });
      assert.match(JSON.stringify(first.output), /copper.*slate/);
      sim.journal.clear();
      const second = await compact(group, { input: first.output });
      assert.ok(String(sim.journal.requests.at(-1)?.body).includes('Summary of the conversation so far'));
      assert.equal(second.output.filter(({ type }) => type === 'compaction').length, 1);
    });

    test('a summary of another user is rejected', async () => {
      const { output } = await compact(group, { input: CONVERSATION });
      const other = await gateway.apply({ users: [{ id: 'ben', balance: '10' }], keys: [{ user: 'ben', group }] });
      const response = await fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${other[group]}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: MODEL, input: [...output, user('Continue.')] }),
      });
      assert.equal(response.status, 400);
    });

    test('tokens of a request with a summary are counted', async () => {
      const { output } = await compact(group, { input: CONVERSATION });
      const response = await send(group, '/input_tokens', { model: MODEL, input: [...output, user('Go on.')] });
      assert.equal(response.status, 200, await response.text());
    });
  });

for (const group of GROUPS)
  describe(`Open Responses over WebSocket on the ${group} group`, () => {
    /** Asserts every event of the turn, and returns its response. */
    async function completed(client: ResponsesSocketClient, body: object) {
      await client.turn({ model: MODEL, ...body });
      const response = assertEvents(client.frames);
      assert.equal(response.status, 'completed');
      return response;
    }
    const codeOf = async (client: ResponsesSocketClient, body: object) => {
      const { error, response } = await client.turn({ model: MODEL, ...body });
      return error?.code ?? (response as { error?: { code?: string } } | undefined)?.error?.code;
    };
    const open = async (t: TestContext): Promise<ResponsesSocketClient> => {
      const client = await new ResponsesSocketClient(gateway.url, keys[group] ?? '').open();
      t.after(() => client.socket.close());
      return client;
    };

    test('turns one after the other complete on one connection', async (t) => {
      const client = await open(t);
      const first = await completed(client, { store: false, input: [user('Count from 1 to 3.')] });
      const second = await completed(client, { store: false, input: 'Reply with exactly: second' });
      assert.notEqual(first.id, second.id);
    });

    test('a turn that generates nothing warms up, and is continued', async (t) => {
      const client = await open(t);
      const warm = await completed(client, { generate: false, store: false, input: 'Remember: cobalt.' });
      assert.deepEqual(warm.output, []);
      sim.journal.clear();
      await completed(client, { store: false, previous_response_id: warm.id, input: 'What is it?' });
      if (group !== 'openai') assert.ok(String(sim.journal.requests.at(-1)?.body).includes('cobalt'));
    });

    test('a response that is not stored is continued on its connection', async (t) => {
      const client = await open(t);
      const { id } = await completed(client, { store: false, input: 'Remember the code word: cobalt.' });
      await completed(client, { store: false, previous_response_id: id, input: 'What is the code word?' });
    });

    test('an unknown previous response is previous_response_not_found', async (t) => {
      const body = { store: false, previous_response_id: 'resp_missing_1', input: 'This fails.' };
      assert.equal(await codeOf(await open(t), body), 'previous_response_not_found');
    });

    test('a response that is not stored is unknown on another connection, where a new chain may begin', async (t) => {
      const { id } = await completed(await open(t), { store: false, input: 'Remember: copper.' });
      const other = await open(t);
      const body = { store: false, previous_response_id: id, input: 'Continue.' };
      assert.equal(await codeOf(other, body), 'previous_response_not_found');
      await completed(other, { store: false, input: [user('Start again.')] });
    });

    test('a continuation that fails ends its chain', async (t) => {
      const client = await open(t);
      const { id } = await completed(client, { store: false, input: 'Remember: ember.' });
      const orphan = { type: 'function_call_output', call_id: 'call_missing', output: 'no such call' };
      const failed = await codeOf(client, { store: false, previous_response_id: id, input: [orphan] });
      assert.notEqual(failed, undefined);
      const stale = await codeOf(client, { store: false, previous_response_id: id, input: 'Continue.' });
      assert.equal(stale, 'previous_response_not_found');
    });

    test('the output of compact begins a new chain', async (t) => {
      const { output } = await compact(group, { input: CONVERSATION });
      await completed(await open(t), { store: false, input: [...output, user('Continue from here.')], tools: [] });
    });
  });

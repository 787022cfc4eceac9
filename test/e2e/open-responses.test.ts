/** What the Open Responses specification asks of an endpoint, on keys of all three groups. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { blockData, parseBlocks } from '../support/conversion-harness.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { assertEvents, assertShape, itemSchema, responseSchema } from '../support/open-responses.ts';

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
  });

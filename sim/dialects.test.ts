/**
 * What the tests of the gateway cannot show about the text providers: streams that the grammars accept, and requests
 * that they must reject. Replies that are right are read by the official clients in test/e2e.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CALLED, defined, PERSON, QUESTION, TIME, WEATHER } from './fixtures.ts';
import { read as readMessages } from './grammar/messages.ts';
import { read as readResponses } from './grammar/responses.ts';
import { type Sim, startSim } from './index.ts';
import { type JsonObject, objectsOf } from './json.ts';

let sim: Sim;
before(async () => {
  sim = await startSim();
});
after(() => sim.close());

async function post(path: string, body: object): Promise<string> {
  const headers = { authorization: 'Bearer sk-any', 'anthropic-version': '2023-06-01' };
  return (await fetch(sim.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).text();
}

const TOOLS = [WEATHER, TIME];
const functions = TOOLS.map(({ name, description, schema }) => ({ name, description, parameters: schema }));
const user = (content: string): JsonObject => ({ role: 'user', content });
const part = (text: string): JsonObject => ({ role: 'user', parts: [{ text }] });
const PATHS = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  generate: '/v1beta/models/m:generateContent',
} as const;
type Name = keyof typeof PATHS;

/** A request with tools, that thinks. */
const ASK: Readonly<Record<Name, (prompt: string) => JsonObject>> = {
  messages: (prompt) => ({
    model: 'm',
    max_tokens: 2_000,
    thinking: { type: 'adaptive' },
    tools: TOOLS.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    messages: [user(prompt)],
  }),
  chat: (prompt) => ({
    model: 'm',
    stream_options: { include_usage: true },
    reasoning_effort: 'low',
    tools: functions.map((one) => ({ type: 'function', function: one })),
    messages: [user(prompt)],
  }),
  responses: (prompt) => ({
    model: 'm',
    store: false,
    reasoning: { effort: 'low', summary: 'auto' },
    tools: functions.map((one) => ({ type: 'function', strict: false, ...one })),
    input: [user(prompt)],
  }),
  generate: (prompt) => ({
    contents: [part(prompt)],
    tools: [
      {
        functionDeclarations: functions.map(({ parameters, ...one }) => ({ ...one, parametersJsonSchema: parameters })),
      },
    ],
    generationConfig: { thinkingConfig: { includeThoughts: true } },
  }),
};
/** The grammars are stricter than the providers: those of the other streams demand what only the gateway promises. */
const GRAMMARS = [
  ['messages', readMessages, ['hello', QUESTION, 'use get_weather and get_time for Paris', 'please refuse']],
  ['responses', readResponses, ['hello', 'please refuse']],
] as const;

for (const [name, read, prompts] of GRAMMARS)
  test(`${name}: the grammar accepts the streams`, async () => {
    for (const prompt of prompts) {
      const result = read(await post(PATHS[name], { ...ASK[name](prompt), stream: true }));
      assert.equal(result.end, 'complete', prompt);
      if (prompt === QUESTION) assert.ok(JSON.stringify(result).includes(CALLED.city));
    }
  });

test('a history with a call that has no result, or a result without a call, is rejected', async () => {
  const call = { id: 'toolu_1', type: 'tool_use', name: 'get_weather', input: CALLED };
  const toolCalls = [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }];
  const cases: readonly (readonly [Name, JsonObject, RegExp])[] = [
    [
      'messages',
      { messages: [user(QUESTION), { role: 'assistant', content: [call] }, user('so?')] },
      /without `tool_result` blocks immediately after/,
    ],
    [
      'chat',
      { messages: [user(QUESTION), { role: 'assistant', content: null, tool_calls: toolCalls }] },
      /did not have response/,
    ],
    ['responses', { input: [{ type: 'function_call_output', call_id: 'call_1', output: 'x' }] }, /No tool call found/],
    ['responses', { previous_response_id: 'resp_none' }, /previous_response_not_found/],
    [
      'generate',
      { tools: [{ functionDeclarations: [{ name: 'f', parameters: PERSON }] }] },
      /Unknown name \\"additionalProperties\\"/,
    ],
  ];
  for (const [name, change, reason] of cases)
    assert.match(await post(PATHS[name], { ...ASK[name](QUESTION), stream_options: undefined, ...change }), reason);
});

test('strict: opaque values must come back unchanged', async () => {
  const message = JSON.parse(await post(PATHS.messages, ASK.messages('think'))) as { content: JsonObject[] };
  const [thinking] = message.content;
  const again = (block: JsonObject): Promise<string> => {
    const messages = [user('think'), { role: 'assistant', content: [block] }, user('go on')];
    return post(PATHS.messages, { ...ASK.messages(''), model: 'm@strict', messages });
  };
  assert.match(await again(defined(thinking)), /"stop_reason":"end_turn"/);
  assert.match(await again({ ...thinking, signature: 'bm90IG1pbmU=' }), /Invalid `signature` in `thinking` block/);

  const ask = { ...ASK.responses('think'), include: ['reasoning.encrypted_content'] };
  const { output } = JSON.parse(await post(PATHS.responses, ask)) as { output: JsonObject[] };
  const item = defined(output[0]);
  const resend = (one: JsonObject): Promise<string> =>
    post(PATHS.responses, { ...ask, model: 'm@strict', input: [one, user('more')] });
  assert.match(await resend(item), /"status":"completed"/);
  assert.match(await resend({ ...item, encrypted_content: 'eA==' }), /invalid_encrypted_content/);

  const asked = ASK.generate(QUESTION);
  const reply = JSON.parse(await post(PATHS.generate, asked)) as { candidates: { content: JsonObject }[] };
  const content = defined(reply.candidates[0]).content;
  const response = { functionResponse: { name: 'get_weather', response: { output: 'sunny' } } };
  const proceed = (parts: readonly JsonObject[]): Promise<string> =>
    post('/v1beta/models/m@strict:generateContent', {
      ...asked,
      contents: [part(QUESTION), { ...content, parts: [...parts] }, { role: 'user', parts: [response] }],
    });
  const parts = objectsOf(content.parts);
  assert.match(await proceed(parts), /get_weather returned/);
  const unsigned = parts.map(({ thoughtSignature: _signature, ...one }) => one);
  assert.match(await proceed(unsigned), /missing a thought_signature/);
});

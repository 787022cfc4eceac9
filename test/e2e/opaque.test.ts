/** What only a provider can read: it comes back to that provider and that account, in its place, and to nobody else. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Agent, type Answered, startAgent } from '../support/agent.ts';
import { type Asked, type Canned, type Script, sayJson, saySse, startCanned } from '../support/canned.ts';
import { type Room, roomsSetup, type Spoken } from '../support/conversion-harness.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

type Json = Record<string, unknown>;
type Upstream = Room['upstream'];

let upstream: Canned;
let gateway: TestGateway;
let keys: Record<string, string>;
/** Other keys of the same user. */
let others: Record<string, string>;

const ROOMS: readonly Omit<Room, 'url'>[] = [
  { id: 'openai', upstream: 'responses', accounts: [{}] },
  { id: 'claude', upstream: 'messages', accounts: [{}] },
  { id: 'gemini', upstream: 'generate', accounts: [{}] },
  ...(['messages', 'chat', 'responses'] as const).flatMap((client) =>
    (['messages', 'responses', 'generate'] as const).flatMap((to) =>
      [false, true].map((stream) => ({ id: roomOf(client, to, stream), upstream: to, accounts: [{}, {}] })),
    ),
  ),
];

/** Two accounts for one case alone: the first has to rest after it. */
function roomOf(client: Spoken, to: Upstream, stream: boolean): string {
  return `two-${client}-${to}-${stream ? 'streamed' : 'unary'}`;
}

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway();
  keys = await gateway.apply(roomsSetup(ROOMS, upstream.url));
  // Chat is native here.
  const native = { id: 'native', group: 'native', base_url: `${upstream.url}/v1`, api_key: 'sk-native' };
  await gateway.apply({
    groups: [{ id: 'native', style: 'responses' }],
    accounts: [native],
    models: [{ id: 'demo-*', groups: ['native'] }],
  });
  Object.assign(keys, await gateway.apply({ keys: [{ user: 'ana', group: 'native' }] }));
  others = await gateway.apply({ keys: ROOMS.map(({ id }) => ({ user: 'ana', group: id, name: 'other' })) });
});
after(async () => {
  await gateway.stop();
  await upstream.close();
});

const keyOf = (group: string, from = keys): string => from[group] ?? assert.fail(`no key for ${group}`);
const GROUP: Readonly<Record<Upstream, string>> = { responses: 'openai', messages: 'claude', generate: 'gemini' };

// ---------------------------------------------------------------- the provider

/** An answer of these items, blocks or parts: as a stream where one was asked for. */
const answers: Readonly<Record<Upstream, (said: readonly Json[]) => Script>> = {
  responses: (output) => (response, asked) => {
    const whole = { id: 'resp_000001', object: 'response', model: 'x', status: 'completed', output, usage: null };
    if (bodyOf(asked).stream !== true) return sayJson(JSON.stringify(whole))(response, asked);
    const events = [
      { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
      ...output.flatMap((item, output_index) => [
        { type: 'response.output_item.added', output_index, item: { ...item, ...OPENED[String(item.type)] } },
        { type: 'response.output_item.done', output_index, item },
      ]),
      { type: 'response.completed', response: whole },
    ];
    return saySse(events.map(sse).join(''))(response, asked);
  },
  messages: (content) => (response, asked) => {
    const usage = { input_tokens: 10, output_tokens: 5 };
    const stop_reason = content.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn';
    const whole = { id: 'msg_000001', type: 'message', role: 'assistant', model: 'x', content, stop_reason, usage };
    if (bodyOf(asked).stream !== true) return sayJson(JSON.stringify(whole))(response, asked);
    const events = [
      { type: 'message_start', message: { ...whole, content: [], stop_reason: null } },
      ...content.flatMap(blockEvents),
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ];
    return saySse(events.map(sse).join(''))(response, asked);
  },
  generate: (parts) => (response, asked) => {
    const rest = { responseId: 'resp-000001', modelVersion: 'x', usageMetadata: { promptTokenCount: 3 } };
    const chunk = (some: readonly Json[], finishReason?: string) => ({
      candidates: [{ index: 0, content: { role: 'model', parts: some }, ...(finishReason && { finishReason }) }],
      ...rest,
    });
    if (!asked.target.includes(':stream')) return sayJson(JSON.stringify(chunk(parts, 'STOP')))(response, asked);
    return saySse([...parts.map((part) => chunk([part])), chunk([], 'STOP')].map(sse).join(''))(response, asked);
  },
};

const OPENED: Readonly<Record<string, Json>> = {
  reasoning: { summary: [], encrypted_content: '' },
  function_call: { arguments: '', status: 'in_progress' },
  message: { content: [], status: 'in_progress' },
};

function blockEvents(block: Json, index: number): Json[] {
  const delta = (value: Json): Json => ({ type: 'content_block_delta', index, delta: value });
  const opened: Record<string, [Json, Json[]]> = {
    thinking: [
      { type: 'thinking', thinking: '', signature: '' },
      [
        delta({ type: 'thinking_delta', thinking: block.thinking }),
        delta({ type: 'signature_delta', signature: block.signature }),
      ],
    ],
    tool_use: [
      { ...block, input: {} },
      [delta({ type: 'input_json_delta', partial_json: JSON.stringify(block.input) })],
    ],
    text: [{ type: 'text', text: '' }, [delta({ type: 'text_delta', text: block.text })]],
  };
  const [content_block, deltas] = opened[String(block.type)] ?? [block, []];
  return [{ type: 'content_block_start', index, content_block }, ...deltas, { type: 'content_block_stop', index }];
}

const sse = (data: Json): string =>
  `${data.type === undefined ? '' : `event: ${data.type}\n`}data: ${JSON.stringify(data)}\n\n`;

const bodyOf = ({ body }: Asked): Json => JSON.parse(body.toString());
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const HISTORY: Readonly<Record<Upstream, string>> = { responses: 'input', messages: 'messages', generate: 'contents' };
/** The conversation in the newest request. */
const sentTo = (to: Upstream): Json[] => listOf(bodyOf(upstream.last)[HISTORY[to]]);

// ---------------------------------------------------------------- the client

interface Talk {
  readonly client: Spoken;
  readonly to: Upstream;
  readonly said: readonly Json[];
  readonly stream: boolean;
  /** What a client does to its history between two requests. */
  readonly meanwhile?: (agent: Agent) => void;
}

const END: Readonly<Record<Upstream, readonly Json[]>> = {
  responses: [
    { type: 'message', id: 'msg_9', role: 'assistant', status: 'completed', content: [outputText('the end')] },
  ],
  messages: [{ type: 'text', text: 'the end' }],
  generate: [{ text: 'the end' }],
};

function outputText(text: string): Json {
  return { type: 'output_text', text, annotations: [] };
}

/** One answer with calls, their results, one more answer; the provider has then seen its own words again. */
async function talk({ client, to, said, stream, meanwhile }: Talk): Promise<{ first: Answered; agent: Agent }> {
  const agent = startAgent(client, { url: gateway.url, key: keyOf(GROUP[to]), model: 'demo-text', stream });
  upstream.says(answers[to](said));
  agent.say('read a.ts');
  const first = await agent.ask();
  agent.give(first.calls.map((call) => ({ call, text: 'ok' })));
  meanwhile?.(agent);
  upstream.says(answers[to](END[to]));
  const second = await agent.ask();
  assert.equal(second.text, 'the end');
  return { first, agent };
}

/** A client that keeps nothing but what the chat dialect defines. */
const strip = ({ history }: Agent): void => {
  for (const [n, message] of (history as Json[]).entries()) {
    if (message.role !== 'assistant') continue;
    const { role, content, tool_calls } = message;
    const calls = listOf(tool_calls).map(({ id, type, function: call }) => ({ id, type, function: call }));
    history[n] = { role, content, ...(calls.length > 0 && { tool_calls: calls }) };
  }
};

const kinds = (list: readonly Json[]): unknown[] => list.map(({ type, role }) => type ?? role);

// ---------------------------------------------------------------- in their place

const REASONING = {
  type: 'reasoning',
  id: 'rs_one',
  summary: [
    { type: 'summary_text', text: 'First I look.' },
    { type: 'summary_text', text: 'Then\n\nI think.' },
  ],
  encrypted_content: 'E+one/==',
};
const call = (n: number): Json => ({
  type: 'function_call',
  id: `fc_${n}`,
  call_id: `call_${n}`,
  name: 'read_file',
  arguments: `{"path":"${n}.ts"}`,
  status: 'completed',
});
const use = (n: number): Json => ({
  type: 'tool_use',
  id: `toolu_${n}`,
  name: 'read_file',
  input: { path: `${n}.ts` },
});
const functionCall = (n: number, id?: string): Json => ({
  functionCall: { ...(id !== undefined && { id }), name: 'read_file', args: { path: `${n}.ts` } },
});

for (const stream of [false, true]) {
  const how = stream ? 'streamed' : 'unary';

  describe(`opaque values in ${how} answers`, () => {
    test('a messages client brings reasoning back to a responses provider, directly before its call', async () => {
      await talk({ client: 'messages', to: 'responses', said: [REASONING, call(1)], stream });
      const input = sentTo('responses');
      assert.deepEqual(kinds(input), ['message', 'reasoning', 'function_call', 'function_call_output']);
      assert.deepEqual(input[1], REASONING, 'with its id, its value and each part of its summary');
    });

    test('two of them around two calls go back to where each was', async () => {
      const second = { ...REASONING, id: 'rs_two', summary: [], encrypted_content: 'E+two/==' };
      await talk({ client: 'messages', to: 'responses', said: [REASONING, call(1), second, call(2)], stream });
      const input = sentTo('responses');
      assert.deepEqual(kinds(input).slice(1, 5), ['reasoning', 'function_call', 'reasoning', 'function_call']);
      assert.deepEqual([input[1], input[3]], [REASONING, second]);
    });

    test('reasoning without a summary is a thinking block without text', async () => {
      const silent = { ...REASONING, summary: [] };
      const { agent } = await talk({ client: 'messages', to: 'responses', said: [silent, call(1)], stream });
      const [block] = listOf((agent.history[1] as Json).content);
      assert.deepEqual([block?.type, block?.thinking], ['thinking', '']);
      assert.match(String(block?.signature), /^gw1\.[\w-]+$/);
      assert.deepEqual(sentTo('responses')[1], silent);
    });

    test('a responses client brings thinking and redacted thinking back to a messages provider', async () => {
      const said = [
        { type: 'thinking', thinking: 'I look first.', signature: 'S+ig/==' },
        { type: 'redacted_thinking', data: 'D+ata/==' },
        use(1),
      ];
      const { agent } = await talk({ client: 'responses', to: 'messages', said, stream });
      assert.deepEqual(kinds(agent.history as Json[]).slice(1, 4), ['reasoning', 'reasoning', 'function_call']);
      assert.deepEqual(sentTo('messages')[1], { role: 'assistant', content: said });
    });

    for (const client of ['messages', 'responses', 'chat'] as const) {
      test(`[N30] a ${client} client brings a signature back to the first of two calls, and none to the second`, async () => {
        const said = [{ ...functionCall(1, 'call-1'), thoughtSignature: 'G+sig/==' }, functionCall(2, 'call-2')];
        await talk({ client, to: 'generate', said, stream });
        assert.deepEqual(sentTo('generate')[1], { role: 'model', parts: said });
      });

      test(`a call without an id has one for a ${client} client, and none for its provider`, async () => {
        const said = [{ ...functionCall(1), thoughtSignature: 'G+sig/==' }, functionCall(2)];
        const { first } = await talk({ client, to: 'generate', said, stream });
        assert.equal(new Set(first.calls.map(({ id }) => id)).size, 2);
        for (const { id } of first.calls) assert.match(id, /^call_gw[a-z2-7]{20}$/);
        const [, model, results] = sentTo('generate');
        assert.deepEqual(model, { role: 'model', parts: said });
        const response = { name: 'read_file', response: { output: 'ok' } };
        assert.deepEqual(results?.parts, [{ functionResponse: response }, { functionResponse: response }]);
      });
    }

    for (const client of ['messages', 'responses', 'chat'] as const) {
      test(`a ${client} client brings the signature of a text back to that text`, async () => {
        const said = [{ text: 'I will look.' }, { text: '', thoughtSignature: 'G+text/==' }];
        const agent = startAgent(client, { url: gateway.url, key: keyOf('gemini'), model: 'demo-text', stream });
        upstream.says(answers.generate(said));
        agent.say('hello');
        assert.equal((await agent.ask()).text, 'I will look.');
        agent.say('and now?');
        upstream.says(answers.generate(END.generate));
        await agent.ask();
        assert.deepEqual(sentTo('generate')[1]?.parts, [{ text: 'I will look.', thoughtSignature: 'G+text/==' }]);
      });
    }

    describe('that a chat client has no place for', () => {
      test('come back to the pieces of a text that was signed in the middle, and to no other text', async () => {
        const said = [{ text: 'I look. ', thoughtSignature: 'G+one/==' }, { text: 'Then I see.' }];
        const agent = startAgent('chat', { url: gateway.url, key: keyOf('gemini'), model: 'demo-text', stream });
        upstream.says(answers.generate(said));
        agent.say('hello');
        assert.equal((await agent.ask()).text, 'I look. Then I see.');
        agent.say('and now?');
        upstream.says(answers.generate(END.generate));
        await agent.ask();
        assert.deepEqual(sentTo('generate')[1]?.parts, said);
        agent.key = keyOf('gemini', others);
        agent.say('again');
        await agent.ask();
        assert.doesNotMatch(JSON.stringify(sentTo('generate')), /G\+one/, 'another key remembers nothing');
      });

      test('[S41 L6] come back to a generate-content provider from memory, and else as the stand-in', async () => {
        const said = [{ ...functionCall(1, 'call-1'), thoughtSignature: 'G+sig/==' }, functionCall(2, 'call-2')];
        const { agent } = await talk({ client: 'chat', to: 'generate', said, stream, meanwhile: strip });
        assert.deepEqual(sentTo('generate')[1], { role: 'model', parts: said });
        agent.key = keyOf('gemini', others);
        agent.say('again');
        await agent.ask();
        const [first, second] = listOf(sentTo('generate')[1]?.parts);
        assert.equal(first?.thoughtSignature, 'skip_thought_signature_validator', 'another key remembers nothing');
        assert.equal(second?.thoughtSignature, undefined);
      });

      test('[L2] come back to a messages provider ahead of the words that followed them', async () => {
        const said = [
          { type: 'thinking', thinking: 'I look first.', signature: 'S+ig/==' },
          { type: 'redacted_thinking', data: 'D+ata/==' },
          { type: 'text', text: 'I will look.' },
          use(1),
          use(2),
        ];
        const { agent } = await talk({ client: 'chat', to: 'messages', said, stream, meanwhile: strip });
        assert.deepEqual(sentTo('messages')[1], { role: 'assistant', content: said });
        agent.key = keyOf('claude', others);
        agent.say('again');
        await agent.ask();
        assert.deepEqual(sentTo('messages')[1], { role: 'assistant', content: said.slice(2) });
        assert.doesNotMatch(upstream.last.body.toString(), /I look first/);
      });

      test('[L4] come back to a responses provider directly before their calls', async () => {
        const said = [REASONING, call(1), { ...REASONING, id: 'rs_two', encrypted_content: 'E2' }, call(2)];
        const { agent } = await talk({ client: 'chat', to: 'responses', said, stream, meanwhile: strip });
        const input = sentTo('responses');
        assert.deepEqual([input[1], input[3]], [said[0], said[2]]);
        agent.key = keyOf('openai', others);
        agent.say('again');
        await agent.ask();
        assert.ok(!kinds(sentTo('responses')).includes('reasoning'));
      });
    });
  });
}

// ---------------------------------------------------------------- rejected, and of another account

/** An answer of each provider with a value in it, and how it rejects such a value. */
const SIGNED: Readonly<Record<Upstream, { said: readonly Json[]; value: string; rejection: string }>> = {
  responses: {
    said: [REASONING, call(1)],
    value: 'E+one/==',
    rejection: JSON.stringify({
      error: {
        message: 'The encrypted content for item rs_one could not be verified.',
        type: 'invalid_request_error',
        param: 'input',
        code: 'invalid_encrypted_content',
      },
    }),
  },
  messages: {
    said: [{ type: 'thinking', thinking: 'I look first.', signature: 'S+ig/==' }, use(1)],
    value: 'S+ig/==',
    rejection: JSON.stringify({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
      },
    }),
  },
  generate: {
    said: [{ ...functionCall(1, 'call-1'), thoughtSignature: 'G+sig/==' }],
    value: 'G+sig/==',
    rejection: JSON.stringify({
      error: { code: 400, message: 'Thought signature is not valid.', status: 'INVALID_ARGUMENT' },
    }),
  },
};

/** With a value of its own: one that was rejected is remembered. */
function freshly(to: Upstream): { said: Json[]; value: string } {
  const { said, value } = SIGNED[to];
  freshly.count += 1;
  const own = value.replace(/^\w/, (first) => `${first}${freshly.count}x`);
  return { said: JSON.parse(JSON.stringify(said).replaceAll(value, own)), value: own };
}
freshly.count = 0;

const CONVERSIONS: readonly (readonly [Spoken, Upstream])[] = [
  ['messages', 'responses'],
  ['messages', 'generate'],
  ['chat', 'responses'],
  ['chat', 'messages'],
  ['chat', 'generate'],
  ['responses', 'messages'],
  ['responses', 'generate'],
];

const THOUGHTS = /First I look|I look first/;

for (const [client, to] of CONVERSIONS) {
  for (const stream of [false, true]) {
    const how = `${client} on ${to}, ${stream ? 'streamed' : 'unary'}`;
    const { rejection } = SIGNED[to];
    let value = '';
    const begin = async (group: string): Promise<Agent> => {
      const agent = startAgent(client, { url: gateway.url, key: keyOf(group), model: 'demo-text', stream });
      const fresh = freshly(to);
      value = fresh.value;
      upstream.says(answers[to](fresh.said));
      agent.say('read a.ts');
      const { calls } = await agent.ask();
      agent.give(calls.map((made) => ({ call: made, text: 'ok' })));
      upstream.asked.length = 0;
      return agent;
    };
    const carries = (): boolean[] => upstream.asked.map(({ body }) => body.toString().includes(value));

    test(`[S44] a value that its provider rejects is left out, once, and nobody notices (${how})`, async () => {
      const agent = await begin(GROUP[to]);
      upstream.says((response, asked) =>
        asked.body.toString().includes(value)
          ? sayJson(rejection, 400)(response, asked)
          : answers[to](END[to])(response, asked),
      );
      assert.equal((await agent.ask()).text, 'the end');
      assert.deepEqual(carries(), [true, false]);
      assert.doesNotMatch(upstream.last.body.toString(), THOUGHTS);
      agent.say('and now?');
      assert.equal((await agent.ask()).text, 'the end');
      assert.deepEqual(carries(), [true, false, false], 'and is left out at once from then on');
      assert.doesNotMatch(upstream.last.body.toString(), THOUGHTS);
    });

    test(`a provider that rejects even what is left is believed (${how})`, async () => {
      const agent = await begin(GROUP[to]);
      upstream.says(sayJson(rejection, 400));
      await assert.rejects(agent.ask(), (error: Error & { status?: number }) => error.status === 400);
      assert.deepEqual(carries(), [true, false]);
    });

    test(`[S45] another account gets none of the values of the first (${how})`, async () => {
      const agent = await begin(roomOf(client, to, stream));
      const accountOf = ({ headers }: Asked): string =>
        String(headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key']).slice(-1);
      upstream.says((response, asked) =>
        accountOf(asked) === '0'
          ? sayJson('{"error":{"message":"overloaded"}}', 503)(response, asked)
          : answers[to](END[to])(response, asked),
      );
      assert.equal((await agent.ask()).text, 'the end');
      assert.deepEqual(upstream.asked.map(accountOf), ['0', '1']);
      assert.deepEqual(carries(), [true, false]);
      assert.doesNotMatch(upstream.last.body.toString(), THOUGHTS);
    });
  }
}

const REJECTIONS: readonly (readonly [Upstream, number, string])[] = [
  ['messages', 400, 'messages.1.content.0: Invalid `data` in `redacted_thinking` block'],
  [
    'messages',
    400,
    'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. ' +
      'These blocks must remain as they were in the original response.',
  ],
  ['responses', 400, 'Encrypted content item_id did not match the target item id.'],
  ['responses', 400, "Item 'rs_one' of type 'reasoning' was provided without its required following item."],
  ['responses', 404, "Item with id 'rs_one' not found. Items are not persisted when `store` is set to false."],
  ['generate', 400, 'Function call is missing a thought_signature in functionCall parts.'],
];

for (const [to, status, message] of REJECTIONS) {
  test(`the provider means the value when it says: ${message.slice(0, 90)}`, async () => {
    const agent = startAgent('chat', { url: gateway.url, key: keyOf(GROUP[to]), model: 'demo-text' });
    const { said, value } = freshly(to);
    upstream.says(answers[to](said));
    agent.say('read a.ts');
    const { calls } = await agent.ask();
    agent.give(calls.map((made) => ({ call: made, text: 'ok' })));
    upstream.asked.length = 0;
    const error = { code: to === 'generate' ? status : null, type: 'invalid_request_error', message };
    upstream.says((response, asked) =>
      asked.body.toString().includes(value)
        ? sayJson(JSON.stringify({ type: 'error', error }), status)(response, asked)
        : answers[to](END[to])(response, asked),
    );
    assert.equal((await agent.ask()).text, 'the end');
    assert.equal(upstream.asked.length, 2);
  });
}

// ---------------------------------------------------------------- another group

describe('a conversation that moves to another group', () => {
  const postTo = (path: string, group: string, body: string): Promise<Response> =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${keyOf(group)}`, 'content-type': 'application/json' },
      body,
    });

  test('[S35] leaves the envelopes of a messages client behind, and every other byte as it was; and takes them up again', async () => {
    const agent = startAgent('messages', { url: gateway.url, key: keyOf('openai'), model: 'demo-text', stream: false });
    upstream.says(answers.responses([REASONING, call(1)]));
    agent.say('read a.ts');
    const { calls } = await agent.ask();
    agent.give(calls.map((made) => ({ call: made, text: 'ok' })));

    const [first, second] = listOf((agent.history[1] as Json).content);
    const text = JSON.stringify(
      { max_tokens: 1.5e3, odd: [1.0, '\u00e9'], messages: agent.history, model: 'demo-text' },
      null,
      1,
    );
    const pretty = (block: unknown): string => JSON.stringify(block, null, 1).replaceAll('\n', '\n    ');
    assert.ok(text.includes(pretty(first)), 'the test finds the block');
    const own = [{ type: 'thinking', thinking: 'Now I see.', signature: 'S+ig/==' }, use(2)];
    upstream.says(answers.messages(own));
    const answer = (await (await postTo('/v1/messages', 'claude', text)).json()) as Json;
    assert.equal(
      upstream.last.body.toString(),
      text.replace(
        pretty(first) + text.slice(text.indexOf(pretty(first)) + pretty(first).length, text.indexOf(pretty(second))),
        '',
      ),
    );
    assert.deepEqual(answer.content, own);

    agent.history.push({ role: 'assistant', content: answer.content });
    agent.give([{ call: { id: 'toolu_2', name: 'read_file', args: {} }, text: 'ok too' }]);
    upstream.says(answers.responses(END.responses));
    assert.equal((await agent.ask()).text, 'the end');
    const input = sentTo('responses');
    assert.deepEqual(kinds(input), [
      'message',
      'reasoning',
      'function_call',
      'function_call_output',
      'function_call',
      'function_call_output',
    ]);
    assert.deepEqual(input[1], REASONING);
    assert.doesNotMatch(upstream.last.body.toString(), /Now I see|S\+ig/);
  });

  test('leaves no empty message where an answer held nothing but an envelope', async () => {
    const agent = startAgent('messages', { url: gateway.url, key: keyOf('openai'), model: 'demo-text', stream: false });
    upstream.says(answers.responses([REASONING, call(1)]));
    agent.say('read a.ts');
    await agent.ask();
    const [thinking] = listOf((agent.history[1] as Json).content);
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [thinking] },
      { role: 'user', content: 'b' },
    ];
    upstream.says(answers.messages(END.messages));
    await postTo('/v1/messages', 'claude', JSON.stringify({ model: 'demo-text', max_tokens: 10, messages }));
    assert.deepEqual(bodyOf(upstream.last).messages, [messages[0], messages[2]]);
  });

  test('leaves the envelopes of a responses client behind, and takes them up again', async () => {
    const said = [
      { type: 'thinking', thinking: 'I look first.', signature: 'S+ig/==' },
      { type: 'redacted_thinking', data: 'D+ata/==' },
      use(1),
    ];
    const agent = startAgent('responses', {
      url: gateway.url,
      key: keyOf('claude'),
      model: 'demo-text',
      stream: false,
    });
    upstream.says(answers.messages(said));
    agent.say('read a.ts');
    const { calls } = await agent.ask();
    agent.give(calls.map((made) => ({ call: made, text: 'ok' })));
    agent.key = keyOf('openai');
    upstream.says(answers.responses([REASONING, call(2)]));
    const next = await agent.ask();
    agent.give(next.calls.map((made) => ({ call: made, text: 'ok' })));
    const [user, , , ...rest] = agent.history.slice(0, 5);
    assert.deepEqual(sentTo('responses'), [user, ...rest], 'as the client sent it, without the two');
    agent.key = keyOf('claude');
    upstream.says(answers.messages(END.messages));
    await agent.ask();
    const assistants = sentTo('messages').filter(({ role }) => role === 'assistant');
    assert.deepEqual(assistants[0]?.content, said);
    assert.deepEqual(kinds(listOf(assistants[1]?.content)), ['tool_use'], 'the other provider thought for itself');
    assert.doesNotMatch(upstream.last.body.toString(), /First I look|E\+one/);
  });

  test('leaves a signature that a chat client carries behind', async () => {
    const said = [{ ...functionCall(1, 'call-1'), thoughtSignature: 'G+sig/==' }];
    const agent = startAgent('chat', { url: gateway.url, key: keyOf('gemini'), model: 'demo-text', stream: false });
    upstream.says(answers.generate(said));
    agent.say('read a.ts');
    const { calls } = await agent.ask();
    agent.give(calls.map((made) => ({ call: made, text: 'ok' })));
    assert.match(JSON.stringify(agent.history), /thought_signature":"gw1\./);
    for (const [group, to] of [
      ['claude', 'messages'],
      ['openai', 'responses'],
    ] as const) {
      agent.key = keyOf(group);
      upstream.says(answers[to](END[to]));
      await agent.ask();
      agent.history.pop();
      assert.doesNotMatch(upstream.last.body.toString(), /gw1|G\+sig/);
    }
    agent.key = keyOf('native');
    upstream.says(sayJson('{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"content":"x"}}]}'));
    await agent.ask();
    const [, , assistant] = listOf(bodyOf(upstream.last).messages);
    assert.deepEqual(Object.keys(listOf(assistant?.tool_calls)[0] ?? {}), ['id', 'type', 'function']);
  });

  test('an envelope that somebody damaged counts as absent', async () => {
    for (const damage of ['gw1.', 'gw1.!!', `gw1.${Buffer.from('{"v":1,"p":"x"}').toString('base64url')}`]) {
      const agent = startAgent('messages', {
        url: gateway.url,
        key: keyOf('openai'),
        model: 'demo-text',
        stream: false,
      });
      upstream.says(answers.responses([REASONING, call(1)]));
      agent.say('read a.ts');
      const { calls } = await agent.ask();
      agent.give(calls.map((made) => ({ call: made, text: 'ok' })));
      const [block] = listOf((agent.history[1] as Json).content);
      if (block) block.signature = damage;
      upstream.asked.length = 0;
      upstream.says(answers.responses(END.responses));
      assert.equal((await agent.ask()).text, 'the end');
      assert.equal(upstream.asked.length, 1);
      assert.deepEqual(kinds(sentTo('responses')), ['message', 'function_call', 'function_call_output']);
      assert.doesNotMatch(upstream.last.body.toString(), /gw1|First I look/);
    }
  });

  test('an envelope in a body that is no JSON is a bad request like any other', async () => {
    const answer = await postTo('/v1/messages', 'claude', '{"messages":["gw1."');
    assert.equal(answer.status, 400);
  });
});

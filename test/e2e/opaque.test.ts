/** Opaque values (encrypted reasoning, signatures): they return to the issuing provider and account, in place, and to no other. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Agent, type AgentReply, startAgent } from '../support/agent.ts';
import {
  type Canned,
  jsonResponse,
  type ReceivedRequest,
  type Script,
  sseResponse,
  startCanned,
} from '../support/canned.ts';
import { type ClientDialect, groupsSetup, type TestGroup } from '../support/conversion-harness.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

type Json = Record<string, unknown>;
type Upstream = TestGroup['upstream'];

let upstream: Canned;
let gateway: TestGateway;
let keys: Record<string, string>;
/** Other keys of the same user. */
let others: Record<string, string>;

const GROUPS: readonly Omit<TestGroup, 'url'>[] = [
  { id: 'openai', upstream: 'responses', accounts: [{}] },
  { id: 'claude', upstream: 'messages', accounts: [{}] },
  { id: 'gemini', upstream: 'generate', accounts: [{}] },
  ...(['messages', 'chat', 'responses'] as const).flatMap((client) =>
    (['messages', 'responses', 'generate'] as const).flatMap((to) =>
      [false, true].map((stream) => ({ id: twoAccountGroup(client, to, stream), upstream: to, accounts: [{}, {}] })),
    ),
  ),
];

/** A group of two accounts for one test, because the first account goes into cooldown. */
function twoAccountGroup(client: ClientDialect, to: Upstream, stream: boolean): string {
  return `two-${client}-${to}-${stream ? 'streamed' : 'unary'}`;
}

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway();
  keys = await gateway.apply(groupsSetup(GROUPS, upstream.url));
  // An account with all features, so that chat is native.
  const native = { id: 'native', group: 'native', base_url: `${upstream.url}/v1`, api_key: 'sk-native' };
  await gateway.apply({
    groups: [{ id: 'native', style: 'responses' }],
    accounts: [native],
    models: [{ id: 'demo-*', groups: ['native'] }],
  });
  Object.assign(keys, await gateway.apply({ keys: [{ user: 'ana', group: 'native' }] }));
  others = await gateway.apply({ keys: GROUPS.map(({ id }) => ({ user: 'ana', group: id, name: 'other' })) });
});
after(async () => {
  await gateway.stop();
  await upstream.close();
});

const keyOf = (group: string, from = keys): string => from[group] ?? assert.fail(`no key for ${group}`);
const GROUP: Readonly<Record<Upstream, string>> = { responses: 'openai', messages: 'claude', generate: 'gemini' };

// ---------------------------------------------------------------- the provider

/** A provider response with these items, blocks or parts; streamed when the request asks for it. */
const respond: Readonly<Record<Upstream, (output: readonly Json[]) => Script>> = {
  responses: (output) => (response, request) => {
    const whole = { id: 'resp_000001', object: 'response', model: 'x', status: 'completed', output, usage: null };
    if (bodyOf(request).stream !== true) return jsonResponse(JSON.stringify(whole))(response, request);
    const events = [
      { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
      ...output.flatMap((item, output_index) => [
        { type: 'response.output_item.added', output_index, item: { ...item, ...OPEN_ITEM[String(item.type)] } },
        { type: 'response.output_item.done', output_index, item },
      ]),
      { type: 'response.completed', response: whole },
    ];
    return sseResponse(events.map(sse).join(''))(response, request);
  },
  messages: (content) => (response, request) => {
    const usage = { input_tokens: 10, output_tokens: 5 };
    const stop_reason = content.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn';
    const whole = { id: 'msg_000001', type: 'message', role: 'assistant', model: 'x', content, stop_reason, usage };
    if (bodyOf(request).stream !== true) return jsonResponse(JSON.stringify(whole))(response, request);
    const events = [
      { type: 'message_start', message: { ...whole, content: [], stop_reason: null } },
      ...content.flatMap(blockEvents),
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ];
    return sseResponse(events.map(sse).join(''))(response, request);
  },
  generate: (parts) => (response, request) => {
    const common = { responseId: 'resp-000001', modelVersion: 'x', usageMetadata: { promptTokenCount: 3 } };
    const chunk = (some: readonly Json[], finishReason?: string) => ({
      candidates: [{ index: 0, content: { role: 'model', parts: some }, ...(finishReason && { finishReason }) }],
      ...common,
    });
    if (!request.target.includes(':stream'))
      return jsonResponse(JSON.stringify(chunk(parts, 'STOP')))(response, request);
    return sseResponse([...parts.map((part) => chunk([part])), chunk([], 'STOP')].map(sse).join(''))(response, request);
  },
};

const OPEN_ITEM: Readonly<Record<string, Json>> = {
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

const bodyOf = ({ body }: ReceivedRequest): Json => JSON.parse(body.toString());
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const HISTORY: Readonly<Record<Upstream, string>> = { responses: 'input', messages: 'messages', generate: 'contents' };
/** The conversation in the latest provider request. */
const sentTo = (to: Upstream): Json[] => listOf(bodyOf(upstream.last)[HISTORY[to]]);

// ---------------------------------------------------------------- the client

interface Conversation {
  readonly client: ClientDialect;
  readonly to: Upstream;
  readonly output: readonly Json[];
  readonly stream: boolean;
  /** Edits of the history by the client between two requests. */
  readonly editHistory?: (agent: Agent) => void;
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

/** Sends a prompt, then the tool results; the second provider request carries the history. */
async function converse({
  client,
  to,
  output,
  stream,
  editHistory,
}: Conversation): Promise<{ first: AgentReply; agent: Agent }> {
  const agent = startAgent(client, { url: gateway.url, key: keyOf(GROUP[to]), model: 'demo-text', stream });
  upstream.respondWith(respond[to](output));
  agent.addUserMessage('read a.ts');
  const first = await agent.send();
  agent.addToolResults(first.calls.map((call) => ({ call, text: 'ok' })));
  editHistory?.(agent);
  upstream.respondWith(respond[to](END[to]));
  const second = await agent.send();
  assert.equal(second.text, 'the end');
  return { first, agent };
}

/** Removes from the history all that the chat dialect does not define, as a strict client does. */
const stripToChat = ({ history }: Agent): void => {
  for (const [n, message] of (history as Json[]).entries()) {
    if (message.role !== 'assistant') continue;
    const { role, content, tool_calls } = message;
    const calls = listOf(tool_calls).map(({ id, type, function: call }) => ({ id, type, function: call }));
    history[n] = { role, content, ...(calls.length > 0 && { tool_calls: calls }) };
  }
};

const kinds = (list: readonly Json[]): unknown[] => list.map(({ type, role }) => type ?? role);

// ---------------------------------------------------------------- position of opaque values

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

  describe(`opaque values in ${how} replies`, () => {
    test(`messages client returns reasoning to a responses provider, directly before its call (${how})`, async () => {
      await converse({ client: 'messages', to: 'responses', output: [REASONING, call(1)], stream });
      const input = sentTo('responses');
      assert.deepEqual(kinds(input), ['message', 'reasoning', 'function_call', 'function_call_output']);
      assert.deepEqual(input[1], REASONING, 'id, value and all summary parts');
    });

    test(`two reasoning items around two calls return to their positions (${how})`, async () => {
      const second = { ...REASONING, id: 'rs_two', summary: [], encrypted_content: 'E+two/==' };
      await converse({ client: 'messages', to: 'responses', output: [REASONING, call(1), second, call(2)], stream });
      const input = sentTo('responses');
      assert.deepEqual(kinds(input).slice(1, 5), ['reasoning', 'function_call', 'reasoning', 'function_call']);
      assert.deepEqual([input[1], input[3]], [REASONING, second]);
    });

    test(`reasoning without a summary is a thinking block without text (${how})`, async () => {
      const withoutSummary = { ...REASONING, summary: [] };
      const { agent } = await converse({
        client: 'messages',
        to: 'responses',
        output: [withoutSummary, call(1)],
        stream,
      });
      const [block] = listOf((agent.history[1] as Json).content);
      assert.deepEqual([block?.type, block?.thinking], ['thinking', '']);
      assert.match(String(block?.signature), /^gw1\.[\w-]+$/);
      assert.deepEqual(sentTo('responses')[1], withoutSummary);
    });

    test(`responses client returns thinking and redacted thinking to a messages provider (${how})`, async () => {
      const output = [
        { type: 'thinking', thinking: 'I look first.', signature: 'S+ig/==' },
        { type: 'redacted_thinking', data: 'D+ata/==' },
        use(1),
      ];
      const { agent } = await converse({ client: 'responses', to: 'messages', output, stream });
      assert.deepEqual(kinds(agent.history as Json[]).slice(1, 4), ['reasoning', 'reasoning', 'function_call']);
      assert.deepEqual(sentTo('messages')[1], { role: 'assistant', content: output });
    });

    for (const client of ['messages', 'responses', 'chat'] as const) {
      test(`${client} client returns a signature to the first of two calls only (${how})`, async () => {
        const output = [{ ...functionCall(1, 'call-1'), thoughtSignature: 'G+sig/==' }, functionCall(2, 'call-2')];
        await converse({ client, to: 'generate', output, stream });
        assert.deepEqual(sentTo('generate')[1], { role: 'model', parts: output });
      });

      test(`a call without an id gets one for the ${client} client and none for its provider (${how})`, async () => {
        const output = [{ ...functionCall(1), thoughtSignature: 'G+sig/==' }, functionCall(2)];
        const { first } = await converse({ client, to: 'generate', output, stream });
        assert.equal(new Set(first.calls.map(({ id }) => id)).size, 2);
        for (const { id } of first.calls) assert.match(id, /^call_gw[\w-]{20}$/);
        const [, model, results] = sentTo('generate');
        assert.deepEqual(model, { role: 'model', parts: output });
        const response = { name: 'read_file', response: { output: 'ok' } };
        assert.deepEqual(results?.parts, [{ functionResponse: response }, { functionResponse: response }]);
      });
    }

    for (const client of ['messages', 'responses', 'chat'] as const) {
      test(`${client} client returns the signature of a text to that text (${how})`, async () => {
        const output = [{ text: 'I will look.' }, { text: '', thoughtSignature: 'G+text/==' }];
        const agent = startAgent(client, { url: gateway.url, key: keyOf('gemini'), model: 'demo-text', stream });
        upstream.respondWith(respond.generate(output));
        agent.addUserMessage('hello');
        assert.equal((await agent.send()).text, 'I will look.');
        agent.addUserMessage('and now?');
        upstream.respondWith(respond.generate(END.generate));
        await agent.send();
        assert.deepEqual(sentTo('generate')[1]?.parts, [{ text: 'I will look.', thoughtSignature: 'G+text/==' }]);
      });
    }

    describe('that the chat dialect cannot carry', () => {
      test(`opaque cache restores the signature inside a chat text, only for the key that received it (${how})`, async () => {
        const output = [{ text: 'I look. ', thoughtSignature: 'G+one/==' }, { text: 'Then I see.' }];
        const agent = startAgent('chat', { url: gateway.url, key: keyOf('gemini'), model: 'demo-text', stream });
        upstream.respondWith(respond.generate(output));
        agent.addUserMessage('hello');
        assert.equal((await agent.send()).text, 'I look. Then I see.');
        agent.addUserMessage('and now?');
        upstream.respondWith(respond.generate(END.generate));
        await agent.send();
        assert.deepEqual(sentTo('generate')[1]?.parts, output);
        agent.key = keyOf('gemini', others);
        agent.addUserMessage('again');
        await agent.send();
        assert.doesNotMatch(JSON.stringify(sentTo('generate')), /G\+one/, 'another key has no cached value');
      });

      test(`opaque cache restores call signatures for a chat client; another key sends the placeholder (${how})`, async () => {
        const output = [{ ...functionCall(1, 'call-1'), thoughtSignature: 'G+sig/==' }, functionCall(2, 'call-2')];
        const { agent } = await converse({ client: 'chat', to: 'generate', output, stream, editHistory: stripToChat });
        assert.deepEqual(sentTo('generate')[1], { role: 'model', parts: output });
        agent.key = keyOf('gemini', others);
        agent.addUserMessage('again');
        await agent.send();
        const [first, second] = listOf(sentTo('generate')[1]?.parts);
        assert.equal(first?.thoughtSignature, 'skip_thought_signature_validator', 'another key has no cached value');
        assert.equal(second?.thoughtSignature, undefined);
      });

      test(`opaque cache restores thinking before the text of a chat client (${how})`, async () => {
        const output = [
          { type: 'thinking', thinking: 'I look first.', signature: 'S+ig/==' },
          { type: 'redacted_thinking', data: 'D+ata/==' },
          { type: 'text', text: 'I will look.' },
          use(1),
          use(2),
        ];
        const { agent } = await converse({ client: 'chat', to: 'messages', output, stream, editHistory: stripToChat });
        assert.deepEqual(sentTo('messages')[1], { role: 'assistant', content: output });
        agent.key = keyOf('claude', others);
        agent.addUserMessage('again');
        await agent.send();
        assert.deepEqual(sentTo('messages')[1], { role: 'assistant', content: output.slice(2) });
        assert.doesNotMatch(upstream.last.body.toString(), /I look first/);
      });

      test(`opaque cache restores reasoning directly before the calls of a chat client (${how})`, async () => {
        const output = [REASONING, call(1), { ...REASONING, id: 'rs_two', encrypted_content: 'E2' }, call(2)];
        const { agent } = await converse({ client: 'chat', to: 'responses', output, stream, editHistory: stripToChat });
        const input = sentTo('responses');
        assert.deepEqual([input[1], input[3]], [output[0], output[2]]);
        agent.key = keyOf('openai', others);
        agent.addUserMessage('again');
        await agent.send();
        assert.ok(!kinds(sentTo('responses')).includes('reasoning'));
      });
    });
  });
}

// ---------------------------------------------------------------- rejected values, and other accounts

/** An output of each provider with an opaque value in it, and how the provider rejects the value. */
const SIGNED: Readonly<Record<Upstream, { output: readonly Json[]; value: string; rejection: string }>> = {
  responses: {
    output: [REASONING, call(1)],
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
    output: [{ type: 'thinking', thinking: 'I look first.', signature: 'S+ig/==' }, use(1)],
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
    output: [{ ...functionCall(1, 'call-1'), thoughtSignature: 'G+sig/==' }],
    value: 'G+sig/==',
    rejection: JSON.stringify({
      error: { code: 400, message: 'Thought signature is not valid.', status: 'INVALID_ARGUMENT' },
    }),
  },
};

/** The same with a new value, because rejected values are remembered. */
function withNewValue(to: Upstream): { output: Json[]; value: string } {
  const { output, value } = SIGNED[to];
  withNewValue.count += 1;
  const own = value.replace(/^\w/, (first) => `${first}${withNewValue.count}x`);
  return { output: JSON.parse(JSON.stringify(output).replaceAll(value, own)), value: own };
}
withNewValue.count = 0;

const CONVERSIONS: readonly (readonly [ClientDialect, Upstream])[] = [
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
      const fresh = withNewValue(to);
      value = fresh.value;
      upstream.respondWith(respond[to](fresh.output));
      agent.addUserMessage('read a.ts');
      const { calls } = await agent.send();
      agent.addToolResults(calls.map((one) => ({ call: one, text: 'ok' })));
      upstream.requests.length = 0;
      return agent;
    };
    const carries = (): boolean[] => upstream.requests.map(({ body }) => body.toString().includes(value));

    test(`a retry without the opaque value succeeds when the provider rejects it, and the value is not sent again (${how})`, async () => {
      const agent = await begin(GROUP[to]);
      upstream.respondWith((response, request) =>
        request.body.toString().includes(value)
          ? jsonResponse(rejection, 400)(response, request)
          : respond[to](END[to])(response, request),
      );
      assert.equal((await agent.send()).text, 'the end');
      assert.deepEqual(carries(), [true, false]);
      assert.doesNotMatch(upstream.last.body.toString(), THOUGHTS);
      agent.addUserMessage('and now?');
      assert.equal((await agent.send()).text, 'the end');
      assert.deepEqual(carries(), [true, false, false], 'later requests omit the value at once');
      assert.doesNotMatch(upstream.last.body.toString(), THOUGHTS);
    });

    test(`a second rejection after the retry is returned to the client (${how})`, async () => {
      const agent = await begin(GROUP[to]);
      upstream.respondWith(jsonResponse(rejection, 400));
      await assert.rejects(agent.send(), (error: Error & { status?: number }) => error.status === 400);
      assert.deepEqual(carries(), [true, false]);
    });

    test(`failover to another account omits the opaque values of the first (${how})`, async () => {
      const agent = await begin(twoAccountGroup(client, to, stream));
      const accountOf = ({ headers }: ReceivedRequest): string =>
        String(headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key']).slice(-1);
      upstream.respondWith((response, request) =>
        accountOf(request) === '0'
          ? jsonResponse('{"error":{"message":"overloaded"}}', 503)(response, request)
          : respond[to](END[to])(response, request),
      );
      assert.equal((await agent.send()).text, 'the end');
      assert.deepEqual(upstream.requests.map(accountOf), ['0', '1']);
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
  test(`a retry omits the opaque value after: ${message.slice(0, 90)}`, async () => {
    const agent = startAgent('chat', { url: gateway.url, key: keyOf(GROUP[to]), model: 'demo-text' });
    const { output, value } = withNewValue(to);
    upstream.respondWith(respond[to](output));
    agent.addUserMessage('read a.ts');
    const { calls } = await agent.send();
    agent.addToolResults(calls.map((one) => ({ call: one, text: 'ok' })));
    upstream.requests.length = 0;
    const error = { code: to === 'generate' ? status : null, type: 'invalid_request_error', message };
    upstream.respondWith((response, request) =>
      request.body.toString().includes(value)
        ? jsonResponse(JSON.stringify({ type: 'error', error }), status)(response, request)
        : respond[to](END[to])(response, request),
    );
    assert.equal((await agent.send()).text, 'the end');
    assert.equal(upstream.requests.length, 2);
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

  test('envelopes of a messages client are stripped for a native group, all other bytes kept, and used again later', async () => {
    const agent = startAgent('messages', { url: gateway.url, key: keyOf('openai'), model: 'demo-text', stream: false });
    upstream.respondWith(respond.responses([REASONING, call(1)]));
    agent.addUserMessage('read a.ts');
    const { calls } = await agent.send();
    agent.addToolResults(calls.map((one) => ({ call: one, text: 'ok' })));

    const [first, second] = listOf((agent.history[1] as Json).content);
    const text = JSON.stringify(
      { max_tokens: 1.5e3, unusual: [1.0, '\u00e9'], messages: agent.history, model: 'demo-text' },
      null,
      1,
    );
    const pretty = (block: unknown): string => JSON.stringify(block, null, 1).replaceAll('\n', '\n    ');
    assert.ok(text.includes(pretty(first)), 'the test finds the block');
    const own = [{ type: 'thinking', thinking: 'Now I see.', signature: 'S+ig/==' }, use(2)];
    upstream.respondWith(respond.messages(own));
    const response = (await (await postTo('/v1/messages', 'claude', text)).json()) as Json;
    assert.equal(
      upstream.last.body.toString(),
      text.replace(
        pretty(first) + text.slice(text.indexOf(pretty(first)) + pretty(first).length, text.indexOf(pretty(second))),
        '',
      ),
    );
    assert.deepEqual(response.content, own);

    agent.history.push({ role: 'assistant', content: response.content });
    agent.addToolResults([{ call: { id: 'toolu_2', name: 'read_file', args: {} }, text: 'ok too' }]);
    upstream.respondWith(respond.responses(END.responses));
    assert.equal((await agent.send()).text, 'the end');
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

  test('a message that consists only of an envelope is removed for a native group', async () => {
    const agent = startAgent('messages', { url: gateway.url, key: keyOf('openai'), model: 'demo-text', stream: false });
    upstream.respondWith(respond.responses([REASONING, call(1)]));
    agent.addUserMessage('read a.ts');
    await agent.send();
    const [thinking] = listOf((agent.history[1] as Json).content);
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [thinking] },
      { role: 'user', content: 'b' },
    ];
    upstream.respondWith(respond.messages(END.messages));
    await postTo('/v1/messages', 'claude', JSON.stringify({ model: 'demo-text', max_tokens: 10, messages }));
    assert.deepEqual(bodyOf(upstream.last).messages, [messages[0], messages[2]]);
  });

  test('envelopes of a responses client are stripped for a native group and used again later', async () => {
    const output = [
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
    upstream.respondWith(respond.messages(output));
    agent.addUserMessage('read a.ts');
    const { calls } = await agent.send();
    agent.addToolResults(calls.map((one) => ({ call: one, text: 'ok' })));
    agent.key = keyOf('openai');
    upstream.respondWith(respond.responses([REASONING, call(2)]));
    const next = await agent.send();
    agent.addToolResults(next.calls.map((one) => ({ call: one, text: 'ok' })));
    const [user, , , ...rest] = agent.history.slice(0, 5);
    assert.deepEqual(sentTo('responses'), [user, ...rest], 'the input of the client without the two envelopes');
    agent.key = keyOf('claude');
    upstream.respondWith(respond.messages(END.messages));
    await agent.send();
    const assistants = sentTo('messages').filter(({ role }) => role === 'assistant');
    assert.deepEqual(assistants[0]?.content, output);
    assert.deepEqual(
      kinds(listOf(assistants[1]?.content)),
      ['tool_use'],
      'reasoning of the other provider is not sent',
    );
    assert.doesNotMatch(upstream.last.body.toString(), /First I look|E\+one/);
  });

  test('envelopes of a chat client are stripped for other groups and for native chat', async () => {
    const output = [{ ...functionCall(1, 'call-1'), thoughtSignature: 'G+sig/==' }];
    const agent = startAgent('chat', { url: gateway.url, key: keyOf('gemini'), model: 'demo-text', stream: false });
    upstream.respondWith(respond.generate(output));
    agent.addUserMessage('read a.ts');
    const { calls } = await agent.send();
    agent.addToolResults(calls.map((one) => ({ call: one, text: 'ok' })));
    assert.match(JSON.stringify(agent.history), /thought_signature":"gw1\./);
    for (const [group, to] of [
      ['claude', 'messages'],
      ['openai', 'responses'],
    ] as const) {
      agent.key = keyOf(group);
      upstream.respondWith(respond[to](END[to]));
      await agent.send();
      agent.history.pop();
      assert.doesNotMatch(upstream.last.body.toString(), /gw1|G\+sig/);
    }
    agent.key = keyOf('native');
    upstream.respondWith(
      jsonResponse('{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"content":"x"}}]}'),
    );
    await agent.send();
    const [, , assistant] = listOf(bodyOf(upstream.last).messages);
    assert.deepEqual(Object.keys(listOf(assistant?.tool_calls)[0] ?? {}), ['id', 'type', 'function']);
  });

  test('a damaged envelope is treated as absent', async () => {
    for (const damage of ['gw1.', 'gw1.!!', `gw1.${Buffer.from('{"v":1,"p":"x"}').toString('base64url')}`]) {
      const agent = startAgent('messages', {
        url: gateway.url,
        key: keyOf('openai'),
        model: 'demo-text',
        stream: false,
      });
      upstream.respondWith(respond.responses([REASONING, call(1)]));
      agent.addUserMessage('read a.ts');
      const { calls } = await agent.send();
      agent.addToolResults(calls.map((one) => ({ call: one, text: 'ok' })));
      const [block] = listOf((agent.history[1] as Json).content);
      if (block) block.signature = damage;
      upstream.requests.length = 0;
      upstream.respondWith(respond.responses(END.responses));
      assert.equal((await agent.send()).text, 'the end');
      assert.equal(upstream.requests.length, 1);
      assert.deepEqual(kinds(sentTo('responses')), ['message', 'function_call', 'function_call_output']);
      assert.doesNotMatch(upstream.last.body.toString(), /gw1|First I look/);
    }
  });

  test("an envelope in another user's history is treated as absent", async () => {
    const { openai: other = '' } = await gateway.apply({
      users: [{ id: 'other-user', balance: '10' }],
      keys: [{ user: 'other-user', group: 'openai' }],
    });
    const options = { url: gateway.url, model: 'demo-text', stream: false };
    const agent = startAgent('messages', { ...options, key: keyOf('openai') });
    upstream.respondWith(respond.responses([REASONING, call(1)]));
    agent.addUserMessage('read a.ts');
    const { calls } = await agent.send();
    agent.addToolResults(calls.map((one) => ({ call: one, text: 'ok' })));
    const thief = startAgent('messages', { ...options, key: other });
    thief.history.push(...agent.history);
    upstream.respondWith(respond.responses(END.responses));
    for (const [one, expected] of [
      [thief, ['message', 'function_call', 'function_call_output']],
      [agent, ['message', 'reasoning', 'function_call', 'function_call_output']],
    ] as const) {
      assert.equal((await one.send()).text, 'the end');
      assert.deepEqual(kinds(sentTo('responses')), expected);
    }
  });

  test('a body that is not JSON but contains an envelope is 400', async () => {
    const response = await postTo('/v1/messages', 'claude', '{"messages":["gw1."');
    assert.equal(response.status, 400);
  });
});

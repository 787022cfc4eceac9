/** A provider that is down: calls go on at the lines of other groups that the model names (ADR 20). */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type Anthropic from '@anthropic-ai/sdk';
import { type Sim, startSim } from '../../sim/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, google, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);
const admin = adminApi(() => gateway.url);

const STYLES = { openai: 'responses', claude: 'messages', gemini: 'generate-content' } as const;
type Group = keyof typeof STYLES;
const GROUPS = Object.keys(STYLES) as Group[];
const PRICES: Readonly<Record<Group, { input: string; output: string }>> = {
  openai: { input: '2', output: '4' },
  claude: { input: '3', output: '6' },
  gemini: { input: '5', output: '10' },
};

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
  const base = (group: string): string => (group.startsWith('openai') ? `${sim.url}/v1` : sim.url);
  keys = await gateway.apply({
    groups: [
      ...GROUPS.map((id) => ({ id, style: STYLES[id] })),
      ...GROUPS.map((id) => ({ id: `${id}-2`, style: STYLES[id] })),
    ],
    accounts: GROUPS.flatMap((group) =>
      [group, `${group}-2`].map((id) => ({ id, group: id, base_url: base(id), api_key: `sk-upstream-${id}` })),
    ),
    models: [
      // The name says where a call goes on: to-claude-7.
      ...GROUPS.map((to) => ({
        id: `to-${to}-*`,
        groups: GROUPS.filter((group) => group !== to),
        prices: { input: '1', output: '1' },
        fallback: [`${to}/demo-x`],
      })),
      ...GROUPS.map((group) => ({ id: 'twice-*', groups: [group], free: true, fallback: [`${group}-2`] })),
      { id: 'twice-*', groups: GROUPS.map((group) => `${group}-2`), free: true },
      { id: 'both-*', groups: ['claude'], free: true, fallback: ['openai/demo-x', 'gemini/demo-x'] },
      ...GROUPS.map((group) => ({ id: 'demo-*', groups: [group], prices: PRICES[group], max_output: 1_000 })),
    ],
    users: [
      { id: 'ana', balance: '100' },
      { id: 'poor', balance: '0.01' },
    ],
    keys: [
      ...GROUPS.map((group) => ({ user: 'ana', group })),
      { user: 'poor', group: 'claude', name: 'poor', key: 'the-key-of-a-poor-user' },
      { user: 'ana', group: 'claude', name: 'strict', key: 'the-key-of-one-model-only', models: ['to-openai-*'] },
    ],
  });
});
beforeEach(() => sim.journal.clear());
after(async () => {
  await gateway.stop();
  await sim.close();
});

let count = 0;
const nameTo = (to: string): string => `to-${to}-${++count}`;
const HELLO = 'hello there';
const TEXT = { type: 'text' as const, text: 'hi' };
const USER = [{ role: 'user' as const, content: HELLO }];

interface Served {
  readonly text: string;
  readonly fallback: string | null;
}
type Send = (group: string, model: string, stream: boolean) => Promise<Served>;

/** The official SDKs of all dialects. */
const CLIENTS: Readonly<Record<string, Send>> = {
  async messages(group, model, stream) {
    const body = { model, max_tokens: 200, messages: USER };
    const client = anthropic(gateway.url, key(group));
    if (!stream) {
      const { data, response } = await client.messages.create(body).withResponse();
      return { text: JSON.stringify(data.content), fallback: response.headers.get('x-gateway-fallback') };
    }
    const { data, response } = await client.messages.create({ ...body, stream: true }).withResponse();
    return { text: await joined(data), fallback: response.headers.get('x-gateway-fallback') };
  },
  async chat(group, model, stream) {
    const body = { model, messages: USER };
    const { completions } = openai(gateway.url, key(group)).chat;
    if (!stream) {
      const { data, response } = await completions.create(body).withResponse();
      return { text: JSON.stringify(data.choices), fallback: response.headers.get('x-gateway-fallback') };
    }
    const { data, response } = await completions.create({ ...body, stream: true }).withResponse();
    return { text: await joined(data), fallback: response.headers.get('x-gateway-fallback') };
  },
  async responses(group, model, stream) {
    const { responses } = openai(gateway.url, key(group));
    const body = { model, input: HELLO, store: false };
    if (!stream) {
      const { data, response } = await responses.create(body).withResponse();
      return { text: data.output_text, fallback: response.headers.get('x-gateway-fallback') };
    }
    const { data, response } = await responses.create({ ...body, stream: true }).withResponse();
    return { text: await joined(data), fallback: response.headers.get('x-gateway-fallback') };
  },
  async generate(group, model, stream) {
    const { models } = google(gateway.url, key(group));
    const body = { model, contents: HELLO };
    const headerOf = (reply: { sdkHttpResponse?: { headers?: Record<string, string> } } | undefined) =>
      reply?.sdkHttpResponse?.headers?.['x-gateway-fallback'] ?? null;
    if (!stream) {
      const reply = await models.generateContent(body);
      return { text: reply.text ?? '', fallback: headerOf(reply) };
    }
    const chunks = [];
    for await (const chunk of await models.generateContentStream(body)) chunks.push(chunk);
    return { text: chunks.map(({ text }) => text ?? '').join(''), fallback: headerOf(chunks[0]) };
  },
};

async function joined(events: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const event of events) text += JSON.stringify(event);
  return text;
}

const CLIENTS_OF: Readonly<Record<Group, readonly string[]>> = {
  openai: ['messages', 'chat', 'responses'],
  claude: ['messages', 'chat', 'responses'],
  gemini: ['messages', 'chat', 'responses', 'generate'],
};

const post = (group: string, path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group] ?? group}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const message = (model: string, more: object = {}) => ({ model, max_tokens: 200, messages: USER, ...more });

/** The provider keys that got a request. */
const upstreamKeys = (): string[] =>
  sim.journal.requests.map(({ headers }) =>
    String(headers['x-api-key'] ?? headers['x-goog-api-key'] ?? headers.authorization ?? '').replace(
      /^(?:Bearer )?sk-upstream-/,
      '',
    ),
  );
const answered = async (response: Response) => ({
  status: response.status,
  fallback: response.headers.get('x-gateway-fallback'),
  body: (await response.json()) as { error?: { code?: string; type?: string; message: string } },
});

describe('another style', () => {
  for (const group of GROUPS)
    for (const client of CLIENTS_OF[group])
      test(`${client} calls of ${group} go on at both other styles, whole and streamed`, async () => {
        for (const to of GROUPS.filter((other) => other !== group))
          for (const stream of [false, true]) {
            sim.journal.clear();
            sim.next('status=503');
            const served = await CLIENTS[client]?.(group, nameTo(to), stream);
            assert.match(served?.text ?? '', /simulated/);
            assert.equal(served?.fallback, `${to}/demo-x`);
            assert.deepEqual(upstreamKeys(), [group, to]);
          }
      });
});

describe('the same style', () => {
  for (const group of GROUPS)
    test(`a native call of ${group} goes on natively under the same name`, async () => {
      const client = CLIENTS_OF[group].at(-1) ?? '';
      const native = group === 'claude' ? 'messages' : client;
      for (const [fault, stream] of [
        ['status=500', false],
        ['error_first', true],
      ] as const) {
        sim.journal.clear();
        sim.next(fault);
        const model = `twice-${++count}`;
        const served = await CLIENTS[native]?.(group, model, stream);
        assert.match(served?.text ?? '', /simulated/);
        assert.equal(served?.fallback, `${group}-2/${model}`);
        assert.deepEqual(upstreamKeys(), [group, `${group}-2`]);
      }
    });
});

test('tools and their results pass through a fallback and back', async () => {
  const client = anthropic(gateway.url, key('claude'));
  const tools = [
    {
      name: 'read_file',
      description: 'Gives a file.',
      input_schema: { type: 'object' as const, properties: { path: { type: 'string' } }, required: ['path'] },
    },
  ];
  const body = { model: nameTo('openai'), max_tokens: 500, tools, tool_choice: { type: 'any' as const } };
  const messages: Anthropic.MessageParam[] = [...USER];
  const owners = [];
  for (const fault of ['status=503', undefined, 'status=503']) {
    if (fault) sim.next(fault);
    const { data, response } = await client.messages.create({ ...body, messages }).withResponse();
    owners.push(response.headers.get('x-gateway-fallback'));
    const calls = data.content.filter((block) => block.type === 'tool_use');
    assert.deepEqual([data.stop_reason, calls.length > 0], ['tool_use', true]);
    messages.push(
      { role: 'assistant', content: data.content },
      {
        role: 'user',
        content: calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: 'text' })),
      },
    );
  }
  assert.deepEqual(owners, ['openai/demo-x', null, 'openai/demo-x']);
});

test('a signature stays away from the fallback and is valid again when its provider is back', async () => {
  const client = anthropic(gateway.url, key('claude'));
  const model = `${nameTo('openai')}@strict`;
  const thinking = { type: 'enabled' as const, budget_tokens: 1_024 };
  const messages: Anthropic.MessageParam[] = [...USER];
  const signatures: string[] = [];
  for (const fault of [undefined, 'status=503', undefined]) {
    sim.journal.clear();
    if (fault) sim.next(fault);
    const { data: reply, response } = await client.messages
      .create({ model, max_tokens: 4_000, thinking, messages })
      .withResponse();
    const sent = String(sim.journal.requests.at(-1)?.body);
    // From the second turn on, the history holds reasoning that the other provider cannot read.
    assert.equal(response.headers.get('x-gateway-dropped'), signatures.length > 0 ? 'messages.thinking' : null);
    if (fault) assert.ok(signatures.every((signature) => !sent.includes(signature)));
    else if (signatures[0]) assert.ok(sent.includes(signatures[0]), 'the first signature returns to its provider');
    signatures.push(...reply.content.flatMap((block) => (block.type === 'thinking' ? [block.signature] : [])));
    messages.push({ role: 'assistant', content: reply.content }, ...USER);
  }
  assert.ok(signatures.length >= 2);
});

test('a signature that a fallback of the same style rejects is left out there', async () => {
  const client = anthropic(gateway.url, key('claude'));
  const model = `twice-${++count}@strict`;
  const messages: Anthropic.MessageParam[] = [
    ...USER,
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 'foreign' }, TEXT] },
    ...USER,
  ];
  sim.next('status=503');
  const { data, response } = await client.messages.create({ model, max_tokens: 200, messages }).withResponse();
  assert.match(JSON.stringify(data.content), /simulated/);
  assert.equal(response.headers.get('x-gateway-fallback'), `claude-2/${model}`);
  assert.equal(response.headers.get('x-gateway-dropped'), 'messages.thinking');
  assert.ok(!String(sim.journal.requests.at(-1)?.body).includes('foreign'));
});

test('encrypted reasoning of the first provider passes by a native fallback and returns', async () => {
  const { responses } = openai(gateway.url, key('claude'));
  const model = nameTo('openai');
  const base = { model, store: false, include: ['reasoning.encrypted_content' as const] };
  const input: unknown[] = [{ role: 'user', content: HELLO }];
  let opaque: string | undefined;
  for (const fault of [undefined, 'status=503', undefined]) {
    sim.journal.clear();
    if (fault) sim.next(fault);
    const reply = await responses.create({ ...base, reasoning: { effort: 'high' }, input: input as never });
    const sent = String(sim.journal.requests.at(-1)?.body);
    if (fault) assert.ok(!sent.includes('gw1.'), 'no envelope reaches the native fallback');
    const reasoning = reply.output.find((item) => item.type === 'reasoning');
    opaque ??= reasoning?.encrypted_content ?? undefined;
    input.push(...reply.output, { role: 'user', content: HELLO });
  }
  assert.match(opaque ?? '', /^gw1\./);
});

describe('the reasons', () => {
  test('a rate limit, a quota and a dead credential of the account go on', async () => {
    const faults = ['status=429', 'status=402', 'bad_key', 'status=529', 'html;status=502'];
    // A group for each, because some faults put the whole account out of use.
    const groups = faults.map((_, n) => `limited-${n}`);
    const limited = await gateway.apply({
      groups: groups.map((id) => ({ id, style: 'messages' })),
      accounts: groups.map((id) => ({ id, group: id, base_url: sim.url, api_key: `sk-upstream-${id}` })),
      models: [{ id: 'limited', groups, free: true, fallback: ['openai/demo-x'] }],
      keys: groups.map((group) => ({ user: 'ana', group })),
    });
    for (const [n, fault] of faults.entries()) {
      sim.next(fault);
      const { status, fallback } = await answered(
        await post(limited[`limited-${n}`] ?? '', '/v1/messages', message('limited')),
      );
      assert.deepEqual([fault, status, fallback], [fault, 200, 'openai/demo-x']);
    }
  });

  test('a group without accounts hands its calls on, converted and natively', async () => {
    const empty = await gateway.apply({
      groups: [{ id: 'empty', style: 'messages' }],
      models: [
        { id: 'elsewhere', groups: ['empty'], free: true, fallback: ['openai/demo-x'] },
        { id: 'same-style', groups: ['empty'], free: true, fallback: ['claude-2/twice-x'] },
        { id: 'nowhere', groups: ['empty'], free: true },
      ],
      keys: [{ user: 'ana', group: 'empty' }],
    });
    const send = async (model: string) => answered(await post(empty.empty ?? '', '/v1/messages', message(model)));
    for (const [model, line] of [
      ['elsewhere', 'openai/demo-x'],
      ['same-style', 'claude-2/twice-x'],
    ] as const) {
      const { status, fallback } = await send(model);
      assert.deepEqual([status, fallback], [200, line]);
    }
    const { status, body } = await send('nowhere');
    assert.deepEqual([status, body.error?.type], [503, 'api_error'], JSON.stringify(body));
  });

  test('faults of the request stay with the provider that found them', async () => {
    for (const [fault, expected] of [
      ['status=400', 400],
      ['status=413', 413],
      ['status=422', 422],
      ['context_too_long', 400],
      ['status=403', 403],
    ] as const) {
      sim.journal.clear();
      sim.next(fault);
      const { status, fallback } = await answered(await post('claude', '/v1/messages', message(nameTo('openai'))));
      assert.deepEqual([fault, status, fallback], [fault, expected, null]);
      assert.deepEqual(upstreamKeys(), ['claude']);
    }
  });

  test('an invalid request is rejected before any provider gets it', async () => {
    const { status, body } = await answered(await post('claude', '/v1/chat/completions', { model: nameTo('openai') }));
    assert.equal(status, 400);
    assert.match(body.error?.message ?? '', /messages/);
    assert.deepEqual(upstreamKeys(), []);
  });

  test('a fallback that fails hands the call to the next, and all out gives the error of the first in its dialect', async () => {
    sim.next('status=503');
    sim.next('status=500');
    const served = await answered(await post('claude', '/v1/messages', message(`both-${++count}`)));
    assert.deepEqual([served.status, served.fallback], [200, 'gemini/demo-x']);
    assert.deepEqual(upstreamKeys(), ['claude', 'openai', 'gemini']);
    for (const fault of ['status=529', 'status=500', 'status=400']) sim.next(fault);
    const response = await post('claude', '/v1/messages', message(`both-${++count}`));
    const failed = await answered(response);
    assert.deepEqual([failed.status, failed.fallback, failed.body.error?.type], [529, null, 'overloaded_error']);
    const logged = await loggedCall(response);
    assert.deepEqual([logged.error, logged.message], ['provider', failed.body.error?.message], 'that of its own group');
  });

  test('a stream of the last line that begins with an error leaves the client the error of its own group', async () => {
    sim.next('status=503');
    sim.next('error_first');
    const failed = await answered(await post('claude', '/v1/messages', message(`twice-${++count}`, { stream: true })));
    assert.deepEqual([failed.status, failed.fallback, failed.body.error?.type], [529, null, 'overloaded_error']);
    assert.deepEqual(upstreamKeys(), ['claude', 'claude-2']);
  });

  test('a stream that has begun does not go on', async () => {
    sim.next('reset_mid=2');
    const response = await post('claude', '/v1/messages', message(nameTo('openai'), { stream: true }));
    assert.match(await response.text().catch(String), /error/i);
    assert.deepEqual(upstreamKeys(), ['claude']);
  });

  test('the caller refuses it by a header, which no provider sees', async () => {
    sim.next('status=503');
    const headers = { 'x-gateway-fallback': 'none' };
    const { status, fallback } = await answered(
      await post('claude', '/v1/messages', message(nameTo('openai')), headers),
    );
    assert.deepEqual([status, fallback], [529, null]);
    assert.deepEqual(upstreamKeys(), ['claude']);
    assert.equal(sim.journal.requests[0]?.headers['x-gateway-fallback'], undefined);
  });

  test('a call that names a stored response or makes one in the background stays', async () => {
    const { responses } = openai(gateway.url, key('openai'));
    const model = nameTo('claude');
    const first = await responses.create({ model, input: HELLO });
    for (const more of [{ previous_response_id: first.id }, { background: true }]) {
      sim.journal.clear();
      sim.next('status=503');
      const { fallback, status } = await answered(
        await post('openai', '/v1/responses', { model, input: HELLO, ...more }),
      );
      assert.deepEqual([status >= 500, fallback], [true, null]);
      assert.deepEqual(upstreamKeys(), ['openai']);
    }
  });

  test('a response that a fallback line made is continued, read and deleted there', async () => {
    for (const [group, model, line] of [
      ['openai', nameTo('claude'), 'claude/demo-x'],
      ['openai', `twice-${++count}`, `openai-2/twice-${count}`],
      ['claude', nameTo('openai'), 'openai/demo-x'],
    ] as const) {
      sim.next('status=503');
      const { responses } = openai(gateway.url, key(group));
      const first = await responses.create({ model, input: HELLO });
      const { data, response } = await responses
        .create({ model, input: 'and then?', previous_response_id: first.id })
        .withResponse();
      assert.match(data.output_text, /simulated/);
      assert.equal(response.headers.get('x-gateway-fallback'), line);
      assert.equal((await responses.retrieve(first.id)).id, first.id);
      await responses.delete(first.id);
      await assert.rejects(responses.retrieve(first.id), /not found/);
    }
  });
});

describe('money and rights', () => {
  const charges = async (requestId: string | null) => {
    const find = gateway.context.database.db.selectFrom('usage_records').selectAll();
    const rows = await until('a usage record', async () => {
      const found = await find.where('request_id', '=', String(requestId)).execute();
      return found.length > 0 ? found : undefined;
    });
    return rows.map(({ group_id, account_id, nanos, input_tokens, output_tokens }) => ({
      group: group_id,
      account: account_id,
      nanos,
      expected: (price: { input: string; output: string }): bigint =>
        BigInt(input_tokens) * BigInt(price.input) * 1_000n + BigInt(output_tokens) * BigInt(price.output) * 1_000n,
    }));
  };

  test('the line that served is charged at its price, once', async () => {
    for (const to of ['openai', 'gemini'] as const) {
      sim.next('status=503');
      const response = await post('claude', '/v1/messages', message(nameTo(to)));
      await response.text();
      const [charge, ...others] = await charges(response.headers.get('x-request-id'));
      assert.equal(others.length, 0);
      assert.deepEqual([charge?.group, charge?.account], [to, to]);
      assert.equal(charge?.nanos, charge?.expected(PRICES[to]));
    }
  });

  test('a balance that does not cover the fallback keeps the call in its group', async () => {
    const send = (to: string) =>
      post('the-key-of-a-poor-user', '/v1/messages', message(nameTo(to), { max_tokens: 4_000 }));
    sim.next('status=503');
    const short = await answered(await send('gemini'));
    assert.deepEqual([short.status, short.fallback], [529, null]);
    assert.deepEqual(upstreamKeys(), ['claude']);
    const served = await send('gemini');
    assert.equal(served.status, 200, 'its own price is covered');
    await served.text();
  });

  test('the models of a key are those that its caller names', async () => {
    sim.next('status=503');
    const served = await answered(await post('the-key-of-one-model-only', '/v1/messages', message(nameTo('openai'))));
    assert.deepEqual([served.status, served.fallback], [200, 'openai/demo-x']);
    const refused = await answered(await post('the-key-of-one-model-only', '/v1/messages', message(nameTo('gemini'))));
    assert.equal(refused.status, 403);
  });
});

interface LoggedCall {
  readonly group: string;
  readonly error: string | null;
  readonly message: string | null;
  readonly attempts: readonly { account: string; group?: string; outcome: string }[];
}

const loggedCall = (response: Response): Promise<LoggedCall> =>
  until('the entry', async () => {
    const { status, body } = await admin<LoggedCall>('GET', `/requests/${response.headers.get('x-request-id')}`);
    return status === 200 ? body : undefined;
  });

test('the request log, the metrics and the log line show both legs', async () => {
  sim.next('status=503');
  const response = await post('claude', '/v1/messages', message(nameTo('openai')));
  await response.text();
  const logged = await loggedCall(response);
  assert.equal(logged.group, 'claude');
  assert.deepEqual(
    logged.attempts.map(({ account, group, outcome }) => [group, account, outcome]),
    [
      [undefined, 'claude', 'overloaded'],
      ['openai', 'openai', 'ok'],
    ],
  );
  const line = await lineOf(response);
  assert.deepEqual([line.attempts, line.faults, line.account], [2, ['overloaded'], 'openai']);
  assert.equal(line.converted, 'messages->responses');
  sim.next('status=503');
  const native = await post('claude', '/v1/responses', { model: nameTo('openai'), input: HELLO });
  await native.text();
  assert.equal((await lineOf(native)).converted, undefined, 'only the first leg was converted');
  const { metrics } = await fetchMetrics();
  assert.match(metrics, /dragoman_fallback_requests_total\{group="claude",fallback="openai"\} [1-9]/);
});

const lineOf = (response: Response) =>
  until('the log line', () =>
    gateway.log.find(
      ({ msg, request }) => msg === 'request.completed' && request === response.headers.get('x-request-id'),
    ),
  );

const fetchMetrics = async () => ({
  metrics: await (
    await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
  ).text(),
});

test('while a provider is out, its circuit hands calls on at once, and a probe brings it back', async () => {
  const model = nameTo('openai');
  for (let n = 0; n < 5; n += 1) {
    sim.next('status=500');
    await (await post('claude', '/v1/messages', message(model))).text();
  }
  sim.journal.clear();
  for (let n = 0; n < 3; n += 1) {
    const { fallback } = await answered(await post('claude', '/v1/messages', message(model)));
    assert.equal(fallback, 'openai/demo-x');
  }
  assert.deepEqual(upstreamKeys(), ['openai', 'openai', 'openai']);
  sim.journal.clear();
  // The fallback is out too, so that the only account of the group has to do in spite of its cooldown.
  sim.next('status=500');
  const alone = await post('claude', '/v1/messages', message(model));
  assert.deepEqual([alone.status, alone.headers.get('x-gateway-fallback')], [200, null]);
  await alone.text();
  assert.deepEqual(upstreamKeys(), ['openai', 'claude']);
  assert.deepEqual(
    (await loggedCall(alone)).attempts.map(({ group, account }) => [group, account]),
    [
      ['openai', 'openai'],
      [undefined, 'claude'],
    ],
  );
  const back = await answered(await post('claude', '/v1/messages', message(model)));
  assert.deepEqual([back.status, back.fallback], [200, null]);
});

test('a turn of a WebSocket goes on, as one request of its key', async () => {
  const { openai = '' } = await gateway.apply({
    keys: [{ user: 'ana', group: 'openai', name: 'one a minute', rpm: 1 }],
  });
  const client = await new ResponsesSocketClient(gateway.url, openai).open();
  try {
    // The provider's WebSocket breaks off, and so does its HTTP endpoint.
    sim.next('reset');
    sim.next('status=503');
    const last = await client.turn({ model: nameTo('claude'), input: HELLO, store: false });
    assert.equal(last.type, 'response.completed');
    assert.equal(upstreamKeys().at(-1), 'claude');
  } finally {
    client.socket.close();
  }
});

test('a large request takes the memory of one conversion, however many lines are tried', async () => {
  const small = await startGateway({ env: { BODY_MEMORY_BYTES: String(32 * 2 ** 20) } });
  try {
    const groups = [
      { id: 'first', style: 'messages', base_url: sim.url },
      { id: 'second', style: 'responses', base_url: `${sim.url}/v1` },
      { id: 'third', style: 'responses', base_url: `${sim.url}/v1` },
    ];
    const { first } = await small.apply({
      groups: groups.map(({ id, style }) => ({ id, style })),
      accounts: groups.map(({ id, base_url }) => ({ id, group: id, base_url, api_key: `sk-upstream-${id}` })),
      models: [
        { id: 'large', groups: ['first'], free: true, fallback: ['second', 'third'] },
        { id: 'large', groups: ['second', 'third'], free: true },
      ],
      users: [{ id: 'ana' }],
      keys: [{ user: 'ana', group: 'first' }],
    });
    for (let n = 0; n < 2; n += 1) sim.next('status=503');
    const content = 'word '.repeat(3.2 * 200_000);
    const response = await fetch(`${small.url}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${first}`, 'content-type': 'application/json' },
      body: JSON.stringify(message('large', { messages: [{ role: 'user', content }] })),
    });
    const { status, fallback } = await answered(response);
    assert.deepEqual([status, fallback], [200, 'third/large']);
  } finally {
    await small.stop();
  }
});

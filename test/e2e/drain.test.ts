/** Calls that are still open when the time of a shutdown is over: each ends with the error of its dialect. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import type { ErrorFormat } from '../../src/rules/index.ts';
import { errorCode } from '../support/error-body.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { jsonOf, request, Wire } from '../support/raw.ts';
import { until, whileTimePasses } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(basicSetup(sim.url));
});
after(async () => {
  await gateway?.stop();
  await sim?.close();
});

const DRAIN_MS = 25_000;

/** A server whose clock stands still until the test lets time pass. */
async function replica(env: Record<string, string> = {}): Promise<TestGateway & { readonly clock: FakeClock }> {
  const clock = new FakeClock(Date.now());
  const own = await startGateway({ database: gateway.database, env: { DRAIN_MS: String(DRAIN_MS), ...env }, clock });
  return { ...own, clock };
}

/** Stops a server, whose time for open calls is over at once. */
const stopLate = ({ stop, clock }: Awaited<ReturnType<typeof replica>>): Promise<void> =>
  whileTimePasses(clock, DRAIN_MS, stop());

const messages = (model: string) => ({ model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] });
const BODIES = {
  messages: (model: string, stream: boolean) => ['/v1/messages', { ...messages(model), stream }],
  chat: (model: string, stream: boolean) => ['/v1/chat/completions', { ...messages(model), stream }],
  responses: (model: string, stream: boolean) => ['/v1/responses', { model, input: 'Hello!', stream }],
  generate: (model: string, stream: boolean) => [
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] },
  ],
} as const satisfies Record<string, (model: string, stream: boolean) => readonly [string, object]>;
type Dialect = keyof typeof BODIES;

function post(url: string, group: string, [path, body]: readonly [string, object]): Promise<Response> {
  const headers = { 'x-api-key': keys[group] ?? '', 'content-type': 'application/json' };
  return fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** The last event of a stream, which was read to its proper end. */
async function lastEventAfter(response: Response, isOpen: () => void): Promise<{ event: string; data: unknown }> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? assert.fail('no body')) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes('data:')) isOpen();
  }
  const block =
    text
      .trim()
      .split(/\r?\n\r?\n/)
      .at(-1) ?? '';
  const event = /^event: (.*)$/m.exec(block)?.[1] ?? '';
  return { event, data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? 'null') };
}

/** What a client of the dialect recognises as the failure of a stream. */
const STREAM_ERRORS: Readonly<Record<Dialect, (event: string, data: never) => void>> = {
  messages(event, { type, error }: { type: string; error: { type: string; message: string } }) {
    assert.deepEqual([event, type, error.type], ['error', 'error', 'overloaded_error']);
    assert.match(error.message, /send the request again/);
  },
  chat(_, { error }: { error: { code: string; message: string } }) {
    assert.equal(error.code, 'shutting_down');
    assert.match(error.message, /send the request again/);
  },
  responses(event, { response }: { response: { status: string; error: { code: string } } }) {
    assert.deepEqual(
      [event, response.status, response.error.code],
      ['response.failed', 'failed', 'server_is_overloaded'],
    );
  },
  generate(_, { error }: { error: { code: number; status: string } }) {
    assert.deepEqual([error.code, error.status], [503, 'UNAVAILABLE']);
  },
};

const CALLS: readonly (readonly [Dialect, string])[] = [
  ['messages', 'claude'],
  ['messages', 'openai'],
  ['messages', 'gemini'],
  ['chat', 'openai'],
  ['chat', 'claude'],
  ['responses', 'openai'],
  ['responses', 'gemini'],
  ['generate', 'gemini'],
];
const MODELS: Readonly<Record<string, string>> = {
  claude: 'demo-messages',
  openai: 'demo-responses',
  gemini: 'demo-generate',
};

test('streams that are open after DRAIN_MS end with the error event of their dialect', async () => {
  sim.journal.clear();
  const own = await replica();
  let open = 0;
  const ends = CALLS.map(async ([dialect, group]) => {
    let isOpen = false;
    const response = await post(own.url, group, BODIES[dialect](`${MODELS[group]}@silent_mid`, true));
    assert.equal(response.status, 200);
    return lastEventAfter(response, () => {
      if (!isOpen) open += 1;
      isOpen = true;
    });
  });
  await until('all streams to begin', () => open === CALLS.length);
  await stopLate(own);
  for (const [n, { event, data }] of (await Promise.all(ends)).entries()) {
    const [dialect = 'chat'] = CALLS[n] ?? [];
    STREAM_ERRORS[dialect](event, data as never);
  }
  await until('the provider calls to be aborted', () => sim.journal.requests.every(({ aborted }) => aborted));
  const lines = own.log.filter(({ msg }) => msg === 'request.completed');
  assert.deepEqual(
    lines.map(({ outcome, code }) => [outcome, code]),
    CALLS.map(() => ['interrupted', 'shutting_down']),
  );
});

test('for DRAIN_BEFORE_MS a server that stops is not ready, serves new connections, and closes them', async () => {
  const own = await replica({ DRAIN_BEFORE_MS: '2000' });
  const readiness = async () => (await fetch(`${own.url}/readyz`)).status;
  assert.equal(await readiness(), 200);
  const stopped = own.stop();
  await until('the server to be not ready', async () => (await readiness()) === 503);
  const response = await post(own.url, 'claude', BODIES.messages('demo-messages', false));
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('connection'), 'close');
  await response.text();
  await whileTimePasses(own.clock, 2_000, stopped);
  await assert.rejects(fetch(`${own.url}/readyz`));
});

test('behind a load balancer, every connection that was used shortly before gets one more answer', async () => {
  const own = await replica({ DRAIN_BEFORE_MS: '1', DRAIN_MS: '600000' });
  const headers: [string, string][] = [
    ['authorization', `Bearer ${keys.claude}`],
    ['content-type', 'application/json'],
  ];
  const wire = new Wire(own.url);
  wire.send(request('GET /v1/models HTTP/1.1', headers));
  assert.equal((await wire.response())?.status, 200);
  const client = await new ResponsesSocketClient(own.url, keys.claude ?? '').open();
  const closed = once(client.socket, 'close');
  const stopped = own.stop();
  await until('the server to refuse connections', () => {
    own.clock.advance(1);
    return fetch(own.url).then(
      () => false,
      () => true,
    );
  });
  const body = JSON.stringify({ model: 'demo-messages', input: 'Hello!', background: true });
  wire.send(request('POST /v1/responses HTTP/1.1', [...headers, ['content-length', String(body.length)]], body));
  const made = (await wire.response()) ?? assert.fail('no response');
  assert.deepEqual([made.status, made.headers.get('connection')], [200, 'close'], made.text);
  assert.equal((await client.turn({ model: 'demo-messages', input: 'Hello!' })).type, 'response.completed');
  assert.equal((await closed)[0], 1012);
  const { id } = jsonOf(made) as { id: string };
  await until('the end of the background response', async () => {
    const read = await fetch(`${gateway.url}/v1/responses/${id}`, { headers });
    return ((await read.json()) as { status: string }).status === 'completed';
  });
  // It looks again and again whether its background responses have ended.
  await whileTimePasses(own.clock, 100, stopped);
});

test('unary calls that are open after DRAIN_MS get 503 in their dialect, with retry-after', async () => {
  const own = await replica();
  sim.journal.clear();
  const FORMATS: Readonly<Record<Dialect, [ErrorFormat, number]>> = {
    messages: ['messages', 529],
    chat: ['openai', 503],
    responses: ['openai', 503],
    generate: ['generate', 503],
  };
  const calls = CALLS.map(([dialect, group]) => post(own.url, group, BODIES[dialect](`${MODELS[group]}@hang`, false)));
  await until('all calls to reach the provider', () => sim.journal.requests.length === CALLS.length);
  await stopLate(own);
  for (const [n, response] of (await Promise.all(calls)).entries()) {
    const [format, status] = FORMATS[CALLS[n]?.[0] ?? 'chat'];
    assert.equal(response.status, status);
    assert.ok(Number(response.headers.get('retry-after')) >= 1);
    assert.equal(errorCode(format, status, await response.json()), 'shutting_down');
  }
  await until('the provider calls to be aborted', () => sim.journal.requests.every(({ aborted }) => aborted));
});

test('a shutdown charges a stream for what was sent, and a unary call for nothing', async () => {
  const prices = { input: '1000', output: '1000' };
  await gateway.apply({
    models: [
      { id: 'paid-messages', groups: ['claude'], upstream: 'demo-messages@silent_mid', prices },
      { id: 'paid-responses', groups: ['openai'], upstream: 'demo-responses@silent_mid', prices },
    ],
  });
  const own = await replica();
  sim.journal.clear();
  const open = new Set<number>();
  const streams = [
    post(own.url, 'claude', BODIES.messages('paid-messages', true)),
    post(own.url, 'openai', BODIES.messages('paid-responses', true)),
  ].map(async (response, n) => lastEventAfter(await response, () => open.add(n)));
  const unary = [
    post(own.url, 'claude', BODIES.messages('paid-messages', false)),
    post(own.url, 'openai', BODIES.messages('paid-responses', false)),
  ].map(async (response) => (await response).status);
  await until('the calls to reach the provider', () => open.size === 2 && sim.journal.requests.length === 4);
  await stopLate(own);
  await Promise.all(streams);
  assert.deepEqual(await Promise.all(unary), [529, 529]);
  const { db } = gateway.context.database;
  const records = await db
    .selectFrom('usage_records')
    .select(['group_id', 'nanos'])
    .where('model', 'like', 'paid-%')
    .where('fault', 'is', null)
    .execute();
  assert.deepEqual(records.map(({ group_id }) => group_id).sort(), ['claude', 'openai'], 'only the streams');
  assert.ok(records.every(({ nanos }) => nanos > 0n));
});

for (const [about, group] of [
  ['converted', 'claude'],
  ['relayed', 'openai'],
] as const)
  test(`a ${about} turn that is open after DRAIN_MS ends with an error, then the WebSocket closes with 1012`, async () => {
    const own = await replica();
    const client = await new ResponsesSocketClient(own.url, keys[group] ?? '').open();
    client.create({ model: `${MODELS[group]}@silent_mid`, input: 'x' });
    await client.until(({ type }) => type === 'response.output_text.delta');
    const closed = once(client.socket, 'close');
    const stopped = stopLate(own);
    const [code] = await closed;
    assert.equal(code, 1012);
    const last = client.frames.at(-1);
    assert.ok(last?.type === 'response.failed' || last?.type === 'error', `the last frame is ${last?.type}`);
    await stopped;
  });

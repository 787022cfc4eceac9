/** Charges end to end: metered usage, prices, admission against the balance, estimates and quarantine. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { toFile } from 'openai';
import { WebSocket } from 'ws';
import { type Sim, startSim } from '../../sim/index.ts';
import { rgbPng } from '../../sim/png.ts';
import { checkLedger, readBalance, USAGE_COLUMNS, unpackUsage } from '../../src/ledger/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, google, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

const PRICES = { input: '2', cached_input: '0.5', cache_write: '2.5', output: '10' };
const MODELS = [
  { id: 'demo-responses', groups: ['openai'], prices: PRICES },
  {
    id: 'demo-image',
    groups: ['openai'],
    prices: { input: '5', per_image: { '1024x1024/high': '0.17' } },
  },
  { id: 'demo-embedding', groups: ['openai'], prices: { input: '0.02', output: '0' } },
  { id: 'demo-messages', groups: ['claude'], prices: PRICES },
  { id: 'demo-generate', groups: ['gemini'], prices: PRICES },
  // A call reserves the price of one token, whatever it reads.
  {
    id: 'demo-*@events=2',
    groups: ['openai', 'claude', 'gemini'],
    context: 1,
    prices: { input: '1000', output: '0' },
  },
  {
    id: 'endless-steep',
    groups: ['claude'],
    upstream: 'demo-messages@events=100000;gap=25',
    context: 1,
    prices: { input: '1000', output: '0' },
  },
  { id: 'demo-*', groups: ['openai', 'claude', 'gemini'], prices: PRICES },
];

let sim: Sim;
let gateway: TestGateway;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  await gateway.apply({ ...basicSetup(sim.url), models: MODELS });
});
after(async () => {
  await gateway.stop().finally(() => sim.close());
});

interface Usage {
  balance: { available: string; held: string };
  total: { requests: number; input_tokens: number; output_tokens: number; cached_input_tokens: number; cost: string };
  by_model: { model: string; requests: number }[];
}
const usageOf = async (key: string): Promise<Usage> =>
  (await fetch(`${gateway.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } })).json() as Promise<Usage>;

/** Waits until the flusher has written `requests` records of the key's user. */
const recorded = (key: string, requests: number): Promise<Usage> =>
  until(`${requests} records`, async () => {
    const usage = await usageOf(key);
    return usage.total.requests >= requests ? usage : undefined;
  });

const userKeys = async (user: string, balance: string): Promise<Record<string, string>> =>
  gateway.apply({
    users: [{ id: user, balance }],
    keys: ['openai', 'claude', 'gemini'].map((group) => ({ user, group })),
  });

test('G 8: every kind of call is metered once: native, converted, streamed, image, embedding and WebSocket turn', async () => {
  const own = await userKeys('meter', '10');
  const [r, m, g] = [own.openai ?? '', own.claude ?? '', own.gemini ?? ''];
  await anthropic(gateway.url, m).messages.create({
    model: 'demo-messages',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'hi' }],
  });
  await anthropic(gateway.url, m)
    .messages.stream({ model: 'demo-messages', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] })
    .finalMessage();
  await anthropic(gateway.url, r).messages.create({
    model: 'demo-responses',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'hi' }],
  });
  await openai(gateway.url, g).responses.stream({ model: 'demo-generate', input: 'hi' }).finalResponse();
  await openai(gateway.url, r).embeddings.create({ model: 'demo-embedding', input: 'hi' });
  await openai(gateway.url, r).images.generate({
    model: 'demo-image',
    prompt: 'a lamp',
    size: '1024x1024',
    quality: 'high',
  });
  await google(gateway.url, g).models.generateContent({ model: 'demo-generate', contents: 'hi' });
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${m}` },
  });
  await new Promise<void>((resolve) => {
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'response.create', model: 'demo-messages', input: 'hi' })),
    );
    socket.on('message', (data) => String(data).includes('response.completed') && resolve());
  });
  socket.close();
  const usage = await recorded(r, 8);
  assert.equal(usage.total.requests, 8);
  assert.ok(usage.total.input_tokens > 0 && usage.total.output_tokens > 0);
  assert.ok(Number(usage.total.cost) > 0.17, 'the price of the image');
  assert.equal(Number(usage.balance.available).toFixed(9), (10 - Number(usage.total.cost)).toFixed(9));
});

test('G 8: a call costs its reported usage at the price of the model, cached input once at its own price', async () => {
  const own = await userKeys('exact', '10');
  const body = {
    model: 'demo-messages',
    max_tokens: 50,
    system: 'x'.repeat(4000),
    messages: [{ role: 'user' as const, content: 'same beginning' }],
  };
  const client = anthropic(gateway.url, own.claude ?? '');
  const responses = [await client.messages.create(body), await client.messages.create(body)];
  const cost =
    responses.reduce(
      (sum, { usage }) =>
        sum +
        usage.input_tokens * 2 +
        (usage.cache_read_input_tokens ?? 0) * 0.5 +
        (usage.cache_creation_input_tokens ?? 0) * 2.5 +
        usage.output_tokens * 10,
      0,
    ) / 1e6;
  const usage = await recorded(own.claude ?? '', 2);
  assert.equal(Number(usage.total.cost).toFixed(9), cost.toFixed(9));
  assert.ok(usage.total.cached_input_tokens > 0);
});

test('G 8: failed calls, token counts and model lists are free', async () => {
  const own = await userKeys('frugal', '10');
  const client = anthropic(gateway.url, own.claude ?? '');
  await assert.rejects(
    client.messages.create({
      model: 'demo-messages@status=500',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'x' }],
    }),
  );
  await assert.rejects(
    client.messages.create({
      model: 'demo-messages@status=400',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'x' }],
    }),
  );
  await client.messages.countTokens({ model: 'demo-messages', messages: [{ role: 'user', content: 'x' }] });
  await client.models.list();
  await client.messages.create({ model: 'demo-messages', max_tokens: 10, messages: [{ role: 'user', content: 'x' }] });
  assert.equal((await recorded(own.claude ?? '', 1)).total.requests, 1);
});

test('G 7 r3: an empty balance gets 402 in every dialect before anything is sent, and GET /v1/usage still works', async () => {
  const own = await gateway.apply({
    users: [{ id: 'broke' }],
    keys: ['openai', 'claude', 'gemini'].map((group) => ({ user: 'broke', group })),
  });
  sim.journal.clear();
  const post = (path: string, key: string, body: object) =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const message = { max_tokens: 10, messages: [{ role: 'user', content: 'x' }] };
  const responses = [
    await post('/v1/messages', own.claude ?? '', { model: 'demo-messages', ...message }),
    await post('/v1/messages', own.openai ?? '', { model: 'demo-responses', ...message }),
    await post('/v1/responses', own.openai ?? '', { model: 'demo-responses', input: 'x' }),
    await post('/v1beta/models/demo-generate:generateContent', own.gemini ?? '', {
      contents: [{ role: 'user', parts: [{ text: 'x' }] }],
    }),
  ];
  for (const response of responses) {
    assert.equal(response.status, 402);
    assert.equal(response.headers.get('x-should-retry'), 'false');
    assert.match(await response.text(), /insufficient_balance/);
  }
  assert.equal(sim.journal.requests.length, 0);
  assert.equal((await usageOf(own.claude ?? '')).balance.available, '0');
});

test('G 8: a client disconnect in a stream is charged an estimate of the output sent', async () => {
  const own = await userKeys('leaver', '10');
  for (const group of ['claude', 'gemini']) {
    const model = group === 'claude' ? 'demo-messages' : 'demo-generate';
    const stream = anthropic(gateway.url, own[group] ?? '').messages.stream({
      model: `${model}@events=100000;gap=25`,
      max_tokens: 1000,
      messages: [{ role: 'user', content: 'hello' }],
    });
    let seen = 0;
    for await (const event of stream) if (event.type === 'content_block_delta' && ++seen > 20) break;
    stream.abort();
  }
  const usage = await recorded(own.claude ?? '', 2);
  assert.ok(usage.total.output_tokens >= 2);
  const lines = gateway.log.filter(
    ({ msg, user, op }) => msg === 'request.completed' && user === 'leaver' && op === 'messages.create',
  );
  assert.deepEqual(
    lines.map(({ outcome }) => outcome),
    ['client_closed', 'client_closed'],
  );
});

test('admission lets at most 37 of 200 concurrent calls through when the balance pays for 37', async () => {
  // A context of one token at one dollar per token: each call reserves exactly one dollar.
  await gateway.apply({
    models: [
      {
        id: 'demo-flat',
        groups: ['claude'],
        upstream: 'demo-messages',
        context: 1,
        prices: { input: '1000000', output: '0' },
      },
    ],
  });
  const own = await gateway.apply({
    users: [{ id: 'rush', balance: '37' }],
    keys: [{ user: 'rush', group: 'claude' }],
  });
  const responses = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const response = await fetch(`${gateway.url}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${own.claude}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo-flat', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] }),
      });
      await response.arrayBuffer();
      return response.status;
    }),
  );
  assert.ok(responses.every((status) => status === 200 || status === 402));
  assert.ok(responses.filter((status) => status === 200).length <= 37);
  await checkLedger(gateway.context.database.db);
  assert.ok((await readBalance(gateway.context.database.db, 'rush')) !== undefined);
});

// ---------------------------------------------------------------- reported usage

interface Recorded {
  readonly model: string;
  readonly operation: string;
  readonly nanos: bigint;
  readonly estimated: boolean;
  readonly usage: { readonly input: number; readonly output: number };
}

const recordsOf = async (user: string): Promise<Recorded[]> =>
  (
    await gateway.context.database.db
      .selectFrom('usage_records')
      .select(['model', 'operation', 'nanos', 'estimated', ...USAGE_COLUMNS])
      .where('user_id', '=', user)
      .orderBy('id')
      .execute()
  ).map(({ model, operation, nanos, estimated, ...columns }) => ({
    model,
    operation,
    nanos,
    estimated,
    usage: unpackUsage(columns),
  }));

const quarantined = async (user: string): Promise<{ fault: string; model: string }[]> => {
  const rows = await gateway.context.database.db.selectFrom('usage_quarantine').selectAll().execute();
  return rows.flatMap(({ fault, raw }) => {
    const record = JSON.parse(raw) as { userId: string; model: string };
    return record.userId === user ? [{ fault, model: record.model }] : [];
  });
};

type SendWithFault = (own: Record<string, string>, usageFault: string) => Promise<string>;

const HELLO = [{ role: 'user', content: 'hello' }];
const posting =
  (group: string, path: string, body: object): SendWithFault =>
  async (own, usageFault) => {
    const text = JSON.stringify(body).replaceAll('FAULT', usageFault);
    const response = await fetch(gateway.url + path.replace('FAULT', encodeURIComponent(usageFault)), {
      method: 'POST',
      headers: { authorization: `Bearer ${own[group]}`, 'content-type': 'application/json' },
      body: text,
    });
    assert.equal(response.status, 200, `${path} ${text}`);
    return response.text();
  };
const turning =
  (group: string, model: string): SendWithFault =>
  async (own, usageFault) => {
    const client = await new ResponsesSocketClient(gateway.url, own[group] ?? '').open();
    const end = await client.turn({ model: model.replace('FAULT', usageFault), input: 'hello' });
    client.socket.close();
    return end.type;
  };

/** Every path by which usage arrives: text that ends a complete response, and how to get one. `FAULT` selects the simulator's usage. */
const ROUTES: Readonly<Record<string, readonly [string, SendWithFault]>> = {
  'native messages': [
    'end_turn',
    posting('claude', '/v1/messages', { model: 'demo-messages@FAULT', max_tokens: 50, messages: HELLO }),
  ],
  'native messages stream': [
    'message_stop',
    posting('claude', '/v1/messages', { model: 'demo-messages@FAULT', max_tokens: 50, messages: HELLO, stream: true }),
  ],
  'native chat': [
    '"finish_reason":"stop"',
    posting('openai', '/v1/chat/completions', { model: 'demo-responses@FAULT', messages: HELLO }),
  ],
  'native chat stream': [
    '[DONE]',
    posting('openai', '/v1/chat/completions', {
      model: 'demo-responses@FAULT',
      messages: HELLO,
      stream: true,
      stream_options: { include_usage: true },
    }),
  ],
  'native responses': [
    '"status":"completed"',
    posting('openai', '/v1/responses', { model: 'demo-responses@FAULT', input: 'hello' }),
  ],
  'native responses stream': [
    'response.completed',
    posting('openai', '/v1/responses', { model: 'demo-responses@FAULT', input: 'hello', stream: true }),
  ],
  'native generate': [
    'STOP',
    posting('gemini', '/v1beta/models/demo-generate@FAULT:generateContent', {
      contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
    }),
  ],
  'native generate stream': [
    'STOP',
    posting('gemini', '/v1beta/models/demo-generate@FAULT:streamGenerateContent?alt=sse', {
      contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
    }),
  ],
  'relayed WebSocket': ['response.completed', turning('openai', 'demo-responses@FAULT')],
  'converted WebSocket': ['response.completed', turning('claude', 'demo-messages@FAULT')],
  'messages -> responses': [
    'end_turn',
    posting('openai', '/v1/messages', { model: 'demo-responses@FAULT', max_tokens: 50, messages: HELLO }),
  ],
  'messages -> generate stream': [
    'message_stop',
    posting('gemini', '/v1/messages', { model: 'demo-generate@FAULT', max_tokens: 50, messages: HELLO, stream: true }),
  ],
  'chat -> messages': [
    '"finish_reason":"stop"',
    posting('claude', '/v1/chat/completions', { model: 'demo-messages@FAULT', messages: HELLO }),
  ],
  'chat -> messages stream': [
    '[DONE]',
    posting('claude', '/v1/chat/completions', { model: 'demo-messages@FAULT', messages: HELLO, stream: true }),
  ],
  'chat -> generate': [
    '"finish_reason":"stop"',
    posting('gemini', '/v1/chat/completions', { model: 'demo-generate@FAULT', messages: HELLO }),
  ],
  'responses -> messages stream': [
    'response.completed',
    posting('claude', '/v1/responses', { model: 'demo-messages@FAULT', input: 'hello', stream: true }),
  ],
};

test('impossible usage numbers are quarantined and not charged, and the client still gets the response', async () => {
  const own = await userKeys('invalid', '10');
  const routes = Object.entries(ROUTES);
  for (const [n, usageFault] of ['negative', 'fraction', 'huge', 'text'].entries()) {
    await Promise.all(
      routes.map(async ([route, [lastText, send]]) => {
        const text = (await send(own, `usage=${usageFault}`)).replaceAll('": ', '":');
        assert.ok(text.includes(lastText), `${route}, ${usageFault}: ${text.slice(-300)}`);
      }),
    );
    const all = (n + 1) * routes.length;
    await until(`${all} calls to be quarantined`, async () => (await quarantined('invalid')).length === all);
  }
  const records = await quarantined('invalid');
  assert.ok(
    records.every(({ fault }) => /is -|is \d+\.5|is 1e|is 1000000000000000000|is a string/.test(fault)),
    JSON.stringify(records),
  );
  assert.deepEqual(await recordsOf('invalid'), []);
  assert.equal((await usageOf(own.claude ?? '')).balance.available, '10');
});

test('G 8: zero usage of a visible reply and missing usage are estimated alike and flagged', async () => {
  const own = await userKeys('quiet', '10');
  const routes = Object.values(ROUTES);
  for (const usageFault of ['zero', 'missing'])
    await Promise.all(routes.map(([, send]) => send(own, `usage=${usageFault}`)));
  const records = await until('all to be recorded', async () => {
    const rows = await recordsOf('quiet');
    return rows.length === 2 * routes.length ? rows : undefined;
  });
  for (const { model, operation, estimated, nanos, usage } of records)
    assert.ok(
      estimated && nanos > 0n && usage.input > 0 && usage.output > 0,
      `${operation} ${model}: ${JSON.stringify(usage)}`,
    );
  const sums = ['zero', 'missing'].map((word) =>
    records.filter(({ model }) => model.endsWith(word)).reduce((sum, { nanos }) => sum + nanos, 0n),
  );
  // The name of the model, in which the words differ, may be part of the reply.
  assert.ok(Math.abs(Number(sums[0]) / Number(sums[1]) - 1) < 0.2, String(sums));
  assert.deepEqual(await quarantined('quiet'), []);
});

test('reported usage above the reservation is charged in full on every route', async () => {
  const own = await userKeys('steep', '10');
  const routes = Object.values(ROUTES);
  await Promise.all(routes.map(([, send]) => send(own, 'events=2')));
  const records = await until('all to be recorded', async () => {
    const rows = await recordsOf('steep');
    return rows.length === routes.length ? rows : undefined;
  });
  for (const { operation, model, nanos, usage } of records) {
    assert.ok(usage.input > 1, `${operation} ${model}`);
    assert.equal(nanos, BigInt(usage.input) * 1_000_000n, `${operation} ${model}`);
  }
});

test('G 8: a client disconnect is charged by the usage reported so far, else by a flagged estimate', async () => {
  const own = await userKeys('gone', '10');
  const disconnect = async (group: string, path: string, body: object): Promise<Recorded> => {
    const before = (await recordsOf('gone')).length;
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${own[group]}`, 'content-type': 'application/json' },
      body: JSON.stringify(path.startsWith('/v1beta') ? body : { ...body, stream: true }),
    });
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.split('word').length > 40) break;
    }
    return until('the record', async () => (await recordsOf('gone'))[before]);
  };
  const endless = '@events=100000;gap=25';
  const messages = { max_tokens: 1000, messages: HELLO };
  for (const [group, path, body] of [
    ['claude', '/v1/messages', { model: `demo-messages${endless}`, ...messages }],
    ['openai', '/v1/responses', { model: `demo-responses${endless}`, input: 'hello' }],
    ['openai', '/v1/chat/completions', { model: `demo-responses${endless}`, messages: HELLO }],
    ['openai', '/v1/messages', { model: `demo-responses${endless}`, ...messages }],
    ['claude', '/v1/chat/completions', { model: `demo-messages${endless}`, messages: HELLO }],
  ] as const) {
    const { estimated, nanos, usage } = await disconnect(group, path, body);
    assert.ok(estimated && nanos > 0n && usage.input > 0, `${group} ${path}`);
    // Forty words plus the events that were on their way.
    assert.ok(usage.output >= 25 && usage.output <= 250, `${group} ${path}: ${usage.output} tokens for 40 words`);
  }
  // An estimate stays within the reservation, but what was reported is charged in full.
  const steep = await disconnect('claude', '/v1/messages', { model: 'endless-steep', ...messages });
  assert.ok(steep.estimated && steep.usage.input > 1, JSON.stringify(steep.usage));
  assert.equal(steep.nanos, BigInt(steep.usage.input) * 1_000_000n);
  // generate-content reports its input with every chunk, and its output at the end.
  const body = { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] };
  const path = `/v1beta/models/${encodeURIComponent(`demo-generate${endless}`)}:streamGenerateContent?alt=sse`;
  const { estimated, usage } = await disconnect('gemini', path, body);
  assert.ok(estimated && usage.input > 0 && usage.output >= 25 && usage.output <= 250, JSON.stringify(usage));
});

// ---------------------------------------------------------------- images and embeddings

test('embeddings and images cost their reported tokens, or the price per image', async () => {
  const own = await userKeys('maker', '10');
  await gateway.apply({
    models: [
      {
        id: 'demo-image-tokens',
        groups: ['openai'],
        upstream: 'demo-image',
        prices: { input: '5', image_input: '10', image_output: '40' },
      },
    ],
  });
  const client = openai(gateway.url, own.openai ?? '');
  const cost = async (): Promise<bigint> => {
    const before = (await recordsOf('maker')).length;
    return (await until('the record', async () => (await recordsOf('maker'))[before])).nanos;
  };
  const vector = client.embeddings.create({ model: 'demo-embedding', input: 'hello '.repeat(100) });
  const [{ usage }, vectorCost] = await Promise.all([vector, cost()]);
  assert.ok(usage.prompt_tokens > 100);
  assert.equal(vectorCost, BigInt(usage.prompt_tokens) * 20n);

  const image = client.images.generate({ model: 'demo-image-tokens', prompt: 'a lamp', quality: 'low' });
  const [generated, imageCost] = await Promise.all([image, cost()]);
  assert.ok(generated.usage && generated.usage.output_tokens > 0);
  assert.equal(
    imageCost,
    BigInt(generated.usage.input_tokens) * 5_000n + BigInt(generated.usage.output_tokens) * 40_000n,
  );

  const file = await toFile(
    rgbPng(8, 8, () => [1, 2, 3]),
    'lamp.png',
    { type: 'image/png' },
  );
  const edit = client.images.edit({
    model: 'demo-image',
    prompt: 'brighter',
    image: file,
    size: '1024x1024',
    quality: 'high',
    n: 2,
  });
  const [edited, editCost] = await Promise.all([edit, cost()]);
  assert.equal(editCost, 340_000_000n + BigInt(edited.usage?.input_tokens ?? 0) * 5_000n);
});

test('images are rejected before the provider call when the balance is too low', async () => {
  await gateway.apply({
    models: [
      { id: 'demo-image-piece', groups: ['openai'], upstream: 'demo-image', prices: { per_image: { '*': '0.17' } } },
    ],
  });
  const own = await userKeys('thrifty', '0.3');
  const client = openai(gateway.url, own.openai ?? '');
  const request = { model: 'demo-image-piece', prompt: 'a lamp', size: '1024x1024', quality: 'high' } as const;
  await assert.rejects(client.images.generate({ ...request, n: 2 }), /insufficient_balance|balance/);
  assert.equal((await client.images.generate(request)).data?.length, 1);
});

test('admission counts the whole stored conversation when a call continues it', async () => {
  const own = await userKeys('chain', '0.27');
  const client = openai(gateway.url, own.claude ?? '');
  const base = { model: 'demo-messages', max_output_tokens: 16 };
  const first = await client.responses.create({ ...base, input: 'word '.repeat(20_000) });
  await recorded(own.claude ?? '', 1);
  await assert.rejects(
    client.responses.create({ ...base, input: 'and?', previous_response_id: first.id }),
    /insufficient_balance|balance/,
  );
  assert.equal((await client.responses.create({ ...base, input: 'something else' })).object, 'response');
});

test('a call succeeds and is charged when its journal write fails', async () => {
  const other = await startGateway({ database: gateway.database });
  try {
    // No record was written yet, so the first journal file needs this directory.
    rmSync(join(other.context.config.DATA_DIR, 'journal'), { recursive: true });
    const own = await userKeys('full', '10');
    const response = await anthropic(other.url, own.claude ?? '').messages.create({
      model: 'demo-messages',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'x' }],
    });
    assert.equal(response.role, 'assistant');
    assert.equal((await recorded(own.claude ?? '', 1)).total.requests, 1);
    assert.ok(other.log.some(({ msg }) => msg === 'journal.failed'));
  } finally {
    await other.stop();
  }
});

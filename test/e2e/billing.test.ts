import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { toFile } from 'openai';
import { WebSocket } from 'ws';
import { type Sim, startSim } from '../../sim/index.ts';
import { available, checkLedger } from '../../src/ledger/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, google, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';
import { SocketClient } from '../support/websocket.ts';

const PRICES = { input: '2', cached_input: '0.5', cache_write: '2.5', output: '10' };
const MODELS = [
  { id: 'demo-responses', groups: ['openai'], prices: PRICES },
  {
    id: 'demo-image',
    groups: ['openai'],
    prices: { input: '5', image_output: '40', per_image: { '1024x1024/high': '0.17' } },
  },
  { id: 'demo-embedding', groups: ['openai'], prices: { input: '0.02' } },
  { id: 'demo-messages', groups: ['claude'], prices: PRICES },
  { id: 'demo-generate', groups: ['gemini'], prices: PRICES },
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

/** Waits until the flusher has moved `requests` records for the key's user. */
async function recorded(key: string, requests: number): Promise<Usage> {
  for (let n = 0; n < 200; n++) {
    const usage = await usageOf(key);
    if (usage.total.requests >= requests) return usage;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return assert.fail(`not recorded: ${JSON.stringify(await usageOf(key))}`);
}

const userKeys = async (user: string, balance: string): Promise<Record<string, string>> =>
  gateway.apply({
    users: [{ id: user, balance }],
    keys: ['openai', 'claude', 'gemini'].map((group) => ({ user, group })),
  });

test('every kind of call is metered once: native, converted, streamed, images, embeddings, a socket turn', async () => {
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
  assert.ok(Number(usage.total.cost) > 0.17, 'the image alone costs that');
  assert.equal(Number(usage.balance.available).toFixed(9), (10 - Number(usage.total.cost)).toFixed(9));
});

test('a call costs what its usage says at its price, cached input once at its own', async () => {
  const own = await userKeys('exact', '10');
  const body = {
    model: 'demo-messages',
    max_tokens: 50,
    system: 'x'.repeat(4000),
    messages: [{ role: 'user' as const, content: 'same beginning' }],
  };
  const client = anthropic(gateway.url, own.claude ?? '');
  const answers = [await client.messages.create(body), await client.messages.create(body)];
  const cost =
    answers.reduce(
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

test('a failed call, a count and a list cost nothing', async () => {
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

test('[N7] an empty balance is refused with 402 in every dialect, before anything is sent, and still sees its usage', async () => {
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
  const answers = [
    await post('/v1/messages', own.claude ?? '', { model: 'demo-messages', ...message }),
    await post('/v1/messages', own.openai ?? '', { model: 'demo-responses', ...message }),
    await post('/v1/responses', own.openai ?? '', { model: 'demo-responses', input: 'x' }),
    await post('/v1beta/models/demo-generate:generateContent', own.gemini ?? '', {
      contents: [{ role: 'user', parts: [{ text: 'x' }] }],
    }),
  ];
  for (const answer of answers) {
    assert.equal(answer.status, 402);
    assert.equal(answer.headers.get('x-should-retry'), 'false');
    assert.match(await answer.text(), /insufficient_balance/);
  }
  assert.equal(sim.journal.requests.length, 0);
  assert.equal((await usageOf(own.claude ?? '')).balance.available, '0');
});

test('a client that leaves in the middle of a stream pays for about what it got', async () => {
  const own = await userKeys('leaver', '10');
  for (const group of ['claude', 'gemini']) {
    const model = group === 'claude' ? 'demo-messages' : 'demo-generate';
    const stream = anthropic(gateway.url, own[group] ?? '').messages.stream({
      model: `${model}@events=100000;gap=2`,
      max_tokens: 1000,
      messages: [{ role: 'user', content: 'hello' }],
    });
    let seen = 0;
    for await (const event of stream) if (event.type === 'content_block_delta' && ++seen > 20) break;
    stream.abort();
  }
  const usage = await recorded(own.claude ?? '', 2);
  assert.ok(usage.total.output_tokens >= 2);
  const line = gateway.log.find((entry) => entry.msg === 'request.completed' && entry.user === 'leaver');
  assert.equal(line?.outcome, 'client_closed');
});

test('200 calls at once on a balance for exactly 37 are 37 answers and no more', async () => {
  // One output token of bound and two bytes of body per token, each at a price of one dollar a token-million: a known bound per call.
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
  const answers = await Promise.all(
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
  assert.ok(answers.every((status) => status === 200 || status === 402));
  assert.ok(answers.filter((status) => status === 200).length <= 37);
  await checkLedger(gateway.ground.database.db);
  assert.ok((await available(gateway.ground.database.db, 'rush')) !== undefined);
});

// ---------------------------------------------------------------- what upstreams report

interface Recorded {
  readonly model: string;
  readonly operation: string;
  readonly nanos: bigint;
  readonly estimated: boolean;
  readonly usage: { readonly input: number; readonly output: number };
}

const recordsOf = async (user: string): Promise<Recorded[]> =>
  (await gateway.ground.database.db
    .selectFrom('usage_records')
    .select(['model', 'operation', 'nanos', 'estimated', 'usage'])
    .where('user_id', '=', user)
    .orderBy('id')
    .execute()) as unknown as Recorded[];

const quarantined = async (user: string): Promise<{ fault: string; model: string }[]> => {
  const rows = await gateway.ground.database.db.selectFrom('usage_quarantine').selectAll().execute();
  return rows.flatMap(({ fault, raw }) => {
    const record = JSON.parse(raw) as { userId: string; model: string };
    return record.userId === user ? [{ fault, model: record.model }] : [];
  });
};

type Ask = (own: Record<string, string>, oddity: string) => Promise<string>;

const HELLO = [{ role: 'user', content: 'hello' }];
const posting =
  (group: string, path: string, body: object): Ask =>
  async (own, oddity) => {
    const text = JSON.stringify(body).replaceAll('ODDITY', oddity);
    const response = await fetch(gateway.url + path.replace('ODDITY', encodeURIComponent(oddity)), {
      method: 'POST',
      headers: { authorization: `Bearer ${own[group]}`, 'content-type': 'application/json' },
      body: text,
    });
    assert.equal(response.status, 200, `${path} ${text}`);
    return response.text();
  };
const turning =
  (group: string, model: string): Ask =>
  async (own, oddity) => {
    const client = await new SocketClient(gateway.url, own[group] ?? '').open();
    const end = await client.turn({ model: model.replace('ODDITY', oddity), input: 'hello' });
    client.socket.close();
    return end.type;
  };

/** Every way that usage comes in by: the word that a whole answer ends with, and how to get one. */
const WAYS: Readonly<Record<string, readonly [string, Ask]>> = {
  'native messages': [
    'end_turn',
    posting('claude', '/v1/messages', { model: 'demo-messages@ODDITY', max_tokens: 50, messages: HELLO }),
  ],
  'native messages stream': [
    'message_stop',
    posting('claude', '/v1/messages', { model: 'demo-messages@ODDITY', max_tokens: 50, messages: HELLO, stream: true }),
  ],
  'native chat': [
    '"finish_reason":"stop"',
    posting('openai', '/v1/chat/completions', { model: 'demo-responses@ODDITY', messages: HELLO }),
  ],
  'native chat stream': [
    '[DONE]',
    posting('openai', '/v1/chat/completions', {
      model: 'demo-responses@ODDITY',
      messages: HELLO,
      stream: true,
      stream_options: { include_usage: true },
    }),
  ],
  'native responses': [
    '"status":"completed"',
    posting('openai', '/v1/responses', { model: 'demo-responses@ODDITY', input: 'hello' }),
  ],
  'native responses stream': [
    'response.completed',
    posting('openai', '/v1/responses', { model: 'demo-responses@ODDITY', input: 'hello', stream: true }),
  ],
  'native generate': [
    'STOP',
    posting('gemini', '/v1beta/models/demo-generate@ODDITY:generateContent', {
      contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
    }),
  ],
  'native generate stream': [
    'STOP',
    posting('gemini', '/v1beta/models/demo-generate@ODDITY:streamGenerateContent?alt=sse', {
      contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
    }),
  ],
  'raw socket': ['response.completed', turning('openai', 'demo-responses@ODDITY')],
  'bridged socket': ['response.completed', turning('claude', 'demo-messages@ODDITY')],
  'messages -> responses': [
    'end_turn',
    posting('openai', '/v1/messages', { model: 'demo-responses@ODDITY', max_tokens: 50, messages: HELLO }),
  ],
  'messages -> generate stream': [
    'message_stop',
    posting('gemini', '/v1/messages', { model: 'demo-generate@ODDITY', max_tokens: 50, messages: HELLO, stream: true }),
  ],
  'chat -> messages': [
    '"finish_reason":"stop"',
    posting('claude', '/v1/chat/completions', { model: 'demo-messages@ODDITY', messages: HELLO }),
  ],
  'chat -> messages stream': [
    '[DONE]',
    posting('claude', '/v1/chat/completions', { model: 'demo-messages@ODDITY', messages: HELLO, stream: true }),
  ],
  'chat -> generate': [
    '"finish_reason":"stop"',
    posting('gemini', '/v1/chat/completions', { model: 'demo-generate@ODDITY', messages: HELLO }),
  ],
  'responses -> messages stream': [
    'response.completed',
    posting('claude', '/v1/responses', { model: 'demo-messages@ODDITY', input: 'hello', stream: true }),
  ],
};

test('usage that cannot be true is set aside and never charged, and the caller gets the answer all the same', async () => {
  const own = await userKeys('odd', '10');
  const ways = Object.entries(WAYS);
  for (const [n, oddity] of ['negative', 'fraction', 'huge', 'text'].entries()) {
    await Promise.all(
      ways.map(async ([way, [lastWord, ask]]) => {
        const said = (await ask(own, `usage=${oddity}`)).replaceAll('": ', '":');
        assert.ok(said.includes(lastWord), `${way}, ${oddity}: ${said.slice(-300)}`);
      }),
    );
    const all = (n + 1) * ways.length;
    await until(`${all} calls to be set aside`, async () => (await quarantined('odd')).length === all);
  }
  const aside = await quarantined('odd');
  assert.ok(
    aside.every(({ fault }) => /is -|is \d+\.5|is 1e|is 1000000000000000000|is a string/.test(fault)),
    JSON.stringify(aside),
  );
  assert.deepEqual(await recordsOf('odd'), []);
  assert.equal((await usageOf(own.claude ?? '')).balance.available, '10');
});

test('an explicit zero is zero; usage that is missing is estimated, and says so', async () => {
  const own = await userKeys('quiet', '10');
  const ways = Object.values(WAYS);
  for (const oddity of ['zero', 'missing']) await Promise.all(ways.map(([, ask]) => ask(own, `usage=${oddity}`)));
  const records = await until('all to be recorded', async () => {
    const rows = await recordsOf('quiet');
    return rows.length === 2 * ways.length ? rows : undefined;
  });
  for (const { model, operation, estimated, nanos, usage } of records)
    if (model.endsWith('zero')) assert.deepEqual([estimated, nanos], [false, 0n], `${operation} ${model}`);
    else
      assert.ok(
        estimated && nanos > 0n && usage.input > 0 && usage.output > 0,
        `${operation} ${model}: ${JSON.stringify(usage)}`,
      );
  assert.deepEqual(await quarantined('quiet'), []);
});

test('a client that leaves pays by what was reported until then, or by an estimate that says so', async () => {
  const own = await userKeys('gone', '10');
  const leave = async (group: string, path: string, body: object): Promise<Recorded> => {
    const before = (await recordsOf('gone')).length;
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${own[group]}`, 'content-type': 'application/json' },
      body: JSON.stringify(path.startsWith('/v1beta') ? body : { ...body, stream: true }),
    });
    let said = '';
    for await (const chunk of response.body ?? []) {
      said += Buffer.from(chunk).toString();
      if (said.split('word').length > 40) break;
    }
    return until('the record', async () => (await recordsOf('gone'))[before]);
  };
  const endless = '@events=100000;gap=2';
  const messages = { max_tokens: 1000, messages: HELLO };
  for (const [group, path, body] of [
    ['claude', '/v1/messages', { model: `demo-messages${endless}`, ...messages }],
    ['openai', '/v1/responses', { model: `demo-responses${endless}`, input: 'hello' }],
    ['openai', '/v1/chat/completions', { model: `demo-responses${endless}`, messages: HELLO }],
    ['openai', '/v1/messages', { model: `demo-responses${endless}`, ...messages }],
    ['claude', '/v1/chat/completions', { model: `demo-messages${endless}`, messages: HELLO }],
  ] as const) {
    const { estimated, nanos, usage } = await leave(group, path, body);
    assert.ok(estimated && nanos > 0n && usage.input > 0, `${group} ${path}`);
    // Forty words and what was under way.
    assert.ok(usage.output >= 25 && usage.output <= 250, `${group} ${path}: ${usage.output} tokens for 40 words`);
  }
  // This dialect says with every piece what it has written so far.
  const body = { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] };
  const path = `/v1beta/models/${encodeURIComponent(`demo-generate${endless}`)}:streamGenerateContent?alt=sse`;
  assert.equal((await leave('gemini', path, body)).estimated, false);
});

// ---------------------------------------------------------------- pictures and vectors

test('embeddings and pictures cost exactly what they report, or what a piece costs', async () => {
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

  const picture = client.images.generate({ model: 'demo-image-tokens', prompt: 'a lamp', quality: 'low' });
  const [made, pictureCost] = await Promise.all([picture, cost()]);
  assert.ok(made.usage && made.usage.output_tokens > 0);
  assert.equal(pictureCost, BigInt(made.usage.input_tokens) * 5_000n + BigInt(made.usage.output_tokens) * 40_000n);

  const image = await toFile(Buffer.from('not really a picture'), 'lamp.png', { type: 'image/png' });
  const edit = client.images.edit({
    model: 'demo-image',
    prompt: 'brighter',
    image,
    size: '1024x1024',
    quality: 'high',
    n: 2,
  });
  const [edited, editCost] = await Promise.all([edit, cost()]);
  assert.equal(editCost, 340_000_000n + BigInt(edited.usage?.input_tokens ?? 0) * 5_000n);
});

test('pictures that a balance cannot pay for are not made', async () => {
  await gateway.apply({
    models: [
      { id: 'demo-image-piece', groups: ['openai'], upstream: 'demo-image', prices: { per_image: { '*': '0.17' } } },
    ],
  });
  const own = await userKeys('thrifty', '0.3');
  const client = openai(gateway.url, own.openai ?? '');
  const wish = { model: 'demo-image-piece', prompt: 'a lamp', size: '1024x1024', quality: 'high' } as const;
  await assert.rejects(client.images.generate({ ...wish, n: 2 }), /insufficient_balance|balance/);
  assert.equal((await client.images.generate(wish)).data?.length, 1);
});

test('a call that goes on from a stored conversation is admitted by all that will be read', async () => {
  const own = await userKeys('chain', '0.14');
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

test('a form whose length is not announced is admitted by its real size', async () => {
  await gateway.apply({
    models: [{ id: 'demo-image-read', groups: ['openai'], upstream: 'demo-image', prices: { input: '100' } }],
  });
  const own = await userKeys('chunked', '0.5');
  const boundary = 'some-boundary';
  const part = (head: string, content: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n${content}\r\n`;
  const form =
    part('name="model"', 'demo-image-read') +
    part('name="prompt"', 'a lamp') +
    part('name="image"; filename="lamp.png"', 'x'.repeat(200_000));
  const answer = await fetch(`${gateway.url}/v1/images/edits`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.openai}`, 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: new Blob([`${form}--${boundary}--\r\n`]).stream(),
    duplex: 'half',
  } as RequestInit);
  assert.equal(answer.status, 402, await answer.text());
});

test('with a disk that takes nothing, calls are answered and charged all the same', async () => {
  const other = await startGateway({ database: gateway.database });
  try {
    // Nobody has written a record yet: the file that it would begin has no folder.
    rmSync(join(other.ground.config.DATA_DIR, 'journal'), { recursive: true });
    const own = await userKeys('full', '10');
    const answer = await anthropic(other.url, own.claude ?? '').messages.create({
      model: 'demo-messages',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'x' }],
    });
    assert.equal(answer.role, 'assistant');
    assert.equal((await recorded(own.claude ?? '', 1)).total.requests, 1);
    assert.ok(other.log.some(({ msg }) => msg === 'journal.failed'));
  } finally {
    await other.stop();
  }
});

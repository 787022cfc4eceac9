// set: load; the longest turn and the memory of the dearest input of every route
/**
 * One user's work does not stall another: the dearest input that each route accepts takes no long turn of the event
 * loop and little memory, or is refused. `COST_TABLE=1` prints a table.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ROUTES } from '../../src/platform/web/index.ts';
import { BATCHES, CSRF_HEADER, REQUEST_LIMITS } from '../../src/rules/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { type CostServer, type Group, startCostServer } from '../support/cost-server.ts';
import { slowness } from '../support/cpu-time.ts';
import { type KeptOperation, loadOf, maxBytesOf } from '../support/route-loads.ts';
import { costOf } from '../support/thread-cost.ts';
import { until } from '../support/wait.ts';

const IS_TABLE = process.env.COST_TABLE === '1';
/** CPU time of one turn of the event loop, on a fast machine. */
const MAX_TURN_MS = 50;
const MAX_MEMORY_MB = 100;
/** Of what is measured: garbage of earlier work, and a busy machine, make single ones dearer. */
const TRIES = 3;

let server: CostServer;
let session: Readonly<Record<string, string>>;
before(async () => {
  server = await startCostServer({ isWatched: true, env: { ADMIN_TOKEN } });
  session = await signIn();
});
after(() => server?.stop());

async function signIn(): Promise<Readonly<Record<string, string>>> {
  const admin = adminApi(() => server.url);
  const { body } = await admin('POST', '/people', { email: 'ana@example.test', role: 'user', user: 'ana' });
  const token = new URL(String(body.link)).hash.slice(1).replace(/^.*=/, '');
  const response = await fetch(`${server.url}/console/v1/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ token, password: 'a long pass phrase' }),
  });
  const { csrf } = (await response.json()) as { csrf: string };
  const cookie = response.headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ');
  return { cookie, [CSRF_HEADER]: csrf, 'sec-fetch-site': 'same-origin' };
}

// ---------------------------------------------------------------- requests

interface Sent {
  readonly method?: string;
  readonly body?: string | FormData;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
interface Answer {
  readonly status: number;
  readonly text: string;
}

async function send(group: Group, path: string, { method, body, type, headers }: Sent = {}): Promise<Answer> {
  const response = await fetch(server.url + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    redirect: 'manual',
    headers: {
      ...(headers ?? { authorization: `Bearer ${server.keys[group]}` }),
      ...(type !== undefined && { 'content-type': type }),
    },
    ...(body !== undefined && { body }),
  });
  return { status: response.status, text: await response.text() };
}

const json = (value: unknown): Sent => ({ body: JSON.stringify(value), type: 'application/json' });

async function made(group: Group, path: string, sent: Sent): Promise<string> {
  const { status, text } = await send(group, path, sent);
  assert.equal(status, 200, text.slice(0, 300));
  return String(JSON.parse(text).id);
}

interface Cost {
  readonly turnMs: number;
  readonly memoryMb: number;
}

async function measured(work: () => Promise<unknown>): Promise<Cost> {
  const earlier = server.turns().length;
  const { memoryMb } = await costOf(server.pid, async () => {
    await work();
    // What follows a response, such as records that are written, is also a part of its cost.
    for (let n = 0; n < 5; n += 1) await send('openai', '/v1/models/none');
  });
  return { turnMs: Math.max(0, ...server.turns().slice(earlier)), memoryMb };
}

/** `reservedMb`: of the memory for bodies, which has a limit of its own. */
async function assertCheap(name: string, work: () => Promise<unknown>, reservedMb = 0): Promise<void> {
  const maxMemoryMb = MAX_MEMORY_MB + reservedMb;
  const isDear = ({ turnMs, memoryMb }: Cost): boolean => turnMs >= MAX_TURN_MS || memoryMb >= maxMemoryMb;
  let best: Cost = { turnMs: Number.POSITIVE_INFINITY, memoryMb: Number.POSITIVE_INFINITY };
  for (let n = 0; n < TRIES && isDear(best); n += 1) {
    const slowBefore = slowness();
    const { turnMs, memoryMb } = await measured(work);
    const normal = turnMs / Math.min(slowBefore, slowness());
    best = { turnMs: Math.min(best.turnMs, normal), memoryMb: Math.min(best.memoryMb, memoryMb) };
  }
  if (IS_TABLE) {
    const figures = `${best.turnMs.toFixed(0)} | ${best.memoryMb.toFixed(0)} | ${isDear(best) ? 'dear' : ''}`;
    return void process.stdout.write(`| ${name} | ${figures} |\n`);
  }
  assert.ok(best.turnMs < MAX_TURN_MS, `${name}: a turn of ${best.turnMs} ms on a machine of usual speed`);
  assert.ok(best.memoryMb < maxMemoryMb, `${name}: ${best.memoryMb} MB`);
}

// ---------------------------------------------------------------- every route

const GROUPS: Readonly<Record<string, Group>> = { openai: 'openai', messages: 'claude', generate: 'gemini' };
const MIB = 2 ** 20;
/** Just below the size from which bodies are read in a thread, and below that from which many values are refused. */
const DENSE_BYTES = [127 * 1024, MIB];
/** Bodies are kept as they came, as text, as values and encoded. */
const COPIES = 4;

for (const { operation, method, path, errorFormat } of ROUTES) {
  const load = loadOf(operation, method);
  const target = path
    .replace('{model}', 'demo-text')
    .replace('{file*}', 'none')
    .replaceAll(/\{\w+\}/g, 'none');
  const headers = (): Sent => {
    if (path.startsWith('/admin/')) return { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } };
    // Which would end the session.
    if (operation === 'console.signOut') return { headers: {} };
    return path.startsWith('/console/') ? { headers: session } : {};
  };
  const groups: readonly Group[] =
    operation.startsWith('messages.') || operation.startsWith('chat.') || operation === 'responses.create'
      ? ['openai', 'claude', 'gemini']
      : [GROUPS[errorFormat] ?? 'openai'];
  const sendTo = async (group: Group, sent: Sent): Promise<void> => {
    const { status, text } = await send(group, target, { ...headers(), method, ...sent });
    assert.ok(![401, 500].includes(status) || operation === 'console.signOut', `${status} ${text.slice(0, 300)}`);
  };
  if (load.kind === 'rows')
    test(`${method} ${path} takes no long turn`, () =>
      assertCheap(`${method} ${path}`, () => sendTo(groups[0] ?? 'openai', {})));
  if (load.kind === 'body')
    describe(`${method} ${path} takes no long turn`, () => {
      const max = maxBytesOf(operation);
      const bodies: readonly (readonly [string, number, () => string])[] = [
        ...[...DENSE_BYTES, max]
          .filter((bytes) => bytes <= max)
          .map((bytes) => [`${bytes >> 10} KiB of values`, bytes, () => load.dense(bytes)] as const),
        ...(load.long ? [[`one text of ${max >> 20} MiB`, max, () => load.long?.(max) ?? ''] as const] : []),
      ];
      for (const group of groups)
        for (const [about, bytes, write] of bodies)
          test(`${about} to ${group}`, async () => {
            const sent = { body: write(), type: 'application/json' };
            const reservedMb = bytes > MIB ? (COPIES * bytes) / MIB : 0;
            await assertCheap(`${method} ${path} ${about} to ${group}`, () => sendTo(group, sent), reservedMb);
          });
    });
}

// ---------------------------------------------------------------- what is kept

const upload = (content: string, name: string, purpose: string): Sent => {
  const body = new FormData();
  body.set('purpose', purpose);
  body.set('file', new Blob([content]), name);
  return { body };
};
const MESSAGE = { type: 'message', role: 'user', content: 'a' };
const batchFile = (lines: number): string =>
  Array.from({ length: lines }, (_, n) =>
    JSON.stringify({
      custom_id: `c${n}`,
      method: 'POST',
      url: '/v1/responses',
      body: { model: 'demo-text', input: 'a' },
    }),
  ).join('\n');

interface Scenario {
  readonly covers: readonly KeptOperation[];
  run(): Promise<void>;
}

/** Fills a conversation with so many requests of 20 items. */
async function filledConversation(requests: number, item: object): Promise<string> {
  const id = await made('openai', '/v1/conversations', json({}));
  const items = json({ items: Array(20).fill(item) });
  for (let n = 0; n < requests; n += 1) {
    const { status, text } = await send('openai', `/v1/conversations/${id}/items`, items);
    assert.equal(status, 200, text.slice(0, 300));
  }
  return id;
}

/** Continues, lists and changes a conversation at its limits. */
async function assertCheapConversation(id: string, about: string, reservedMb: number): Promise<void> {
  const path = `/v1/conversations/${id}/items`;
  for (const group of ['openai', 'claude'] as const) {
    await assertCheap(
      `${about}: continued on ${group}`,
      async () => {
        const { status, text } = await send(group, '/v1/responses', json({ model: 'demo-text', conversation: id }));
        assert.equal(status, 200, text.slice(0, 300));
      },
      reservedMb,
    );
    await assertCheap(
      `${about}: continued 20 times at once on ${group}`,
      async () => {
        const one = json({ model: 'demo-text', conversation: id });
        await Promise.all(Array.from({ length: 20 }, () => send(group, '/v1/responses/input_tokens', one)));
      },
      20 * reservedMb,
    );
  }
  let first = '';
  await assertCheap(
    `${about}: a page`,
    async () => {
      const { status, text } = await send('openai', `${path}?limit=100`);
      assert.equal(status, 200);
      first = JSON.parse(text).first_id;
    },
    reservedMb,
  );
  await assertCheap(`${about}: an item`, async () =>
    assert.equal((await send('openai', `${path}/${first}`)).status, 200),
  );
  await assertCheap(`${about}: an item removed`, () => send('openai', `${path}/${first}`, { method: 'DELETE' }));
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'a conversation of 1,900 items': {
    covers: ['conversations.items', 'conversations.item', 'conversations.removeItem'],
    run: async () => assertCheapConversation(await filledConversation(94, MESSAGE), '1,900 items', 0),
  },
  'a conversation of 7 MiB': {
    covers: [],
    async run() {
      const long = { ...MESSAGE, content: 'a'.repeat(18_000) };
      await assertCheapConversation(await filledConversation(20, long), '7 MiB', 4 * 7);
    },
  },
  'a stored response of 9,000 items': {
    covers: ['responses.get', 'responses.inputItems', 'responses.delete'],
    async run() {
      const input = Array(REQUEST_LIMITS.turns - 1_000).fill(MESSAGE);
      const id = await made('claude', '/v1/responses', json({ model: 'demo-text', input, store: true }));
      await assertCheap('9,000 stored items: continued', async () => {
        const body = { model: 'demo-text', input: 'a', previous_response_id: id, store: false };
        assert.equal((await send('claude', '/v1/responses', json(body))).status, 200);
      });
      await assertCheap('9,000 stored items: read', async () =>
        assert.equal((await send('claude', `/v1/responses/${id}`)).status, 200),
      );
      const page = `/v1/responses/${id}/input_items?limit=100`;
      await assertCheap('9,000 stored items: page', async () => assert.equal((await send('claude', page)).status, 200));
      await assertCheap('9,000 stored items: deleted', () =>
        send('claude', `/v1/responses/${id}`, { method: 'DELETE' }),
      );
    },
  },
  'a chain of 500 stored responses': {
    covers: [],
    async run() {
      let id = await made('claude', '/v1/responses', json({ model: 'demo-text', input: 'a' }));
      for (let n = 0; n < 500; n += 1)
        id = await made('claude', '/v1/responses', json({ model: 'demo-text', input: 'a', previous_response_id: id }));
      await assertCheap('a chain of 500: continued', async () => {
        const body = { model: 'demo-text', input: 'a', previous_response_id: id, store: false };
        assert.equal((await send('claude', '/v1/responses', json(body))).status, 200);
      });
    },
  },
  'a file that a request names 40 times': {
    covers: ['files.create', 'files.content', 'googleFiles.content', 'googleFiles.upload'],
    async run() {
      const content = 'a'.repeat(500_000);
      const id = await made('openai', '/v1/files', upload(content, 'a.pdf', 'user_data'));
      const parts = Array(40).fill({ type: 'input_file', file_id: id });
      const body = { model: 'demo-text', input: [{ role: 'user', content: parts }] };
      for (const group of ['openai', 'claude'] as const)
        await assertCheap(`40 times a file of 500 kB on ${group}`, async () => {
          const { status, text } = await send(group, '/v1/responses', json(body));
          assert.ok([200, 400, 413].includes(status), `${status} ${text.slice(0, 300)}`);
        });
    },
  },
  'a file of 63 MB': {
    covers: [],
    async run() {
      const content = 'a'.repeat(63_000_000);
      let id = '';
      await assertCheap('a file of 63 MB: uploaded', async () => {
        id = await made('openai', '/v1/files', upload(content, 'a.pdf', 'user_data'));
      });
      await assertCheap('a file of 63 MB: read', async () =>
        assert.equal((await send('openai', `/v1/files/${id}/content`)).status, 200),
      );
      await assertCheap('a file of 63 MB: deleted', () => send('openai', `/v1/files/${id}`, { method: 'DELETE' }));
      await assertCheap('a file of 63 MB: uploaded as Google', () =>
        send('gemini', '/upload/v1beta/files', { body: content, type: 'text/plain' }),
      );
    },
  },
  'a batch of 50,000 requests': {
    covers: ['batches.create', 'messageBatches.create', 'messageBatches.results'],
    async run() {
      const file = await made('openai', '/v1/files', upload(batchFile(50_000), 'in.jsonl', 'batch'));
      const bodyFor = (id: string) => ({ input_file_id: id, endpoint: '/v1/responses', completion_window: '24h' });
      // As many as the gateway sends at a time: those of the large batch wait, and cost nothing meanwhile.
      const few = await made('openai', '/v1/files', upload(batchFile(BATCHES.sentPerUser), 'few.jsonl', 'batch'));
      server.forget();
      const release = server.hold();
      try {
        const waiting = await made('openai', '/v1/batches', json(bodyFor(few)));
        await until('the requests of the first batch', () => server.received() >= BATCHES.sentPerUser);
        await assertCheap('a batch file of 50,000 lines', async () => {
          const id = await made('openai', '/v1/batches', json(bodyFor(file)));
          await send('openai', `/v1/batches/${id}/cancel`, { method: 'POST' });
        });
        const requests = Array.from({ length: 50_000 }, (_, n) => ({
          custom_id: `c${n}`,
          params: { model: 'demo-text', max_tokens: 9, messages: [{ role: 'user', content: 'a' }] },
        }));
        const body = json({ requests });
        await assertCheap('a batch of 50,000 messages', async () => {
          const id = await made('claude', '/v1/messages/batches', body);
          await send('claude', `/v1/messages/batches/${id}/cancel`, { method: 'POST' });
        });
        await send('openai', `/v1/batches/${waiting}/cancel`, { method: 'POST' });
      } finally {
        release();
      }
    },
  },
};

describe('what is kept', () => {
  for (const [name, { run }] of Object.entries(SCENARIOS)) test(`${name} takes no long turn`, run);

  test('every route that reads what is kept has a scenario', () => {
    const covered = new Set<string>(Object.values(SCENARIOS).flatMap(({ covers }) => covers));
    const kept = ROUTES.filter(({ operation, method }) => loadOf(operation, method).kind === 'kept');
    assert.deepEqual(
      kept.map(({ operation }) => operation).filter((operation) => !covered.has(operation)),
      [],
    );
  });
});

// ---------------------------------------------------------------- what providers send

const USAGE = { input_tokens: 1, output_tokens: 1 };
const message = (content: readonly object[]) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  stop_reason: 'end_turn',
  content,
  usage: USAGE,
});
interface LargeReply {
  readonly paths: readonly string[];
  write(): string;
}
const CONVERTED = '/v1/responses';
const NATIVE = '/v1/messages';
const REPLIES: Readonly<Record<string, LargeReply>> = {
  'one text of 58 MB': {
    paths: [CONVERTED, NATIVE],
    write: () => JSON.stringify(message([{ type: 'text', text: 'a'.repeat(58_000_000) }])),
  },
  'one text of 3.9 MB': {
    paths: [CONVERTED, NATIVE],
    write: () => JSON.stringify(message([{ type: 'text', text: 'a"\n'.repeat(700_000) }])),
  },
  '4,900 texts': {
    paths: [CONVERTED, NATIVE],
    write: () => JSON.stringify(message(Array(4_900).fill({ type: 'text', text: 'a' }))),
  },
  // Natively, what is no reply is parsed to be told from one, which takes long.
  '4 MB of brackets': { paths: [CONVERTED], write: () => `{"a":${'['.repeat(2_000_000)}${']'.repeat(2_000_000)}}` },
};
for (const [name, { paths, write }] of Object.entries(REPLIES))
  for (const path of paths)
    test(`a reply of ${name} to ${path} takes no long turn`, async () => {
      server.replyWith(write());
      const body =
        path === NATIVE
          ? { model: 'demo-text', max_tokens: 9, messages: [{ role: 'user', content: 'a' }] }
          : { model: 'demo-text', input: 'a', store: false };
      try {
        await assertCheap(`a reply of ${name} to ${path}`, () => send('claude', path, json(body)));
      } finally {
        server.replyWith(undefined);
      }
    });

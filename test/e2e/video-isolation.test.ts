/** Isolation of users on every video route of the endpoint table (V 1, V 5), and secrets that never leave the gateway (V 2). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  isOfferedVideo,
  type OfferedVideoOperation,
  OPERATIONS,
  VIDEO_ENDPOINTS,
  VIDEO_REQUESTS_PER_MINUTE,
  type VideoRow,
} from '../../src/rules/index.ts';
import { type Statement, statementsOf } from '../support/plan.ts';
import {
  callVideo,
  KEYS,
  startVideo,
  TASKS,
  TEST_VARIANTS,
  type TestVariant,
  taskBody,
  textItem,
  VIDEO_MODELS,
  type VideoFixture,
} from '../support/video.ts';
import { addUser, storeTask } from '../support/video-tasks.ts';
import { until } from '../support/wait.ts';

let fixture: VideoFixture;
let revoked: string;
before(async () => {
  fixture = await startVideo({ video: { clock: 'manual' } });
  revoked = await addUser(fixture.gateway, 'gone');
  await fixture.gateway.context.database.db
    .updateTable('keys')
    .set({ revoked_at: new Date() })
    .where('user_id', '=', 'gone')
    .execute();
  await fixture.gateway.apply({});
});
after(() => fixture.close());

interface Exchange {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface Sent {
  readonly key?: string | undefined;
  readonly id?: string;
  readonly query?: string;
}

const OFFERED = OPERATIONS.filter(isOfferedVideo);
const rowOf = (operation: OfferedVideoOperation): VideoRow => VIDEO_ENDPOINTS[operation];
/** Routes of tasks by what they are about; other resources have tests of their own. */
const OF_TASKS = OFFERED.filter((operation) => /^(?:(?:tasks|videos|links)\.|callbacks\.test$)/.test(operation));
const OF_ONE_TASK = OF_TASKS.filter((operation) => rowOf(operation).path.includes('{task_id}'));
const CREATES = OF_TASKS.filter((operation) => rowOf(operation).billing === 'metered');
const LISTS = OF_TASKS.filter((operation) => operation.endsWith('.list'));

async function send(operation: OfferedVideoOperation, { key, id = 'task_missing', query = '' }: Sent) {
  const { method, path, body } = rowOf(operation);
  const response = await fetch(fixture.gateway.url + path.replace(/\{\w+\}/, id) + query, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body.content === 'json' && { 'content-type': 'application/json' }),
    },
    ...(body.content === 'json' && { body: JSON.stringify(bodyOf(operation)) }),
  });
  const { status } = response;
  return { status, headers: Object.fromEntries(response.headers), text: await response.text() } satisfies Exchange;
}

const bodyOf = (operation: OfferedVideoOperation): object =>
  operation.startsWith('videos.') ? { model: VIDEO_MODELS.A, prompt: 'A lighthouse', seconds: '4' } : taskBody('A');

/** What must be equal; ids and times of a request are its own, and every request lowers the remaining rate. */
function comparable({ status, headers, text }: Exchange): object {
  const own = ['x-request-id', 'date', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'];
  return { status, text, headers: { ...headers, ...Object.fromEntries(own.map((name) => [name, 'own'])) } };
}

const codeOf = ({ text }: Exchange): string | undefined => (text === '' ? undefined : JSON.parse(text).error?.code);

/** The statements about tasks that a request sends; other statements belong to background work. */
const taskStatements = async (task: () => Promise<unknown>): Promise<Statement[]> =>
  (await statementsOf(task)).filter(({ text }) => text.includes('video_tasks'));

for (const operation of OFFERED) {
  const { method, path } = rowOf(operation);
  const route = `${method} ${path}`;

  for (const [about, keyOf] of [
    ['no key', () => undefined],
    ['a revoked key', () => revoked],
    ['an unknown key', () => 'key-that-was-never-created'],
    ["the provider's credential", () => 'sk-simulated-ep-000000000'],
  ] as const)
    test(`V 5: ${route} with ${about} gives 401 without a query for tasks`, async () => {
      const id = await storeTask(fixture.gateway, 'ana', { status: 'failed' });
      const exchanges: Exchange[] = [];
      const sent = await taskStatements(async () => exchanges.push(await send(operation, { key: keyOf(), id })));
      assert.deepEqual([exchanges[0]?.status, exchanges[0] && codeOf(exchanges[0])], [401, 'invalid_api_key']);
      assert.deepEqual(sent, []);
    });
}

for (const operation of OF_ONE_TASK) {
  const { method, path } = rowOf(operation);
  for (const variant of TEST_VARIANTS)
    test(`V 1: ${method} ${path} treats a task of another user like a missing one (${variant})`, async () => {
      const id = await storeTask(fixture.gateway, 'ana', { variant, status: 'succeeded' });
      const exchanges: Exchange[] = [];
      const ask = (task: string) =>
        taskStatements(async () => exchanges.push(await send(operation, { key: KEYS.bob, id: task })));
      const missing = `task_${'0'.repeat(id.length - 'task_'.length)}`;
      const [foreignQueries, missingQueries] = [await ask(id), await ask(missing)];
      const [foreign, absent] = exchanges.map(comparable);
      assert.deepEqual(foreign, absent);
      assert.equal(exchanges[0] && codeOf(exchanges[0]), 'task_not_found');
      assert.equal(foreignQueries.length, 1, 'one query decides');
      assert.deepEqual(
        foreignQueries.map(({ text, values }) => [text, values.map((value) => (value === id ? missing : value))]),
        missingQueries.map(({ text, values }) => [text, values]),
      );
    });

  test(`V 1: ${method} ${path} works with every key of the owner`, async () => {
    const outcomes = new Set<string>();
    for (const key of [KEYS.ana, KEYS.ana2, KEYS.onlyEp]) {
      const id = await storeTask(fixture.gateway, 'ana', { status: 'succeeded' });
      const exchange = await send(operation, { key, id });
      outcomes.add(`${exchange.status} ${exchange.status < 400 ? 'ok' : codeOf(exchange)}`);
    }
    assert.equal(outcomes.size, 1);
    for (const outcome of outcomes) assert.doesNotMatch(outcome, /^40[13] |task_not_found/);
  });
}

for (const operation of LISTS) {
  const { method, path } = rowOf(operation);
  test(`V 1: ${method} ${path} shows the same to both keys of a user and nothing to others`, async () => {
    const id = await storeTask(fixture.gateway, 'ana');
    const one = await send(operation, { key: KEYS.ana });
    assert.deepEqual(comparable(await send(operation, { key: KEYS.ana2 })), comparable(one));
    assert.ok(one.text.includes(id));
    assert.ok(!(await send(operation, { key: KEYS.bob })).text.includes(id));
  });
}

test('V 1: a cursor of another user is rejected like a missing one, by the same single query', async () => {
  const id = await storeTask(fixture.gateway, 'ana');
  const exchanges: Exchange[] = [];
  const ask = (after: string) =>
    taskStatements(async () => {
      exchanges.push(await send('videos.list', { key: KEYS.bob, query: `?after=${after}` }));
    });
  const [foreign, missing] = [await ask(id), await ask('task_missing')];
  assert.deepEqual([foreign.length, missing.length], [1, 1]);
  assert.equal(foreign[0]?.text, missing[0]?.text);
  const [one, other] = exchanges;
  assert.equal(one?.status, 400);
  assert.equal(one?.text.replace(id, 'task_missing'), other?.text);
});

for (const operation of CREATES) {
  const { method, path } = rowOf(operation);
  test(`V 1: ${method} ${path} creates a task of the caller's user`, async () => {
    const { text } = await send(operation, { key: KEYS.ana2 });
    const id: string = JSON.parse(text).id;
    assert.equal((await send('tasks.get', { key: KEYS.ana, id })).status, 200);
    assert.equal((await send('tasks.get', { key: KEYS.bob, id })).status, 404);
  });
}

for (const operation of OFFERED) {
  const { method, path, rate } = rowOf(operation);
  test(`V 7: ${method} ${path} reports the rate of the operation`, async () => {
    const { headers } = await send(operation, { key: KEYS.ana });
    assert.equal(headers['x-ratelimit-limit-requests'], String(VIDEO_REQUESTS_PER_MINUTE[rate]));
  });
}

// ---------------------------------------------------------------- secrets

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const MARKERS = {
  prompt: 'zebra-prompt-marker',
  image: 'zebra-image-marker',
  callback: 'zebra-callback-marker',
  filter: 'zebra-filter-marker',
  unknownField: 'zebra-field-value-marker',
  idempotencyKey: 'zebra-idempotency-marker',
  data: PIXEL.slice(0, 40),
} as const;

/** Texts that no response, header or log line may contain. */
const forbidden = (): string[] => [
  ...Object.values(MARKERS),
  'cgt-',
  'sk-simulated',
  new URL(fixture.sim.video.url).host,
  ...Object.values(KEYS),
];

interface SecretBody {
  readonly about: string;
  readonly variant: TestVariant;
  readonly status: number;
  readonly trigger?: string;
  readonly more?: object;
}
const SECRET_BODIES: readonly SecretBody[] = [
  ...TEST_VARIANTS.map((variant) => ({ about: 'a task', variant, status: 200 })),
  { about: 'an unknown submission', variant: 'EP', status: 202, trigger: '[sim:truncated]' },
  { about: 'a rejected parameter', variant: 'A', status: 400, trigger: '[sim:sync_400=InvalidParameter.Foo]' },
  {
    about: 'rejected content',
    variant: 'HC',
    status: 200,
    trigger: '[sim:sync_400=InputImageSensitiveContentDetected;item=0]',
  },
  { about: 'an account error', variant: 'A', status: 503, trigger: '[sim:error=AccountOverdueError;status=403]' },
  { about: 'an unknown field', variant: 'HC', status: 400, more: { unknown: MARKERS.unknownField } },
  { about: 'an invalid seed', variant: 'HC', status: 400, more: { seed: MARKERS.unknownField } },
];

test('V 2: prompts, media, addresses, credentials and ids of the provider are in no response and no log line', async () => {
  const own = await startVideo({ video: { clock: 'manual', callbacks: ['dropped'] } });
  const shared = fixture;
  fixture = own;
  try {
    const seen: string[] = [];
    const record = async (path: string, request: Parameters<typeof callVideo>[2] = {}) => {
      const response = await callVideo(own.gateway.url, path, request);
      seen.push(JSON.stringify([path, response.status, [...response.headers], response.body]));
      return response;
    };
    for (const { about, variant, status: expected, trigger = '', more } of SECRET_BODIES) {
      const { status, body } = await record(TASKS, {
        body: taskBody(variant, {
          content: [
            textItem(`${MARKERS.prompt} ${trigger}`),
            { type: 'image_url', image_url: { url: `https://example.com/${MARKERS.image}.png` }, role: 'first_frame' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` }, role: 'last_frame' },
          ],
          callback_url: `https://example.com/${MARKERS.callback}`,
          ...more,
        }),
        headers: { 'idempotency-key': `${MARKERS.idempotencyKey} ${about} ${variant}` },
      });
      assert.equal(status, expected, `${about}: ${JSON.stringify(body)}`);
      for (const path of [`${TASKS}/${body.id}`, `/v1/videos/${body.id}`]) {
        await record(path);
        await record(path, { key: KEYS.bob });
        await record(path, { method: 'DELETE' });
      }
    }
    await record('/v1/videos', { body: { model: VIDEO_MODELS.EP, prompt: MARKERS.prompt, seconds: MARKERS.prompt } });
    await record('/v1/videos', { body: { model: VIDEO_MODELS.EP, prompt: MARKERS.prompt } });
    for (const path of [TASKS, '/v1/videos', `${TASKS}?filter.model=${MARKERS.filter}`]) await record(path);
    await until('the log', () => own.gateway.log.some(({ op }) => op === 'tasks.list'));
    for (const text of [...seen, ...own.gateway.log.map((line) => JSON.stringify(line))])
      for (const secret of forbidden()) {
        const isOwnQuery = secret === MARKERS.filter && text.startsWith(`["${TASKS}?`);
        assert.ok(isOwnQuery || !text.includes(secret), `${secret} in ${text.slice(0, 2_000)}`);
      }
  } finally {
    fixture = shared;
    await own.close();
  }
});

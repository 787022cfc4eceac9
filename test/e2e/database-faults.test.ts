/** Faults of the database other than its absence, and clocks that are wrong: what callers get, and that nothing is lost. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { connect } from '../../src/platform/db/index.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { SkewedClock } from '../support/skewed-clock.ts';
import { callVideo, KEYS, TASKS, taskBody, videoSetup } from '../support/video.ts';
import { until } from '../support/wait.ts';

type Client = Awaited<ReturnType<typeof connect>>;

interface DatabaseFault {
  readonly name: string;
  /** `name` is that of the database; `inside` is connected to it, `outside` to another one. */
  begin(name: string, clients: { readonly inside: Client; readonly outside: Client }): Promise<unknown>;
  end(name: string, clients: { readonly inside: Client; readonly outside: Client }): Promise<unknown>;
}

/** The connections of the gateway end, so that it needs new ones. */
const disconnect = (name: string, outside: Client): Promise<unknown> =>
  outside.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = $2', [
    name,
    'dragoman',
  ]);

/** Where money and tasks are written. */
const WRITTEN = ['usage_records', 'video_tasks', 'entries'];

const FAULTS: readonly DatabaseFault[] = [
  {
    name: 'without free connections',
    begin: async (name, { outside }) => {
      await outside.query(`alter database ${name} connection limit 0`);
      await disconnect(name, outside);
    },
    end: (name, { outside }) => outside.query(`alter database ${name} connection limit -1`),
  },
  {
    name: 'that is read-only',
    begin: async (name, { outside }) => {
      await outside.query(`alter database ${name} set default_transaction_read_only = on`);
      await disconnect(name, outside);
    },
    end: async (name, { outside }) => {
      await outside.query(`alter database ${name} reset default_transaction_read_only`);
      await disconnect(name, outside);
    },
  },
  {
    name: 'whose disk is full',
    begin: async (_name, { inside }) => {
      await inside.query(`create function fill_disk() returns trigger language plpgsql as $$ begin
        raise exception using errcode = '53100', message = 'could not extend file: No space left on device'; end $$`);
      for (const table of WRITTEN)
        await inside.query(`create trigger full_disk before insert on ${table} execute function fill_disk()`);
    },
    end: (_name, { inside }) => inside.query('drop function fill_disk cascade'),
  },
];

let sim: Sim;
let own: TestDatabase;
let gateway: TestGateway;
const clock = new SkewedClock();

before(async () => {
  sim = await startSim({ video: { rateLimits: false } });
  own = await testDatabase();
  gateway = await startGateway({
    database: own,
    worker: true,
    clock,
    limits: { connectMs: 2_000, statementMs: 4_000, callMs: 2_000, probeMs: 1_000 },
    setup: setup(),
  });
});
after(async () => {
  await gateway?.stop();
  await sim?.close();
  await own?.drop();
});

function setup(): object {
  const video = videoSetup(sim.video.url) as { accounts: { id: string }[]; models: object[] };
  return {
    ...video,
    accounts: video.accounts.map((account) =>
      account.id === 'oa1' ? { ...account, base_url: `${sim.url}/v1` } : account,
    ),
    models: [...video.models, { id: 'demo-responses', groups: ['openai'], prices: { input: '1', output: '2' } }],
  };
}

let served = 0;

async function call(url = gateway.url): Promise<number> {
  const response = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEYS.ana}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-responses', input: 'hello', max_output_tokens: 20, store: false }),
  });
  await response.text();
  if (response.status === 200) served += 1;
  return response.status;
}

const create = (url = gateway.url) => callVideo(url, TASKS, { body: taskBody('EP') });

async function assertRecorded(inside: Client): Promise<void> {
  await until('the usage to be recorded', async () => {
    const { rows } = await inside.query<{ count: bigint }>('select count(*) from usage_records where operation = $1', [
      'responses.create',
    ]);
    return Number(rows[0]?.count) === served;
  });
}

for (const fault of FAULTS)
  test(`a database ${fault.name}: calls go on, changes get 503, and nothing is lost`, async () => {
    const name = new URL(own.url).pathname.slice(1);
    const [inside, outside] = await Promise.all([connect(own.url), connect(process.env.TEST_DATABASE_URL ?? '')]);
    try {
      assert.equal(await call(), 200);
      await fault.begin(name, { inside, outside });
      const refused = await until('the fault to be seen', async () => {
        const { status, body } = await create();
        return status === 503 ? body : undefined;
      });
      assert.equal(refused.error?.code, 'server_is_overloaded');
      for (let n = 0; n < 3; n += 1) assert.equal(await call(), 200, 'from the lease');
      await fault.end(name, { inside, outside });
      await until('a task to be created', async () => (await create()).status === 200);
      assert.equal(await call(), 200);
      await assertRecorded(inside);
    } finally {
      await Promise.all([inside.end(), outside.end()]);
    }
    assert.deepEqual(
      gateway.log.filter(({ msg }) => msg === 'request.internal_error'),
      [],
    );
  });

longTest('replicas whose clocks differ or jump serve calls and tasks, and charge once', async () => {
  const other = await startGateway({ database: own });
  const inside = await connect(own.url);
  try {
    // A replica whose clock is behind does not know prices that are newer than its time.
    await inside.query('alter table prices disable trigger user');
    await inside.query(`update prices set valid_from = valid_from - interval '1 day'`);
    await inside.query('alter table prices enable trigger user');
    await gateway.apply({ models: [{ id: 'another', groups: ['openai'], prices: { input: '1', output: '1' } }] });
    const hasRead = ({ catalog }: TestGateway): boolean => catalog().resolve('openai', 'another') !== undefined;
    await until('the prices to be read', () => hasRead(gateway) && hasRead(other));
    const { body } = await create(other.url);
    for (const jumpMs of [2 * 86_400_000, -2 * 86_400_000 - 3_600_000, 3_600_000]) {
      clock.shift(jumpMs);
      for (const { url } of [gateway, other]) {
        assert.equal(await call(url), 200);
        assert.equal((await create(url)).status, 200);
      }
    }
    await until('the end of the task', async () => {
      const { body: task } = await callVideo(other.url, `${TASKS}/${String(body.id)}`);
      assert.doesNotMatch(String(task.status), /failed|expired|cancelled/);
      return task.status === 'succeeded';
    });
    await assertRecorded(inside);
    const { rows } = await inside.query('select id from replicas where fenced');
    assert.deepEqual(rows, []);
  } finally {
    await inside.end();
    await other.stop();
  }
});

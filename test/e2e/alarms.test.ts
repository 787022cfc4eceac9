/** Alarms from cause to metrics, log and `dragoman doctor`, and back. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { after, before, test } from 'node:test';
import { type RawBuilder, sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { ALARMS, type AlarmName } from '../../src/ledger/index.ts';
import { runHere } from '../support/cli.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { storeTask } from '../support/stored-task.ts';
import { until } from '../support/wait.ts';

let sim: Sim;
let gateway: TestGateway;
let key: string;
let poorKey: string;

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ worker: true, env: { ALARM_CHECK_MS: '150' } });
  const keys = await gateway.apply({
    ...basicSetup(sim.url),
    models: [
      { id: 'demo-messages', groups: ['claude'], prices: { input: '1', output: '1' } },
      // Admitted for one token at a dollar, but charged for its real input.
      {
        id: 'demo-steep',
        groups: ['claude'],
        upstream: 'demo-messages',
        context: 1,
        prices: { input: '1000000', output: '0' },
      },
    ],
  });
  key = keys.claude ?? '';
  const poor = await gateway.apply({
    users: [{ id: 'poor', balance: '1' }],
    keys: [{ user: 'poor', group: 'claude' }],
  });
  poorKey = poor.claude ?? '';
});
after(async () => {
  await gateway.stop().finally(() => sim.close());
});

const execute = (statement: RawBuilder<unknown>) => statement.execute(gateway.context.database.db);

async function metric(name: string): Promise<number | undefined> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}
const alarm = (name: AlarmName) => metric(`dragoman_alarm{alarm="${name}"}`);
const untilRaised = (name: AlarmName) => until(`${name} to be untilRaised`, async () => ((await alarm(name)) ?? 0) > 0);
const untilCleared = (name: AlarmName) => until(`${name} to be cleared`, async () => (await alarm(name)) === 0);
const logLines = (event: string, name: AlarmName) =>
  gateway.log.filter(({ msg, alarm: of }) => msg === event && of === name);

const dragoman = (...args: string[]) =>
  runHere(args, {
    env: {
      DATABASE_URL: gateway.database.url,
      DATA_DIR: gateway.context.config.DATA_DIR,
      MASTER_KEY: gateway.context.config.MASTER_KEY,
    },
  });

async function call(model: string, by = key): Promise<void> {
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 10, messages: [{ role: 'user', content: 'hello there' }] }),
  });
  assert.equal(response.status, 200, await response.text());
}

test('every alarm is 0 in a healthy system, and the last check has an age', async () => {
  await until('an alarm check', async () => (await metric('dragoman_alarm_check_age_seconds')) !== undefined);
  for (const name of Object.keys(ALARMS) as AlarmName[]) assert.equal(await alarm(name), 0, name);
  const { code, stdout } = await dragoman('doctor');
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^ok {4}Alarms +nothing needs an operator$/m);
});

const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);

/** How to raise and clear each alarm; one that cannot be cleared at once has no `end`. */
const CASES: readonly {
  name: AlarmName;
  begin: () => Promise<unknown>;
  end?: () => Promise<unknown>;
  doctor: RegExp;
}[] = [
  {
    name: 'ledger_faults',
    begin: () => execute(sql`update wallets set credits = credits + 5 where user_id = 'ana'`),
    end: () => execute(sql`update wallets set credits = credits - 5 where user_id = 'ana'`),
    doctor: /^BAD {3}Alarm +ledger_faults 2: .*\(wallet\.credits is not the sum of its entries: ana/m,
  },
  {
    name: 'usage_quarantined',
    begin: () => execute(sql`insert into usage_quarantine (id, fault, raw) values ('use_invalid', 'negative', '{}')`),
    end: () =>
      execute(sql`update usage_quarantine set outcome = 'dismissed', outcome_reason = 'test', resolved_at = now()`),
    doctor: /usage_quarantined 1: .*\(use_invalid\); review them at \/admin\/v1\/quarantine/,
  },
  {
    name: 'replicas_stale',
    begin: async () => {
      await execute(sql`insert into replicas (id, host, seen_at) values ('rep_gone', 'far', now() - interval '1 day')`);
      await execute(sql`with lease as (insert into leases (user_id, replica_id, nanos) values ('ana', 'rep_gone', 70))
        update wallets set held = held + 70 where user_id = 'ana'`);
    },
    end: async () => {
      const list = await dragoman('replica', 'list');
      assert.match(list.stdout, /^rep_gone\tfar\t\S+\t0\.00000007$/m);
      const { code, stderr } = await dragoman('replica', 'remove', 'rep_gone');
      assert.equal(code, 0, stderr);
      const rows = await execute(sql`select from leases where replica_id = 'rep_gone'`);
      assert.equal(rows.rows.length, 0);
      const audited = await execute(
        sql`select from audit where action = 'replica.removed' and subject = 'replica:rep_gone'`,
      );
      assert.equal(audited.rows.length, 1);
    },
    doctor: /replicas_stale 1: .*\(rep_gone on far, whose leases hold \$0\.00000007\); .*dragoman replica remove/,
  },
  {
    name: 'journal_backlog',
    begin: () =>
      execute(sql`insert into replicas (id, host, pending, pending_since, seen_at)
        values ('rep_slow', 'near', 12, now() - interval '5 minutes', now() + interval '1 hour')`),
    end: () => execute(sql`delete from replicas where id = 'rep_slow'`),
    doctor: /journal_backlog 1: .*\(12 of rep_slow\)/,
  },
  {
    name: 'callbacks_dead',
    begin: () =>
      execute(sql`insert into callback_events (user_id, task_id, version, event_id, url, host, body, state, finished_at)
        values ('ana', 'task_1', 2, 'evt_dead', 'https://hooks.host.net/', 'hooks.host.net', '{}', 'dead', now())`),
    end: () => execute(sql`delete from callback_events`),
    doctor: /callbacks_dead 1: .*\(1 of ana to hooks\.host\.net\)/,
  },
  {
    name: 'video_usage_missing',
    begin: () =>
      storeTask(gateway.context.database.db, {
        user_id: 'ana',
        id: 'task_reviewed',
        status: 'succeeded',
        finished_at: hoursAgo(25),
        review_until: hoursAgo(1),
      }),
    end: () => execute(sql`update video_tasks set review_until = null where id = 'task_reviewed'`),
    doctor: /video_usage_missing 1: .*\(task_reviewed\); read \/admin\/v1\/reviews/,
  },
  {
    name: 'video_submissions_unknown',
    begin: () =>
      storeTask(gateway.context.database.db, {
        user_id: 'ana',
        id: 'task_unknown',
        submission: 'unknown',
        account_id: 'account-ep',
        created_at: hoursAgo(2),
      }),
    end: () => execute(sql`delete from video_tasks where id = 'task_unknown'`),
    doctor: /video_submissions_unknown 1: .*\(task_unknown on account-ep\)/,
  },
  {
    name: 'charges_above_reservation',
    begin: () => call('demo-steep', poorKey),
    doctor: /charges_above_reservation 1: .*\(1 of poor\)/,
  },
];

test('alarms appear in the metrics, once in the log and in doctor with advice, and disappear when cleared', async () => {
  for (const { begin } of CASES) await begin();
  for (const { name } of CASES) await untilRaised(name);
  const { code, stdout } = await dragoman('doctor');
  assert.equal(code, 1);
  for (const { doctor } of CASES) assert.match(stdout, doctor);
  for (const { name, end } of CASES) {
    const [line, ...more] = logLines('alarm.raised', name);
    assert.deepEqual(more, [], `${name} is logged once`);
    assert.deepEqual([line?.about, line?.advice], [ALARMS[name].about, ALARMS[name].advice]);
    if (end) assert.deepEqual(logLines('alarm.cleared', name), []);
  }
  for (const { end } of CASES) await end?.();
  for (const { name, end } of CASES) {
    if (!end) continue;
    await untilCleared(name);
    await until('the log line', () => logLines('alarm.cleared', name).length === 1);
  }
});

test('ledger check verifies every entry and fails when one is wrong', async () => {
  const good = await dragoman('ledger', 'check');
  assert.equal(good.code, 0, good.stdout + good.stderr);
  await execute(sql`update wallets set credits = credits + 5 where user_id = 'ana'`);
  const bad = await dragoman('ledger', 'check');
  await execute(sql`update wallets set credits = credits - 5 where user_id = 'ana'`);
  assert.equal(bad.code, 1);
  assert.match(bad.stdout, /^wallet\.credits is not the sum of its entries\tana\t/m);
});

longTest(
  'flusher_failing and the journal metrics show records that the database rejects, until they are flushed',
  async () => {
    const { db } = gateway.context.database;
    const count = async (): Promise<number> => (await db.selectFrom('usage_records').select('id').execute()).length;
    const before = await count();
    await execute(sql`alter table usage_daily rename to usage_daily_away`);
    await call('demo-messages');
    await until('three failures', async () => ((await alarm('flusher_failing')) ?? 0) >= 3);
    assert.equal(await metric('dragoman_journal_pending_records'), 1);
    assert.ok(((await metric('dragoman_journal_oldest_seconds')) ?? 0) > 0);
    assert.ok(((await metric('dragoman_journal_disk_bytes')) ?? 0) > 100);
    assert.ok(((await metric('dragoman_flush_failures')) ?? 0) >= 3);
    assert.equal(logLines('alarm.raised', 'flusher_failing').length, 1);
    await execute(sql`alter table usage_daily_away rename to usage_daily`);
    await untilCleared('flusher_failing');
    await until('the log line', () => logLines('alarm.cleared', 'flusher_failing').length === 1);
    assert.equal(await metric('dragoman_journal_pending_records'), 0);
    assert.equal(await count(), before + 1);
  },
);

test('replica remove rejects a live replica and an unknown one', async () => {
  const { db } = gateway.context.database;
  const { id } = await db.selectFrom('replicas').select('id').where('host', '=', hostname()).executeTakeFirstOrThrow();
  const [alive, unknown] = await Promise.all([
    dragoman('replica', 'remove', id),
    dragoman('replica', 'remove', 'rep_x'),
  ]);
  assert.equal(alive.code, 1);
  assert.match(alive.stderr, /was seen within the last minute/);
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /There is no replica rep_x/);
});

test('the pages of docs/operating name every alarm and every metric', async () => {
  const pageOf = (name: string): string =>
    readFileSync(new URL(`../../docs/operating/${name}.md`, import.meta.url), 'utf8');
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const metrics = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? '');
  assert.ok(metrics.length > 5);
  for (const name of Object.keys(ALARMS)) assert.ok(pageOf('alarms').includes(`| \`${name}\` |`), name);
  for (const name of metrics) assert.ok(pageOf('metrics').includes(`\`${name}\``), name);
});

test('docs/operating/log.md names every log event of video tasks', () => {
  const root = new URL('../../', import.meta.url);
  const manual = readFileSync(new URL('docs/operating/log.md', root), 'utf8');
  const files = globSync('src/video/**/*.ts', { cwd: root }).map((file) => readFileSync(new URL(file, root), 'utf8'));
  const events = files.flatMap((text) =>
    [...text.matchAll(/\blog\.\w+\(\s*'([a-z_]+\.[a-z_]+)'/g)].map(([, name]) => name ?? ''),
  );
  assert.ok(events.length > 5);
  for (const name of new Set(events)) assert.ok(manual.includes(`\`${name}\``), name);
});

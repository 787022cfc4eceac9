import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { after, before, test } from 'node:test';
import { type RawBuilder, sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { ALARMS, type AlarmName } from '../../src/ledger/index.ts';
import { run } from '../support/command.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
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
      // Admitted for one token at a dollar, charged for what it really reads.
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

const execute = (statement: RawBuilder<unknown>) => statement.execute(gateway.ground.database.db);

async function metric(name: string): Promise<number | undefined> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}
const alarm = (name: AlarmName) => metric(`dragoman_alarm{alarm="${name}"}`);
const raised = (name: AlarmName) => until(`${name} to be raised`, async () => ((await alarm(name)) ?? 0) > 0, 10_000);
const cleared = (name: AlarmName) => until(`${name} to be over`, async () => (await alarm(name)) === 0, 15_000);
const told = (event: string, name: AlarmName) =>
  gateway.log.filter(({ msg, alarm: of }) => msg === event && of === name);

const dragoman = (...args: string[]) =>
  run(args, {
    env: {
      DATABASE_URL: gateway.database.url,
      DATA_DIR: gateway.ground.config.DATA_DIR,
      MASTER_KEY: gateway.ground.config.MASTER_KEY,
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

test('while all is well every alarm says nought, and somebody looks', async () => {
  await until('a look', async () => (await metric('dragoman_alarm_check_age_seconds')) !== undefined);
  for (const name of Object.keys(ALARMS) as AlarmName[]) assert.equal(await alarm(name), 0, name);
  const { code, stdout } = await dragoman('doctor');
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^ok {4}Alarms +nothing needs an operator$/m);
});

/** Breaks it and puts it right again; what cannot be put right in a moment has no second half. */
const BREAKS: readonly {
  name: AlarmName;
  begin: () => Promise<unknown>;
  end?: () => Promise<unknown>;
  doctor: RegExp;
}[] = [
  {
    name: 'ledger_faults',
    begin: () => execute(sql`update wallets set credits = credits + 5 where user_id = 'ana'`),
    end: () => execute(sql`update wallets set credits = credits - 5 where user_id = 'ana'`),
    doctor: /^BAD {3}Alarm +ledger\.faults 2: .*\(wallet\.credits is not the sum of its entries: ana/m,
  },
  {
    name: 'usage_quarantined',
    begin: () => execute(sql`insert into usage_quarantine (id, fault, raw) values ('use_odd', 'negative', '{}')`),
    end: () =>
      execute(sql`update usage_quarantine set outcome = 'dismissed', outcome_reason = 'test', resolved_at = now()`),
    doctor: /usage\.quarantined 1: .*\(use_odd\); look at them at \/admin\/v1\/quarantine/,
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
      const { code, stderr } = await dragoman('replica', 'forget', 'rep_gone');
      assert.equal(code, 0, stderr);
      const rows = await execute(sql`select from leases where replica_id = 'rep_gone'`);
      assert.equal(rows.rows.length, 0);
      const audited = await execute(
        sql`select from audit where action = 'replica.removed' and subject = 'replica:rep_gone'`,
      );
      assert.equal(audited.rows.length, 1);
    },
    doctor: /replicas\.silent 1: .*\(rep_gone on far\); .*dragoman replica forget/,
  },
  {
    name: 'journal_backlog',
    begin: () =>
      execute(sql`insert into replicas (id, host, pending, pending_since, seen_at)
        values ('rep_slow', 'near', 12, now() - interval '5 minutes', now() + interval '1 hour')`),
    end: () => execute(sql`delete from replicas where id = 'rep_slow'`),
    doctor: /journals\.behind 1: .*\(12 of rep_slow\)/,
  },
  {
    name: 'charges_above_reservation',
    begin: () => call('demo-steep', poorKey),
    doctor: /wallets\.beyond 1: .*\(1 of poor\)/,
  },
];

test('each thing that is wrong shows in the metrics, in the log once, in the doctor with advice, and when it is over', async () => {
  for (const { name, begin } of BREAKS) {
    await begin();
    await raised(name);
  }
  const { code, stdout } = await dragoman('doctor');
  assert.equal(code, 1);
  for (const { doctor } of BREAKS) assert.match(stdout, doctor);
  for (const { name, end } of BREAKS) {
    const [line, ...more] = told('alarm.raised', name);
    assert.deepEqual(more, [], `${name} is told once`);
    assert.deepEqual([line?.about, line?.advice], [ALARMS[name].about, ALARMS[name].advice]);
    if (!end) continue;
    assert.deepEqual(told('alarm.cleared', name), []);
    await end();
    await cleared(name);
    await until('the line', () => told('alarm.cleared', name).length === 1);
  }
});

test('records that the database does not take show as a backlog and a failing flusher, and then they are in', async () => {
  const { db } = gateway.ground.database;
  const count = async (): Promise<number> => (await db.selectFrom('usage_records').select('id').execute()).length;
  const before = await count();
  await execute(sql`alter table usage_daily rename to usage_daily_away`);
  await call('demo-messages');
  await until('three failures', async () => ((await alarm('flusher_failing')) ?? 0) >= 3, 10_000);
  assert.equal(await metric('dragoman_journal_pending_records'), 1);
  assert.ok(((await metric('dragoman_journal_oldest_seconds')) ?? 0) > 0);
  assert.ok(((await metric('dragoman_journal_disk_bytes')) ?? 0) > 100);
  assert.ok(((await metric('dragoman_flush_failures')) ?? 0) >= 3);
  assert.equal(told('alarm.raised', 'flusher_failing').length, 1);
  await execute(sql`alter table usage_daily_away rename to usage_daily`);
  await cleared('flusher_failing');
  await until('the line', () => told('alarm.cleared', 'flusher_failing').length === 1);
  assert.equal(await metric('dragoman_journal_pending_records'), 0);
  assert.equal(await count(), before + 1);
});

test('a replica that lives cannot be forgotten, nor one that nobody knows', async () => {
  const { db } = gateway.ground.database;
  const { id } = await db.selectFrom('replicas').select('id').where('host', '=', hostname()).executeTakeFirstOrThrow();
  const [alive, stranger] = await Promise.all([
    dragoman('replica', 'forget', id),
    dragoman('replica', 'forget', 'rep_x'),
  ]);
  assert.equal(alive.code, 1);
  assert.match(alive.stderr, /was seen within the last minute/);
  assert.equal(stranger.code, 1);
  assert.match(stranger.stderr, /There is no replica rep_x/);
});

test('the manual names every alarm and every metric', async () => {
  const manual = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const metrics = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? '');
  assert.ok(metrics.length > 5);
  for (const name of [...Object.keys(ALARMS), ...metrics]) assert.ok(manual.includes(`\`${name}\``), name);
});

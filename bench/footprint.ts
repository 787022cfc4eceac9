/**
 * `npm run bench -- footprint`: what a call costs the database: statements, transactions, bytes of the write-ahead log
 * and bytes of rows. A gateway in this process serves calls of many users at a fixed rate, with an embedded PostgreSQL
 * and a simulated provider. `--seconds` for each rate. CPU load of the machine does not change these figures, as long
 * as the rate is kept.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { applySetup, parseSetup } from '../src/catalog/setup/index.ts';
import { serve } from '../src/program/server/serve.ts';
import { type Statement, statementsOf } from '../test/support/plan.ts';
import { benchRequest } from './bodies.ts';
import { freePort, nextMessage, startHelper } from './child.ts';
import { openBenchFixture, writtenBy } from './fixture.ts';
import { describeMachine } from './machine.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' } } });
const SECONDS = Number(values.seconds);
/** The pages that calls write to are in the log in full once after a checkpoint; the warm-up pays for that. */
const WARM_UP_MS = 5_000;
/** The newest calls are flushed within a second, and the request log is written as often. */
const SETTLE_MS = 2_500;

interface Load {
  readonly rate: number;
  readonly users: number;
}
const USERS = 500;
const LOADS: readonly Load[] = [
  { rate: 0, users: 1 },
  { rate: 10, users: USERS },
  { rate: 100, users: USERS },
  { rate: 100, users: 1 },
];

/** Tables that grow with calls, and what they hold. */
const GROWING = {
  usage_records: 'one row for each charged call',
  requests: 'one row for each call, in the request log',
  entries: 'one row for each wallet and flush',
  usage_daily: 'one row for each user, day, key, model and account',
} as const;

/** Statements by what they are for. */
const KINDS: readonly (readonly [pattern: RegExp, kind: string])[] = [
  [/insert into leases|update leases|from leases/, 'leases'],
  [/usage_records|reopen_usage_days|usage_month|from wallets/, 'charges'],
  [/insert into "?requests|request_day|request_hours_due|request_faults/, 'request log'],
  [/"?keys"?/, 'keys'],
  [/account_/, 'health of accounts'],
  [/replicas/, 'heartbeats'],
  [/revisions/, 'watch of revisions'],
  [/^(?:begin|commit|start|set)/i, 'begin and commit'],
  [/^select 1$/, 'probes of connections'],
];
const kindOf = (text: string): string => KINDS.find(([pattern]) => pattern.test(text))?.[1] ?? 'other';

const keyOf = (user: number): string => `footprint-key-of-user-${user}-of-the-messages-group`;

const upstream = startHelper('./upstream.ts', undefined);
const { port: upstreamPort } = await nextMessage<{ port: number }>(upstream);
const { context, close } = await openBenchFixture({ PORT: String(await freePort()), SHEDDING: 'off' });
const { db } = context.database;
try {
  await applySetup(db, parseSetup(JSON.stringify(setup())), { secrets: context.secrets });
  const server = await serve(context, { worker: false });
  console.log(
    `Machine: ${describeMachine()}. Calls of up to ${USERS} users on one replica, ${SECONDS} s at each rate.`,
  );
  console.log(
    '| calls a second | users | statements a second | statements a call | transactions a call | log bytes a call |',
  );
  console.log('|--:|--:|--:|--:|--:|--:|');
  for (const load of LOADS) await report(load, server.url);
  await printRows();
  await server.stop();
} finally {
  await close();
  await upstream.stop();
}

function setup(): object {
  const users = Array.from({ length: USERS }, (_, n) => n);
  return {
    accounts: [
      { id: 'mock', group: 'messages', base_url: `http://127.0.0.1:${upstreamPort}`, api_key: 'mock-credential' },
    ],
    users: users.map((n) => ({ id: `user-${n}`, balance: '1000' })),
    keys: users.map((n) => ({ user: `user-${n}`, group: 'messages', name: 'bench', key: keyOf(n) })),
  };
}

async function report(load: Load, url: string): Promise<void> {
  await send(load, url, WARM_UP_MS);
  await pause(SETTLE_MS);
  const before = await writtenBy(db);
  let calls = 0;
  const sent = await statementsOf(async () => {
    calls = await send(load, url, SECONDS * 1_000);
    await pause(SETTLE_MS);
  });
  const after = await writtenBy(db);
  const seconds = SECONDS + SETTLE_MS / 1_000;
  const perCall = (value: number): string => (calls === 0 ? '-' : (value / calls).toFixed(2));
  console.log(
    `| ${load.rate} | ${load.users} | ${(sent.length / seconds).toFixed(1)} | ${perCall(sent.length)} | ${perCall(after.transactions - before.transactions)} | ${calls === 0 ? '-' : Math.round((after.bytes - before.bytes) / calls)} |`,
  );
  console.log(`  ${kindsOf(sent, seconds)}`);
}

/** Calls at fixed times; returns how many were served. */
async function send({ rate, users }: Load, url: string, ms: number): Promise<number> {
  const { body } = benchRequest('messages', 'bench-burst', false);
  const open: Promise<void>[] = [];
  let served = 0;
  const begun = performance.now();
  for (let n = 0; performance.now() - begun < ms; n += 1) {
    if (rate > 0) open.push(call(n));
    await pause(rate > 0 ? Math.max(0, begun + ((n + 1) * 1_000) / rate - performance.now()) : ms);
  }
  await Promise.all(open);
  return served;

  async function call(n: number): Promise<void> {
    const headers = {
      'x-api-key': keyOf(n % users),
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
    };
    const response = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`a call got ${response.status}`);
    served += 1;
  }
}

/** Statements a second by what they do. */
function kindsOf(sent: readonly Statement[], seconds: number): string {
  const counts = new Map<string, number>();
  for (const { text } of sent) counts.set(kindOf(text), (counts.get(kindOf(text)) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${kind} ${(count / seconds).toFixed(2)}`)
    .join(', ');
}

async function printRows(): Promise<void> {
  console.log('| table | rows | bytes a row | bytes of its indexes | |');
  console.log('|---|--:|--:|--:|---|');
  for (const [table, about] of Object.entries(GROWING)) {
    const { rows } = await sql<{ rows: number; bytes: number; indexes: number }>`
      select (select count(*) from ${sql.table(table)})::float8 as rows,
        (select avg(pg_column_size(t.*)) from ${sql.table(table)} t)::float8 as bytes,
        (select pg_indexes_size(${table}::regclass) + coalesce(sum(pg_indexes_size(inhrelid)), 0) from pg_inherits
          where inhparent = ${table}::regclass)::float8 as indexes`.execute(db);
    const [row] = rows;
    if (row)
      console.log(
        `| \`${table}\` | ${row.rows} | ${Math.round(row.bytes)} | ${Math.round(row.indexes / Math.max(1, row.rows))} | ${about} |`,
      );
  }
}

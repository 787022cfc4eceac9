/**
 * What crosses a threshold and what does not, at the threshold itself. test/e2e/warnings.test.ts follows crossings to
 * their notices.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { makeUser } from '../../../test/support/ledger-process.ts';
import { type Database, type Db, openDatabase } from '../../platform/db/index.ts';
import { ACCOUNT_TROUBLES, WARNING_KIND_NAMES, WARNING_LIMITS } from '../../rules/index.ts';
import { crossings } from './crossings.ts';
import { createWarning } from './rules.ts';

const NOON = new Date(Date.UTC(2026, 10, 17, 12, 30));
let own: TestDatabase;
let database: Database;
let db: Db;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url, 2);
  ({ db } = database);
});
after(async () => {
  await database.close();
  await own.drop();
});
beforeEach(() => db.deleteFrom('warning_rules').execute());

const watch = (rule: Parameters<typeof createWarning>[1]) =>
  createWarning(db, rule, { owner: '', by: { actor: 'cli' } });

/** Subjects with their values, by subject. */
async function crossed(): Promise<Record<string, string>> {
  const kinds = new Map(WARNING_KIND_NAMES.map((kind) => [kind, { isOfAll: true }]));
  const { rows } = await sql<{ subject: string; value: string }>`
    select subject, value from (${crossings(kinds, NOON)}) c`.execute(db);
  return Object.fromEntries(rows.map(({ subject, value }) => [subject, value]));
}

test('a balance that is as high as the amount is not below it, of one user or of all', async () => {
  await makeUser(db, 'enough', 5_000_000_000n);
  await makeUser(db, 'short', 4_999_999_999n);
  await watch({ kind: 'balance', amount: '5' });
  assert.deepEqual(await crossed(), { short: '4999999999' });
  await db.deleteFrom('warning_rules').execute();
  for (const subject of ['enough', 'short']) await watch({ kind: 'balance', amount: '5', subject });
  assert.deepEqual(await crossed(), { short: '4999999999' });
});

test('a rule names at most a thousand subjects', async () => {
  await sql`insert into users (id) select 'poor' || n from generate_series(1, ${WARNING_LIMITS.subjects}) n`.execute(
    db,
  );
  await watch({ kind: 'balance', amount: '5' });
  assert.equal(Object.keys(await crossed()).length, WARNING_LIMITS.subjects);
});

test('an account is in trouble as a whole, as long as its cooldown lasts, and by its worst state', async () => {
  await sql`insert into groups (id, style, name, position) values ('g', 'responses', 'x', 0)`.execute(db);
  const addAccount = (id: string) =>
    sql`
    insert into accounts (id, group_id, base_url, credential_sealed, weight, max_concurrency, features, position)
    values (${id}, 'g', 'http://x', '', 1, 1, '{}', 0)`.execute(db);
  const park = (id: string, cause: string) =>
    sql`insert into account_parks (account_id, state, cause) values (${id}, 'parked', ${cause})`.execute(db);
  const cool = (id: string, reason: string, { operation = '', until = '1 hour' }) =>
    sql`
    insert into account_cooldowns (account_id, operation, model, replica_id, reason, faults, ejections, since, until, in_use)
    values (${id}, ${operation}, '', 'rep_x', ${reason}, 1, 0, now(), now() + ${until}::interval, false)`.execute(db);
  for (const id of ['refused', 'by-hand', 'spent', 'cooling', 'for-one-use', 'over', 'both', 'limited'])
    await addAccount(id);
  const used = {
    limited: { requests: 3, tokens: 0, limit: 'rpm', until: Date.now() + 3_600_000 },
    'by-hand': { limit: 'tpm', until: Date.now() + 3_600_000 },
    over: { limit: 'tpm', until: Date.now() - 1 },
  };
  await sql`insert into account_loads values ('rep_x', '{}', now(), ${JSON.stringify(used)}::jsonb)`.execute(db);
  await park('refused', 'credential');
  for (const id of ['by-hand', 'both']) await park(id, 'operator');
  for (const id of ['spent', 'both']) await cool(id, 'quota_exhausted', {});
  await cool('cooling', 'rate_limited', {});
  await cool('for-one-use', 'quota_exhausted', { operation: 'reply' });
  await cool('over', 'quota_exhausted', { until: '-1 second' });
  await watch({ kind: 'account', states: [...ACCOUNT_TROUBLES] });
  assert.deepEqual(await crossed(), {
    limited: 'limited',
    refused: 'out',
    spent: 'out',
    both: 'out',
    'by-hand': 'parked',
    cooling: 'cooling',
  });
});

test('the last two hours are the current one and the one before it', async () => {
  for (const [hour, failed] of [
    ['10:00', 0],
    ['11:00', 40],
    ['12:00', 60],
  ] as const)
    await sql`
      insert into request_hours select (jsonb_populate_record(null::request_hours, ${JSON.stringify({
        level: 'total',
        hour: `2026-11-17T${hour}Z`,
        group_id: '',
        account_id: '',
        model: '',
        requests: 100,
        provider_errors: failed,
        own_errors: 0,
        caller_errors: 0,
        client_closed: 0,
        input_tokens: 0,
        cached_input_tokens: 0,
        output_tokens: 0,
        nanos: 0,
        cost_nanos: 0,
        cost_unknown: 0,
        first_byte: 0,
        total: 0,
        added: 0,
        failover: 0,
      })}::jsonb)).*`.execute(db);
  await watch({ kind: 'errors', percent: 1 });
  assert.deepEqual(await crossed(), { all: '50' });
});

test('an alarm that is over is none', async () => {
  await sql`
    insert into alarms (name, count, detail, looked_at)
    values ('callbacks_dead', 2, '2 of ann', now()), ('usage_quarantined', 0, '', now())`.execute(db);
  await watch({ kind: 'alarm' });
  assert.deepEqual(await crossed(), { callbacks_dead: '2 of ann' });
});

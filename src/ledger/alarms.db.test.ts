/**
 * What is an alarm, and what is not any more.
 * test/e2e/alarms.test.ts follows alarms to the metrics, the log and doctor.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type LedgerFixture, openLedgerFixture } from '../../test/support/ledger.ts';
import { FAR_FUTURE, makeUser } from '../../test/support/ledger-process.ts';
import type { Db } from '../platform/db/index.ts';
import { type AlarmName, findAlarms, LEDGER_CHECKS } from './alarms.ts';
import { hold, settle } from './wallets/wallets.ts';

let fixture: LedgerFixture;
let db: Db;
before(async () => {
  fixture = await openLedgerFixture(2);
  ({ db } = fixture);
});
after(() => fixture.close());

const detailOf = async (name: AlarmName): Promise<string | undefined> =>
  (await findAlarms(db, LEDGER_CHECKS)).find((alarm) => alarm.name === name)?.detail;

test('a task that cost more than its hold is a charge above its reservation', async () => {
  const userId = await makeUser(db, 'ann', 100n);
  await hold(db, { userId, nanos: 10n, reference: 'task:a', checkAfter: FAR_FUTURE });
  await settle(db, 'task:a', { nanos: 10n, reason: 'as held' });
  assert.equal(await detailOf('charges_above_reservation'), '');
  await hold(db, { userId, nanos: 10n, reference: 'task:b', checkAfter: FAR_FUTURE });
  await settle(db, 'task:b', { nanos: 11n, reason: 'one more' });
  assert.equal(await detailOf('charges_above_reservation'), '1 of ann');
});

test('an account is out while its cooldown lasts, and a group while none of its accounts is in use', async () => {
  const addAccount = (group: string) =>
    sql`
    with own as (insert into groups (id, style, name, position) values (${group}, 'responses', 'x', 0))
    insert into accounts (id, group_id, base_url, credential_sealed, weight, max_concurrency, features, position)
    values (${group}, ${group}, 'http://x', '', 1, 1, '{}', 0)`.execute(db);
  const cool = (account: string, until: string, inUse: boolean) =>
    sql`
    insert into account_cooldowns (account_id, operation, model, replica_id, reason, faults, ejections, since, until, in_use)
    values (${account}, '', '', 'rep_x', 'quota_exhausted', 1, 0, now(), now() + ${until}::interval, ${inUse})`.execute(
      db,
    );
  for (const group of ['healthy', 'cooling', 'kept', 'over']) await addAccount(group);
  await cool('cooling', '1 hour', false);
  await cool('kept', '1 hour', true);
  await cool('over', '-1 second', false);
  assert.equal(await detailOf('accounts_out'), 'cooling: quota_exhausted; kept: quota_exhausted');
  assert.equal(await detailOf('groups_without_account'), 'cooling');
});

test('a ledger that no process has checked for a quarter of an hour is an alarm', async () => {
  const alarmAfter = async (minutes: number): Promise<string | undefined> => {
    await sql`update ledger_checkpoint set checked_at = now() - ${minutes} * interval '1 minute'`.execute(db);
    return (await findAlarms(db, {}))[0]?.detail;
  };
  await detailOf('ledger_faults');
  assert.equal(await alarmAfter(14), '');
  assert.equal(await alarmAfter(16), 'ledger: not completed for 15 minutes');
});

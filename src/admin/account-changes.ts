/** What operators do to accounts: change their settings, park, drain and resume them. Each change has one audit line. */
import { sql } from 'kysely';
import { z } from 'zod';
import { fail } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import { writeAudit } from '../identity/index.ts';
import { AccountChange, changeAccount, lockSetup, SetupError } from '../setup/index.ts';
import { sendJson } from '../web/index.ts';
import { readAccount, readAccountSettings } from './accounts.ts';
import { notFound, operation } from './handler.ts';
import { reason, rejection } from './request-body.ts';
import { NOTHING_TO_UPDATE } from './users.ts';

const ReasonBody = z.strictObject({ reason: reason.optional() });

const ChangeBody = AccountChange.extend({
  state: z
    .enum(['in_use', 'parked', 'draining'])
    .describe('`in_use` resumes the account, `parked` and `draining` take it out of use')
    .optional(),
  reason: reason.optional(),
});

/** The stored credential stays unless `api_key` is given. */
export const changeAccountOperation = operation({
  body: ChangeBody,
  async handle({ call, by, body }, { db, secrets, accounts }) {
    const id = call.params.account ?? '';
    const { state, reason: why, ...settings } = body;
    if (state === undefined && Object.values(settings).every((value) => value === undefined))
      throw fail('invalid_request', NOTHING_TO_UPDATE);
    await db.transaction().execute(async (tx) => {
      await lockSetup(tx);
      await lockAccount(tx, id);
      const before = await readAccountSettings(tx, id);
      await changeAccount(tx, id, settings, secrets.sealer).catch(rejectChange);
      if (state === 'in_use') await endParks(tx, id);
      else if (state !== undefined) await storePark(tx, id, { state, reason: why });
      const after = await readAccountSettings(tx, id);
      await writeAudit(tx, by, {
        action: 'account.changed',
        subject: `account:${id}`,
        before,
        after: { ...after, ...(settings.api_key !== undefined && { credential: 'replaced' }), reason: why },
      });
    });
    await accounts.refresh();
    sendJson(call, 200, await readAccount(db, id));
  },
});

function rejectChange(error: unknown): never {
  throw error instanceof SetupError ? rejection(error.lines) : error;
}

const parkOperation = (state: 'parked' | 'draining') =>
  operation({
    body: ReasonBody,
    async handle({ call, by, body }, { db, accounts }) {
      const id = call.params.account ?? '';
      await db.transaction().execute(async (tx) => {
        const before = await lockAccount(tx, id);
        await storePark(tx, id, { state, reason: body.reason });
        const action = state === 'parked' ? 'account.parked' : 'account.drained';
        await writeAudit(tx, by, { action, subject: `account:${id}`, before, after: { state, reason: body.reason } });
      });
      await accounts.refresh();
      sendJson(call, 200, await readAccount(db, id));
    },
  });

export const parkAccount = parkOperation('parked');
export const drainAccount = parkOperation('draining');

export const resumeAccount = operation({
  body: ReasonBody,
  async handle({ call, by, body }, { db, accounts }) {
    const id = call.params.account ?? '';
    await db.transaction().execute(async (tx) => {
      const before = await lockAccount(tx, id);
      await endParks(tx, id);
      const after = { state: 'healthy', reason: body.reason };
      await writeAudit(tx, by, { action: 'account.resumed', subject: `account:${id}`, before, after });
    });
    await accounts.refresh();
    sendJson(call, 200, await readAccount(db, id));
  },
});

interface Park {
  readonly state: 'parked' | 'draining';
  readonly reason: string | undefined;
}

async function storePark(tx: Db, id: string, { state, reason: why }: Park): Promise<void> {
  const values = { state, cause: 'operator', reason: why ?? null, since: sql<Date>`now()` };
  const cleared = { identity: null, provider_code: null, message: null, replica_id: null };
  await tx
    .insertInto('account_parks')
    .values({ account_id: id, ...values, ...cleared })
    .onConflict((row) => row.column('account_id').doUpdateSet({ ...values, ...cleared }))
    .execute();
}

async function endParks(tx: Db, id: string): Promise<void> {
  // Also without a park: its trigger makes all servers read the shared state now. It locks the revision before any cooldown.
  await tx.deleteFrom('account_parks').where('account_id', '=', id).execute();
  await tx.deleteFrom('account_cooldowns').where('account_id', '=', id).execute();
}

/** Locks the account, so that two operators act one after the other, and returns its state. */
async function lockAccount(tx: Db, id: string): Promise<object> {
  const found = await tx.selectFrom('accounts').select('id').where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
  if (!found) throw notFound('account', id);
  const park = await tx
    .selectFrom('account_parks')
    .select(['state', 'cause', 'reason'])
    .where('account_id', '=', id)
    .executeTakeFirst();
  return park ?? { state: 'healthy' };
}

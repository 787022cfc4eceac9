/**
 * What operators do to accounts: change their settings, park, drain and resume them. Each change has one audit line.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { type Actor, type AuditAction, writeAudit } from '../../access/keys/index.ts';
import { changeAccount, lockSetup, SetupError } from '../../catalog/setup/index.ts';
import { notFound, type Sealer } from '../../core/index.ts';
import type { Db, Tx } from '../../platform/db/index.ts';
import { lockHealth } from '../../providers/pool/index.ts';
import { AccountChange } from '../../schemas/index.ts';
import { readAccount, readAccountSettings } from './accounts.ts';
import { operation } from './handler.ts';
import { expectChange, reason, rejection } from './request-body.ts';

const STATES = ['in_use', 'parked', 'draining'] as const;
const ReasonBody = z.strictObject({ reason: reason.optional() });

const ChangeBody = AccountChange.extend({
  state: z.enum(STATES).describe('`in_use` resumes the account, `parked` and `draining` take it out of use').optional(),
  reason: reason.optional(),
});

interface SettingsChange {
  readonly id: string;
  readonly settings: AccountChange;
  readonly reason: string | undefined;
  readonly by: Actor;
  readonly sealer: Sealer;
}

async function changeSettings(tx: Tx, { id, settings, reason: why, by, sealer }: SettingsChange): Promise<void> {
  const before = await readAccountSettings(tx, id);
  await changeAccount(tx, id, settings, sealer).catch(rejectChange);
  const after = {
    ...(await readAccountSettings(tx, id)),
    ...(settings.api_key !== undefined && { credential: 'changed' }),
    reason: why,
  };
  await writeAudit(tx, by, { action: 'account.changed', subject: `account:${id}`, before, after });
}

function rejectChange(error: unknown): never {
  throw error instanceof SetupError ? rejection(error.lines) : error;
}

type State = (typeof STATES)[number];
const ACTIONS = {
  in_use: 'account.resumed',
  parked: 'account.parked',
  draining: 'account.drained',
} as const satisfies Record<State, AuditAction>;

interface StateChange {
  readonly id: string;
  readonly state: State;
  readonly reason: string | undefined;
  readonly by: Actor;
  /** The state that `lockAccount` returned. */
  readonly before: object;
}

async function changeState(tx: Db, change: StateChange): Promise<void> {
  const { id, state, reason: why, by, before } = change;
  if (state === 'in_use') await endParks(tx, id);
  else await storePark(tx, change);
  const after = { state: state === 'in_use' ? 'healthy' : state, reason: why };
  await writeAudit(tx, by, { action: ACTIONS[state], subject: `account:${id}`, before, after });
}

/** The same as a change of `state` alone. */
const stateOperation = (state: State) =>
  operation({
    body: ReasonBody,
    async handle({ id, by, body }, { db, accounts }) {
      await db.transaction().execute(async (tx) => {
        await lockHealth(tx);
        const before = await lockAccount(tx, id);
        await changeState(tx, { id, state, reason: body.reason, by, before });
      });
      await accounts.refresh();
      return await readAccount(db, id);
    },
  });

async function storePark(tx: Db, { id, state, reason: why }: StateChange): Promise<void> {
  const values = { state, cause: 'operator', reason: why ?? null, since: sql<Date>`now()` };
  const cleared = { identity: null, provider_code: null, message: null, replica_id: null };
  await tx
    .insertInto('account_parks')
    .values({ account_id: id, ...values, ...cleared })
    .onConflict((row) => row.column('account_id').doUpdateSet({ ...values, ...cleared }))
    .execute();
}

async function endParks(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('account_cooldowns').where('account_id', '=', id).execute();
  // Also without a park: its trigger makes all servers read the shared state now.
  await tx.deleteFrom('account_parks').where('account_id', '=', id).execute();
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

export const ACCOUNT_CHANGES_OPERATIONS = {
  /**
   * The stored credential stays unless `api_key` is given. Settings and state are two changes, each with its audit
   * line.
   */
  'admin.changeAccount': operation({
    body: ChangeBody,
    async handle({ id, by, body }, { db, secrets, accounts }) {
      const { state, reason: why, ...settings } = body;
      const hasSettings = Object.values(settings).some((value) => value !== undefined);
      expectChange({ ...settings, state });
      await db.transaction().execute(async (tx) => {
        await lockSetup(tx);
        const before = await lockAccount(tx, id);
        if (hasSettings) await changeSettings(tx, { id, settings, reason: why, by, sealer: secrets.sealer });
        if (state !== undefined) await changeState(tx, { id, state, reason: why, by, before });
      });
      await accounts.refresh();
      return await readAccount(db, id);
    },
  }),
  'admin.parkAccount': stateOperation('parked'),
  'admin.drainAccount': stateOperation('draining'),
  'admin.resumeAccount': stateOperation('in_use'),
};

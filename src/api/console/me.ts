/**
 * The signed-in person's user: who it is, its limits, usage and charges, without accounts, costs and margins; and calls
 * of the playground.
 */
import { z } from 'zod';
import { findKeyOfUser, type Key } from '../../access/keys/index.ts';
import type { SessionGuard } from '../../access/people/index.ts';
import { type Clock, fail, readLimits, type StoredLimits } from '../../core/index.ts';
import { balanceReport, limitsReport } from '../../ledger/index.ts';
import { type Db, snapshot } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import * as admin from '../admin/index.ts';
import { countOwnKeys, openGroups, readAllowance } from './key-allowance.ts';
import { ONLY_USER, ownOperation } from './services.ts';

/** Usage and charges of the signed-in person's user, without accounts, costs and margins. */
const DIMENSIONS = ['day', 'model', 'key', 'group', 'operation'] as const;

const UsageQuery = z
  .strictObject({
    user: admin.param.user,
    by: admin.listOf(DIMENSIONS).default(['day']),
    ...admin.params('start_date', 'end_date', 'key', 'model', 'group', 'operation'),
    ...admin.usagePage('user'),
  })
  .refine(admin.isRowKey, { path: ['cursor'], error: admin.CURSOR_EXPECTED });

const ChargesQuery = z.strictObject({ user: admin.param.user, ...admin.StatementParams.shape });

export const ME_OPERATIONS = {
  'console.me': ownOperation({
    query: ONLY_USER,
    async handle({ userId }, { db, clock }) {
      const now = clock.now();
      const me = await snapshot(db, async (tx) => {
        const allowance = await readAllowance(tx, userId);
        const userLimits = readLimits(allowance.limits as StoredLimits);
        const { user: limits = {} } = await limitsReport(tx, { id: '', userId, userLimits }, now);
        return {
          balance: await balanceReport(tx, userId),
          limits,
          max_keys: allowance.max_keys,
          own_keys: await countOwnKeys(tx, userId, now),
          groups: allowance.max_keys === 0 ? [] : await openGroups(tx, allowance),
        };
      });
      return { object: 'me', user: userId, currency: 'USD', ...me };
    },
  }),
  'console.export': ownOperation({
    query: ONLY_USER,
    handle: ({ call, by, userId }, services) => admin.sendExport(call, { userId, by, audience: 'user' }, services),
  }),
  'console.usage': ownOperation({
    query: UsageQuery,
    async handle({ call, query, userId }, services) {
      await admin.sendUsage(call, { ...query, user: userId }, { ...services, audience: 'user' });
    },
  }),
  'console.charges': ownOperation({
    query: ChargesQuery,
    async handle({ call, query, userId }, services) {
      await admin.sendStatement(call, userId, query, { ...services, audience: 'user' });
    },
  }),
};

/** The key that a request may run as. Reads need the CSRF token too, because they can cost money. */
export const keyFinder =
  ({ db, clock, guard }: { readonly db: Db; readonly clock: Clock; readonly guard: SessionGuard }) =>
  async (call: Call, id: string): Promise<Key> => {
    const { person } = await guard.authorizeScript(call);
    if (person.userId === null)
      throw fail('not_permitted', 'You have no user of your own, and so no keys to call with.');
    const key = await findKeyOfUser(db, person.userId, id.slice(0, MAX_ID), clock.now());
    if (!key) throw fail('invalid_api_key', `Your user has no valid key with this id; choose another one.`);
    return key;
  };

const MAX_ID = 100;

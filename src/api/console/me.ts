import { readLimits, type StoredLimits } from '../../core/index.ts';
import { balanceReport, limitsReport } from '../../ledger/index.ts';
import { snapshot } from '../../platform/db/index.ts';
import { sendExport } from '../admin/index.ts';
import { countOwnKeys, openGroups, readAllowance } from './key-allowance.ts';
import { ONLY_USER, ownOperation } from './services.ts';

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
    handle: ({ call, by, userId }, services) => sendExport(call, { userId, by, audience: 'user' }, services),
  }),
};

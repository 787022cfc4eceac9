/** The user of the signed-in person: balance, limits with what is spent, and the groups in which they may make keys. */
import { z } from 'zod';
import { param, readQuery } from '../admin/index.ts';
import { readLimits, type StoredLimits } from '../core/index.ts';
import { snapshot } from '../db/index.ts';
import { balanceReport, limitsReport } from '../ledger/index.ts';
import { type Call, sendJson } from '../web/index.ts';
import { countOwnKeys, openGroups, readAllowance } from './key-allowance.ts';
import type { ConsoleServices, Owner } from './services.ts';

const MeQuery = z.strictObject({ user: param.user });

export async function getMe({ db, clock }: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  readQuery(call.query, MeQuery);
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
  sendJson(call, 200, { object: 'me', user: userId, currency: 'USD', ...me });
}

export const ME_SCHEMAS = { 'console.me': { query: MeQuery } };

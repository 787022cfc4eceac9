/** Usage and charges of the signed-in person's user, without accounts, costs and margins. */
import { z } from 'zod';
import * as admin from '../admin/index.ts';
import { ownOperation } from './services.ts';

const DIMENSIONS = ['day', 'model', 'key', 'group', 'operation'] as const;

const UsageQuery = z
  .strictObject({
    user: admin.param.user,
    by: admin.listOf(DIMENSIONS).default(['day']),
    ...admin.params('start_date end_date key model group operation'),
    ...admin.usagePage('user'),
  })
  .refine(admin.isRowKey, { path: ['cursor'], error: admin.CURSOR_EXPECTED });

const ChargesQuery = z.strictObject({ user: admin.param.user, ...admin.StatementParams.shape });

export const OWN_USAGE = {
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

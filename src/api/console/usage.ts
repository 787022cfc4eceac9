/** Usage and charges of the signed-in person's user, without accounts, costs and margins. */
import { z } from 'zod';
import {
  CURSOR_EXPECTED,
  isRowKey,
  listOf,
  param,
  StatementParams,
  sendStatement,
  sendUsage,
  usagePage,
} from '../admin/index.ts';
import { ownOperation } from './services.ts';

const DIMENSIONS = ['day', 'model', 'key', 'group', 'operation'] as const;

const UsageQuery = z
  .strictObject({
    user: param.user,
    by: listOf(DIMENSIONS).default(['day']),
    start_date: param.start_date,
    end_date: param.end_date,
    key: param.key,
    model: param.model,
    group: param.group,
    operation: param.operation,
    ...usagePage('user'),
  })
  .refine(isRowKey, { path: ['cursor'], error: CURSOR_EXPECTED });

const ChargesQuery = z.strictObject({ user: param.user, ...StatementParams.shape });

export const OWN_USAGE = {
  'console.usage': ownOperation({
    query: UsageQuery,
    async handle({ call, query, userId }, services) {
      await sendUsage(call, { ...query, user: userId }, { ...services, audience: 'user' });
    },
  }),
  'console.charges': ownOperation({
    query: ChargesQuery,
    async handle({ call, query, userId }, services) {
      await sendStatement(call, userId, query, { ...services, audience: 'user' });
    },
  }),
};

/** Operation -> handler: the token is checked first, then the query; nothing of a body is read before. */
import { fail } from '../core/index.ts';
import { ADMIN_OPERATIONS, type AdminOperation, adminRow } from '../rules/index.ts';
import type { Handler } from '../web/index.ts';
import { listAlarms } from './alarms.ts';
import { listAudit } from './audit.ts';
import type { AdminAuth } from './auth.ts';
import { getBalance, listBalances } from './balances.ts';
import { listAccounts, listCatalogModels, listCharacters, listGroups, listPrices } from './catalog.ts';
import { applyConfig } from './config.ts';
import { bookCredit } from './credits.ts';
import type { AdminHandler, AdminServices } from './handler.ts';
import { changeKey, createKey, listKeys, revokeOne, rotateKey } from './keys.ts';
import { Query } from './query-params.ts';
import { dismissRecord, listQuarantine, listRecords, resolveRecord } from './records.ts';
import { getStatement } from './statement.ts';
import { getUsageBreakdown } from './usage.ts';
import { changeUser, createUser, listUsers } from './users.ts';

const OWN: Readonly<Record<AdminOperation, AdminHandler>> = {
  'admin.balances': listBalances,
  'admin.balance': getBalance,
  'admin.credit': bookCredit,
  'admin.statement': getStatement,
  'admin.usage': getUsageBreakdown,
  'admin.records': listRecords,
  'admin.quarantine': listQuarantine,
  'admin.resolveRecord': resolveRecord,
  'admin.dismissRecord': dismissRecord,
  'admin.alarms': listAlarms,
  'admin.audit': listAudit,
  'admin.groups': listGroups,
  'admin.accounts': listAccounts,
  'admin.models': listCatalogModels,
  'admin.prices': listPrices,
  'admin.characters': listCharacters,
  'admin.users': listUsers,
  'admin.createUser': createUser,
  'admin.changeUser': changeUser,
  'admin.keys': listKeys,
  'admin.createKey': createKey,
  'admin.changeKey': changeKey,
  'admin.revokeKey': revokeOne,
  'admin.rotateKey': rotateKey,
  'admin.applyConfig': applyConfig,
};

export function createAdminHandlers(
  parts: AdminServices & { readonly auth: AdminAuth },
): Record<AdminOperation, Handler> {
  return Object.fromEntries(ADMIN_OPERATIONS.map((operation) => [operation, enter(operation, parts)])) as Record<
    AdminOperation,
    Handler
  >;
}

const TOO_MUCH = 'That reads too much to be answered in time; name a user or a shorter period.';

/** PostgreSQL gave up on a statement; nothing of it has happened. */
const isTimeout = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '57014';

const enter =
  (operation: AdminOperation, parts: AdminServices & { readonly auth: AdminAuth }): Handler =>
  async (call) => {
    // Money and new keys are nothing for a cache on the way.
    call.headers = { 'cache-control': 'no-store' };
    await parts.auth.check(call);
    const query = new Query(call.query, adminRow(operation).query ?? []);
    const by = { actor: 'token', requestId: call.id, address: call.address } as const;
    return OWN[operation]({ call, query, by }, parts).catch((error: unknown) => {
      throw isTimeout(error) ? fail('server_is_overloaded', TOO_MUCH, { retryAfter: 1, cause: error }) : error;
    });
  };

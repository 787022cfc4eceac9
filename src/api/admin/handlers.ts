/** Admin operations by name. The credential is checked first, then the query; the body is read last. */
import { fail } from '../../core/index.ts';
import type { Handler } from '../../platform/web/index.ts';
import { ADMIN_OPERATIONS, type AdminOperation } from '../../rules/index.ts';
import { changeAccountOperation, drainAccount, parkAccount, resumeAccount } from './account-changes.ts';
import { getAccount, listAccounts, testAccountOperation } from './accounts.ts';
import { listAlarms } from './alarms.ts';
import { listOperatorAssets } from './assets.ts';
import { listAudit } from './audit.ts';
import type { AdminAuth } from './auth.ts';
import { listAuthorizations } from './authorizations.ts';
import { getBalance, listBalances } from './balances.ts';
import { getCallback, listCallbacks, redeliverCallback, testCallbackOperation } from './callbacks.ts';
import { listCatalogModels, listCharacters, listGroups, listPrices } from './catalog.ts';
import {
  changeCharacter,
  createCharacter,
  deleteCharacter,
  deletePreview,
  publishCharacter,
  unpublishCharacter,
  uploadPreview,
} from './characters.ts';
import { applyConfig } from './config.ts';
import { bookCredit } from './credits.ts';
import { explainOperation } from './explain.ts';
import type { AdminSchemas, AdminServices, OperationHandler } from './handler.ts';
import {
  captureKeyOperation,
  changeKeyOperation,
  createKeyOperation,
  getKeyOperation,
  listKeysOperation,
  revokeKeyOperation,
  rotateKeyOperation,
} from './keys.ts';
import {
  changePersonOperation,
  invitePersonOperation,
  listPeople,
  resetPersonOperation,
  signOutPersonOperation,
} from './people.ts';
import { importPrices } from './price-import.ts';
import { getQuote } from './quote.ts';
import { dismissRecord, listQuarantine, listRecords, resolveRecord } from './records.ts';
import { getCapture, getRequest, listRequestLog } from './requests.ts';
import { listReviews, releaseReview, settleReview } from './reviews.ts';
import { searchObjects } from './search.ts';
import { listSettings } from './settings.ts';
import { getStatement } from './statement.ts';
import { getAccountStats, getStats } from './stats.ts';
import { assignOperatorTask, dismissOperatorTask, listSubmissions } from './submissions.ts';
import { getOperatorTask, listOperatorTasks } from './tasks.ts';
import { getUsageBreakdown } from './usage.ts';
import { changeUser, createUser, listUsers } from './users.ts';
import { forOperators, WARNINGS } from './warnings.ts';

const HANDLERS: Readonly<Record<AdminOperation, OperationHandler>> = {
  'admin.balances': listBalances,
  'admin.balance': getBalance,
  'admin.credit': bookCredit,
  'admin.statement': getStatement,
  'admin.usage': getUsageBreakdown,
  'admin.records': listRecords,
  'admin.search': searchObjects,
  'admin.requests': listRequestLog,
  'admin.request': getRequest,
  'admin.capture': getCapture,
  'admin.stats': getStats,
  'admin.accountStats': getAccountStats,
  'admin.quarantine': listQuarantine,
  'admin.resolveRecord': resolveRecord,
  'admin.dismissRecord': dismissRecord,
  'admin.submissions': listSubmissions,
  'admin.assignTask': assignOperatorTask,
  'admin.dismissTask': dismissOperatorTask,
  'admin.reviews': listReviews,
  'admin.settleReview': settleReview,
  'admin.releaseReview': releaseReview,
  'admin.tasks': listOperatorTasks,
  'admin.task': getOperatorTask,
  'admin.assets': listOperatorAssets,
  'admin.authorizations': listAuthorizations,
  'admin.alarms': listAlarms,
  'admin.audit': listAudit,
  'admin.callbacks': listCallbacks,
  'admin.callback': getCallback,
  'admin.redeliverCallback': redeliverCallback,
  'admin.testCallback': testCallbackOperation,
  'admin.groups': listGroups,
  'admin.accounts': listAccounts,
  'admin.account': getAccount,
  'admin.changeAccount': changeAccountOperation,
  'admin.parkAccount': parkAccount,
  'admin.drainAccount': drainAccount,
  'admin.resumeAccount': resumeAccount,
  'admin.testAccount': testAccountOperation,
  'admin.models': listCatalogModels,
  'admin.prices': listPrices,
  'admin.importPrices': importPrices,
  'admin.quote': getQuote,
  'admin.explain': explainOperation,
  'admin.characters': listCharacters,
  'admin.createCharacter': createCharacter,
  'admin.changeCharacter': changeCharacter,
  'admin.publishCharacter': publishCharacter,
  'admin.unpublishCharacter': unpublishCharacter,
  'admin.uploadPreview': uploadPreview,
  'admin.deletePreview': deletePreview,
  'admin.deleteCharacter': deleteCharacter,
  'admin.users': listUsers,
  'admin.createUser': createUser,
  'admin.changeUser': changeUser,
  'admin.people': listPeople,
  'admin.invitePerson': invitePersonOperation,
  'admin.changePerson': changePersonOperation,
  'admin.resetPerson': resetPersonOperation,
  'admin.signOutPerson': signOutPersonOperation,
  'admin.keys': listKeysOperation,
  'admin.key': getKeyOperation,
  'admin.createKey': createKeyOperation,
  'admin.changeKey': changeKeyOperation,
  'admin.revokeKey': revokeKeyOperation,
  'admin.rotateKey': rotateKeyOperation,
  'admin.captureKey': captureKeyOperation,
  'admin.warnings': forOperators(WARNINGS.list),
  'admin.createWarning': forOperators(WARNINGS.create),
  'admin.changeWarning': forOperators(WARNINGS.change),
  'admin.deleteWarning': forOperators(WARNINGS.delete),
  'admin.destinations': forOperators(WARNINGS.listDestinations),
  'admin.createDestination': forOperators(WARNINGS.createDestination),
  'admin.changeDestination': forOperators(WARNINGS.changeDestination),
  'admin.deleteDestination': forOperators(WARNINGS.deleteDestination),
  'admin.testDestination': forOperators(WARNINGS.testDestination),
  'admin.notices': forOperators(WARNINGS.listNotices),
  'admin.settings': listSettings,
  'admin.applyConfig': applyConfig,
};

/** The source of the OpenAPI description. */
export const ADMIN_SCHEMAS: Readonly<Record<AdminOperation, AdminSchemas>> = HANDLERS;

export interface AdminHandlerOptions extends AdminServices {
  readonly auth: AdminAuth;
}

export const createAdminHandlers = (options: AdminHandlerOptions): Record<AdminOperation, Handler> =>
  Object.fromEntries(
    ADMIN_OPERATIONS.map((operation) => [operation, authenticated(HANDLERS[operation], options)]),
  ) as Record<AdminOperation, Handler>;

const authenticated =
  (handler: OperationHandler, options: AdminHandlerOptions): Handler =>
  async (call) => {
    // Responses hold balances and new keys, which caches on the way must not store.
    call.addHeaders({ 'cache-control': 'no-store' });
    const by = await options.auth.authorize(call);
    return withReportErrors(handler.run(call, { by }, options));
  };

/** A query that takes too long is an error that the caller can act on. */
export const withReportErrors = (running: Promise<void>): Promise<void> =>
  running.catch((error: unknown) => {
    throw isTimeout(error) ? fail('server_is_overloaded', TOO_LARGE, { retryAfter: 1, cause: error }) : error;
  });

/** PostgreSQL cancelled the statement (query_canceled); its transaction is rolled back. */
const isTimeout = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '57014';

const TOO_LARGE = 'The query took too long; name a user or a shorter period.';

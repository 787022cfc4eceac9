/** Admin operations by name. The credential is checked first, then the query; the body is read last. */
import { codeOf, fail, overloaded } from '../../core/index.ts';
import type { Handler } from '../../platform/web/index.ts';
import { ADMIN_OPERATIONS, type AdminOperation } from '../../rules/index.ts';
import { ACCOUNT_CHANGES_OPERATIONS } from './account-changes.ts';
import { ACCOUNTS_OPERATIONS } from './accounts.ts';
import type { AdminAuth } from './auth.ts';
import { CALLBACKS_OPERATIONS } from './callbacks.ts';
import { CATALOG_OPERATIONS } from './catalog.ts';
import { CHARACTERS_OPERATIONS } from './characters.ts';
import { CONFIG_OPERATIONS } from './config.ts';
import { CREDITS_OPERATIONS } from './credits.ts';
import type { AdminSchemas, AdminServices, OperationHandler } from './handler.ts';
import { KEYS_OPERATIONS } from './keys.ts';
import { OBJECTS_OPERATIONS } from './objects.ts';
import { PEOPLE_OPERATIONS } from './people.ts';
import { PRICE_IMPORT_OPERATIONS } from './price-import.ts';
import { QUOTE_OPERATIONS } from './quote.ts';
import { RECORDS_OPERATIONS } from './records.ts';
import { REQUESTS_OPERATIONS } from './requests.ts';
import { SEARCH_OPERATIONS } from './search.ts';
import { SUBMISSIONS_OPERATIONS } from './submissions.ts';
import { TASKS_OPERATIONS } from './tasks.ts';
import { USAGE_OPERATIONS } from './usage.ts';
import { USERS_OPERATIONS } from './users.ts';
import { WARNINGS_OPERATIONS } from './warnings.ts';

const HANDLERS: Readonly<Record<AdminOperation, OperationHandler>> = {
  ...CREDITS_OPERATIONS,
  ...USAGE_OPERATIONS,
  ...RECORDS_OPERATIONS,
  ...SEARCH_OPERATIONS,
  ...REQUESTS_OPERATIONS,
  ...SUBMISSIONS_OPERATIONS,
  ...TASKS_OPERATIONS,
  ...OBJECTS_OPERATIONS,
  ...CALLBACKS_OPERATIONS,
  ...CATALOG_OPERATIONS,
  ...ACCOUNTS_OPERATIONS,
  ...ACCOUNT_CHANGES_OPERATIONS,
  ...PRICE_IMPORT_OPERATIONS,
  ...QUOTE_OPERATIONS,
  ...CHARACTERS_OPERATIONS,
  ...USERS_OPERATIONS,
  ...PEOPLE_OPERATIONS,
  ...KEYS_OPERATIONS,
  ...WARNINGS_OPERATIONS,
  ...CONFIG_OPERATIONS,
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
    const by = await options.auth(call);
    return withReportErrors(handler.run(call, { by }, options));
  };

/**
 * Errors of the database that the caller can act on. 57014: it cancelled the statement. DG001: the user is erased
 * (`refuse_erased`).
 */
export const withReportErrors = (running: Promise<void>): Promise<void> =>
  running.catch((error: unknown) => {
    if (codeOf(error) === '57014') throw overloaded(TOO_LARGE, 1, error);
    if (codeOf(error) === 'DG001') throw fail('conflict', (error as Error).message);
    throw error;
  });

const TOO_LARGE = 'The query took too long; name a user or a shorter period.';

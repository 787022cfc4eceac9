/** Operation -> handler, exhaustive by type: a row in rules/endpoints.ts without a handler does not compile. */
import { fail } from '../core/index.ts';
import {
  ENDPOINTS,
  isText,
  OPERATIONS,
  type Operation,
  type OperatorOperation,
  TEXT_ENDPOINTS,
  type TextOperation,
} from '../rules/index.ts';
import type { Call, Handler } from '../web/index.ts';
import type { Auth, Caller } from './auth.ts';
import { type OperatorParts, operatorHandlers } from './operator.ts';

export interface ApiParts extends OperatorParts {
  readonly auth: Auth;
}

export function createHandlers(parts: ApiParts): Record<Operation | OperatorOperation, Handler> {
  const handlers = Object.fromEntries(OPERATIONS.map((operation) => [operation, enter(parts, operation)])) as Record<
    Operation,
    Handler
  >;
  return { ...handlers, ...operatorHandlers(parts) };
}

/** Before any handler: who is calling, and does the key's group have this endpoint? Only then is a body read. */
const enter =
  ({ auth }: ApiParts, operation: Operation): Handler =>
  async (call) => {
    const caller = await auth.identify(call);
    if (isText(operation)) refuseForeignGroup(operation, caller, call);
    throw fail(
      'not_implemented',
      `${ENDPOINTS[operation].method} ${ENDPOINTS[operation].path} is not offered by this version yet.`,
    );
  };

/** G 7 r2. */
function refuseForeignGroup(operation: TextOperation, { group }: Caller, call: Call): void {
  if (TEXT_ENDPOINTS[operation].groups[group.style].kind !== 'refuse') return;
  const { method } = TEXT_ENDPOINTS[operation];
  throw fail(
    'endpoint_not_supported',
    `${method} ${call.path} is not available for keys of the ${group.style}-style group "${group.id}".`,
  );
}

/** Operation -> handler: every call passes here, who is calling is settled first, and only then is anything of it looked at. */
import { fail } from '../core/index.ts';
import { ENDPOINTS, isText, OPERATIONS, type Operation, type OperatorOperation } from '../rules/index.ts';
import type { Handler } from '../web/index.ts';
import { type OperatorParts, operatorHandlers } from './health.ts';
import { answerText } from './inference.ts';
import { openSocket, type SocketApiParts } from './websocket.ts';

export type ApiParts = OperatorParts & SocketApiParts;

export function createHandlers(parts: ApiParts): Record<Operation | OperatorOperation, Handler> {
  const handlers = Object.fromEntries(OPERATIONS.map((operation) => [operation, enter(operation, parts)])) as Record<
    Operation,
    Handler
  >;
  return { ...handlers, ...operatorHandlers(parts) };
}

const enter =
  (operation: Operation, parts: ApiParts): Handler =>
  async (call) => {
    const found = parts.auth.identify(call);
    const caller = found instanceof Promise ? await found : found;
    if (operation === 'responses.socket') return openSocket(call, caller, parts);
    if (isText(operation)) return answerText(call, caller, operation, parts);
    const { method, path } = ENDPOINTS[operation];
    throw fail('not_implemented', `${method} ${path} is not offered by this version yet.`);
  };

/** Operation -> handler: every call passes here, who is calling is settled first, and only then is anything of it looked at. */
import { fail } from '../core/index.ts';
import { ENDPOINTS, isText, OPERATIONS, type Operation, type OperatorOperation } from '../rules/index.ts';
import type { Handler } from '../web/index.ts';
import { type HealthServices, healthHandlers } from './health.ts';
import { handleInference } from './inference.ts';
import { openWebSocket, type WebSocketServices } from './websocket.ts';

export type ApiServices = HealthServices & WebSocketServices;

export function createHandlers(parts: ApiServices): Record<Operation | OperatorOperation, Handler> {
  const handlers = Object.fromEntries(
    OPERATIONS.map((operation) => [operation, authenticated(operation, parts)]),
  ) as Record<Operation, Handler>;
  return { ...handlers, ...healthHandlers(parts) };
}

const authenticated =
  (operation: Operation, parts: ApiServices): Handler =>
  async (call) => {
    const found = parts.auth.identify(call);
    const caller = found instanceof Promise ? await found : found;
    if (operation === 'responses.socket') return openWebSocket(call, caller, parts);
    if (isText(operation)) return handleInference(call, caller, operation, parts);
    const { method, path } = ENDPOINTS[operation];
    throw fail('not_implemented', `${method} ${path} is not offered by this version yet.`);
  };

/**
 * GET /v1/responses as a WebSocket (G 4.7): the same caller, limits and log as POST. A revoked key closes its
 * connections.
 */
import { type Clock, fail } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import type { Call, Handler, WebSocketServer } from '../../platform/web/index.ts';
import { CLOSE, ENDPOINTS, WEBSOCKET } from '../../rules/index.ts';
import type { Auth } from './auth.ts';
import { handleInference, type InferenceServices } from './inference.ts';

export interface WebSocketServices extends InferenceServices {
  readonly clock: Clock;
  readonly auth: Auth;
  readonly webSockets: WebSocketServer;
  /** Runs a handler with the error handling, log line and metrics of a request. */
  readonly runCall: (call: Call, handler: Handler) => Promise<void>;
}

export async function openWebSocket(services: WebSocketServices, call: Call, caller: Caller): Promise<void> {
  if (!call.upgrade) {
    throw fail('upgrade_required', 'GET on this path opens a WebSocket; send an upgrade request, or POST.', {
      headers: { upgrade: 'websocket', connection: 'Upgrade' },
    });
  }
  const { gateway, clock, auth } = services;
  const socket = await services.webSockets.accept(call);
  const turns = ENDPOINTS['responses.socket'].turns;
  gateway.openSession(
    socket,
    { upgrade: call, caller },
    {
      handleHttp: (turn) => handleInference(services, turn, caller, turns),
      acquireSlot: (turn) => gateway.acquireSlot(turn, caller),
      runCall: services.runCall,
    },
  );
  let isOpen = true;
  socket.onClose(() => {
    isOpen = false;
  });
  const recheck = async (): Promise<void> => {
    if (!isOpen) return;
    if (await auth.isStillValid(call, caller)) clock.after(WEBSOCKET.recheckMs, () => void recheck());
    else socket.close(CLOSE.policy, 'the API key is no longer valid');
  };
  clock.after(WEBSOCKET.recheckMs, () => void recheck());
}

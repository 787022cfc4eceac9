/** GET /v1/responses as a WebSocket: the same caller, limits and log as POST, one turn after another. */
import { fail, newRequestId } from '../core/index.ts';
import {
  type Caller,
  HttpTurns,
  RelayedTurns,
  type RelayedTurnsServices,
  ResponsesSession,
  type ResponsesSessions,
  type Turn,
  type TurnRunner,
} from '../gateway/index.ts';
import { CLOSE, WEBSOCKET } from '../rules/index.ts';
import { Call, type Handler, type WebSocketConnection, type WebSocketServer } from '../web/index.ts';
import type { Auth } from './auth.ts';
import { acquireSlot, handleInference, type InferenceServices } from './inference.ts';

export type WebSocketServices = InferenceServices &
  Omit<RelayedTurnsServices, 'limit'> & {
    readonly auth: Auth;
    readonly sockets: WebSocketServer;
    readonly sessions: ResponsesSessions;
    /** Answers, logs and measures a call that came over a socket. */
    readonly runCall: (call: Call, handler: Handler) => Promise<void>;
  };

export async function openWebSocket(call: Call, caller: Caller, parts: WebSocketServices): Promise<void> {
  if (!call.upgrade) {
    throw fail('upgrade_required', 'GET on this path opens a WebSocket; send an upgrade, or POST the request.', {
      headers: { upgrade: 'websocket', connection: 'Upgrade' },
    });
  }
  const socket = await parts.sockets.accept(call);
  const runner = runnerOf(socket, call, caller, parts);
  const session = new ResponsesSession(socket, {
    clock: parts.clock,
    runner,
    run: (turn) => runTurn(call, caller, runner, turn, parts),
  });
  parts.sessions.add(session);
  let isOpen = true;
  socket.onClose(() => {
    isOpen = false;
    parts.sessions.delete(session);
  });
  const recheck = async (): Promise<void> => {
    if (!isOpen) return;
    if (await parts.auth.isStillValid(call, caller)) parts.clock.after(WEBSOCKET.recheckMs, () => void recheck());
    else socket.close(CLOSE.policy, 'the API key is no longer valid');
  };
  parts.clock.after(WEBSOCKET.recheckMs, () => void recheck());
}

/** Providers of the responses style may have sockets themselves; all others are reached over the bridge. */
function runnerOf(socket: WebSocketConnection, upgrade: Call, caller: Caller, parts: WebSocketServices): TurnRunner {
  const bridge = new HttpTurns(socket, {
    clock: parts.clock,
    ordinary: (call) => handleInference(call, caller, 'responses.create', parts),
    canContinue: async (id) => (await parts.store.find(id, caller.key.userId)) !== undefined,
  });
  if (caller.group.style !== 'responses') return bridge;
  return new RelayedTurns(socket, upgrade, caller, bridge, {
    ...parts,
    limit: (call) => acquireSlot(call, caller, parts),
  });
}

/** Everything about a turn is that of a POST but its id and where its answer goes. */
function runTurn(
  opening: Call,
  caller: Caller,
  runner: TurnRunner,
  turn: Turn,
  parts: WebSocketServices,
): Promise<void> {
  const { request, address } = opening;
  const call = new Call({
    id: newRequestId(),
    operation: 'responses.create',
    envelope: 'openai',
    request,
    response: turn.answer,
    params: {},
    path: '/v1/responses',
    query: '',
    address,
    startedAt: parts.clock.now(),
  });
  call.addLogFields({ user: caller.key.userId, key: caller.key.id, group: caller.group.id, socket: opening.id });
  return parts.runCall(call, (own) => runner.answer(own, turn));
}

/** Opening of a responses WebSocket session: chooses how its turns run, and runs each as a call of its own. */
import { ApiError, type Clock, errorFields, type MaybePromise, newRequestId } from '../../core/index.ts';
import { type BodyReservation, Call, type Handler, type WebSocketConnection } from '../../platform/web/index.ts';
import { ENDPOINTS } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { LARGE_BODY_BYTES } from '../request-scan.ts';
import type { GatewayServices } from '../services.ts';
import { frameJob, type ReadFrame, readFrame } from './frames.ts';
import { HttpTurns } from './http-turns.ts';
import { RelayedTurns, type UpgradeRejections } from './relayed-turns.ts';
import { ResponsesSession } from './session.ts';
import type { Turn, TurnRunner } from './turn.ts';

/** What a session needs from the HTTP side. */
export interface SessionHost {
  /** Runs a call as if it had come over HTTP. */
  readonly handleHttp: Handler;
  /** Counts a call against the limits of its key, or rejects it. */
  readonly acquireSlot: (call: Call) => undefined | Promise<void>;
  /** Runs a handler with the error handling, log line and metrics of a request. */
  readonly runCall: (call: Call, handler: Handler) => Promise<void>;
}

export interface SessionServices extends GatewayServices {
  readonly rejections: UpgradeRejections;
}

export function openSession(
  services: SessionServices,
  socket: WebSocketConnection,
  { upgrade, caller }: { readonly upgrade: Call; readonly caller: Caller },
  host: SessionHost,
): ResponsesSession {
  const { clock, store, threads, log } = services;
  const reserve = (): BodyReservation => upgrade.openReservation();
  const httpTurns = new HttpTurns(socket, {
    clock,
    handleHttp: host.handleHttp,
    acquireSlot: host.acquireSlot,
    reserve,
    canContinue: async (id) => (await store.find(id, caller.key.userId)) !== undefined,
    isStored: async (id) => (await store.find(id, caller.key.userId))?.isHere === true,
  });
  // Only providers of the responses style have WebSockets of their own.
  const runner: TurnRunner =
    caller.group.style === 'responses'
      ? new RelayedTurns({ ...services, acquireSlot: host.acquireSlot }, socket, { upgrade, caller, httpTurns })
      : httpTurns;
  const runTurn = (turn: Turn): Promise<void> =>
    host.runCall(callFor(turn, upgrade, caller, clock), (call) => runner.run(call, turn));
  const readLarge = async (bytes: Buffer): Promise<ReadFrame | undefined> => {
    try {
      return await threads.run(frameJob, { bytes }, { key: caller.key, bytes: bytes.length });
    } catch (error) {
      if (!(error instanceof ApiError)) log.error('frame.read_failed', { socket: upgrade.id, ...errorFields(error) });
      throw error;
    }
  };
  const readAny = (text: string): MaybePromise<ReadFrame | undefined> =>
    text.length <= LARGE_BODY_BYTES ? readFrame(text) : readLarge(Buffer.from(text));
  return new ResponsesSession(socket, { clock, runner, reserve, runTurn, readFrame: readAny });
}

/** A turn is a POST to the same path in everything but its id and where its response goes. */
function callFor(turn: Turn, upgrade: Call, { key, group }: Caller, clock: Clock): Call {
  const operation = ENDPOINTS['responses.socket'].turns;
  const { path, errorFormat } = ENDPOINTS[operation];
  const startedAt = clock.now();
  const call = new Call({
    id: newRequestId(startedAt),
    operation,
    errorFormat,
    request: upgrade.request,
    response: turn.response,
    params: {},
    path,
    query: '',
    address: upgrade.address,
    startedAt,
    clock,
    bodyBudget: upgrade.bodyBudget,
  });
  call.identify(upgrade.owner);
  call.addLogFields({ user: key.userId, key: key.id, group: group.id, socket: upgrade.id });
  return call;
}

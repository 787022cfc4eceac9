/** Opening of a responses WebSocket session: chooses how its turns run, and runs each as a call of its own. */
import { ApiError, type Clock, errorFields, type MaybePromise, newRequestId } from '../../core/index.ts';
import { LARGE_BODY_BYTES } from '../../platform/threads/index.ts';
import { type BodyReservation, Call, type WebSocketConnection } from '../../platform/web/index.ts';
import { ENDPOINTS } from '../../rules/index.ts';
import { type Caller, callersOf } from '../caller.ts';
import { frameJob, type ReadFrame, readFrame } from './frames.ts';
import { HttpTurns } from './http-turns.ts';
import { RelayedTurns } from './relayed-turns.ts';
import { ResponsesSession } from './session.ts';
import type { OpenedSession, SessionServices, Turn, TurnRunner } from './turn.ts';

export function openSession(services: SessionServices, socket: WebSocketConnection, opened: OpenedSession) {
  const { clock, threads, log } = services;
  const { upgrade, caller } = opened;
  const reserve = (): BodyReservation => upgrade.openReservation();
  // Only providers of the responses style have WebSockets of their own.
  const mayRelay = callersOf(services.catalog(), caller.key).some(({ group }) => group.style === 'responses');
  const Turns = mayRelay ? RelayedTurns : HttpTurns;
  const runner: TurnRunner = new Turns(services, socket, opened);
  const runTurn = (turn: Turn): Promise<void> =>
    services.runCall(callFor(turn, upgrade, caller, clock), (call) => runner.run(call, turn));
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
  call.owner = upgrade.owner;
  call.steps.take(turn.values);
  call.addLogFields({ user: key.userId, key: key.id, group: group.id, socket: upgrade.id });
  return call;
}

/**
 * Turns of a WebSocket over HTTP: each a streamed request with the full conversation,
 * which the connection remembers by lane.
 */
import { ApiError, newId } from '../../core/index.ts';
import { codecOf, NO_USAGE } from '../../dialects/index.ts';
import type { Call, WebSocketConnection } from '../../platform/web/index.ts';
import { WEBSOCKET } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { jobOwner } from '../services.ts';
import { previousNotFound } from '../stored/store.ts';
import { frameText, idIn, type JsonFrame, passFailed, withStreamId } from './frames.ts';
import { LaneHistory } from './lane-history.ts';
import { isSuccessEvent, parseLifecycleEvent } from './lifecycle.ts';
import type { OpenedSession, SessionServices, Turn, TurnRunner } from './turn.ts';
import { joinLists, jsonList, turnJob } from './turn-body.ts';

export class HttpTurns implements TurnRunner {
  readonly #socket: WebSocketConnection;
  readonly #services: SessionServices;
  readonly #caller: Caller;
  readonly #history: LaneHistory;
  #isClosed = false;

  constructor(services: SessionServices, socket: WebSocketConnection, { upgrade, caller }: OpenedSession) {
    this.#services = services;
    this.#socket = socket;
    this.#caller = caller;
    this.#history = new LaneHistory(() => upgrade.openReservation());
  }

  /** True when only this connection can continue from the response. */
  knows(responseId: string | undefined): boolean {
    return responseId !== undefined && this.#history.find(responseId) !== undefined;
  }

  async run(call: Call, turn: Turn): Promise<void> {
    const { create, lane, response } = turn;
    const previousId = idIn(create.previous_response_id);
    const known = previousId === undefined ? undefined : this.#history.find(previousId);
    // What our store holds is continued there, so that the turn stores only what it adds.
    const entry =
      known && (await this.#services.store.find(known.responseId, this.#caller.key.userId))?.isHere ? undefined : known;
    const base = entry ? entry.base : previousId;
    const size = turn.text.length + (entry?.json.length ?? 0);
    if (entry) turn.memory.add(entry.json.length * WEBSOCKET.memoryPerByte);
    const { body, items } = await this.#services.threads.run(
      turnJob,
      { create, text: turn.text, earlier: entry?.json, base },
      jobOwner(call, this.#caller, size),
    );
    let isComplete = false;
    response.on('event', (json: string) => {
      const event = parseLifecycleEvent(json);
      if (event && isSuccessEvent(event)) {
        isComplete = true;
        const { id, output } = event.response ?? {};
        if (id !== undefined && Array.isArray(output))
          this.#remember(lane, id, joinLists(items, jsonList(output)), base);
      }
      // At once, not when the response has ended: the next turn of the lane may begin before.
      if (event?.type === 'response.failed') this.#history.drop(lane, previousId);
    });
    try {
      if (create.generate === false) {
        await this.#services.acquireSlot(call);
        await this.#warmUp(turn, Buffer.from(items), base);
        isComplete = true;
        return;
      }
      call.body = Buffer.from(body.buffer);
      await this.#services.handleHttp(call);
    } finally {
      if (!isComplete) this.#history.drop(lane, previousId);
    }
  }

  /** Only a provider's own WebSocket can change a running response. */
  pass(event: JsonFrame): void {
    const message = 'This connection cannot change a running response.';
    const code = event.type === 'response.inject' ? 'inject_not_supported' : 'steering_not_supported';
    this.#socket.send(frameText(passFailed(event, code, message), idIn(event.stream_id)));
  }

  close(): void {
    this.#isClosed = true;
    this.#history.clear();
  }

  /** The client has its response; without room for the history it cannot continue from it. */
  #remember(lane: string, id: string, items: Buffer, base: string | undefined): void {
    if (this.#isClosed) return;
    try {
      this.#history.set(lane, id, items, base);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }

  /** `generate: false`: creates a response that can be continued from, without calling a provider. */
  async #warmUp(turn: Turn, items: Buffer, base: string | undefined): Promise<void> {
    const { store, clock } = this.#services;
    // The provider or our store can continue from the response.
    if (base !== undefined && !(await store.find(base, this.#caller.key.userId))) throw previousNotFound(base);
    if (this.#isClosed) return;
    const id = newId('resp');
    const events = warmUpEvents(turn.create, id, Math.floor(clock.now() / 1000));
    this.#history.set(turn.lane, id, items, base);
    for (const event of events) this.#socket.send(withStreamId(event, turn.streamId));
    turn.response.settle(200);
  }
}

/** Members that only a provider could follow. */
const FOREIGN = { conversation: null, prompt: null, moderation: null } as const;

/** The events of a response without output. `created` is in Unix seconds. */
function warmUpEvents(create: JsonFrame, responseId: string, created: number): string[] {
  const { client } = codecOf('responses');
  const model = idIn(create.model) ?? '';
  const head = { headers: {}, model: model || 'any', stream: true };
  const request = client.decodeRequest({ ...create, ...FOREIGN, input: [] }, head);
  const context = { request, model, requestId: responseId, responseId, issuer: 'responses', created } as const;
  const encoder = client.openEncoder(context);
  const start = encoder.pushEvents?.({ kind: 'start', id: responseId, model }) ?? [];
  return [...start, ...(encoder.pushEvents?.({ kind: 'finish', stop: 'end', usage: NO_USAGE }) ?? [])];
}

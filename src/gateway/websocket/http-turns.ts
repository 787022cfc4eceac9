/**
 * Turns of a socket over the ordinary path: each runs as a streamed request with the full conversation in it, so the upstream needs
 * neither sockets nor memory. What the connection remembers is the latest response of every lane.
 */
import { type Clock, newId } from '../../core/index.ts';
import type { Call, Handler, WebSocketConnection } from '../../web/index.ts';
import { inputItems } from '../stored/expand.ts';
import { previousNotFound } from '../stored/store.ts';
import { frameText, idIn, type Json, passFailed } from './frames.ts';
import { LaneHistory } from './lane-history.ts';
import type { Turn, TurnRunner } from './turn.ts';

export interface HttpTurnsServices {
  readonly clock: Clock;
  /** Answers a request as if it had come over HTTP. */
  readonly ordinary: Handler;
  /** Is this the id of a response that the upstream or our store can continue from? */
  readonly canContinue: (responseId: string) => Promise<boolean>;
}

export class HttpTurns implements TurnRunner {
  readonly #socket: WebSocketConnection;
  readonly #parts: HttpTurnsServices;
  readonly #chains = new LaneHistory();

  constructor(socket: WebSocketConnection, parts: HttpTurnsServices) {
    this.#socket = socket;
    this.#parts = parts;
  }

  /** Can only this side continue from the response? */
  knows(responseId: string | undefined): boolean {
    return responseId !== undefined && this.#chains.find(responseId) !== undefined;
  }

  async answer(call: Call, turn: Turn): Promise<void> {
    const { create, lane, answer } = turn;
    const previousId = idIn(create.previous_response_id);
    const link = previousId === undefined ? undefined : this.#chains.find(previousId);
    const base = link ? link.base : previousId;
    const items = [...(link?.items ?? []), ...inputItems(create.input)];
    let isWhole = false;
    answer.on('told', (json: string, event: string | undefined) => {
      if (event === 'response.completed' || event === 'response.incomplete') {
        isWhole = true;
        this.#remember(lane, json, items, base);
      }
      // At once, not when the answer has ended: the next turn of the lane may begin before.
      if (event === 'response.failed') this.#chains.drop(lane, previousId);
    });
    try {
      if (create.generate === false) {
        await this.#warmUp(turn, items, base);
        isWhole = true;
        return;
      }
      const { generate: _, ...request } = create;
      const input = link ? items : create.input;
      call.body = Buffer.from(JSON.stringify({ ...request, input, previous_response_id: base, stream: true }));
      await this.#parts.ordinary(call);
    } finally {
      if (!isWhole) this.#chains.drop(lane, previousId);
    }
  }

  /** Only a provider's own socket can reach into a running response. */
  pass(event: Json): void {
    const message = 'This connection cannot reach into a running response.';
    const code = event.type === 'response.inject' ? 'inject_not_supported' : 'steering_not_supported';
    this.#socket.send(frameText(passFailed(event, code, message), idIn(event.stream_id)));
  }

  leave(): void {}

  #remember(lane: string, json: string, items: readonly unknown[], base: string | undefined): void {
    const { response } = JSON.parse(json) as { response?: { id?: unknown; output?: unknown } };
    if (typeof response?.id === 'string' && Array.isArray(response.output))
      this.#chains.set(lane, response.id, [...items, ...response.output], base);
  }

  /** `generate: false`: prepares a conversation without asking anybody; its id can be continued from. */
  async #warmUp(turn: Turn, items: readonly unknown[], base: string | undefined): Promise<void> {
    if (base !== undefined && !(await this.#parts.canContinue(base))) throw previousNotFound(base);
    const id = newId('resp');
    this.#chains.set(turn.lane, id, items, base);
    const response = {
      id,
      object: 'response',
      created_at: Math.floor(this.#parts.clock.now() / 1000),
      model: turn.create.model ?? null,
      output: [],
      error: null,
      incomplete_details: null,
    };
    const running = { ...response, status: 'in_progress', usage: null };
    const done = { ...response, status: 'completed', usage: NO_USAGE };
    for (const [sequence_number, [type, told]] of [
      ['response.created', running] as const,
      ['response.in_progress', running] as const,
      ['response.completed', done] as const,
    ].entries())
      this.#socket.send(frameText({ type, sequence_number, response: told }, turn.streamId));
    turn.answer.settle(200);
  }
}

const NO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

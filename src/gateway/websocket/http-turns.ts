/** Turns of a WebSocket over HTTP: each a streamed request with the full conversation, which the connection remembers by lane. */
import { ApiError, newId } from '../../core/index.ts';
import type { Call, WebSocketConnection } from '../../platform/web/index.ts';
import { WEBSOCKET } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { jobOwner } from '../services.ts';
import { previousNotFound } from '../stored/store.ts';
import { frameText, idIn, type JsonFrame, passFailed } from './frames.ts';
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
    this.#history.set(turn.lane, id, items, base);
    const created = Math.floor(clock.now() / 1000);
    for (const event of warmUpEvents(turn.create, id, created)) this.#socket.send(frameText(event, turn.streamId));
    turn.response.settle(200);
  }
}

type Json = Readonly<Record<string, unknown>>;

const SETTINGS: Json = {
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: 'auto',
  store: true,
  temperature: 1,
  tool_choice: 'auto',
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
};

const NO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** The events of the turn, in order. `created` is in Unix seconds. */
export function warmUpEvents(create: JsonFrame, id: string, created: number): JsonFrame[] {
  const response = {
    id,
    object: 'response',
    created_at: created,
    model: create.model ?? '',
    output: [],
    error: null,
    incomplete_details: null,
    ...settingsOf(create),
  };
  const running = { ...response, status: 'in_progress', completed_at: null, usage: null };
  const completed = { ...response, status: 'completed', completed_at: created, usage: NO_USAGE };
  return [
    { type: 'response.created', response: running },
    { type: 'response.in_progress', response: running },
    { type: 'response.completed', response: completed },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
}

function settingsOf(create: Json): Json {
  const given = Object.entries(SETTINGS).map(([name, value]) => [name, create[name] ?? value]);
  return {
    ...Object.fromEntries(given),
    background: false,
    reasoning: { effort: null, summary: null, ...(create.reasoning as Json | null | undefined) },
    text: { format: { type: 'text' }, verbosity: 'medium', ...(create.text as Json | null | undefined) },
    tools: Array.isArray(create.tools) ? create.tools.map(toolOf) : [],
  };
}

const toolOf = (tool: unknown): unknown =>
  (tool as Json | null)?.type === 'function'
    ? { description: null, parameters: null, strict: null, ...(tool as Json) }
    : tool;

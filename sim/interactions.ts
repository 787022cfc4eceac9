/** Interactions of the Google-style provider: created, streamed, read, cancelled and deleted. */
import { Failure, invalid } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { type JsonObject, textOf } from './json.ts';
import { sendStream } from './stream.ts';
import { tokensIn } from './usage.ts';

const TEXT = 'A simulated answer.';
const held = new WeakMap<object, Map<string, JsonObject>>();
/** What one server holds, by id. */
export const heldBy = ({ state }: Exchange): Map<string, JsonObject> => {
  const known = held.get(state) ?? new Map<string, JsonObject>();
  held.set(state, known);
  return known;
};

export async function createInteraction(exchange: Exchange): Promise<void> {
  const { json, state } = exchange;
  const { previous_interaction_id: previous } = json;
  if (previous !== undefined) find(exchange, textOf(previous));
  if (json.input === undefined) throw invalid('* CreateInteractionRequest.input: input is not specified\n');
  const id = state.ids.next('v1_');
  const [input, output, thought] = [tokensIn(JSON.stringify(json.input)), tokensIn(TEXT), 3];
  const usage = {
    total_input_tokens: input,
    total_output_tokens: output,
    total_thought_tokens: thought,
    total_tokens: input + output + thought,
  };
  const steps = [{ type: 'model_output', content: [{ type: 'text', text: TEXT }] }];
  const interaction = { id, object: 'interaction', model: exchange.model, status: 'completed', steps, usage };
  heldBy(exchange).set(id, interaction);
  // One in the background runs until it is read for the first time.
  if (json.background !== true || json.stream === true) return send(exchange, interaction, json.stream === true);
  running.add(interaction);
  await exchange.sendJson({ id, object: 'interaction', model: exchange.model, status: 'in_progress' });
}
const running = new WeakSet<object>();

export function readInteraction(exchange: Exchange, id: string): Promise<void> {
  const interaction = find(exchange, id);
  running.delete(interaction);
  return send(exchange, interaction, exchange.query.get('stream') === 'true');
}

export async function cancelInteraction(exchange: Exchange, id: string): Promise<void> {
  const interaction = find(exchange, id);
  if (!running.has(interaction)) return exchange.sendJson(interaction);
  const { steps: _, usage: __, ...begun } = interaction;
  heldBy(exchange).set(id, { ...begun, status: 'cancelled' });
  await exchange.sendJson({ ...begun, status: 'cancelled' });
}

export async function deleteInteraction(exchange: Exchange, id: string): Promise<void> {
  find(exchange, id);
  heldBy(exchange).delete(id);
  await exchange.sendJson({});
}

function find(exchange: Exchange, id: string): JsonObject {
  return heldBy(exchange).get(id) ?? fail(id);
}
function fail(id: string): never {
  throw new Failure(404, `Interaction ${id} not found.`);
}

async function send(exchange: Exchange, interaction: JsonObject, isStream: boolean): Promise<void> {
  if (!isStream) return exchange.sendJson(interaction);
  const { steps: _, usage: __, ...begun } = interaction;
  const events: JsonObject[] = [
    { event_type: 'interaction.created', interaction: { ...begun, status: 'in_progress' } },
    { event_type: 'step.start', index: 0, step: { type: 'model_output' } },
    ...['A simulated ', 'answer.'].map((text) => ({
      event_type: 'step.delta',
      index: 0,
      delta: { type: 'text', text },
    })),
    { event_type: 'step.stop', index: 0 },
    { event_type: 'interaction.completed', interaction },
  ];
  await sendStream(exchange, {
    frames: events.map((event) => ({ data: JSON.stringify(event), content: event.event_type === 'step.delta' })),
    failure: () => [],
  });
}

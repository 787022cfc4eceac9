/** The model lists of the three providers. */
import { modelFailure } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { JsonObject } from './json.ts';

// Every model name works; only these are listed.
const OPENAI = ['demo-responses', 'demo-image', 'demo-embedding'];
const ANTHROPIC = ['demo-messages'];
const GOOGLE = ['demo-generate', 'demo-generate-image'];

const RELEASED = Date.UTC(2026, 0, 1);
const CONTEXT = 200_000;
const OUTPUT = 32_000;

export async function listModels(exchange: Exchange): Promise<void> {
  if (exchange.shape !== 'anthropic') return exchange.sendJson({ object: 'list', data: OPENAI.map(openaiModel) });
  const limit = Math.min(Math.max(1, Number(exchange.query.get('limit') ?? 20) || 20), 1000);
  const after = ANTHROPIC.indexOf(exchange.query.get('after_id') ?? '') + 1;
  const data = ANTHROPIC.slice(after, after + limit);
  await exchange.sendJson({
    data: data.map(anthropicModel),
    has_more: after + limit < ANTHROPIC.length,
    first_id: data[0] ?? null,
    last_id: data.at(-1) ?? null,
  });
}

export async function showModel(exchange: Exchange, id: string): Promise<void> {
  const anthropic = exchange.shape === 'anthropic';
  if (!(anthropic ? ANTHROPIC : OPENAI).includes(id)) throw modelFailure(exchange.shape, id);
  await exchange.sendJson(anthropic ? anthropicModel(id) : openaiModel(id));
}

export async function listGoogleModels(exchange: Exchange): Promise<void> {
  await exchange.sendJson({ models: GOOGLE.map(googleModel) });
}

export async function showGoogleModel(exchange: Exchange, id: string): Promise<void> {
  if (!GOOGLE.includes(id)) throw modelFailure('google', id);
  await exchange.sendJson(googleModel(id));
}

function openaiModel(id: string): JsonObject {
  return { id, object: 'model', created: RELEASED / 1000, owned_by: 'simulated' };
}

function anthropicModel(id: string): JsonObject {
  return {
    type: 'model',
    id,
    display_name: `Simulated ${id}`,
    created_at: new Date(RELEASED).toISOString(),
    lifecycle: 'active',
    line: null,
    max_input_tokens: CONTEXT,
    max_tokens: OUTPUT,
    capabilities: null,
    deprecated_at: null,
    retires_at: null,
  };
}

function googleModel(id: string): JsonObject {
  return {
    name: `models/${id}`,
    baseModelId: id,
    version: '001',
    displayName: `Simulated ${id}`,
    description: 'A simulated model.',
    inputTokenLimit: CONTEXT,
    outputTokenLimit: OUTPUT,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
    temperature: 1,
    maxTemperature: 2,
    topP: 0.95,
    topK: 64,
    thinking: true,
  };
}

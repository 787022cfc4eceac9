import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../src/core/index.ts';
import { codecOf, encodeRequestFor, pairOf } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { DIALECT_PAIRS, type DialectPair, targetFor } from './dialect-pairs.ts';

type Json = Record<string, unknown>;

const TOOL = { name: 'find', schema: { type: 'object', properties: {} } };
const chatTool = { type: 'function', function: { name: TOOL.name, parameters: TOOL.schema } };
const responsesTool = { type: 'function', name: TOOL.name, parameters: TOOL.schema };
const textDocument = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hi' } };
const messagesTool = { name: TOOL.name, input_schema: TOOL.schema };

/** A minimal request of each client, and each optional field with a value that has an effect. */
const CLIENTS: Partial<Record<Dialect, { readonly minimal: Json; readonly fields: Readonly<Record<string, Json>> }>> = {
  messages: {
    minimal: { model: 'm', max_tokens: 4_000, messages: [{ role: 'user', content: 'hi' }], tools: [messagesTool] },
    fields: {
      temperature: { temperature: 0.3 },
      top_p: { top_p: 0.3 },
      top_k: { top_k: 3 },
      stop_sequences: { stop_sequences: ['END'] },
      system: { system: 'Be brief.' },
      thinking: { thinking: { type: 'enabled', budget_tokens: 2_000 } },
      'output_config.format': { output_config: { format: { type: 'json_schema', schema: TOOL.schema } } },
      // Clients send it beside `thinking`; both configure reasoning.
      'output_config.effort': { output_config: { effort: 'low' } },
      tool_choice: { tool_choice: { type: 'any' } },
      'tool_choice.disable_parallel_tool_use': { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      cache_control: { cache_control: { type: 'ephemeral' } },
      service_tier: { service_tier: 'standard_only' },
      'metadata.user_id': { metadata: { user_id: 'someone' } },
      max_tokens: { max_tokens: 0 },
      speed: { speed: 'fast' },
      inference_geo: { inference_geo: 'eu' },
      context_management: { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
      tools: { tools: [messagesTool, { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }] },
      'tools.strict': { tools: [{ ...messagesTool, strict: true }] },
      citations: { messages: [{ role: 'user', content: [{ ...textDocument, citations: { enabled: true } }] }] },
    },
  },
  chat: {
    minimal: { model: 'm', messages: [{ role: 'user', content: 'hi' }], tools: [chatTool] },
    fields: {
      temperature: { temperature: 0.3 },
      top_p: { top_p: 0.3 },
      seed: { seed: 7 },
      presence_penalty: { presence_penalty: 0.5 },
      frequency_penalty: { frequency_penalty: 0.5 },
      logit_bias: { logit_bias: { 50256: -100 } },
      n: { n: 2 },
      logprobs: { logprobs: true },
      stop: { stop: 'END' },
      verbosity: { verbosity: 'low' },
      modalities: { modalities: ['text', 'audio'], audio: { voice: 'a', format: 'wav' } },
      reasoning_effort: { reasoning_effort: 'low' },
      response_format: { response_format: { type: 'json_object' } },
      parallel_tool_calls: { parallel_tool_calls: false },
      tool_choice: { tool_choice: 'required' },
      prompt_cache_key: { prompt_cache_key: 'k' },
      service_tier: { service_tier: 'priority' },
      safety_identifier: { safety_identifier: 'someone' },
      metadata: { metadata: { a: 'b' } },
      prediction: { prediction: { type: 'content', content: 'x' } },
      tools: { tools: [chatTool, { type: 'image_generation' }] },
      image_config: { image_config: { aspect_ratio: '16:9' } },
      web_search_options: { web_search_options: {} },
      max_completion_tokens: { max_completion_tokens: 99 },
      something_new: { something_new: 1 },
      'tools.function.strict': { tools: [{ ...chatTool, function: { ...chatTool.function, strict: true } }] },
    },
  },
  responses: {
    minimal: { model: 'm', input: 'hi', tools: [responsesTool] },
    fields: {
      temperature: { temperature: 0.3 },
      top_p: { top_p: 0.3 },
      top_logprobs: { top_logprobs: 3 },
      'text.verbosity': { text: { verbosity: 'low' } },
      'text.format': { text: { format: { type: 'json_object' } } },
      reasoning: { reasoning: { effort: 'low' } },
      instructions: { instructions: 'Be brief.' },
      parallel_tool_calls: { parallel_tool_calls: false },
      tool_choice: { tool_choice: 'required' },
      max_tool_calls: { max_tool_calls: 3 },
      prompt_cache_key: { prompt_cache_key: 'k' },
      'prompt_cache_options.prewarm': { prompt_cache_options: { prewarm: true } },
      service_tier: { service_tier: 'flex' },
      safety_identifier: { safety_identifier: 'someone' },
      metadata: { metadata: { a: 'b' } },
      truncation: { truncation: 'auto' },
      client_metadata: { client_metadata: { a: 'b' } },
      tools: { tools: [responsesTool, { type: 'image_generation' }] },
      max_output_tokens: { max_output_tokens: 99 },
      'tools.strict': { tools: [{ ...responsesTool, strict: true }] },
    },
  },
};

/** Fields that may have no effect on the request and need not be named in `x-gateway-dropped`. */
const NEEDS_NO_TRACE = new Set([
  // It selects the account, and with it the cache.
  ...['prompt_cache_key over messages', 'prompt_cache_key over generate'],
  // The provider caches prefixes by itself.
  ...['cache_control over responses', 'cache_control over chat'],
]);

function check(pair: DialectPair, name: string, minimal: Json, extra: Json, model: string): void {
  const encode = (body: Json) => {
    const request = codecOf(pair.client).client.decodeRequest(body, { headers: {} });
    return encodeRequestFor(pairOf(pair), request, targetFor(pair.upstream, model));
  };
  const base = encode(minimal);
  try {
    const changed = encode({ ...minimal, ...extra });
    const isNamed = changed.dropped.some(
      (dropped) => dropped === name || name.startsWith(`${dropped}.`) || dropped.startsWith(`${name}.`),
    );
    const isEncoded =
      JSON.stringify([changed.body, changed.emulateStop]) !== JSON.stringify([base.body, base.emulateStop]);
    assert.ok(
      isEncoded || isNamed || NEEDS_NO_TRACE.has(`${name} over ${pair.upstream}`),
      `${name} is dropped without being named; named are: ${changed.dropped}`,
    );
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.details.param?.split('.')[0], name.split('.')[0], `${name} is rejected under its own name`);
  }
}

for (const pair of DIALECT_PAIRS.filter(({ isOffered }) => isOffered)) {
  test(`${pair.name}: every request field is encoded, named as dropped, or rejected by name`, () => {
    const { minimal, fields } = CLIENTS[pair.client] ?? { minimal: {}, fields: {} };
    const models = [
      'demo-1',
      'unknown-model',
      'claude-haiku-4',
      'gpt-4o',
      'gpt-6',
      'gemini-2.5-flash',
      'gemini-2.5-flash-image',
    ];
    for (const model of models)
      for (const [name, extra] of Object.entries(fields)) check(pair, name, minimal, extra, model);
  });
}

/** Fields without a counterpart by name, and what the provider gets in their place. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../src/core/index.ts';
import { codecOf, encodeRequestFor, pairOf } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { targetFor } from './dialect-pairs.ts';

type Json = Record<string, unknown>;

function convert(client: Dialect, upstream: Dialect, members: Json): { body: Json; dropped: readonly string[] } {
  const body = { model: 'm', ...(client === 'messages' && { max_tokens: 4_000 }), ...members };
  const request = codecOf(client).client.decodeRequest(body, { headers: {} });
  return encodeRequestFor(pairOf({ client, upstream }), request, targetFor(upstream));
}

const PDF = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' };
const fromUser = (...content: Json[]): Json => ({ messages: [{ role: 'user', content }] });
const document = { type: 'document', source: PDF, title: 'Report', context: 'Of last year.' };

test('title and context of a document become text ahead of it where the provider has no member for them', () => {
  const responses = convert('messages', 'responses', fromUser(document)).body;
  assert.deepEqual((responses.input as Json[])[0]?.content, [
    { type: 'input_text', text: 'Of last year.' },
    { type: 'input_file', filename: 'Report', file_data: 'data:application/pdf;base64,JVBERi0xLjQK' },
  ]);
  const generate = convert('messages', 'generate', fromUser(document)).body;
  assert.deepEqual((generate.contents as Json[])[0]?.parts, [
    { text: 'Report\nOf last year.' },
    { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0xLjQK' } },
  ]);
});

test('name and description of a response format become title and description of the schema', () => {
  const json_schema = { name: 'reply', description: 'A reply.', schema: { type: 'object', properties: {} } };
  const request = {
    messages: [{ role: 'user', content: 'Hi' }],
    response_format: { type: 'json_schema', json_schema },
  };
  const { output_config } = convert('chat', 'messages', request).body as {
    output_config: { format: { schema: Json } };
  };
  assert.equal(output_config.format.schema.title, 'reply');
  assert.equal(output_config.format.schema.description, 'A reply.');
  const { generationConfig } = convert('chat', 'generate', request).body as { generationConfig: Json };
  assert.partialDeepStrictEqual(generationConfig.responseJsonSchema, { title: 'reply', description: 'A reply.' });
});

test('unique items move into the description of a schema that cannot demand them', () => {
  const schema = { type: 'object', properties: { tags: { type: 'array', items: {}, uniqueItems: true } } };
  const format = { type: 'json_schema', name: 'reply', schema };
  const { output_config } = convert('responses', 'messages', { input: 'Hi', text: { format } }).body as {
    output_config: { format: { schema: { properties: { tags: Json } } } };
  };
  assert.match(String(output_config.format.schema.properties.tags.description), /uniqueItems: true/);
});

test('options that no other provider has are named in the form of their path', () => {
  const tool = { name: 'f', input_schema: { type: 'object' }, input_examples: [{}], allowed_callers: ['direct'] };
  const system = { role: 'system', content: 'Be brief.', clear_at: 'never' };
  const request = {
    ...fromUser(document),
    tools: [tool],
    output_config: { task_budget: { type: 'tokens', total: 1 } },
  };
  assert.deepEqual(convert('messages', 'responses', request).dropped, [
    'tools.input_examples',
    'tools.allowed_callers',
    'output_config.task_budget',
  ]);
  const messages = [...(fromUser(document).messages as Json[]), system, { role: 'user', content: 'Go on.' }];
  assert.deepEqual(convert('messages', 'generate', { messages }).dropped, ['messages.clear_at']);
  const chat = { messages: [{ role: 'user', name: 'ana', content: 'Hi' }], store: true, service_tier: 'scale' };
  assert.deepEqual(convert('chat', 'responses', chat).dropped, ['messages.name', 'store', 'service_tier']);
  const input = [
    { role: 'user', content: [{ type: 'input_image', image_url: 'https://x.test/a.png', detail: 'low' }] },
  ];
  const responses = { input, include: ['file_search_call.results'], prompt_cache_options: { mode: 'explicit' } };
  assert.deepEqual(convert('responses', 'messages', responses).dropped, [
    'detail',
    'prompt_cache_options.mode',
    'include',
  ]);
});

test('restrictions that another provider cannot keep are rejected by name', () => {
  const rejection = (client: Dialect, members: Json): string | undefined => {
    try {
      convert(client, 'generate', members);
      return undefined;
    } catch (error) {
      assert.ok(error instanceof ApiError);
      return error.details.param;
    }
  };
  const messagesTool = { name: 'f', input_schema: { type: 'object' }, allowed_callers: ['code_execution_20250825'] };
  assert.equal(rejection('messages', { ...fromUser(document), tools: [messagesTool] }), 'tools[0].allowed_callers');
  const fetch = { type: 'web_fetch_20250910', name: 'web_fetch', url_sources: { user_input: { type: 'none' } } };
  assert.equal(rejection('messages', { ...fromUser(document), tools: [fetch] }), 'tools[0].url_sources');
  const shell = { type: 'shell', environment: { type: 'container_auto' } };
  assert.equal(rejection('responses', { input: 'Hi', tools: [shell] }), 'tools[0].environment');
});

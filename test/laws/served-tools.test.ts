/** Hosted tools on every pair, by the table of rules: converted, left out by name, or refused by name and in the same words. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../../src/core/index.ts';
import { encodeRequestFor, type HubRequest, pairOf } from '../../src/dialects/index.ts';
import { type Dialect, type ServerTool, TOOL_FORMS, type UpstreamDialect } from '../../src/rules/index.ts';
import { DIALECT_PAIRS, targetFor } from './dialect-pairs.ts';

/** The hosted tools of each dialect as a client writes them, with a choice that forces them. */
const CLIENT_TOOLS: Readonly<Record<Dialect, readonly (readonly [ServerTool, object, choice?: object])[]>> = {
  messages: [
    ['web_search', { type: 'web_search_20250305', name: 'web_search' }, { type: 'tool', name: 'web_search' }],
    ['web_fetch', { type: 'web_fetch_20250910', name: 'web_fetch' }, { type: 'tool', name: 'web_fetch' }],
    [
      'code_exec',
      { type: 'code_execution_20250825', name: 'code_execution' },
      { type: 'tool', name: 'code_execution' },
    ],
    ['tool_search', { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }],
    ['advisor', { type: 'advisor_20260301', name: 'advisor', model: 'm' }, { type: 'tool', name: 'advisor' }],
    ['other', { type: 'telescope_20270101', name: 'telescope' }, { type: 'tool', name: 'telescope' }],
  ],
  responses: [
    ['web_search', { type: 'web_search' }, { type: 'web_search_preview' }],
    ['code_exec', { type: 'code_interpreter', container: { type: 'auto' } }, { type: 'code_interpreter' }],
    ['file_search', { type: 'file_search', vector_store_ids: ['vs_1'] }, { type: 'file_search' }],
    ['image_gen', { type: 'image_generation' }, { type: 'image_generation' }],
    ['tool_search', { type: 'tool_search' }],
    ['other', { type: 'telescope' }, { type: 'telescope' }],
  ],
  generate: [
    ['web_search', { googleSearch: {} }],
    ['web_fetch', { urlContext: {} }],
    ['code_exec', { codeExecution: {} }],
    ['file_search', { fileSearch: { fileSearchStoreNames: ['s'] } }],
    ['maps', { googleMaps: {} }],
    ['other', { telescope: {} }],
  ],
  chat: [['image_gen', { type: 'image_generation' }, { type: 'image_generation' }]],
};

const SCHEMA = { type: 'object', properties: {} };
const FUNCTIONS: Readonly<Record<Dialect, object>> = {
  messages: { name: 'f', input_schema: SCHEMA },
  responses: { type: 'function', name: 'f', parameters: SCHEMA },
  generate: { functionDeclarations: [{ name: 'f' }] },
  chat: { type: 'function', function: { name: 'f', parameters: SCHEMA } },
};
const CONVERSATION: Readonly<Record<Dialect, object>> = {
  messages: { model: 'm', max_tokens: 99, messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: 'm', input: 'hi' },
  generate: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  chat: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
};

type Outcome =
  | { readonly kind: 'sent' | 'dropped'; readonly body: string; readonly omitted: readonly number[] }
  | { readonly kind: 'refused'; readonly error: ApiError };

function outcomeOf(client: Dialect, upstream: UpstreamDialect, fields: object): Outcome {
  const pair = pairOf({ client, upstream });
  const request: HubRequest = pair.client.decodeRequest(
    { ...CONVERSATION[client], ...fields },
    { headers: {}, model: 'm' },
  );
  try {
    const { body, dropped, omittedTools } = encodeRequestFor(pair, request, targetFor(upstream));
    const kind = dropped.includes('tools') ? 'dropped' : 'sent';
    return { kind, body: JSON.stringify(body), omitted: omittedTools };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { kind: 'refused', error };
  }
}

const isRefused = (outcome: Outcome, at: string): void => {
  assert.ok(outcome.kind === 'refused', `${outcome.kind}: ${JSON.stringify(outcome)}`);
  const { code, message, details } = outcome.error;
  assert.deepEqual([code, details.param], ['unsupported_parameter', at]);
  assert.match(message, /^tools\[\d\]: the tool '[\w-]+' cannot be used with this model; leave it out/);
};

for (const { client, upstream, name } of DIALECT_PAIRS.filter((pair) => pair.client !== pair.upstream))
  describe(`hosted tools, ${name}`, () => {
    for (const [tool, raw, choice] of CLIENT_TOOLS[client]) {
      const row = TOOL_FORMS[tool];
      // The models of these targets draw only where their dialect has a tool for it, and search tools only among deferred ones.
      const form = tool === 'image_gen' && upstream === 'generate' ? undefined : row.forms[upstream];
      const hasForm = form !== undefined && !(tool === 'tool_search' && upstream === 'responses');

      test(`${tool} alone is ${hasForm ? `sent as ${form}` : row.otherwise}`, () => {
        const outcome = outcomeOf(client, upstream, { tools: [raw] });
        if (!hasForm && row.otherwise !== 'dropped') return isRefused(outcome, 'tools[0]');
        assert.ok(outcome.kind !== 'refused');
        assert.equal(outcome.body.includes(String(form)), hasForm);
        assert.deepEqual([outcome.kind, outcome.omitted], hasForm ? ['sent', []] : ['dropped', [0]]);
      });

      test(`${tool} beside a function is ${hasForm ? 'sent' : row.otherwise === 'refused' ? 'refused' : 'dropped'}`, () => {
        const outcome = outcomeOf(client, upstream, { tools: [FUNCTIONS[client], raw] });
        if (!hasForm && row.otherwise === 'refused') return isRefused(outcome, 'tools[1]');
        assert.ok(outcome.kind !== 'refused');
        assert.deepEqual([outcome.kind, outcome.omitted], hasForm ? ['sent', []] : ['dropped', [1]]);
      });

      if (choice && !hasForm)
        test(`a request that forces ${tool} is refused`, () => {
          isRefused(outcomeOf(client, upstream, { tools: [FUNCTIONS[client], raw], tool_choice: choice }), 'tools[1]');
          const required = client === 'messages' ? { type: 'any' } : 'required';
          isRefused(outcomeOf(client, upstream, { tools: [raw], tool_choice: required }), 'tools[0]');
        });
    }
  });

/** Newest features of each client dialect, and requests of agents, with what becomes of them at providers of each style. */

import { ApiError } from '../../src/core/index.ts';
import { codecOf, encodeRequestFor, pairOf } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { targetFor } from './dialect-pairs.ts';

type Json = Readonly<Record<string, unknown>>;
export type ProbedClient = 'messages' | 'responses' | 'chat' | 'generate';
export const PROBED_PROVIDERS = ['messages', 'responses', 'generate'] as const;
export type ProbedProvider = (typeof PROBED_PROVIDERS)[number];

export interface Probe {
  readonly feature: string;
  readonly client: ProbedClient;
  /** Members beside the smallest request. */
  readonly more: Json;
}

export const SMALLEST: Readonly<Record<ProbedClient, Json>> = {
  messages: { max_tokens: 4_000, messages: [{ role: 'user', content: 'hi' }] },
  responses: { input: 'hi' },
  chat: { messages: [{ role: 'user', content: 'hi' }] },
  generate: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
};

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false };
const own = (more: Json = {}) => ({ name: 'find', description: 'Finds.', input_schema: SCHEMA, ...more });
const fn = (more: Json = {}) => ({ type: 'function', name: 'find', parameters: SCHEMA, strict: true, ...more });

const of = (client: ProbedClient, features: Readonly<Record<string, Json>>): Probe[] =>
  Object.entries(features).map(([feature, more]) => ({ feature, client, more }));

export const PROBES: readonly Probe[] = [
  ...of('messages', {
    'adaptive thinking': { thinking: { type: 'adaptive' } },
    effort: { output_config: { effort: 'max' } },
    'task budget': { output_config: { task_budget: { type: 'tokens', total: 50_000 } } },
    'fast mode': { speed: 'fast' },
    'tool search': {
      tools: [{ type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }, own({ defer_loading: true })],
    },
    'programmatic tool calls': {
      tools: [
        { type: 'code_execution_20260120', name: 'code_execution' },
        own({ allowed_callers: ['code_execution_20260120'] }),
      ],
    },
    'MCP connector': {
      mcp_servers: [{ type: 'url', name: 'docs', url: 'https://mcp.example.com/sse' }],
      tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs' }],
    },
    'context management': { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
    'structured output': { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    'web fetch': { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] },
    'skills and containers': { container: { skills: [{ type: 'anthropic', skill_id: 'pptx', version: 'latest' }] } },
    'streamed tool input': { tools: [own({ eager_input_streaming: true })] },
    'cache for an hour': { cache_control: { type: 'ephemeral', ttl: '1h' } },
    'memory tool': { tools: [{ type: 'memory_20250818', name: 'memory' }] },
    'computer tool': {
      tools: [{ type: 'computer_20250124', name: 'computer', display_width_px: 1024, display_height_px: 768 }],
    },
    'input examples': { tools: [own({ input_examples: [{ a: 'x' }] })] },
  }),
  ...of('responses', {
    verbosity: { text: { verbosity: 'low' } },
    'cache key': { prompt_cache_key: 'thread-1' },
    'cache retention': { prompt_cache_retention: '24h' },
    'encrypted reasoning': { store: false, include: ['reasoning.encrypted_content'], reasoning: { effort: 'high' } },
    'custom tool': { tools: [{ type: 'custom', name: 'patch', format: { type: 'text' } }] },
    'tool search': { tools: [{ type: 'tool_search' }, fn({ defer_loading: true })] },
    'hosted MCP': {
      tools: [
        { type: 'mcp', server_label: 'docs', server_url: 'https://mcp.example.com/sse', require_approval: 'never' },
      ],
    },
    'computer tool': { tools: [{ type: 'computer' }] },
    'image generation': { tools: [{ type: 'image_generation' }] },
    'code interpreter': { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
    'web search': { tools: [{ type: 'web_search', search_context_size: 'low' }] },
    'file search': { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
    shell: { tools: [{ type: 'shell', environment: { type: 'local' } }] },
    compaction: { context_management: [{ type: 'compaction', compact_threshold: 200_000 }] },
    'safety identifier': { safety_identifier: 'user-1' },
    'max tool calls': { max_tool_calls: 3, tools: [fn()] },
  }),
  ...of('chat', {
    'reasoning effort': { reasoning_effort: 'high' },
    verbosity: { verbosity: 'low' },
    speech: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } },
    'predicted output': { prediction: { type: 'content', content: 'x' } },
    'web search': { web_search_options: {} },
    'structured output': {
      response_format: { type: 'json_schema', json_schema: { name: 'out', schema: SCHEMA, strict: true } },
    },
  }),
  ...of('generate', {
    'URL context': { tools: [{ urlContext: {} }] },
    'Google Maps': { tools: [{ googleMaps: {} }] },
    'thinking level': { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } },
    'media resolution': { generationConfig: { mediaResolution: 'MEDIA_RESOLUTION_LOW' } },
    'image output': { generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } },
    'computer use': { tools: [{ computerUse: { environment: 'ENVIRONMENT_BROWSER' } }] },
  }),
];

export type Outcome =
  | { readonly kind: 'passes' | 'not offered' }
  | { readonly kind: 'refused'; readonly param: string }
  | { readonly kind: 'served'; readonly isConverted: boolean; readonly dropped: readonly string[] };

/** A chat request is native on a group of OpenAI's style; generate-content is offered on its own groups only. */
const isNative = (client: ProbedClient, provider: ProbedProvider): boolean =>
  client === provider || (client === 'chat' && provider === 'responses');

export function outcomeOf({ client, more }: Pick<Probe, 'client' | 'more'>, provider: ProbedProvider): Outcome {
  // Stores of the account are shared with other users (ADR 12).
  if (isNative(client, provider))
    return JSON.stringify(more).includes('"vector_store_ids"')
      ? { kind: 'refused', param: 'tools' }
      : { kind: 'passes' };
  if (client === 'generate') return { kind: 'not offered' };
  try {
    const plain = convert(client, provider, SMALLEST[client]);
    const { body, dropped } = convert(client, provider, { ...SMALLEST[client], ...more });
    return {
      kind: 'served',
      isConverted: JSON.stringify(body) !== JSON.stringify(plain.body),
      dropped: [...new Set(dropped)].toSorted(),
    };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { kind: 'refused', param: error.details.param ?? '' };
  }
}

function convert(client: Dialect, upstream: ProbedProvider, body: Json) {
  const request = codecOf(client).client.decodeRequest({ model: 'm', ...body }, { headers: {} });
  return encodeRequestFor(pairOf({ client, upstream }), request, targetFor(upstream));
}

const shown = (outcome: Outcome): string => {
  if (outcome.kind === 'refused') return `refused: \`${outcome.param}\``;
  if (outcome.kind !== 'served') return outcome.kind;
  const { isConverted, dropped } = outcome;
  const names = dropped.length > 0 ? [`dropped: ${dropped.map((name) => `\`${name}\``).join(', ')}`] : [];
  return [...(isConverted ? ['converted'] : []), ...names].join('; ') || 'for the gateway';
};

const outcomes = (probe: Pick<Probe, 'client' | 'more'>): string[] =>
  PROBED_PROVIDERS.map((provider) => shown(outcomeOf(probe, provider)));

export const summarizeProbes = (): string[][] =>
  PROBES.map((probe) => [probe.client, probe.feature, ...outcomes(probe)]);

// ---------------------------------------------------------------- agents

/** What each sends: the request after a tool call, and Claude Code's request of its own for a search. */
export const AGENTS: readonly (Probe & { readonly agent: string })[] = [
  {
    agent: 'Claude Code',
    feature: 'tool call',
    client: 'messages',
    more: {
      max_tokens: 32_000,
      stream: true,
      thinking: { type: 'adaptive' },
      output_config: { effort: 'medium' },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      metadata: { user_id: '{"device_id":"d","account_uuid":"","session_id":"s"}' },
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.327; cc_entrypoint=cli;' },
        { type: 'text', text: 'You are Claude Code.', cache_control: { type: 'ephemeral' } },
      ],
      tools: [
        own({
          eager_input_streaming: true,
          input_schema: { ...SCHEMA, $schema: 'https://json-schema.org/draft/2020-12/schema' },
        }),
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'find a' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'c2lnbmVk' },
            { type: 'tool_use', id: 'toolu_1', name: 'find', input: { a: 'a' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: 'found', cache_control: { type: 'ephemeral' } },
          ],
        },
      ],
    },
  },
  {
    agent: 'Claude Code',
    feature: 'web search',
    client: 'messages',
    more: { stream: true, tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }] },
  },
  {
    agent: 'Codex',
    feature: 'tool call',
    client: 'responses',
    more: {
      stream: true,
      store: false,
      instructions: 'You are Codex.',
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'medium', summary: 'auto' },
      text: { verbosity: 'low' },
      prompt_cache_key: 'thread-1',
      client_metadata: { 'x-codex-installation-id': 'i' },
      tool_choice: 'auto',
      parallel_tool_calls: true,
      tools: [
        fn({ strict: false }),
        { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
        { type: 'web_search', external_web_access: true },
        { type: 'image_generation', output_format: 'png' },
      ],
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'find a' }] },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'b3BhcXVl' },
        { type: 'function_call', call_id: 'call_1', name: 'find', arguments: '{"a":"a"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'found' },
      ],
    },
  },
  {
    agent: 'Qwen Code',
    feature: 'tool call',
    client: 'chat',
    more: {
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 8_000,
      tools: [{ type: 'function', function: { name: 'find', description: 'Finds.', parameters: SCHEMA } }],
      messages: [
        { role: 'system', content: 'You are Qwen Code.' },
        { role: 'user', content: [{ type: 'text', text: 'find a' }] },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'hm',
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'find', arguments: '{"a":"a"}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'found' },
      ],
    },
  },
  {
    agent: 'Gemini CLI',
    feature: 'tool call',
    client: 'generate',
    more: {
      systemInstruction: { role: 'user', parts: [{ text: 'You are Gemini CLI.' }] },
      tools: [{ functionDeclarations: [{ name: 'find', description: 'Finds.', parametersJsonSchema: SCHEMA }] }],
      generationConfig: { temperature: 1, topP: 0.95, topK: 64, thinkingConfig: { includeThoughts: true } },
      contents: [
        { role: 'user', parts: [{ text: 'find a' }] },
        { role: 'model', parts: [{ functionCall: { name: 'find', args: { a: 'a' } } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'find', response: { output: 'found' } } }] },
      ],
    },
  },
];

export const summarizeAgents = (): string[][] =>
  AGENTS.map((agent) => [agent.agent, agent.feature, ...outcomes(agent)]);

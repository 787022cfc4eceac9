import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../../core/index.ts';
import type { HubRequest, JsonObject } from '../../hub/types.ts';
import { decodeCountRequest, decodeRequest } from './decode-request.ts';

const HEAD = { headers: {} };
const user = (content: unknown = 'Hi'): JsonObject => ({ role: 'user', content });
const decode = (more: JsonObject = {}): HubRequest =>
  decodeRequest({ model: 'm', max_tokens: 4096, messages: [user()], ...more }, HEAD);

function assertRejected(more: JsonObject, code: string, param: string): void {
  assert.throws(
    () => decode(more),
    (error) => {
      assert.ok(error instanceof ApiError, String(error));
      assert.deepEqual([error.code, error.details.param], [code, param], error.message);
      assert.ok(error.message.startsWith(param));
      return true;
    },
  );
}

describe('messages request decoder', () => {
  it('adds no fields that the client did not set', () => {
    assert.deepEqual(decode(), {
      dialect: 'messages',
      model: 'm',
      stream: false,
      system: [],
      items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }],
      tools: [],
      toolChoice: { kind: 'auto' },
      reasoning: { show: 'none' },
      output: { format: { kind: 'text' } },
      limits: { maxOutput: 4096 },
      sampling: {},
      cache: {},
      state: {},
      meta: {},
      unknown: [],
      clientOptions: {},
    });
  });

  it('keeps explicit zeros and treats null as absent', () => {
    const { sampling } = decode({ temperature: 0, top_p: null, top_k: 0, stop_sequences: ['END'], system: null });
    assert.deepEqual(sampling, { temperature: 0, topK: 0, stop: ['END'] });
  });

  it('requires max_tokens except for counting, and decodes zero as prewarm', () => {
    assertRejected({ max_tokens: null }, 'invalid_request', 'max_tokens');
    assert.deepEqual(decodeCountRequest({ model: 'm', messages: [user()] }, HEAD).limits, {});
    assert.deepEqual(decode({ max_tokens: 0 }).limits, { prewarm: true });
  });

  it('lists unknown fields instead of rejecting them', () => {
    const { unknown } = decode({ speed: 'fast', context_management: { edits: [] }, diagnostics: null, future: 1 });
    assert.deepEqual(unknown, ['speed', 'future', 'context_management']);
  });

  it('rejects fields that refer to state at one provider', () => {
    assertRejected({ thread: { type: 'create' } }, 'unsupported_parameter', 'thread');
    assertRejected({ container: 'c_1' }, 'unsupported_parameter', 'container');
    assertRejected({ compaction: { type: 'summarize' } }, 'unsupported_parameter', 'compaction');
  });

  it('names the path of an invalid value', () => {
    assertRejected({ model: 7 }, 'invalid_request', 'model');
    assertRejected({ messages: 'Hi' }, 'invalid_request', 'messages');
    assertRejected({ messages: [] }, 'invalid_value', 'messages');
    assertRejected({ messages: [{ role: 'robot', content: 'x' }] }, 'invalid_value', 'messages[0].role');
    assertRejected({ messages: [user([{ type: 'text', text: 7 }])] }, 'invalid_request', 'messages[0].content[0].text');
    assertRejected(
      { messages: [user([{ type: 'hologram' }])] },
      'unsupported_parameter',
      'messages[0].content[0].type',
    );
    assertRejected({ temperature: 1.5 }, 'invalid_value', 'temperature');
    assertRejected({ stop_sequences: [''] }, 'invalid_value', 'stop_sequences[0]');
    assertRejected({ stop_sequences: Array(17).fill('x') }, 'invalid_value', 'stop_sequences');
    assertRejected({ thinking: { type: 'enabled', budget_tokens: 100 } }, 'invalid_value', 'thinking.budget_tokens');
    assertRejected({ thinking: { type: 'enabled', budget_tokens: 4096 } }, 'invalid_value', 'thinking.budget_tokens');
    assertRejected({ tool_choice: { type: 'tool', name: 'x' } }, 'invalid_value', 'tool_choice.name');
  });

  it('decodes system as string or blocks and drops an attribution line in the first block only', () => {
    assert.deepEqual(decode({ system: 'Be kind.' }).system, [{ kind: 'text', text: 'Be kind.' }]);
    const billing = { type: 'text', text: 'x-anthropic-billing-header: v=1' };
    const system = [billing, { type: 'text', text: 'A', cache_control: { type: 'ephemeral', ttl: '1h' } }, billing];
    assert.deepEqual(decode({ system }).system, [
      { kind: 'text', text: 'A', cache: { long: true } },
      { kind: 'text', text: billing.text },
    ]);
  });

  it('decodes thinking, effort and output format', () => {
    const reasoning = (more: JsonObject) => decode(more).reasoning;
    assert.deepEqual(reasoning({ thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } }), {
      mode: 'auto',
      effort: 'xhigh',
      show: 'summary',
    });
    assert.deepEqual(reasoning({ thinking: { type: 'enabled', budget_tokens: 2048, display: 'omitted' } }), {
      mode: 'budget',
      budget: 2048,
      show: 'none',
    });
    assert.deepEqual(reasoning({ thinking: { type: 'disabled' } }), { mode: 'off', show: 'none' });
    const format = { type: 'json_schema', schema: { type: 'object' } };
    const expected = { kind: 'schema', schema: { type: 'object' } };
    assert.deepEqual(decode({ output_config: { format } }).output.format, expected);
    assert.deepEqual(decode({ output_format: format }).output.format, expected);
  });

  it('reads the session from the header, or else from the user id', () => {
    const id = '0b0a4f7e-1c1d-4c53-9d2e-5f1c9d6f0a11';
    const metadata = { user_id: `user_1_account__session_${id}` };
    assert.equal(decode({ metadata }).session, id);
    assert.equal(decode({ metadata: { user_id: `{"device_id":"d","session_id":"${id}"}` } }).session, id);
    const head = { headers: { 'x-claude-code-session-id': 's1' } };
    assert.equal(decodeRequest({ model: 'm', max_tokens: 1, messages: [user()], metadata }, head).session, 's1');
    assert.equal(decode({ metadata: { user_id: 'plain' } }).session, undefined);
  });
});

describe('messages tool decoder', () => {
  const SCHEMA = { type: 'object', properties: {}, $schema: 'http://json-schema.org/draft-07/schema#' };

  it('decodes functions, built-in client tools and hosted tools', () => {
    const bash = { type: 'bash_20250124', name: 'bash' };
    const search = { type: 'web_search_20260209', name: 'web_search', max_uses: 3, allowed_domains: ['a.example'] };
    const { tools } = decode({
      tools: [
        { name: 'find', description: 'd', input_schema: SCHEMA, strict: true, defer_loading: true },
        { type: 'custom', name: 'plain', input_schema: SCHEMA, cache_control: { type: 'ephemeral' } },
        bash,
        search,
        { type: 'advisor_20260301', name: 'advisor' },
      ],
    });
    assert.deepEqual(tools, [
      { kind: 'function', name: 'find', description: 'd', schema: SCHEMA, strict: true, defer: true },
      { kind: 'function', name: 'plain', schema: SCHEMA, cache: {} },
      { kind: 'builtin', builtin: 'bash_20250124', name: 'bash', raw: bash },
      {
        kind: 'server',
        tool: 'web_search',
        options: { allowedDomains: ['a.example'], maxUses: 3 },
        raw: search,
        at: 'tools[3]',
      },
      {
        kind: 'server',
        tool: 'advisor',
        options: {},
        raw: { type: 'advisor_20260301', name: 'advisor' },
        at: 'tools[4]',
      },
    ]);
  });

  it('decodes an MCP server and its toolset as one hosted tool', () => {
    const server = { type: 'url', name: 'files', url: 'https://mcp.example', authorization_token: 't' };
    const toolset = { type: 'mcp_toolset', mcp_server_name: 'files' };
    const { tools, unknown } = decode({ mcp_servers: [server], tools: [toolset] });
    assert.deepEqual(tools, [
      { kind: 'server', tool: 'mcp', options: {}, raw: { ...server, toolset }, at: 'mcp_servers[0]' },
    ]);
    assert.deepEqual(unknown, []);
  });

  it('decodes a choice by name, also of hosted tools, and ignores a choice without tools', () => {
    const tools = [
      { name: 'find', input_schema: SCHEMA },
      { type: 'web_search_20250305', name: 'web_search' },
    ];
    const choice = (tool_choice: JsonObject) => decode({ tools, tool_choice });
    assert.deepEqual(choice({ type: 'tool', name: 'find' }).toolChoice, { kind: 'named', name: 'find' });
    assert.deepEqual(choice({ type: 'tool', name: 'web_search' }).toolChoice, { kind: 'hosted', tool: 'web_search' });
    assert.deepEqual(choice({ type: 'any' }).toolChoice, { kind: 'required' });
    assert.equal(choice({ type: 'auto', disable_parallel_tool_use: true }).parallelTools, false);
    assert.deepEqual(decode({ tool_choice: { type: 'any' } }).toolChoice, { kind: 'auto' });
  });
});

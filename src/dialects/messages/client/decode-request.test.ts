import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError } from '../../../core/index.ts';
import type { HubRequest, JsonObject } from '../../hub/types.ts';
import { wrap } from '../../opaque/envelope.ts';
import { decodeCountRequest, decodeRequest } from './decode-request.ts';

const HEAD = { headers: {} };
const user = (content: unknown = 'Hi'): JsonObject => ({ role: 'user', content });
const assistant = (...content: JsonObject[]): JsonObject => ({ role: 'assistant', content });
const use = (id: string, input: unknown = {}): JsonObject => ({ type: 'tool_use', id, name: 'find', input });
const decode = (more: JsonObject = {}): HubRequest =>
  decodeRequest({ model: 'm', max_tokens: 4096, messages: [user()], ...more }, HEAD);
const itemsOf = (...messages: JsonObject[]) => decode({ messages }).items;

function refused(more: JsonObject, code: string, param: string): void {
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

describe('a messages request', () => {
  it('is read into the hub, with nothing invented', () => {
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
      wants: {},
    });
  });

  it('keeps explicit zeros and treats null as absent', () => {
    const { sampling } = decode({ temperature: 0, top_p: null, top_k: 0, stop_sequences: ['END'], system: null });
    assert.deepEqual(sampling, { temperature: 0, topK: 0, stop: ['END'] });
  });

  it('needs max_tokens, except for counting, and takes zero as a wish to warm the cache', () => {
    refused({ max_tokens: null }, 'invalid_request', 'max_tokens');
    assert.deepEqual(decodeCountRequest({ model: 'm', messages: [user()] }, HEAD).limits, {});
    assert.deepEqual(decode({ max_tokens: 0 }).limits, { prewarm: true });
  });

  it('names unknown fields instead of failing on them', () => {
    const { unknown } = decode({ speed: 'fast', context_management: { edits: [] }, diagnostics: null, future: 1 });
    assert.deepEqual(unknown, ['speed', 'context_management', 'future']);
  });

  it('refuses what lives at one provider only', () => {
    refused({ thread: { type: 'create' } }, 'unsupported_parameter', 'thread');
    refused({ container: 'c_1' }, 'unsupported_parameter', 'container');
    refused({ compaction: { type: 'summarize' } }, 'unsupported_parameter', 'compaction');
    refused({ tools: [{ type: 'computer_toolset_20260801' }] }, 'unsupported_parameter', 'tools[0].type');
  });

  it('names the place of whatever is wrong', () => {
    refused({ model: 7 }, 'invalid_request', 'model');
    refused({ messages: 'Hi' }, 'invalid_request', 'messages');
    refused({ messages: [] }, 'invalid_value', 'messages');
    refused({ messages: [{ role: 'robot', content: 'x' }] }, 'invalid_value', 'messages[0].role');
    refused({ messages: [user([{ type: 'text', text: 7 }])] }, 'invalid_request', 'messages[0].content[0].text');
    refused({ messages: [user([{ type: 'hologram' }])] }, 'unsupported_parameter', 'messages[0].content[0].type');
    refused({ temperature: 1.5 }, 'invalid_value', 'temperature');
    refused({ stop_sequences: [''] }, 'invalid_value', 'stop_sequences[0]');
    refused({ stop_sequences: Array(17).fill('x') }, 'invalid_value', 'stop_sequences');
    refused({ thinking: { type: 'enabled', budget_tokens: 100 } }, 'invalid_value', 'thinking.budget_tokens');
    refused({ thinking: { type: 'enabled', budget_tokens: 4096 } }, 'invalid_value', 'thinking.budget_tokens');
    refused({ tool_choice: { type: 'tool', name: 'x' } }, 'invalid_value', 'tool_choice.name');
  });

  it('reads system in both forms and removes the attribution line in front of it only', () => {
    assert.deepEqual(decode({ system: 'Be kind.' }).system, [{ kind: 'text', text: 'Be kind.' }]);
    const billing = { type: 'text', text: 'x-anthropic-billing-header: v=1' };
    const system = [billing, { type: 'text', text: 'A', cache_control: { type: 'ephemeral', ttl: '1h' } }, billing];
    assert.deepEqual(decode({ system }).system, [
      { kind: 'text', text: 'A', cache: { long: true } },
      { kind: 'text', text: billing.text },
    ]);
  });

  it('reads how to think and in which form to answer', () => {
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

  it('finds the session in the header, else in what the CLI packs into the user id', () => {
    const id = '0b0a4f7e-1c1d-4c53-9d2e-5f1c9d6f0a11';
    const metadata = { user_id: `user_1_account__session_${id}` };
    assert.equal(decode({ metadata }).session, id);
    assert.equal(decode({ metadata: { user_id: `{"device_id":"d","session_id":"${id}"}` } }).session, id);
    const head = { headers: { 'x-claude-code-session-id': 's1' } };
    assert.equal(decodeRequest({ model: 'm', max_tokens: 1, messages: [user()], metadata }, head).session, 's1');
    assert.equal(decode({ metadata: { user_id: 'plain' } }).session, undefined);
  });
});

describe('tools of a messages request', () => {
  const SCHEMA = { type: 'object', properties: {}, $schema: 'http://json-schema.org/draft-07/schema#' };

  it('are functions, client tools of fixed shape, or hosted', () => {
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
      { kind: 'server', tool: 'web_search', options: { allowedDomains: ['a.example'], maxUses: 3 }, raw: search },
      { kind: 'server', tool: 'other', options: {}, raw: { type: 'advisor_20260301', name: 'advisor' } },
    ]);
  });

  it('of a remote server become one hosted tool', () => {
    const server = { type: 'url', name: 'files', url: 'https://mcp.example', authorization_token: 't' };
    const toolset = { type: 'mcp_toolset', mcp_server_name: 'files' };
    const { tools, unknown } = decode({ mcp_servers: [server], tools: [toolset] });
    assert.deepEqual(tools, [{ kind: 'server', tool: 'mcp', options: {}, raw: { ...server, toolset } }]);
    assert.deepEqual(unknown, []);
  });

  it('are chosen by name, hosted ones too; without tools there is no choice', () => {
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

describe('messages of a messages request', () => {
  it('are flattened in order, neighbouring blocks of a turn joined', () => {
    const items = itemsOf(
      user('Go'),
      assistant({ type: 'text', text: 'A' }, { type: 'text', text: 'B' }, use('t1', { q: 1 }), {
        type: 'text',
        text: 'C',
      }),
      user([
        { type: 'tool_result', tool_use_id: 't1', content: 'found', is_error: true },
        { type: 'text', text: 'and?' },
        { type: 'image', source: { type: 'url', url: 'https://a.example/i.png' } },
      ]),
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
    );
    assert.deepEqual(items.slice(1), [
      {
        kind: 'message',
        role: 'assistant',
        parts: [
          { kind: 'text', text: 'A' },
          { kind: 'text', text: 'B' },
        ],
      },
      { kind: 'tool_call', callId: 't1', name: 'find', form: 'function', args: '{"q":1}' },
      { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'C' }] },
      {
        kind: 'tool_result',
        callId: 't1',
        name: 'find',
        form: 'function',
        parts: [{ kind: 'text', text: 'found' }],
        isError: true,
      },
      {
        kind: 'message',
        role: 'user',
        parts: [
          { kind: 'text', text: 'and?' },
          { kind: 'image', source: { kind: 'url', url: 'https://a.example/i.png' } },
        ],
      },
      { kind: 'message', role: 'system', parts: [{ kind: 'text', text: 'Be brief.', cache: {} }] },
    ]);
  });

  it('hold documents and search results in all their forms', () => {
    const doc = (source: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'document', source, ...more });
    const [item] = itemsOf(
      user([
        doc(
          { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
          { title: 'T', citations: { enabled: true } },
        ),
        doc({ type: 'text', media_type: 'text/plain', data: 'plain' }, { context: 'C' }),
        doc({
          type: 'content',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        }),
        doc({ type: 'file', file_id: 'file_1' }),
        { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] },
      ]),
    );
    assert.deepEqual(item?.kind === 'message' && item.parts, [
      {
        kind: 'file',
        source: { kind: 'base64', mime: 'application/pdf', data: 'JVBE' },
        title: 'T',
        citations: true,
      },
      { kind: 'file', source: { kind: 'text', text: 'plain' }, context: 'C' },
      { kind: 'file', source: { kind: 'text', text: 'a\n\nb' } },
      { kind: 'file', source: { kind: 'file_id', id: 'file_1', issuer: 'messages' } },
      { kind: 'search_result', source: 's', title: 't', texts: ['x'] },
    ]);
  });

  it('carry a result that answers nothing only to be refused', () => {
    const messages = [user([{ type: 'tool_result', tool_use_id: 'nope', content: 'x' }])];
    refused({ messages }, 'invalid_value', 'messages[0].content[0].tool_use_id');
  });

  it('turn the names that a client tool search found into words', () => {
    const items = itemsOf(
      assistant(use('t1')),
      user([{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'tool_reference', tool_name: 'grep' }] }]),
    );
    const result = items[1];
    assert.deepEqual(result?.kind === 'tool_result' && result.parts, [{ kind: 'text', text: 'Tool available: grep' }]);
  });

  it('keep thinking that this provider signed, and unwrap what others signed', () => {
    const enc = wrap({ issuer: 'responses', kind: 'reasoning', id: 'rs_1', lengths: [6, 5], data: 'E' });
    const items = itemsOf(
      user(),
      assistant(
        { type: 'thinking', thinking: 'own', signature: 'S' },
        { type: 'redacted_thinking', data: 'D' },
        { type: 'thinking', thinking: 'First.\n\nThen.', signature: enc },
        { type: 'thinking', thinking: 'edited', signature: enc },
        { type: 'thinking', thinking: 'damaged', signature: 'gw1.%%%' },
        { type: 'thinking', thinking: 'unsigned', signature: '' },
        { type: 'text', text: 'x' },
      ),
    );
    const opaque = { issuer: 'responses', kind: 'reasoning', id: 'rs_1', lengths: [6, 5], data: 'E' };
    assert.deepEqual(items.slice(1, -1), [
      { kind: 'reasoning', summary: ['own'], opaque: { issuer: 'messages', kind: 'thinking', data: 'S' } },
      { kind: 'reasoning', summary: [], opaque: { issuer: 'messages', kind: 'redacted', data: 'D' }, redacted: true },
      { kind: 'reasoning', summary: ['First.', 'Then.'], opaque },
      { kind: 'reasoning', summary: ['edited'], opaque },
      { kind: 'reasoning', summary: ['unsigned'] },
    ]);
  });

  it('leave out searches that we told the client about, and keep the provider’s own', () => {
    const pair = (id: string): JsonObject[] => [
      { type: 'server_tool_use', id, name: 'web_search', input: { query: 'q' } },
      { type: 'web_search_tool_result', tool_use_id: id, content: [] },
    ];
    const own = pair('srvtoolu_1');
    const items = itemsOf(user(), assistant(...pair('srvtoolu_gwabc'), ...own, { type: 'fallback', x: 1 }));
    assert.deepEqual(items.slice(1), [
      {
        kind: 'server_call',
        id: 'srvtoolu_1',
        tool: 'web_search',
        issuer: 'messages',
        status: 'completed',
        queries: ['q'],
        sources: [],
        raw: own,
      },
      { kind: 'opaque', issuer: 'messages', raw: { type: 'fallback', x: 1 } },
    ]);
  });

  it('may add tools on the way, and not take them away', () => {
    const add = (tool: JsonObject): JsonObject => ({ role: 'system', content: [{ type: 'tool_addition', tool }] });
    const definition = { name: 'late', input_schema: { type: 'object' } };
    assert.deepEqual(itemsOf(user(), add({ type: 'tool_definition', definition })).at(-1), {
      kind: 'tool_change',
      add: [{ kind: 'function', name: 'late', schema: { type: 'object' } }],
    });
    const removal = {
      role: 'system',
      content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'x' } }],
    };
    refused({ messages: [user(), removal] }, 'unsupported_parameter', 'messages[1].content[0].type');
  });
});

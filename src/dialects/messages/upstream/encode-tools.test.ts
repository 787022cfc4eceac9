import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  bodyOf,
  call,
  encode,
  functionTool,
  message,
  result,
  textBlock,
} from '../../../../test/support/dialects/messages.ts';
import type { HubItem, HubRequest, HubTool, JsonObject } from '../../hub/types.ts';

describe('messages tool encoder', () => {
  it('sends input schemas with an object at the top level', () => {
    const tools = [
      functionTool('a', { schema: { properties: { x: {} } }, description: 'd' } as Partial<HubTool>),
      functionTool('b', {
        schema: { anyOf: [{ properties: { x: {} }, required: ['x'] }, { properties: { y: {} } }] },
      } as Partial<HubTool>),
    ];
    assert.deepEqual(bodyOf({ tools }).tools, [
      { name: 'a', description: 'd', input_schema: { properties: { x: {} }, type: 'object' } },
      { name: 'b', input_schema: { type: 'object', properties: { x: {}, y: {} } } },
    ]);
  });

  it('keeps strict only for enforceable schemas and up to the limit of the provider', () => {
    const closed = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    const strict = (schema: JsonObject) =>
      (bodyOf({ tools: [functionTool('a', { schema, strict: true } as Partial<HubTool>)] }).tools as JsonObject[])[0]
        ?.strict;
    assert.equal(strict(closed), true);
    assert.equal(strict({ ...closed, properties: { a: { type: 'string', minLength: 1 } } }), undefined);
    assert.equal(strict({ ...closed, additionalProperties: undefined }), undefined);
    const many = Array.from({ length: 22 }, (_, n) =>
      functionTool(`t${n}`, { schema: closed, strict: true } as Partial<HubTool>),
    );
    assert.equal((bodyOf({ tools: many }).tools as JsonObject[]).filter((tool) => tool.strict).length, 20);
  });

  it('wraps custom tools and their calls and describes the grammar', () => {
    const tool: HubTool = {
      kind: 'custom',
      name: 'patch',
      description: 'Patches.',
      grammar: { syntax: 'lark', definition: 'start: "x"' },
    };
    const body = bodyOf({
      tools: [tool],
      toolChoice: { kind: 'named', name: 'patch' },
      items: [
        message('user', 'a'),
        call('c', 'free {text', { name: 'patch', form: 'custom' } as Partial<HubItem>),
        result('c', 'ok'),
      ],
    });
    const [sent] = body.tools as JsonObject[];
    assert.match(String(sent?.description), /^Patches\.\n\n.*lark grammar:\nstart: "x"$/s);
    assert.deepEqual(body.tool_choice, { type: 'tool', name: 'patch' });
    const [, turn] = body.messages as { content: JsonObject[] }[];
    assert.deepEqual(turn?.content[0]?.input, { input: 'free {text' });
  });

  it('sends built-in tools of other providers as functions', () => {
    const tools: HubTool[] = [
      { kind: 'builtin', builtin: 'apply_patch', name: 'apply_patch', raw: { type: 'apply_patch' } },
    ];
    const [tool] = bodyOf({ tools }).tools as JsonObject[];
    assert.equal(tool?.name, 'apply_patch');
    assert.deepEqual((tool?.input_schema as JsonObject | undefined)?.type, 'object');
  });

  it('sends supported hosted tools, drops others, and rejects a choice of a dropped one', () => {
    const server = (tool: 'web_search' | 'file_search'): HubTool => ({
      kind: 'server',
      tool,
      options: { allowedDomains: ['a'] },
      raw: {},
    });
    const both = bodyOf({ tools: [server('web_search'), server('file_search')], limits: { maxToolCalls: 2 } });
    assert.deepEqual(both.tools, [
      { type: 'web_search_20250305', name: 'web_search', max_uses: 2, allowed_domains: ['a'] },
    ]);
    const chosen = bodyOf({ tools: [server('web_search')], toolChoice: { kind: 'hosted', tool: 'web_search' } });
    assert.deepEqual(chosen.tool_choice, { type: 'tool', name: 'web_search' });
    const demanded = { tools: [server('file_search')], toolChoice: { kind: 'hosted', tool: 'file_search' } } as const;
    assert.throws(() => bodyOf(demanded), { code: 'unsupported_parameter' });
    const same = bodyOf({ tools: [server('web_search'), functionTool('web_search')] });
    assert.equal((same.tools as JsonObject[])[0]?.type, undefined);
    assert.deepEqual(encode({ limits: { maxToolCalls: 2 } }).droppedFields, ['maxToolCalls']);
  });

  it('declares an MCP server with its toolset and beta header', () => {
    const raw = {
      type: 'mcp',
      server_label: 'files',
      server_url: 'https://m.example',
      authorization: 't',
      allowed_tools: ['read'],
      require_approval: 'never',
    };
    const encoded = encode({ tools: [{ kind: 'server', tool: 'mcp', options: {}, raw }] });
    assert.deepEqual(encoded.body.mcp_servers, [
      { type: 'url', name: 'files', url: 'https://m.example', authorization_token: 't' },
    ]);
    assert.deepEqual(encoded.body.tools, [
      {
        type: 'mcp_toolset',
        mcp_server_name: 'files',
        default_config: { enabled: false },
        configs: { read: { enabled: true } },
      },
    ]);
    assert.equal(encoded.headers['anthropic-beta'], 'mcp-client-2025-11-20');
  });

  it('encodes tool choice, allowed tools and parallel calls', () => {
    const tools = [functionTool('a'), functionTool('b')];
    const choice = (more: Partial<HubRequest>) => bodyOf({ tools, ...more });
    assert.equal(choice({}).tool_choice, undefined);
    assert.deepEqual(choice({ parallelTools: false }).tool_choice, { type: 'auto', disable_parallel_tool_use: true });
    assert.deepEqual(choice({ toolChoice: { kind: 'none' }, parallelTools: false }).tool_choice, { type: 'none' });
    const only = choice({ allowedTools: { mode: 'required', names: [{ name: 'a' }] } });
    assert.deepEqual(
      (only.tools as JsonObject[]).map((tool) => tool.name),
      ['a'],
    );
    assert.deepEqual(only.tool_choice, { type: 'any' });
    assert.equal(bodyOf({ toolChoice: { kind: 'required' } }).tool_choice, undefined);
  });

  it('offers tools that the conversation adds, without an extra turn', () => {
    const body = bodyOf({
      items: [{ kind: 'tool_change', add: [functionTool('late')] }, message('system', 'S'), message('user', 'Hi')],
    });
    assert.deepEqual(
      (body.tools as JsonObject[]).map((tool) => tool.name),
      ['late'],
    );
    assert.deepEqual(body.system, [textBlock('S')]);
    assert.equal((body.messages as unknown[]).length, 1);
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HOSTED_TOOLS, type HostedTool } from '../../rules/index.ts';
import { NO_TOOLS, type ToolBounds, toolFactsOf, toolLevers } from './tool-bounds.ts';

const boundsOf = (request: Readonly<Record<string, unknown>>): ToolBounds =>
  toolFactsOf((name) => request[name], false).bounds;
const OPEN = Number.POSITIVE_INFINITY;

const FUNCTIONS = [
  {
    type: 'function',
    function: { name: 'search_files', parameters: { type: 'object', properties: { type: { type: 'string' } } } },
  },
  { name: 'web_search', description: 'my own', input_schema: { type: 'object' } },
  { type: 'custom', name: 'code_interpreter' },
  { functionDeclarations: [{ name: 'googleSearch' }] },
];

describe('bounds of tools', () => {
  test('tools that the client runs cost only the prompt that the provider adds', () => {
    assert.deepEqual(boundsOf({ tools: FUNCTIONS }), { ...NO_TOOLS, toolInput: 1_000 });
    assert.deepEqual(boundsOf({}), NO_TOOLS);
    assert.deepEqual(boundsOf({ tools: null }), NO_TOOLS);
  });

  for (const { types, members, reads, source } of HOSTED_TOOLS as readonly HostedTool[])
    test(`${[...(types ?? []), ...(members ?? [])].join(', ')}: is found and counts as its row says`, () => {
      assert.ok(source.length > 0);
      const tools = [
        ...(types ?? []).map((type) => ({ type: `${type}_20990101`, environment: { type: 'container_auto' } })),
        ...(members ?? []).map((name) => ({ [name]: {} })),
      ];
      for (const tool of tools) {
        const { toolInput } = boundsOf({ tools: [tool] });
        const isSearch = 'type' in tool && String(tool.type).startsWith('file_search');
        const ofContext = isSearch ? 819_200 : OPEN;
        const expected = reads === 'context' ? ofContext : reads * 10;
        assert.equal(toolInput, 2_500 + expected, JSON.stringify(tool));
      }
    });

  test('a member of a tool or of the request limits its uses', () => {
    const search = { type: 'web_search_20250305', max_uses: 2 };
    assert.equal(boundsOf({ tools: [search] }).toolInput, 2_500 + 60_000);
    assert.equal(boundsOf({ tools: [{ type: 'web_search' }], max_tool_calls: 1 }).toolInput, 2_500 + 30_000);
    assert.equal(boundsOf({ tools: [{ type: 'mcp' }], max_tool_calls: 0 }).toolInput, 2_500);
    const fetch = { type: 'web_fetch_20250910', max_uses: 3, max_content_tokens: 1_000 };
    assert.equal(boundsOf({ tools: [fetch] }).toolInput, 2_500 + 3_000);
    assert.equal(
      boundsOf({ tools: [{ type: 'file_search', max_num_results: 2 }], max_tool_calls: 1 }).toolInput,
      2_500 + 8_192,
    );
    assert.equal(boundsOf({ tools: [search, fetch] }).toolInput, 4_000 + 63_000);
  });

  test('a tool of an unknown type counts as the context, and a shell at the client does not', () => {
    assert.equal(boundsOf({ tools: [{ type: 'deep_reading' }] }).openTool, 'tools[0]');
    assert.equal(boundsOf({ tools: [{}, { deepReading: {} }] }).openTool, 'tools[1].deepReading');
    assert.equal(boundsOf({ tools: [{ type: 'shell' }] }).openTool, undefined);
    assert.equal(
      boundsOf({ tools: [{ type: 'shell', environment: { type: 'container_auto' } }] }).openTool,
      'tools[0]',
    );
  });

  test('servers of the Model Context Protocol count as the context, wherever a request names them', () => {
    assert.equal(boundsOf({ mcp_servers: [{ type: 'url', url: 'https://mcp.example' }] }).openTool, 'mcp_servers');
    assert.deepEqual(boundsOf({ mcp_servers: [] }), NO_TOOLS);
  });

  test('an adviser reads the conversation again with each use, and writes', () => {
    const { ownCalls, moreOutput } = boundsOf({ tools: [{ type: 'advisor_20260301', max_uses: 2, max_tokens: 500 }] });
    assert.deepEqual([ownCalls, moreOutput], [2, 1_000]);
  });

  test('levers come from plain data, and a request with hundreds of thousands of tools has none', () => {
    const tools = [...FUNCTIONS, { type: 'web_fetch_20250910', max_uses: 3, citations: { enabled: true } }];
    const { toolUses } = structuredClone(toolFactsOf((name) => ({ tools })[name as 'tools'], false));
    const levers = toolLevers(toolUses ?? assert.fail());
    assert.deepEqual(
      levers.map(({ param }) => param),
      ['tools[4].max_content_tokens', 'tools[4].max_uses'],
    );
    const lower = [{ type: 'web_fetch_20250910', max_uses: 3, max_content_tokens: 700 }];
    assert.deepEqual(levers[0]?.boundsWith(700), boundsOf({ tools: lower }));
    const many = Array(200_000).fill({ type: 'web_search' });
    const facts = toolFactsOf((name) => ({ tools: many })[name as 'tools'], true);
    assert.deepEqual([facts.bounds.maxSearches, facts.toolUses], [2_000_000, undefined]);
  });
});

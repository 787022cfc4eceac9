import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capabilitiesOf } from '../../rules/index.ts';
import type { HubItem, HubServerCall } from '../hub/types.ts';
import { codecOf, encodeRequestFor, pairOf } from '../index.ts';
import { hostedText, omittedFrom, ownForm, withCarrier } from './hosted.ts';

const CALL: HubServerCall = {
  kind: 'server_call',
  id: 'mcp_1',
  tool: 'mcp',
  issuer: 'responses',
  status: 'failed',
  mcp: { server: 'files', name: 'read', args: '{"path":"a"}' },
  output: 'not there',
  raw: { type: 'mcp_call', id: 'mcp_1' },
};

test('hostedText says what the model asked for and got', () => {
  assert.equal(
    hostedText(CALL),
    '<tool_call tool="mcp" server="files" name="read" status="failed">\n<input>\n{"path":"a"}\n</input>\n<output>\nnot there\n</output>\n</tool_call>',
  );
  assert.equal(hostedText({ ...CALL, tool: 'web_search', mcp: undefined, output: undefined } as never), '');
});

test('ownForm returns carried blocks to their issuer and account only', () => {
  const { raw: _, ...carried } = withCarrier(CALL, 'acc');
  assert.deepEqual(ownForm(carried, 'responses', { account: 'acc' }), [CALL.raw]);
  assert.equal(ownForm(carried, 'responses', { account: 'other' }), undefined);
  assert.equal(ownForm(carried, 'messages', { account: 'acc' }), undefined);
  const damaged = { ...carried, opaque: { issuer: 'responses', kind: 'hosted', data: '{' } } as const;
  assert.equal(ownForm(damaged, 'responses', {}), undefined);
});

test('withCarrier leaves out a result that is too large for an envelope', () => {
  assert.equal(withCarrier({ ...CALL, raw: { text: 'x'.repeat(600_000) } }, undefined).opaque, undefined);
});

test('omittedFrom names what a client dialect cannot show', () => {
  const names = (dialect: 'messages' | 'chat' | 'responses', item: HubItem) =>
    omittedFrom({ items: [item] }, codecOf(dialect).client.replyForms);
  const image = { kind: 'image', source: { kind: 'base64', mime: 'image/png', data: 'AA' } } as const;
  const audio = { kind: 'audio', source: { kind: 'base64', mime: 'audio/wav', data: 'AA' } } as const;
  const message = { kind: 'message', role: 'assistant', parts: [image, audio] } as const;
  assert.deepEqual(names('messages', message), ['image', 'audio']);
  assert.deepEqual(names('responses', message), ['audio']);
  assert.deepEqual(names('chat', message), []);
  assert.deepEqual(names('chat', CALL), ['mcp']);
  assert.deepEqual(names('messages', CALL), []);
  assert.deepEqual(names('messages', { ...CALL, mcp: { server: 'files', args: '' } }), ['mcp_list_tools']);
  assert.deepEqual(names('messages', { ...CALL, tool: 'file_search' }), ['file_search']);
  assert.deepEqual(names('chat', { kind: 'opaque', issuer: 'messages', raw: { type: 'fallback' } }), ['fallback']);
});

test('what the text of a call in the history lacks is named, unless its issuer gets the call itself', () => {
  const listed = {
    type: 'mcp_list_tools',
    server_label: 's',
    tools: [{ name: 'a', input_schema: {}, annotations: {} }],
  };
  const request = (client: 'responses' | 'messages', body: object) =>
    codecOf(client).client.decodeRequest(
      { model: 'm', ...(client === 'messages' && { max_tokens: 9 }), ...body },
      { headers: {} },
    );
  const dropped = (client: 'responses' | 'messages', upstream: 'responses' | 'messages', body: object) =>
    encodeRequestFor(pairOf({ client, upstream }), request(client, body), {
      model: 'm',
      capabilities: capabilitiesOf(upstream, 'm'),
    }).dropped;
  const results = [{ file_id: 'f', filename: 'a', text: 't', attributes: { year: 2 } }];
  const input = [
    { role: 'user', content: 'hi' },
    listed,
    {
      type: 'mcp_call',
      id: 'm1',
      server_label: 's',
      name: 'a',
      arguments: '{}',
      output: 'b',
      approval_request_id: 'r1',
    },
    { type: 'file_search_call', id: 'f1', status: 'completed', queries: ['q'], results },
    { role: 'user', content: 'go on' },
  ];
  assert.deepEqual(dropped('responses', 'messages', { input }), [
    'input.mcp_list_tools.tools.input_schema',
    'input.mcp_list_tools.tools.annotations',
    'input.mcp_call.approval_request_id',
    'input.file_search_call.results.attributes',
  ]);
  assert.deepEqual(dropped('responses', 'responses', { input }), []);
  const found = [
    { type: 'web_search_result', url: 'https://a.example', title: 'A', encrypted_content: 'x', page_age: '1 day' },
  ];
  const messages = [
    { role: 'user', content: 'hi' },
    {
      role: 'assistant',
      content: [
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: found },
        { type: 'server_tool_use', id: 'srvtoolu_2', name: 'advisor', input: {} },
        { type: 'advisor_tool_result', tool_use_id: 'srvtoolu_2', content: { type: 'advisor_result', text: 'Wait.' } },
      ],
    },
    { role: 'user', content: 'go on' },
  ];
  assert.ok(
    dropped('messages', 'responses', { messages }).includes('messages.web_search_tool_result.content.page_age'),
  );
  const { items } = request('messages', { messages });
  assert.match(items.map((item) => (item.kind === 'server_call' ? hostedText(item) : '')).join(), /tool="advisor"/);
});

test('a responses client that asks for compaction gets that of a messages provider, and other providers name it', () => {
  const body = { model: 'm', input: 'hi', context_management: [{ type: 'compaction', compact_threshold: 90_000 }] };
  const request = codecOf('responses').client.decodeRequest(body, { headers: {} });
  const encoded = (upstream: 'messages' | 'generate') =>
    encodeRequestFor(pairOf({ client: 'responses', upstream }), request, {
      model: 'm',
      capabilities: capabilitiesOf(upstream === 'generate' ? 'generate-content' : upstream, 'm'),
    });
  const { body: sent, headers, dropped } = encoded('messages');
  const edit = { type: 'compact_20260112', trigger: { type: 'input_tokens', value: 90_000 } };
  assert.deepEqual([sent.context_management, dropped], [{ edits: [edit] }, []]);
  assert.match(headers['anthropic-beta'] ?? '', /compact-2026-01-12/);
  assert.deepEqual(encoded('generate').dropped, ['context_management']);
});

test('citations of a reply name the words that a client does not get', () => {
  const text = {
    kind: 'text',
    text: 'a',
    annotations: [{ url: 'https://a.example', title: 'A', cited: 'words' }],
  } as const;
  const items = [{ kind: 'message', role: 'assistant', parts: [text] }] as const;
  const omitted = (dialect: 'messages' | 'responses') => omittedFrom({ items }, codecOf(dialect).client.replyForms);
  assert.deepEqual([omitted('responses'), omitted('messages')], [['citations.cited_text'], []]);
});

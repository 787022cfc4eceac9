import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HubItem, HubServerCall } from '../hub/types.ts';
import { codecOf } from '../index.ts';
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

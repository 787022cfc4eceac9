import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dialectsFor, PLAY_DIALECTS, takeEvents } from './dialects.ts';

test('takeEvents returns complete events and keeps the rest', () => {
  const { events, rest } = takeEvents('event: a\ndata: {"n":1}\n\n: heartbeat\n\ndata: [DONE]\r\n\r\ndata: {"n"');
  assert.deepEqual(events, ['{"n":1}']);
  assert.equal(rest, 'data: {"n"');
});

test('every dialect finds the text of its stream events', () => {
  const { responses, messages, chat, generate } = PLAY_DIALECTS;
  assert.equal(responses.textOf({ type: 'response.output_text.delta', delta: 'Hi' }), 'Hi');
  assert.equal(responses.textOf({ type: 'response.reasoning_summary_text.delta', delta: 'Hm' }), undefined);
  assert.equal(messages.textOf({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'Hi' } }), 'Hi');
  assert.equal(messages.textOf({ type: 'content_block_delta', delta: { type: 'thinking_delta' } }), undefined);
  assert.equal(chat.textOf({ choices: [{ delta: { content: 'Hi' } }] }), 'Hi');
  assert.equal(chat.textOf({ choices: [] }), undefined);
  const parts = [{ text: 'Hm', thought: true }, { text: 'Hi' }];
  assert.equal(generate.textOf({ candidates: [{ content: { parts } }] }), 'Hi');
});

test('a key takes the dialects of the matrix, the one of its providers first', () => {
  assert.deepEqual(dialectsFor('generate-content'), ['generate', 'responses', 'messages', 'chat']);
  assert.deepEqual(dialectsFor('messages'), ['messages', 'responses', 'chat']);
  assert.deepEqual(dialectsFor('responses')[0], 'responses');
  assert.ok(!dialectsFor('responses').includes('generate'));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dialect } from '../../rules/index.ts';
import { ReplySample } from './reply-sample.ts';

/** Read byte by byte, in pieces and at once. */
function namesIn(dialect: Dialect, text: string) {
  const [first, ...others] = [1, 1000, text.length].map((size) => {
    const sample = new ReplySample();
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) sample.push(bytes.subarray(at, at + size));
    return sample.read(dialect);
  });
  for (const other of others) assert.deepEqual(other, first);
  return first;
}

const sse = (...events: object[]): string => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
const names = (id: string, model: string, ...finishReasons: string[]) => ({ id, model, finishReasons });
const text = 'x'.repeat(30_000);

test('ReplySample reads id, model and finish reasons of every dialect, of streams and of whole replies', () => {
  const message = { id: 'msg_1', type: 'message', model: 'claude', content: [{ type: 'text', text }] };
  assert.deepEqual(
    namesIn('messages', JSON.stringify({ ...message, stop_reason: 'end_turn' })),
    names('msg_1', 'claude', 'end_turn'),
  );
  const opened = { type: 'message_start', message: { ...message, content: [], stop_reason: null } };
  const stopped = { type: 'message_delta', delta: { stop_reason: 'tool_use' } };
  assert.deepEqual(namesIn('messages', sse(opened, { text }, stopped)), names('msg_1', 'claude', 'tool_use'));

  const chunk = { id: 'chatcmpl-1', model: 'gpt', choices: [{ delta: { content: text }, finish_reason: null }] };
  const choices = ['stop', 'length'].map((reason, index) => ({ index, finish_reason: reason }));
  assert.deepEqual(namesIn('chat', sse(chunk, { ...chunk, choices })), names('chatcmpl-1', 'gpt', 'stop', 'length'));

  const response = { id: 'resp_1', status: 'completed', incomplete_details: null, model: 'gpt', output: [text] };
  assert.deepEqual(namesIn('responses', JSON.stringify(response)), names('resp_1', 'gpt', 'completed'));
  const incomplete = { ...response, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
  assert.deepEqual(namesIn('responses', JSON.stringify(incomplete)), names('resp_1', 'gpt', 'max_output_tokens'));

  const candidate = { content: { parts: [{ text }] }, finishReason: 'STOP' };
  const generated = { candidates: [candidate], modelVersion: 'gemini', responseId: 'r1' };
  assert.deepEqual(namesIn('generate', sse(generated)), names('r1', 'gemini', 'STOP'));
});

test('ReplySample takes nothing from the text of a reply', () => {
  const quoted = JSON.stringify({ id: 'fake', model: 'fake', finish_reason: 'fake' });
  const reply = { choices: [{ message: { content: quoted } }] };
  assert.deepEqual(namesIn('chat', JSON.stringify(reply)), { id: undefined, model: undefined, finishReasons: [] });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HubItem, HubToolCall, HubToolResult } from '../hub/types.ts';
import { pairResults } from './pair-results.ts';

const call = (callId: string): HubToolCall => ({ kind: 'tool_call', callId, name: 'f', form: 'function', args: '{}' });
const result = (callId: string, text: string, more: Partial<HubToolResult> = {}): HubToolResult => ({
  kind: 'tool_result',
  callId,
  form: 'function',
  parts: [{ kind: 'text', text }],
  ...more,
});
const user: HubItem = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'go' }] };

/** The texts of the result of every call, in conversation order. */
function resultTexts(...items: HubItem[]): (string[] | undefined)[] {
  const take = pairResults(items);
  return items
    .filter((item) => item.kind === 'tool_call')
    .map((item) => take(item)?.parts.map((part) => ('text' in part ? part.text : '')));
}

test('pairResults finds results in any order', () => {
  assert.deepEqual(resultTexts(call('a'), call('b'), result('b', '2'), result('a', '1')), [['1'], ['2']]);
});

test('pairResults returns undefined for a call without a result', () => {
  assert.deepEqual(resultTexts(call('a'), user, call('b'), result('b', '2')), [undefined, ['2']]);
});

test('pairResults gives each turn its own result when a call id is reused', () => {
  assert.deepEqual(resultTexts(call('a'), result('a', '1'), user, call('a'), result('a', '2')), [['1'], ['2']]);
});

test('pairResults gives a result to the last turn that waits for a reused call id', () => {
  assert.deepEqual(resultTexts(call('a'), user, call('a'), result('a', '2')), [undefined, ['2']]);
  assert.deepEqual(resultTexts(call('a'), user, call('a'), result('a', '2'), result('a', '1')), [['1'], ['2']]);
});

test('pairResults gives results in order to calls of one turn that share an id', () => {
  assert.deepEqual(resultTexts(call('a'), call('a'), result('a', '1'), result('a', '2')), [['1'], ['2']]);
});

test('pairResults merges further results of a call that already has one', () => {
  const items = [call('a'), result('a', '1'), result('a', '2', { isError: true })];
  const merged = pairResults(items)(call('a'));
  assert.deepEqual(
    merged,
    result('a', '', { isError: true, parts: [...result('a', '1').parts, ...result('a', '2').parts] }),
  );
});

test('pairResults rejects a result without an earlier call', () => {
  const error = { code: 'invalid_request', message: /call_id ghost/, details: { param: 'conversation' } };
  assert.throws(() => pairResults([user, result('ghost', 'x')]), error);
  assert.throws(() => pairResults([result('ghost', 'x'), call('ghost')]), error);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from './exact-json.ts';
import { fromJsonText, toJsonText } from './json-text.ts';

test('values keep their exact numbers and the order of their names on the way', () => {
  const text = '{"input":{"b":1.0,"10":[12345678901234567890,{"2":-0,"1":1e3}],"a":"x"},"n":1.5}';
  const sent = toJsonText(parseJson(text));
  assert.equal(sent.isExact, true);
  assert.equal(JSON.stringify(fromJsonText(structuredClone(sent))), text);
});

test('values without exact numbers take the fast way', () => {
  const value = { a: [1, 'text with 1.0 inside', { b: null, c: true }], d: 0.25 };
  const sent = toJsonText(value);
  assert.equal(sent.isExact, false);
  assert.deepEqual(fromJsonText(sent), value);
});

test('long strings stand beside the text, and come back at every depth', () => {
  const long = '"'.repeat(5_000);
  const value = { a: [long, { b: long, c: 'short' }], input: { '1': 1, d: `${long}x` } };
  const sent = toJsonText(value);
  assert.equal(sent.text.includes('"'.repeat(3)), false);
  assert.ok(sent.text.length < 300, sent.text);
  assert.deepEqual(fromJsonText(structuredClone(sent)), value);
  assert.equal(value.a[0], long, 'the value stays as it is');
  assert.equal(fromJsonText(toJsonText(long)), long);
});

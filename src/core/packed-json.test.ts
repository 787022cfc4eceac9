import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from './exact-json.ts';
import { packJson, unpackJson } from './packed-json.ts';

test('values keep their exact numbers and the order of their names on the way', () => {
  const text = '{"input":{"b":1.0,"10":[12345678901234567890,{"2":-0,"1":1e3}],"a":"x"},"n":1.5}';
  const sent = packJson(parseJson(text));
  assert.equal(sent.isExact, true);
  assert.equal(JSON.stringify(unpackJson(structuredClone(sent))), text);
});

test('values without exact numbers take the fast way', () => {
  const value = { a: [1, 'text with 1.0 inside', { b: null, c: true }], d: 0.25 };
  const sent = packJson(value);
  assert.equal(sent.isExact, false);
  assert.deepEqual(unpackJson(sent), value);
});

test('long strings stand beside the text, and come back at every depth', () => {
  const long = '"'.repeat(5_000);
  const value = { a: [long, { b: long, c: 'short' }], input: { '1': 1, d: `${long}x` } };
  const sent = packJson(value);
  assert.equal(sent.text.includes('"'.repeat(3)), false);
  assert.ok(sent.text.length < 300, sent.text);
  assert.deepEqual(unpackJson(structuredClone(sent)), value);
  assert.equal(value.a[0], long, 'the value stays as it is');
  assert.equal(unpackJson(packJson(long)), long);
});

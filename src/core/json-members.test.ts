import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { repeatedMember } from './json-members.ts';

const WATCHED = new Set(['type', 'max']);

test('repeatedMember finds a watched member that one object has twice, at any depth and in any spelling', () => {
  for (const json of [
    '{"type":1,"type":2}',
    '{"a":[{"b":{"max" : 1,"c":"}","max":2}}]}',
    '{"type":{"x":1},"y":[{"type":2}],"ty\\u0070e":3}',
  ])
    assert.ok(repeatedMember(json, WATCHED), json);
  for (const json of [
    '{"type":{"type":1},"max":[{"type":2},{"type":3}]}',
    '{"a":1,"a":2}',
    '{"x":"type","y":"type","z":"{\\"max\\":1,\\"max\\":2}"}',
  ])
    assert.equal(repeatedMember(json, WATCHED), undefined, json);
});

test('repeatedMember finds nothing in what a serializer writes', () => {
  fc.assert(fc.property(fc.json(), (json) => repeatedMember(json, new Set(['', 'a', 'type'])) === undefined));
});

test('repeatedMember takes linear time for long strings and long space', () => {
  const space = ' '.repeat(1_000_000);
  const quotes = '\\"'.repeat(1_000_000);
  assert.equal(repeatedMember(`{"a":"${quotes}${'x'.repeat(20_000_000)}","type"${space}:1}`, WATCHED), undefined);
  assert.equal(repeatedMember(`{"type"${space}:1,"a":2,"type":3}`, WATCHED), 'type');
});

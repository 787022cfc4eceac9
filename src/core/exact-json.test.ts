import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf, LINEAR_GROWTH } from '../../test/support/cpu-time.ts';
import { JSON_LIMITS } from '../rules/index.ts';
import { parseExact, parseJson } from './exact-json.ts';

test('parseExact keeps the text of numbers and the order of members', () => {
  for (const text of [
    '{"id":1234567890123456789,"share":0.1000000000000000055,"big":1e400,"one":1.0,"zero":-0}',
    '{"b":1,"1":2,"a":{"10":[{"2":0,"1":0}]},"0":3}',
    '{"__proto__":{"1":1.0},"constructor":1.0,"toJSON":1.0,"":1.0}',
    '{"a\\"b":1.0,"\\\\":"\\\\\\"","é":"1.0"}',
  ]) {
    const value = parseExact(text);
    assert.equal(JSON.stringify(value), text);
    assert.equal(Object.getPrototypeOf(value), Object.prototype, text);
  }
});

test('parseExact returns plain values where nothing would change', () => {
  assert.deepEqual(parseExact('{"a":[1,2.5,"x",null,true],"b":{}}'), { a: [1, 2.5, 'x', null, true], b: {} });
  assert.equal(parseExact('{"a":1'), undefined);
});

test('parseExact uses the last of repeated members, as JSON.parse does', () => {
  assert.equal(JSON.stringify(parseExact('{"a":1.0,"1":2,"a":{"x":3.0}}')), '{"a":{"x":3.0},"1":2}');
});

test('parseExact rejects arguments that are too deep to be written again', () => {
  const nested = (depth: number, inner: string): string => `${'{"1":'.repeat(depth)}${inner}${'}'.repeat(depth)}`;
  assert.equal(JSON.stringify(parseExact(nested(JSON_LIMITS.depth, '1.0'))), nested(JSON_LIMITS.depth, '1.0'));
  assert.equal(parseExact(nested(JSON_LIMITS.depth + 1, '1.0')), undefined);
  assert.equal(parseExact(`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`), undefined);
});

test('more numbers than can be kept exactly are never changed silently', () => {
  const list = (count: number): string => `{"list":[${Array.from({ length: count }, () => '1.0')}]}`;
  const [full, tooMany] = [list(JSON_LIMITS.exactValues), list(JSON_LIMITS.exactValues + 1)];
  assert.equal(JSON.stringify(parseExact(full)), full);
  assert.equal(parseExact(tooMany), undefined, 'the caller keeps the text');
  assert.throws(() => parseJson(`{"input":${tooMany}}`, 'client'), /more than 50000 numbers/);
  assert.equal((parseJson(`{"input":${tooMany}}`) as { input: { list: unknown[] } }).input.list[0], 1);
});

test('parseJson is exact inside tool arguments only', () => {
  const schema = { properties: { input: { maximum: 1.5 } } };
  const text = `{"temperature":1.0,"tools":[{"input_schema":${JSON.stringify(schema).replace('1.5', '10.0')}}],
    "messages":[{"type":"tool_use", "input" : {"n": 1.0, "tools": [2.0]}}, {"input":"text"}, {"input":[1.0]}]}`;
  const value = parseJson(text) as { temperature: unknown; tools: unknown; messages: { input: unknown }[] };
  assert.equal(value.temperature, 1);
  assert.deepEqual(value.tools, [{ input_schema: { properties: { input: { maximum: 10 } } } }]);
  assert.equal(JSON.stringify(value.messages[0]?.input), '{"n":1.0,"tools":[2.0]}');
  assert.deepEqual(value.messages.slice(1), [{ input: 'text' }, { input: [1] }]);
});

test('parseJson reads large bodies at linear cost', () => {
  const bodyOf = (calls: number): string =>
    `{"messages":[${Array.from({ length: calls }, (_, n) => `{"input":{"${n}":1.0,"s":"${'\\\\'.repeat(50)}\\""}}`).join(',')}]}`;
  const growth = growthOf((calls) => {
    const text = bodyOf(calls);
    return () => void parseJson(text);
  }, 1_000);
  assert.ok(growth < LINEAR_GROWTH, `${growth}`);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeMembers } from './json-members.ts';

test('changeMembers removes and adds members, and keeps every other byte', () => {
  const change = (text: string, remove: readonly string[], add: Record<string, string> = { v: '"1"' }) =>
    changeMembers(Buffer.from(text), { remove, add }).toString();
  for (const [body, expected] of [
    ['{"model":"m","a":1e3}', '{"v":"1","a":1e3}'],
    ['{"a":1.0 , "model" : "m"}', '{"v":"1","a":1.0}'],
    ['{ "a" : [1, 2] ,\n "model": "m" ,"stream":true }', '{"v":"1","a":[1,2]}'],
    ['{"model":"m","stream":false}', '{"v":"1"}'],
    ['{"stream":true,"x":{"model":"n"},"model":"m"}', '{"v":"1","x":{"model":"n"}}'],
    ['{"\\u006dodel":"m","b":2}', '{"v":"1","b":2}'],
    ['{"v":"0","b":2,"model":"m"}', '{"v":"1","b":2}'],
    ['{"model":"m", "x":1, "stream":true, "v":2 }', '{"v":"1","x":1}'],
    ['{}', '{"v":"1"}'],
  ] as const) {
    assert.deepEqual(JSON.parse(change(body, ['model', 'stream'])), JSON.parse(expected), body);
  }
  assert.equal(change('{"model":"m","a":1e3, "b" :"\\u00e9"}', ['model']), '{"v":"1","a":1e3, "b" :"\\u00e9"}');
});

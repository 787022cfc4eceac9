import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { examineTaskBody } from './examine.ts';
import type { TaskEntry } from './task-request.ts';

function fingerprint(body: string, entry: TaskEntry = 'tasks'): string {
  const examination = examineTaskBody(Buffer.from(body), entry, undefined);
  assert.ok(examination.kind === 'parsed', body);
  return examination.fingerprint;
}

/** The definition: version, entry, canonical JSON without members that are null. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== null)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
};

test('V 8 fingerprint: equals the hash of version, entry and canonical JSON', () => {
  const long = fc.string({ unit: 'binary', minLength: 1_000, maxLength: 3_000 });
  const leaf = fc.oneof(fc.jsonValue({ maxDepth: 0 }), fc.string({ unit: 'binary' }), long);
  const body = fc.dictionary(
    fc.string({ unit: 'binary' }).filter((name) => name !== '__proto__'),
    fc.oneof(leaf, fc.jsonValue()),
    {
      maxKeys: 6,
    },
  );
  fc.assert(
    fc.property(body, fc.constantFrom<TaskEntry>('tasks', 'videos'), fc.constantFrom(0, 2), (value, entry, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      if (text.includes('__proto__')) return;
      const expected = createHash('sha256')
        .update(`\u0001${entry}\n${canonical(JSON.parse(text))}`)
        .digest('hex');
      assert.equal(fingerprint(text, entry), expected);
    }),
  );
});

test('V 8 fingerprint: key order, white space, escapes and number spellings do not matter', () => {
  const long = 'https://media.example.com/'.repeat(100);
  const same = [
    `{"model":"m","n":10,"content":[{"type":"text","text":"${long}"}]}`,
    ` { "content" : [ { "text" : "${long}" , "type" : "text" } ] , "n" : 1e1 , "model" : "\\u006d" } `,
    `{"n":10.0,"model":"m","content":[{"type":"text","text":"${long.replaceAll('/', '\\/')}"}]}`,
  ].map((body) => fingerprint(body));
  assert.equal(new Set(same).size, 1);
});

test('V 8 fingerprint: absent, false, 0, empty text, another entry and another order of items differ', () => {
  const bodies = [
    '{"a":1}',
    '{"a":1,"b":false}',
    '{"a":1,"b":0}',
    '{"a":1,"b":""}',
    '{"a":[1,2]}',
    '{"a":[2,1]}',
    '{"a":"1"}',
    '{"a":1e999}',
    '{"a":-1e999}',
    '{"a":[null]}',
    '{"a":"Infinity"}',
  ];
  const all = [...bodies.map((body) => fingerprint(body)), fingerprint('{"a":1}', 'videos')];
  assert.equal(new Set(all).size, bodies.length + 1);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runs } from '../../test/support/properties.ts';
import { JsonScanError, measureMembers, scanMembers, splice, valueAt } from './json.ts';

const LIMITS = { depth: 8, tokens: 100_000 };
const scan = (text: string | Buffer, ...wanted: string[]) => scanMembers(Buffer.from(text), new Set(wanted), LIMITS);
const isScanError = (pattern: RegExp) => (error: unknown) =>
  error instanceof JsonScanError && pattern.test(error.message);

test('scanMembers returns the exact span of a value', () => {
  const body = Buffer.from('\n{ "a" : [1, {"model":"inner"}], "model" :\t"x-1" , "z":1.50e+3}');
  const found = scan(body, 'model', 'z');
  assert.equal(valueAt(body, found.get('model') ?? assert.fail()), 'x-1');
  const spliced = splice(body, found.get('model') ?? assert.fail(), Buffer.from('"y"')).toString();
  assert.equal(spliced, '\n{ "a" : [1, {"model":"inner"}], "model" :\t"y" , "z":1.50e+3}');
});

test('scanMembers finds a key written with escapes', () => {
  assert.ok(scan('{"mod\\u0065l":1}', 'model').has('model'));
});

test('scanMembers rejects a wanted member that occurs twice, and allows others', () => {
  assert.throws(() => scan('{"model":"a","mod\\u0065l":"b"}', 'model'), isScanError(/occurs twice/));
  assert.ok(scan('{"x":1,"x":2,"model":"a"}', 'model').has('model'));
});

test('scanMembers and valueAt agree with JSON.parse', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.json({ maxDepth: 4 }), { maxKeys: 6 }), fc.json(), (rest, value) => {
      const { model: _, ...others } = rest;
      const body = Buffer.from(
        `{${[...Object.entries(others), ['model', value]].map(([k, v]) => `${JSON.stringify(k)}:${v}`).join(',')}}`,
      );
      const span = scanMembers(body, new Set(['model']), { depth: 64, tokens: 100_000 }).get('model') ?? assert.fail();
      assert.deepEqual(valueAt(body, span), JSON.parse(value));
    }),
    { numRuns: runs(500) },
  );
});

test('scanMembers finds the end of long strings, however many quotes and backslashes they have', () => {
  const pieces = fc.constantFrom('"', '\\', 'word ', '\n', 'é', 'x'.repeat(40), 'y'.repeat(1_500), '"'.repeat(700));
  fc.assert(
    fc.property(fc.array(fc.tuple(pieces, fc.integer({ min: 1, max: 60 })), { maxLength: 40 }), (runsOf) => {
      const long = runsOf.map(([piece, times]) => piece.repeat(times)).join('');
      const body = Buffer.from(JSON.stringify({ long, deep: [{ long }, long], model: 'm' }));
      const found = scanMembers(body, new Set(['long', 'model']), { depth: 64, tokens: 100 });
      assert.equal(valueAt(body, found.get('long') ?? assert.fail()), long);
      assert.equal(valueAt(body, found.get('model') ?? assert.fail()), 'm');
    }),
    { numRuns: runs(200) },
  );
});

test('scanMembers rejects truncated and damaged bodies', () => {
  const body = '{"model":"m","messages":[{"role":"user","content":"hello \\"you\\" \\\\"}],"n":[1,2.5,-3e4,true,null]}';
  for (let cut = 0; cut < body.length; cut++) assert.throws(() => scan(body.slice(0, cut), 'model'), JsonScanError);
  for (const bad of [
    '[]',
    '"x"',
    '{"a":01}',
    '{"a":1.}',
    '{"a":tru}',
    '{"a":1}}',
    '{"a":1,}',
    "{'a':1}",
    '{"a" 1}',
    '{"a":"\n"}',
    '{"a":[1}',
  ]) {
    assert.throws(() => scan(bad), JsonScanError, bad);
  }
  assert.throws(() => scan(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), isScanError(/UTF-8/));
});

test('a bad escape in a key or value is a JsonScanError', () => {
  for (const bad of ['\\x', '\\u12', '\\e', '\\u12G4']) {
    assert.throws(() => scan(`{"mod${bad}el":1}`, 'model'), isScanError(/bad escape/), bad);
    for (const value of [bad, `${'x'.repeat(50)}${bad}`, `${'x'.repeat(50)}\n`]) {
      const body = Buffer.from(`{"model":"${value}"}`);
      assert.throws(
        () => valueAt(body, scan(body, 'model').get('model') ?? assert.fail()),
        isScanError(/bad escape/),
        value,
      );
    }
  }
});

test('scanMembers limits depth and number of values', () => {
  const nest = (n: number) => `${'{"a":'.repeat(n)}1${'}'.repeat(n)}`;
  assert.ok(scan(nest(8)));
  assert.throws(() => scan(nest(9)), isScanError(/nested deeper than 8/));
  assert.throws(() => scan(`{"a":${'['.repeat(1_000_000)}`), isScanError(/nested/));
  assert.throws(() => scan(`{"a":[${'1,'.repeat(100_001)}1]}`), isScanError(/more than 100000 values/));
});

test('scanMembers skips long strings with quotes and backslashes at every offset', () => {
  for (let n = 30; n < 70; n++) {
    for (const tail of ['', '\\"', '\\\\', '\\\\\\"', '\\\\\\\\']) {
      const body = Buffer.from(`{"data":"${'x'.repeat(n)}${tail}","model":"m"}`);
      assert.equal(valueAt(body, scan(body, 'model').get('model') ?? assert.fail(`${n} ${tail}`)), 'm');
    }
  }
});

test('measureMembers knows which bodies JSON.stringify writes as they are', () => {
  const isPlain = (text: string): boolean =>
    measureMembers(Buffer.from(text), new Set(), { depth: 9, tokens: 99 }).isPlain;
  for (const value of ['1', '-1', '0', '0.7', '-0.5', '123456789012345', '0.000001', '"1e5"', '{"a1":1}'])
    assert.ok(isPlain(`{"a":{"b":[${value}]}}`), value);
  for (const value of ['-0', '1.0', '1e5', '1E5', '12345678901234567', '0.0000001', '1e400', '{"1":1}', '{"12":{}}'])
    assert.ok(!isPlain(`{"a":{"b":[${value}]}}`), value);
});

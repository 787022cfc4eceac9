import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { allowsPart, contentRange, rangeHeader, readContentRange, readRange, selectRange } from './range.ts';

/**
 * The grammar of RFC 9110 14.1.1 and 14.1.2, written with big integers and
 * without the cases of the parser. Status and bytes.
 */
function reference(header: string, size: number): 'whole' | 'none' | readonly [number, number] {
  const spec = /^bytes=(?<first>\d+)?-(?<last>\d+)?$/i.exec(header)?.groups;
  if (!spec || (spec.first === undefined && spec.last === undefined)) return 'whole';
  if (spec.first !== undefined && spec.last !== undefined && BigInt(spec.last) < BigInt(spec.first)) return 'whole';
  const selected = Array.from({ length: size }, (_, n) => n).filter((n) =>
    spec.first === undefined
      ? BigInt(size - n) <= BigInt(spec.last ?? 0)
      : BigInt(n) >= BigInt(spec.first) && (spec.last === undefined || BigInt(n) <= BigInt(spec.last)),
  );
  const [first] = selected;
  return first === undefined ? 'none' : [first, selected.at(-1) ?? 0];
}

function parsed(header: string, size: number): 'whole' | 'none' | readonly [number, number] {
  const request = readRange(header);
  if (!request) return 'whole';
  const range = selectRange(request, size);
  return range ? [range.start, range.end] : 'none';
}

const digits = fc.oneof(
  fc.constant(''),
  fc.nat(70).map(String),
  fc.constantFrom('00', '007', '999999999999999', '9007199254740993', '9'.repeat(400)),
);
const unit = fc.constantFrom('bytes', 'Bytes', 'BYTES', 'items', 'byte', '');
const joint = fc.constantFrom('=', ' = ', '', ':');
const tail = fc.constantFrom('', '', '', ' ', ',', ',0-1', '-', 'x', '\t');
const header = fc
  .tuple(unit, joint, digits, fc.constantFrom('-', '-', '-', '--', ''), digits, tail)
  .map((parts) => parts.join(''));

test('V 4.6 r3: the range parser selects what the reference selects', () => {
  fc.assert(
    fc.property(header, fc.nat(60), (text, size) => assert.deepEqual(parsed(text, size), reference(text, size))),
    { numRuns: 20_000 },
  );
});

test('V 4.6 r3: the range parser ignores any other text', () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(60), (text, size) => assert.deepEqual(parsed(text, size), reference(text, size))),
  );
  assert.equal(readRange(undefined), undefined);
});

test('a range sent upstream selects the same bytes there', () => {
  fc.assert(
    fc.property(header, fc.nat(60), (text, size) => {
      const request = readRange(text);
      if (request) assert.deepEqual(parsed(rangeHeader(request), size), parsed(text, size));
    }),
    { numRuns: 2_000 },
  );
});

test('a content range reads back as it was written', () => {
  fc.assert(
    fc.property(fc.nat(1_000), fc.nat(1_000), fc.integer({ min: 1, max: 1_000 }), (start, more, rest) => {
      const range = { start, end: start + more };
      const size = range.end + rest;
      assert.deepEqual(readContentRange(contentRange(range, size)), { range, size });
    }),
  );
});

test('a content range that contradicts itself or has another form is malformed', () => {
  assert.deepEqual(readContentRange('bytes */100'), { range: undefined, size: 100 });
  assert.deepEqual(readContentRange('bytes 0-9/*'), { range: { start: 0, end: 9 }, size: undefined });
  for (const text of [undefined, '', 'bytes 9-0/100', 'bytes 0-100/100', 'items 0-9/100', 'bytes 0-9', 'bytes 0-9/10x'])
    assert.equal(readContentRange(text), undefined, String(text));
});

test('V 4.6 r3: If-Range allows a part for the exact tag or date only', () => {
  const [etag, date] = ['"abc"', 'Mon, 05 Jan 2026 10:00:00 GMT'];
  for (const value of [undefined, etag, date]) assert.equal(allowsPart(value, etag, date), true, String(value));
  for (const value of ['W/"abc"', '"abcd"', 'abc', '*', '', 'Mon, 05 Jan 2026 10:00:01 GMT'])
    assert.equal(allowsPart(value, etag, date), false, value);
});

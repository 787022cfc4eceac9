import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { law } from '../../../../test/laws/runs.ts';
import { framingOf } from '../framing.ts';
import { HEADER_NAME_CACHE, HeadTooLargeError, HttpParseError, headerLine } from '../headers.ts';
import { headEnd, readHead as parse } from './head.ts';

const readHead = (text: string) => parse(text, 100);

const TOKEN_CHARS = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const VALUE_CHARS = ['\t', ...Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code))].filter((char) =>
  /[\t -~\x80-\xff]/.test(char),
);
const NO_VALUE_CHARS = Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code))
  .filter((char) => char !== '\t')
  .concat('\x7f');

const names = fc.oneof(
  fc.string({ unit: fc.constantFrom(...TOKEN_CHARS), minLength: 1, maxLength: 70 }),
  fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'Content-Type', 'x-a', 'X-A', 'x-A'),
);
const values = fc.string({ unit: fc.constantFrom(...VALUE_CHARS), maxLength: 40 });
const blanks = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 3 });
const lines = fc.record({ name: names, before: blanks, value: values, after: blanks });
const heads = fc.array(lines, { maxLength: 12 }).map((fields) => ({
  fields: fields.flatMap(({ name, value }) => [name.toLowerCase(), value.replaceAll(/^[\t ]+|[\t ]+$/g, '')]),
  text: ['GET /x HTTP/1.1', ...fields.map((one) => `${one.name}:${one.before}${one.value}${one.after}`)].join('\r\n'),
}));

const rejects = (text: string): void => assert.throws(() => readHead(text), HttpParseError, JSON.stringify(text));

test('readHead splits a head into its first line and its headers', () => {
  const head = readHead(
    'POST /v1/messages?x=1 HTTP/1.1\r\nHost: a.test\r\nX-One:1\r\nx-two: \t a  b \t\r\nx-ONE: 2\r\nx-three:',
  );
  assert.equal(head.line, 'POST /v1/messages?x=1 HTTP/1.1');
  assert.deepEqual({ ...head.headers }, { host: 'a.test', 'x-one': '1, 2', 'x-two': 'a  b', 'x-three': '' });
  assert.deepEqual(head.rawHeaders, ['host', 'a.test', 'x-one', '1', 'x-two', 'a  b', 'x-one', '2', 'x-three', '']);
  assert.deepEqual(readHead('HTTP/1.1 200 OK').rawHeaders, []);
});

test('readHead keeps all valid names and values unchanged', () => {
  law(heads, ({ text, fields }) => {
    const head = readHead(text);
    assert.equal(head.line, 'GET /x HTTP/1.1');
    assert.deepEqual(head.rawHeaders, fields);
    const joined = new Map<string, string[]>();
    for (let n = 0; n < fields.length; n += 2) {
      const [name = '', value = ''] = fields.slice(n, n + 2);
      joined.set(name, [...(joined.get(name) ?? []), value]);
    }
    assert.deepEqual(new Set(Object.keys(head.headers)), new Set(joined.keys()));
    for (const [name, all] of joined) assert.equal(head.headers[name], all.join(', '));
  });
});

test('readHead treats names of object properties as plain headers', () => {
  const { headers } = readHead('GET / HTTP/1.1\r\n__proto__: a\r\nconstructor: b');
  assert.equal(Object.getPrototypeOf(headers), null);
  assert.equal(Reflect.get(headers, '__proto__'), 'a');
  assert.equal(headers.constructor, 'b');
  assert.equal(headers.toString, undefined);
});

test('readHead rejects a head with one invalid byte at any position', () => {
  for (const byte of ['\0', '\r', '\n', '\x0b', '\x0c', '\x1b', '\x7f'])
    for (const text of [`GET / HTTP/1.1${byte}`, `G${byte}T / HTTP/1.1`, `GET / HTTP/1.1\r\nx: a${byte}b\r\ny: c`])
      rejects(text);
  law(
    fc.tuple(heads, fc.constantFrom(...NO_VALUE_CHARS, '\u0100', '\u010a', '\u2028', '\ud83d'), fc.nat()),
    ([{ text }, char, position]) => {
      const at = position % (text.length + 1);
      rejects(text.slice(0, at) + char + text.slice(at));
    },
  );
});

for (const [description, text] of [
  ['no bytes', ''],
  ['an empty line', '\r\n'],
  ['an empty line at the start', '\r\nGET / HTTP/1.1\r\nx: a'],
  ['an empty line in the middle', 'GET / HTTP/1.1\r\n\r\nx: a'],
  ['an empty line at the end', 'GET / HTTP/1.1\r\nx: a\r\n'],
  ['a folded line that starts with a space', 'GET / HTTP/1.1\r\nx: a\r\n b'],
  ['a folded line that starts with a tab', 'GET / HTTP/1.1\r\nx: a\r\n\tb: c'],
  ['a first header that starts with a space', 'GET / HTTP/1.1\r\n x: a'],
  ['a space at the start', ' GET / HTTP/1.1'],
  ['a line of blanks', 'GET / HTTP/1.1\r\n  \r\nx: a'],
  ['an empty name', 'GET / HTTP/1.1\r\n: a'],
  ['a space before the colon', 'GET / HTTP/1.1\r\nx : a'],
  ['a tab before the colon', 'GET / HTTP/1.1\r\nx\t: a'],
  ['a space in a name', 'GET / HTTP/1.1\r\nx y: a'],
  ['no colon', 'GET / HTTP/1.1\r\nx'],
  ['a colon only in the next line', 'GET / HTTP/1.1\r\nx\r\ny: a'],
  ['a non-ASCII letter in a name', 'GET / HTTP/1.1\r\nx\xe9: a'],
  ['a bracket in a name', 'GET / HTTP/1.1\r\nx(y): a'],
  ['lines that end in a bare line feed', 'GET / HTTP/1.1\nx: a'],
  ['lines that end in a bare carriage return', 'GET / HTTP/1.1\rx: a'],
  ['one line that ends in a bare line feed', 'GET / HTTP/1.1\r\nx: a\ny: b\r\nz: c'],
] as const)
  test(`readHead rejects a head with ${description}`, () => rejects(text));

test('readHead caches a limited number of header names and reads the others correctly', () => {
  for (let n = 0; n < 3_000; n += 1)
    assert.deepEqual(readHead(`GET / HTTP/1.1\r\nX-Made-Up-${n}: a`).rawHeaders, [`x-made-up-${n}`, 'a']);
  assert.equal(HEADER_NAME_CACHE.size, 512);
  for (const name of ['Host', 'HOST', 'hOst']) assert.equal(readHead(`GET / HTTP/1.1\r\n${name}: a`).headers.host, 'a');
  rejects('GET / HTTP/1.1\r\nX-Made-Up-1 : a');
});

test('readHead does not cache long header names', () => {
  HEADER_NAME_CACHE.clear();
  for (const [name, size] of [
    ['x'.repeat(65), 0],
    ['x'.repeat(64), 1],
  ] as const) {
    readHead(`GET / HTTP/1.1\r\n${name}: a`);
    assert.equal(HEADER_NAME_CACHE.size, size);
  }
});

test('headEnd finds the end of a head from any start of the search, and not one byte earlier', () => {
  law(fc.tuple(heads, fc.string({ maxLength: 10 }), fc.nat(3)), ([{ text }, rest, back]) => {
    const end = Buffer.byteLength(text, 'latin1') + 4;
    const bytes = Buffer.from(`${text}\r\n\r\n${rest}`, 'latin1');
    assert.equal(headEnd(bytes), end);
    assert.equal(headEnd(bytes.subarray(0, end)), end);
    assert.equal(headEnd(bytes.subarray(0, end - 1)), -1);
    assert.equal(headEnd(bytes, end - 4 - Math.min(back, end - 4)), end, 'search from a little before');
  });
});

test('headerLine writes a line that reads back as the same single header, or throws', () => {
  const anything = fc.string({ unit: 'binary', maxLength: 12 });
  const broken = fc
    .tuple(values, fc.constantFrom('\r\n', '\n', '\r', '\0', '\u010d\u010a', '\x7f'), values)
    .map((all) => all.join(''));
  law(fc.tuple(fc.oneof(names, anything, broken), fc.oneof(values, anything, broken)), ([name, value]) => {
    let line: string;
    try {
      line = headerLine(name, value);
    } catch (error) {
      assert.ok(error instanceof HttpParseError);
      assert.ok(!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\t -~\x80-\xff]/.test(value), 'a valid header is written');
      return;
    }
    assert.ok(line.endsWith('\r\n'));
    const { rawHeaders: fields } = readHead(`GET / HTTP/1.1\r\n${line.slice(0, -2)}`);
    assert.deepEqual(fields, [name.toLowerCase(), value.replaceAll(/^[\t ]+|[\t ]+$/g, '')]);
  });
});

const framing = (...headers: string[]) => framingOf(readHead(['POST / HTTP/1.1', ...headers].join('\r\n')).headers);

test('framingOf returns the content-length or chunked', () => {
  assert.equal(framing(), undefined);
  assert.equal(framing('content-length: 0'), 0);
  assert.equal(framing('Content-Length:  42 '), 42);
  assert.equal(framing('content-length: 007'), 7);
  assert.equal(framing('content-length: 999999999999999'), 999_999_999_999_999);
  assert.equal(framing('transfer-encoding: chunked'), 'chunked');
  assert.equal(framing('Transfer-Encoding:  CHUNKED '), 'chunked');
});

for (const headers of [
  ['content-length: '],
  ['content-length: -1'],
  ['content-length: +1'],
  ['content-length: 1.0'],
  ['content-length: 1e3'],
  ['content-length: 0x10'],
  ['content-length: 1 0'],
  ['content-length: 1,1'],
  ['content-length: 1_0'],
  ['content-length: \xb2'],
  ['content-length: 9999999999999999'],
  ['content-length: 1\t'],
  ['content-length:\t1'],
  ['content-length: 1', 'content-length: 1'],
  ['content-length: 1', 'content-length: 2'],
  ['content-length: 1', 'content-length: '],
  ['transfer-encoding: '],
  ['transfer-encoding: identity'],
  ['transfer-encoding: gzip, chunked'],
  ['transfer-encoding: chunked, gzip'],
  ['transfer-encoding: chunked, chunked'],
  ['transfer-encoding: chunked;q=1'],
  ['transfer-encoding: "chunked"'],
  ['transfer-encoding: chunked,'],
  ['transfer-encoding: xchunked'],
  ['transfer-encoding: chunked\xa0'],
  ['transfer-encoding: chunked\t'],
  ['transfer-encoding:\tchunked'],
  ['transfer-encoding: \x85chunked'],
  ['transfer-encoding: chunked', 'transfer-encoding: chunked'],
  ['transfer-encoding: chunked', 'transfer-encoding: '],
  ['transfer-encoding: chunked', 'content-length: 0'],
  ['content-length: 0', 'transfer-encoding: chunked'],
  ['content-length: 5', 'transfer-encoding: '],
] as const)
  test(`framingOf rejects ${JSON.stringify(headers.join(' and '))}`, () => {
    assert.throws(() => framing(...headers), HttpParseError);
  });

test('readHead rejects a head with more headers than its limit', () => {
  const head = (count: number): string => `GET / HTTP/1.1${'\r\na: b'.repeat(count)}`;
  assert.equal(parse(head(3), 3).rawHeaders.length, 6);
  assert.throws(() => parse(head(4), 3), HeadTooLargeError);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { law } from '../../../../test/laws/runs.ts';
import { HttpParseError } from '../headers.ts';
import { ChunkedBody } from './chunks.ts';

interface Reading {
  readonly payload: Buffer;
  /** Number of bytes of the body on the wire; undefined while it is incomplete. */
  readonly end: number | undefined;
}

/** Feeds `wire` in reads that end at `cuts`. Each read starts with foreign bytes, which must stay unchanged. */
function read(wire: Buffer, cuts: readonly number[] = []): Reading {
  const body = new ChunkedBody();
  const parts: Buffer[] = [];
  let at = 0;
  for (const to of [...cuts, wire.length]) {
    if (to <= at) continue;
    const foreign = 'head: of the message\r\n\r\n';
    const bytes = Buffer.concat([Buffer.from(foreign), wire.subarray(at, to)]);
    const payload = body.decode(bytes, foreign.length);
    if (payload) parts.push(Buffer.from(payload));
    assert.equal(bytes.toString('latin1', 0, foreign.length), foreign, 'bytes before the body are unchanged');
    assert.deepEqual(
      bytes.subarray(body.end),
      wire.subarray(at + body.end - foreign.length, to),
      'bytes after the body are unchanged',
    );
    if (body.isDone) return { payload: Buffer.concat(parts), end: at + body.end - foreign.length };
    assert.equal(body.end, bytes.length, 'an incomplete body consumes all bytes');
    at = to;
  }
  return { payload: Buffer.concat(parts), end: undefined };
}

const payloadOf = (text: string): string => {
  const wire = Buffer.from(text, 'latin1');
  const { payload, end } = read(wire);
  assert.equal(end, wire.length, 'all bytes belong to the body');
  return payload.toString('latin1');
};
const rejects = (text: string): void =>
  assert.throws(() => read(Buffer.from(text, 'latin1')), HttpParseError, JSON.stringify(text.slice(0, 60)));

const token = fc.string({ unit: fc.constantFrom(..."aZ09!#$%&'*+-.^_`|~"), minLength: 1, maxLength: 6 });
const quoted = fc
  .array(fc.constantFrom('a', ' ', '\t', ';', '=', '\\"', '\\\\', '\\\t', '\xff', ',', '\\\x80'), { maxLength: 6 })
  .map((chars) => `"${chars.join('')}"`);
const extensions = fc
  .array(fc.tuple(token, fc.option(fc.oneof(token, quoted))), { maxLength: 2 })
  .map((all) => all.map(([name, value]) => (value === null ? `;${name}` : `;${name}=${value}`)).join(''));
const trailers = fc
  .array(fc.tuple(token, fc.string({ unit: fc.constantFrom('a', ' ', '\t', ':', '\xe9', '"'), maxLength: 6 })), {
    maxLength: 3,
  })
  .map((all) => all.map(([name, value]) => `x${name}:${value}\r\n`).join(''));

interface Wire {
  readonly bytes: Buffer;
  readonly payload: Buffer;
  /** Offsets of framing bytes; all others are payload. */
  readonly framing: readonly number[];
}

const wires: fc.Arbitrary<Wire> = fc
  .record({
    chunks: fc.array(
      fc.record({
        data: fc.uint8Array({ minLength: 1, maxLength: 40 }),
        zeros: fc.nat(3),
        upper: fc.boolean(),
        extension: extensions,
      }),
      { maxLength: 6 },
    ),
    zeros: fc.integer({ min: 1, max: 8 }),
    extension: extensions,
    trailer: trailers,
  })
  .map(({ chunks, zeros, extension, trailer }) => {
    const parts: Buffer[] = [];
    const framing: number[] = [];
    let length = 0;
    const add = (bytes: Uint8Array | string, isFraming: boolean): void => {
      const part = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Buffer.from(bytes);
      if (isFraming) for (let n = 0; n < part.length; n += 1) framing.push(length + n);
      parts.push(part);
      length += part.length;
    };
    for (const chunk of chunks) {
      const size = chunk.data.length.toString(16);
      add(`${'0'.repeat(chunk.zeros)}${chunk.upper ? size.toUpperCase() : size}${chunk.extension}\r\n`, true);
      add(chunk.data, false);
      add('\r\n', true);
    }
    add(`${'0'.repeat(zeros)}${extension}\r\n${trailer}\r\n`, true);
    return { bytes: Buffer.concat(parts), payload: Buffer.concat(chunks.map(({ data }) => data)), framing };
  });
const cutsIn = fc.array(fc.nat(400), { maxLength: 12 }).map((cuts) => cuts.sort((a, b) => a - b));

test('ChunkedBody concatenates the chunks of a body', () => {
  assert.equal(payloadOf('0\r\n\r\n'), '');
  assert.equal(payloadOf('5\r\nhello\r\n1\r\n,\r\n6\r\n world\r\n0\r\n\r\n'), 'hello, world');
  assert.equal(payloadOf('A\r\n0123456789\r\n0a\r\nabcdefghij\r\n0\r\n\r\n'), '0123456789abcdefghij');
  assert.equal(payloadOf('2\r\n\r\n\r\n2;x\r\n0\r\r\n0\r\n\r\n'), '\r\n0\r', 'payload may look like framing');
});

test('ChunkedBody ignores extensions and trailers', () => {
  assert.equal(payloadOf('1;a;b=c;d="e; \\" f"\r\nx\r\n0;last\r\nx-sum: 1\r\nx-empty:\r\n\r\n'), 'x');
});

test('ChunkedBody decodes the same payload however the bytes are split, and ends exactly at the last byte', () => {
  law(fc.tuple(wires, fc.uint8Array({ maxLength: 20 }), cutsIn), ([{ bytes, payload }, next, cuts]) => {
    const all = Buffer.concat([bytes, next]);
    assert.deepEqual(read(all, cuts), { payload, end: bytes.length });
    assert.deepEqual(read(all), { payload, end: bytes.length });
    assert.deepEqual(read(all, [...all.keys()]), { payload, end: bytes.length }, 'byte by byte');
  });
});

test('ChunkedBody returns the payload of one read as one buffer in the same memory', () => {
  law(
    wires,
    ({ bytes, payload }) => {
      const own = Buffer.from(bytes);
      const part = new ChunkedBody().decode(own, 0);
      assert.deepEqual(part ?? Buffer.alloc(0), payload);
      if (part) assert.equal(part.buffer, own.buffer);
    },
    0.2,
  );
});

test('ChunkedBody returns a prefix of the payload for a truncated body', () => {
  law(fc.tuple(wires, fc.nat(), cutsIn), ([{ bytes, payload }, position, cuts]) => {
    const cut = position % bytes.length;
    const reading = read(
      bytes.subarray(0, cut),
      cuts.filter((at) => at < cut),
    );
    assert.equal(reading.end, undefined);
    assert.deepEqual(reading.payload, payload.subarray(0, reading.payload.length));
  });
});

test('ChunkedBody rejects a damaged framing byte, or decodes what the grammar of RFC 9112 says', () => {
  const damage = fc.oneof(fc.constantFrom(...Buffer.from('\r\n\0 ;:0fF"\\\x7f\xff')), fc.nat(255));
  law(fc.tuple(wires, fc.nat(), damage, cutsIn), ([{ bytes, framing }, position, byte, cuts]) => {
    const at = framing[position % framing.length] ?? 0;
    const damaged = Buffer.from(bytes);
    damaged[at] = byte;
    const results = [[], cuts, [...damaged.keys()]].map((cutsOf) => {
      try {
        return read(damaged, cutsOf);
      } catch (error) {
        assert.ok(error instanceof HttpParseError);
        return 'refused';
      }
    });
    // The result does not depend on the splits.
    assert.deepEqual(results[1], results[0]);
    assert.deepEqual(results[2], results[0]);
    const [first] = results;
    if (first !== undefined && typeof first === 'object' && first.end !== undefined)
      assert.deepEqual(first.payload, byGrammar(damaged.subarray(0, first.end)));
  });
});

/** A slow and simple decoder of a complete body. */
function byGrammar(bytes: Buffer): Buffer {
  const payload: Buffer[] = [];
  let text = bytes.toString('latin1');
  for (;;) {
    const line = /^([\da-fA-F]+)(?:;[^\r\n]+)?\r\n/.exec(text) ?? assert.fail('no size');
    const size = Number.parseInt(line[1] ?? '', 16);
    text = text.slice(line[0].length);
    if (size === 0) break;
    payload.push(Buffer.from(text.slice(0, size), 'latin1'));
    assert.equal(text.slice(size, size + 2), '\r\n');
    text = text.slice(size + 2);
  }
  assert.match(text, /^(?:[^\s:]+:[^\r\n]*\r\n)*\r\n$/);
  return Buffer.concat(payload);
}

for (const [description, text] of [
  ['no size', '\r\n'],
  ['a size that is not a number', 'zz\r\n'],
  ['a negative size', '-1\r\n'],
  ['a size with a sign', '+1\r\nx\r\n'],
  ['a size with a 0x prefix', '0x1\r\nx\r\n'],
  ['a space before the size', ' 1\r\nx\r\n'],
  ['a space after the size', '1 \r\nx\r\n'],
  ['a tab after the size', '1\t\r\nx\r\n'],
  ['a space before an extension', '1 ;a\r\nx\r\n'],
  ['a size that ends in a bare line feed', '1\nx\r\n'],
  ['a size that ends in a bare carriage return', '1\rx\r\n'],
  ['a size that ends in two carriage returns', '1\r\r\nx\r\n'],
  ['a chunk longer than its size', '1\r\nxy\r\n'],
  ['a chunk shorter than its size', '3\r\nx\r\n0\r\n\r\n'],
  ['a chunk without its line break', '1\r\nx0\r\n\r\n'],
  ['a chunk that ends in a bare line feed', '1\r\nx\n0\r\n\r\n'],
  ['a chunk that ends in a bare carriage return', '1\r\nx\r0\r\n\r\n'],
  ['nine digits', '000000001\r\nx\r\n'],
  ['a size of 40 digits', `${'f'.repeat(40)}\r\n`],
  ['an extension without a name', '1;\r\nx\r\n'],
  ['an extension of a value alone', '1;=a\r\nx\r\n'],
  ['an extension without its value', '1;a=\r\nx\r\n'],
  ['an extension that hides a line feed', '1;a\nx\r\n'],
  ['an extension that hides a line feed in quotes', '1;a="\n"\r\nx\r\n'],
  ['an extension that hides a carriage return', '1;a\rb\r\nx\r\n'],
  ['an extension with a zero byte', '1;a\0\r\nx\r\n'],
  ['an extension with a quote that never ends', '1;a="b\r\nx\r\n'],
  ['an extension with blanks', '1; a = b\r\nx\r\n'],
  ['a trailer without a colon', '0\r\nx\r\n\r\n'],
  ['a trailer without a name', '0\r\n: x\r\n\r\n'],
  ['a trailer with a space before its colon', '0\r\nx : y\r\n\r\n'],
  ['a folded trailer', '0\r\nx: y\r\n z\r\n\r\n'],
  ['a trailer that begins with a blank', '0\r\n x: y\r\n\r\n'],
  ['a trailer with a zero byte', '0\r\nx: \0\r\n\r\n'],
  ['a trailer that ends in a bare line feed', '0\r\nx: y\n\r\n'],
  ['a request in place of trailers', '0\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['content-length as a trailer', '0\r\ncontent-length: 5\r\n\r\n'],
  ['transfer-encoding as a trailer', '0\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['connection as a trailer', '0\r\nconnection: close\r\n\r\n'],
  ['a last line that ends in a bare line feed', '0\r\n\n'],
  ['an invalid last line', '0\r\n\rx'],
] as const)
  test(`ChunkedBody rejects ${description}`, () => rejects(text));

test('ChunkedBody limits the extensions and trailers of a body together', () => {
  const limit = 16 * 1024;
  const filler = 'x'.repeat(1_000);
  const many = `1;${filler}\r\nx\r\n`.repeat(17);
  rejects(many);
  rejects(`0\r\nx: ${'y'.repeat(limit)}`);
  rejects(`1;${'y'.repeat(limit + 1)}`);
  rejects(`0\r\n${'x:\r\n'.repeat(limit)}`);
  assert.equal(payloadOf(`${`1;${filler}\r\nx\r\n`.repeat(8)}0\r\nx: ${filler}\r\n\r\n`), 'xxxxxxxx');
});

test('ChunkedBody accepts any number of chunks', () => {
  assert.equal(payloadOf(`${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`).length, 100_000);
});

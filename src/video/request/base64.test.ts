import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Base64Source, decodedLength } from './base64.ts';
import { readBytes } from './byte-source.ts';

/** The strict decoder of the platform, which accepts white space in addition. */
function reference(text: string): number | undefined {
  if (/\s/.test(text)) return undefined;
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: 'strict' }).length;
  } catch {
    return undefined;
  }
}

test('decodedLength returns the length of what a strict encoder wrote', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      assert.equal(decodedLength(Buffer.from(Buffer.from(bytes).toString('base64'))), bytes.length);
    }),
  );
});

test('decodedLength agrees with the strict decoder of the platform on damaged text', () => {
  const character = fc.constantFrom(...'AQgwZz09+/=-_ \n!\u00e9');
  fc.assert(
    fc.property(
      fc.array(character, { maxLength: 12 }).map((all) => all.join('')),
      (text) => {
        assert.equal(decodedLength(Buffer.from(text)), reference(text), JSON.stringify(text));
      },
    ),
    { numRuns: 2_000 },
  );
});

test('Base64Source reads the same bytes as a decoder, at any offset and across blocks', () => {
  const bytes = Buffer.alloc(150_001);
  for (let n = 0; n < bytes.length; n += 1) bytes[n] = (n * 31 + (n >> 8)) & 0xff;
  const source = new Base64Source(Buffer.from(bytes.toString('base64')), bytes.length);
  fc.assert(
    fc.property(fc.nat(bytes.length + 10), fc.nat(40), (offset, length) => {
      assert.deepEqual(readBytes(source, offset, length), bytes.subarray(offset, offset + length));
    }),
  );
  assert.equal(source.at(-1), undefined);
  assert.equal(source.at(bytes.length), undefined);
});

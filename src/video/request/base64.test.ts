import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodedLength } from './data-url.ts';

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

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { JsonElider } from './elided-json.ts';

/** Pushes the text in pieces of the given lengths, repeated. */
function elide(text: string, lengths: readonly number[] = [Number.POSITIVE_INFINITY]): string {
  const bytes = Buffer.from(text);
  const elider = new JsonElider();
  const kept: Buffer[] = [];
  for (let at = 0, n = 0; at < bytes.length; n += 1) {
    const end = Math.min(bytes.length, at + (lengths[n % lengths.length] ?? 1));
    kept.push(...elider.push(bytes.subarray(at, end)));
    at = end;
  }
  return Buffer.concat(kept).toString('utf8');
}

/** The value with every string cut where the elider cuts it. */
function cut(value: unknown): unknown {
  if (typeof value === 'string') {
    const [before = ''] = JSON.stringify(value).slice(1, -1).split('\\');
    return Buffer.from(before).subarray(0, 64).toString('utf8');
  }
  if (Array.isArray(value)) return value.map(cut);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [cut(name), cut(member)]));
  return value;
}

describe('JSON without long strings', () => {
  test('is the same value with its strings cut, however the chunks end', () => {
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', 'é', '\u0001'), maxLength: 200 }),
      fc.string({ minLength: 60, maxLength: 70 }),
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 3 }, text, fc.integer(), tie('list'), tie('object')),
      list: fc.array(tie('any'), { maxLength: 5 }),
      object: fc.dictionary(fc.string({ maxLength: 20, unit: 'grapheme-ascii' }), tie('any'), { maxKeys: 5 }),
    })).any;
    fc.assert(
      fc.property(value, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }), (given, lengths) => {
        const whole = elide(JSON.stringify(given));
        assert.equal(elide(JSON.stringify(given), lengths), whole);
        assert.deepEqual(JSON.parse(whole), cut(given));
      }),
    );
  });

  test('keeps a few bytes of a picture, and everything around it', () => {
    const body = { created: 1, data: [{ b64_json: 'A'.repeat(1_000_000) }], usage: { output_tokens: 9 } };
    const kept = elide(JSON.stringify(body), [65_536]);
    assert.ok(kept.length < 200);
    assert.deepEqual(JSON.parse(kept).usage, body.usage);
  });

  test('a quote in a comment of an event stream does not hide the next events', () => {
    const kept = elide(': it said "wait\n\ndata: {"type":"x","usage":{"n":1}}\n\n', [7]);
    assert.ok(kept.endsWith('data: {"type":"x","usage":{"n":1}}\n\n'));
  });

  test('takes linear time for strings full of escaped quotes', () => {
    const kept = elide(JSON.stringify({ text: '"'.repeat(2_000_000), n: 1 }), [65_536]);
    assert.equal(kept, '{"text":"","n":1}');
  });
});

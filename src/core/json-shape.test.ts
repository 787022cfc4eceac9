import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type JsonScanError, scanMembers } from './json.ts';
import { ShapeFindings, shapeOf } from './json-shape.ts';
import { StepBudget } from './step-budget.ts';

const NONE = { members: [], types: {}, free: [], tags: {} };
const SHAPE = shapeOf({
  request: { ...NONE, members: ['model', 'turns:turn', 'options*', 'aliases=model', 'secret*=cut'] },
  turn: { ...NONE, members: ['role', 'parts:part^spoken'] },
  part: {
    members: ['id'],
    types: { none: ['text'], text: ['text'], image: ['url'], search: ['parts:part'] },
    free: ['record'],
    tags: { image: 'media' },
  },
});
const LIMITS = { depth: 20, tokens: 100_000 };

function scan(body: unknown): ShapeFindings {
  const findings = new ShapeFindings(SHAPE, new StepBudget());
  scanMembers(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), new Set(), LIMITS, findings);
  return findings;
}
const turn = (part: unknown): object => ({ turns: [{ role: 'user', parts: [part] }] });

describe('the shape of a body', () => {
  for (const [unknown, body] of [
    [undefined, { model: 'm', turns: 'hi', options: { any: [{ thing: 1 }] } }],
    [undefined, turn({ type: 'text', text: 'a', id: 1 })],
    [undefined, turn({ text: 'a', type: 'text' })],
    [undefined, turn({ text: 'a' })],
    [undefined, turn({ type: null, text: 'a' })],
    [undefined, turn({ url: null, type: 'text', text: 'a', film: null })],
    [undefined, turn({ film: { a: 1 }, type: 'record' })],
    [undefined, turn({ type: 'record', parts: [{ type: 'film' }] })],
    [undefined, turn({ type: 'image_20260101', url: 'a' })],
    [undefined, turn({ type: 'image_2026_01_01', url: 'a' })],
    ['film', { model: 'm', film: {} }],
    ['model', { model: { a: 1 } }],
    ['model', { model: [['a', { b: 1 }]] }],
    ['turns[0].film', { turns: [{ film: 1 }] }],
    ['turns.film', { turns: { film: 1 } }],
    ['turns[0].parts[0].type', turn({ type: 'film', text: 'a' })],
    ['turns[0].parts[0].type', turn({ type: 7 })],
    ['turns[0].parts[0].url', turn({ type: 'text', url: 'a' })],
    ['turns[0].parts[0].url', turn({ url: 'a', type: 'text' })],
    ['turns[0].parts[0].film', turn({ film: 1, type: 'text' })],
    ['turns[0].parts[0].parts.film', turn({ type: 'search', parts: { text: 'a', film: 1 } })],
  ] as readonly [string | undefined, object][])
    test(`${JSON.stringify(body)}: ${unknown ?? 'all is known'}`, () => assert.equal(scan(body).unknown, unknown));

  test('names and types that are written with escapes are the same', () => {
    assert.equal(
      scan('{"m\\u006fdel":"a","turns":[{"parts":[{"t\\u0079pe":"t\\u0065xt","text":""}]}]}').unknown,
      undefined,
    );
    assert.equal(scan('{"turns":[{"parts":[{"type":"text","\\u0075rl":""}]}]}').unknown, 'turns[0].parts[0].url');
  });

  test('a type that occurs twice is an error', () => {
    assert.throws(
      () => scan('{"turns":[{"parts":[{"type":"text","type":"image"}]}]}'),
      (error: JsonScanError) => error.member === 'type',
    );
  });

  test('tags report values and objects with their places', () => {
    const text = JSON.stringify({
      aliases: ['a', { x: 1 }, 'b'],
      secret: { token: 1 },
      ...turn({ type: 'image', url: 'u' }),
    });
    const found = scan(text).tagged.map(({ tag, path, span }) => [tag, path, text.slice(span.start, span.end)]);
    assert.deepEqual(found, [
      ['model', 'aliases[0]', '"a"'],
      ['model', 'aliases[2]', '"b"'],
      ['cut', 'secret', '{"token":1}'],
      ['media', 'turns[0].parts[0]', '{"type":"image","url":"u"}'],
      ['spoken', 'turns[0]', '{"role":"user","parts":[{"type":"image","url":"u"}]}'],
    ]);
  });

  test('a body is scanned to the same spans and limits with a shape as without one', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const text = `{"turns":${json},"model":1,"film":${json}}`;
        const wanted = new Set(['turns', 'model', 'film']);
        const bytes = Buffer.from(text);
        const outcome = (findings?: ShapeFindings) => {
          try {
            return [...scanMembers(bytes, wanted, { depth: 5, tokens: 30 }, findings)];
          } catch (error) {
            return String(error);
          }
        };
        const shaped = outcome(new ShapeFindings(SHAPE, new StepBudget()));
        if (!String(shaped).includes('occurs twice')) assert.deepEqual(shaped, outcome());
      }),
    );
  });
});

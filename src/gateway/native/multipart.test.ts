import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { boundaryOf, formOf } from './multipart.ts';

const BOUNDARY = 'x7';
const part = (disposition: string, value: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
    Buffer.from(value as string),
    Buffer.from('\r\n'),
  ]);
const field = (name: string, value: string): Buffer => part(`name="${name}"`, value);
const file = (value: string | Buffer): Buffer => part('name="image"; filename="a.png"', value);
const END = Buffer.from(`--${BOUNDARY}--\r\n`);
const form = (...parts: Buffer[]): Buffer => Buffer.concat([...parts, END]);
const read = (body: Buffer) => formOf(body, BOUNDARY);

describe('multipart form', () => {
  test('keeps every byte except the model name, whatever its files hold', () => {
    const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));
    const tricky = fc
      .array(
        fc.constantFrom('\r\n', '--', 'x', '7', `--${BOUNDARY.slice(0, 1)}`, ` --${BOUNDARY}`, 'name="model"', '-'),
      )
      .map((words) => Buffer.from(words.join('')))
      .filter((value) => !`\r\n${value.toString()}`.includes(`\r\n--${BOUNDARY}`));
    const names = fc.constantFrom('m', 'demo-image', 'é😀', ' a "b" ', '$&', 'x'.repeat(300));
    fc.assert(
      fc.property(fc.array(fc.oneof(bytes, tricky)), names, names, fc.nat(5), (files, model, other, at) => {
        const before = files.slice(0, at).map(file);
        const after = files.slice(at, 15).map(file);
        const body = form(...before, field('model', model), ...after);
        const { bodyFor, model: named } = read(body);
        assert.equal(named, model);
        assert.ok(bodyFor(model).equals(body));
        if (model !== other)
          assert.ok(bodyFor(other).equals(form(...before, field('model', other), ...after)), 'only the name changes');
      }),
    );
  });

  test('may have a preamble and end without a line break', () => {
    const body = Buffer.concat([Buffer.from('preamble\r\n'), form(field('model', 'm')).subarray(0, -2)]);
    assert.equal(read(body).model, 'm');
  });

  test('reads the stream field before and after the files', () => {
    assert.equal(read(form(field('model', 'm'), file('x'), field('stream', 'true'))).isStream, true);
    assert.equal(read(form(field('stream', 'false'), field('model', 'm'))).isStream, false);
  });

  test('may have no model or an empty one', () => {
    assert.equal(read(form(file('x'))).model, undefined);
    assert.equal(read(form(field('model', ''))).model, '');
  });

  test('ignores a model inside a file and a file named model', () => {
    const inside = `image\r\n--${BOUNDARY}extra`.replace('\r\n', ' ');
    const fake = `${inside}--${BOUNDARY}\r\nContent-Disposition: form-data; name="model"\r\n\r\nsecret\r\n`;
    assert.equal(read(form(file(fake), field('model', 'real'))).model, 'real');
    assert.equal(read(form(part('name="model"; filename="m"', 'secret'), field('model', 'real'))).model, 'real');
  });

  for (const [about, body] of [
    ['nothing', Buffer.alloc(0)],
    ['no delimiter', Buffer.from('hello')],
    ['no closing delimiter', field('model', 'm')],
    [
      'a part without an end to its header',
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data\r\n--${BOUNDARY}--`),
    ],
    ['a header without end', form(part(`name="x"; y="${'y'.repeat(9_000)}"`, ''))],
    ['an endless field', form(field('prompt', 'x'.repeat(65 * 1024)))],
    ['two models', form(field('model', 'a'), field('model', 'a'))],
    ['too many parts', form(...Array.from({ length: 21 }, () => file('')))],
  ] as const) {
    test(`is rejected when it holds ${about}`, () => {
      assert.throws(() => read(body), { name: 'ApiError', code: 'invalid_request' });
    });
  }

  test('takes its boundary from the content type, quoted or not', () => {
    assert.equal(boundaryOf('multipart/form-data; boundary=----abc'), '----abc');
    assert.equal(boundaryOf('multipart/form-data;charset=utf-8; Boundary="a b:c"; x=y'), 'a b:c');
    for (const type of ['multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; xboundary=a']) {
      assert.throws(() => boundaryOf(type), { code: 'invalid_request' });
    }
  });
});

test('multipart form rejects a duplicate of a field that determines the charge', () => {
  for (const name of ['model', 'n', 'size', 'quality'])
    assert.throws(() => read(form(field(name, '9'), part(`name=${name}`, '1'))), /occurs twice/, name);
  assert.equal(read(form(field('model', 'm'), part('name=n', '9'))).images.count, 9);
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { SpooledBody } from '../../../platform/web/index.ts';
import { boundaryOf, FormScanner } from '../../../platform/web/index.ts';
import { imageForm } from './form.ts';

const BOUNDARY = 'x7';
const PNG = Buffer.from('\x89PNG\r\n\x1a\n....', 'latin1');
const part = (disposition: string, value: string | Buffer, type = ''): Buffer =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n${type}\r\n`),
    Buffer.from(value as string),
    Buffer.from('\r\n'),
  ]);
const field = (name: string, value: string): Buffer => part(`name="${name}"`, value);
const file = (value: string | Buffer, name = 'image'): Buffer => part(`name="${name}"; filename="a.png"`, value);
const image = (content: Buffer = Buffer.alloc(0)): Buffer => file(Buffer.concat([PNG, content]));
const END = Buffer.from(`--${BOUNDARY}--\r\n`);
const form = (...parts: Buffer[]): Buffer => Buffer.concat([...parts, END]);
const PROMPT = field('prompt', 'brighter');

const inMemory = (body: Buffer): SpooledBody => ({
  length: body.length,
  async *read({ start, end }) {
    if (end > start) yield body.subarray(start, end);
  },
});

function scan(body: Buffer, chunkBytes = body.length || 1) {
  const scanner = new FormScanner(BOUNDARY);
  for (let at = 0; at < body.length; at += chunkBytes) scanner.push(body.subarray(at, at + chunkBytes));
  scanner.end();
  return scanner.parts;
}
const read = (body: Buffer, chunkBytes?: number) => imageForm(scan(body, chunkBytes), inMemory(body));

async function bytesFor(body: Buffer, model: string, chunkBytes?: number): Promise<Buffer> {
  const streamed = read(body, chunkBytes).bodyFor(model);
  assert.ok(!Buffer.isBuffer(streamed));
  const sent = Buffer.concat(await Array.fromAsync(streamed.chunks()));
  assert.equal(sent.length, streamed.length);
  return sent;
}

describe('form of an image edit', () => {
  test('keeps every byte except the model name, whatever its files hold and however it arrives', async () => {
    const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array));
    const tricky = fc
      .array(
        fc.constantFrom('\r\n', '--', 'x', '7', `--${BOUNDARY.slice(0, 1)}`, ` --${BOUNDARY}`, 'name="model"', '-'),
      )
      .map((words) => Buffer.from(words.join('')))
      .filter((value) => !`\r\n${value.toString()}`.includes(`\r\n--${BOUNDARY}`));
    const names = fc.constantFrom('m', 'demo-image', 'é😀', ' a "b" ', '$&', 'x'.repeat(300));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(bytes, tricky), { minLength: 1, maxLength: 15 }),
        names,
        names,
        fc.nat(5),
        fc.integer({ min: 1, max: 90 }),
        async (files, model, other, at, chunkBytes) => {
          const before = files.slice(0, at).map(image);
          const after = files.slice(at).map(image);
          const body = form(PROMPT, ...before, field('model', model), ...after);
          assert.equal(read(body, chunkBytes).model, model);
          assert.ok((await bytesFor(body, model, chunkBytes)).equals(body));
          const expected = form(PROMPT, ...before, field('model', other), ...after);
          assert.ok((await bytesFor(body, other, chunkBytes)).equals(expected), 'only the name changes');
        },
      ),
    );
  });

  test('loses its response_format and nothing else, wherever it stands', async () => {
    const parts = [field('model', 'm'), PROMPT, image()];
    for (let at = 0; at <= parts.length; at += 1) {
      const body = form(...parts.toSpliced(at, 0, field('response_format', 'url')));
      assert.deepEqual(read(body).dropped, ['response_format']);
      assert.equal(String(await bytesFor(body, 'm')), String(form(...parts)));
      const renamed = form(...parts.with(0, field('model', 'longer')));
      assert.equal(String(await bytesFor(body, 'longer')), String(renamed));
    }
    assert.deepEqual(read(form(...parts)).dropped, []);
  });

  test('may have a preamble, padding after a boundary, and end without a line break', () => {
    const whole = form(field('model', 'm'), PROMPT, image());
    assert.equal(read(Buffer.concat([Buffer.from('preamble\r\n'), whole.subarray(0, -2)])).model, 'm');
    const padded = Buffer.from(whole.toString('latin1').replace(`--${BOUNDARY}\r\n`, `--${BOUNDARY} \t\r\n`), 'latin1');
    assert.equal(read(padded).model, 'm');
  });

  test('reads numbers and booleans before and after the files', () => {
    const { values } = read(
      form(field('n', '2'), PROMPT, image(), field('stream', 'true'), part('name=quality', 'low')),
    );
    assert.deepEqual([values.n, values.stream, values.quality], [2, true, 'low']);
    assert.equal(read(form(field('stream', 'false'), PROMPT, image())).values.stream, false);
  });

  test('may have no model or an empty one', () => {
    assert.equal(read(form(PROMPT, image())).model, undefined);
    assert.equal(read(form(PROMPT, image(), field('model', ''))).model, '');
  });

  test('ignores a model inside a file and one inside the name of a file', () => {
    const fake = ` --${BOUNDARY}\r\nContent-Disposition: form-data; name="model"\r\n\r\nsecret\r\n`;
    const named = part('filename="; name=\\"model\\""; name="image"', PNG);
    assert.equal(read(form(PROMPT, image(Buffer.from(fake)), named, field('model', 'real'))).model, 'real');
  });

  for (const [about, body] of [
    ['nothing', Buffer.alloc(0)],
    ['no boundary', Buffer.from('hello')],
    ['no closing boundary', Buffer.concat([PROMPT, image()])],
    ['a boundary with characters behind it', form(image(Buffer.from(`\r\n--${BOUNDARY}8\r\n`)), PROMPT)],
    [
      'a part without an end to its header',
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data\r\n--${BOUNDARY}--`),
    ],
    ['a part without a name', form(part('x=y', 'z'), PROMPT, image())],
    ['a part with two names', form(part('name="prompt"; name="model"', 'z'), PROMPT, image())],
    [
      'a part with two dispositions',
      form(part('name="a"', 'z', 'content-disposition: form-data; name="b"\r\n'), PROMPT, image()),
    ],
    ['a header without end', form(part(`name="x"; y="${'y'.repeat(9_000)}"`, ''), PROMPT, image())],
    ['an endless field', form(field('prompt', 'x'.repeat(300 * 1024)), image())],
    ['more than forty parts', form(PROMPT, image(), ...Array.from({ length: 39 }, (_, n) => field(`f${n}`, '')))],
  ] as const) {
    test(`is rejected when it holds ${about}`, () => {
      for (const chunkBytes of [undefined, 1])
        assert.throws(() => read(body, chunkBytes), { name: 'ApiError', code: 'invalid_request' });
    });
  }

  test('forty parts are accepted', () => {
    const fields = Array.from({ length: 38 }, (_, n) => field(`f${n}`, ''));
    assert.equal(read(form(PROMPT, image(), ...fields)).files, 1);
  });

  for (const name of ['model', 'prompt', 'n', 'size', 'quality', 'stream'])
    test(`${name} twice is rejected`, () => {
      const once = [field('model', 'm'), PROMPT, image()];
      assert.throws(() => read(form(...once, field(name, '9'), part(`name=${name}`, '1'))), {
        message: `${name}: the field occurs twice.`,
      });
    });

  test('takes its boundary from the content type, quoted or not', () => {
    assert.equal(boundaryOf('multipart/form-data; boundary=----abc'), '----abc');
    assert.equal(boundaryOf('multipart/form-data;charset=utf-8; Boundary="a b:c"; x=y'), 'a b:c');
    for (const type of ['multipart/form-data', 'multipart/form-data; boundary=', 'multipart/form-data; xboundary=a']) {
      assert.throws(() => boundaryOf(type), { code: 'invalid_request' });
    }
  });
});

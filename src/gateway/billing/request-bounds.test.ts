import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { inputBoundsOf, inputBoundsOfBody, toolBoundsOf } from './request-bounds.ts';

const BASE64 = 'QUJD'.repeat(10_000);
const URL = 'https://example.com/lamp.png';

/** A part of a request, and what it makes a model read. */
const PARTS: readonly [about: string, part: object, images: number, isFile: boolean][] = [
  ['a text', { type: 'text', text: 'the "image" of a file' }, 0, false],
  ['messages, image by address', { type: 'image', source: { type: 'url', url: URL } }, 1, false],
  ['messages, image inline', { type: 'image', source: { type: 'base64', data: BASE64 } }, 1, false],
  ['messages, document', { type: 'document', source: { type: 'url', url: URL } }, 0, true],
  ['messages, document of text', { type: 'document', source: { type: 'text', data: 'hello' } }, 0, false],
  ['chat, image', { type: 'image_url', image_url: { url: URL } }, 1, false],
  ['chat, file', { type: 'file', file: { file_data: BASE64 } }, 0, true],
  ['responses, image', { type: 'input_image', image_url: URL }, 1, false],
  ['responses, file', { type: 'input_file', file_url: URL }, 0, true],
  ['responses, earlier picture', { type: 'image_generation_call', result: BASE64 }, 1, false],
  ['generate, image', { inlineData: { mimeType: 'image/png', data: BASE64 } }, 1, false],
  ['generate, image in the other spelling', { inline_data: { mime_type: 'image/png', data: BASE64 } }, 1, false],
  ['generate, video', { fileData: { mimeType: 'video/mp4', fileUri: URL } }, 0, true],
  ['generate, image by address', { file_data: { mime_type: 'image/png', file_uri: URL } }, 1, false],
  ['a schema that speaks of images', { parameters: { type: 'image' } }, 0, false],
];

const bodyOf = (...parts: object[]): Buffer =>
  Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: parts }] }));

describe('bounds of a request', () => {
  for (const [about, part, images, isFile] of PARTS)
    test(`${about} counts as ${images} images${isFile ? ' and the whole context' : ''}`, () => {
      const body = bodyOf(part, part);
      const bounds = inputBoundsOfBody(body);
      assert.deepEqual([bounds.inputImages, bounds.readsWholeContext], [2 * images, isFile]);
      const isInline = JSON.stringify(part).includes(BASE64);
      assert.ok(isInline ? bounds.bodyBytes < 500 : bounds.bodyBytes > body.length - 200, String(bounds.bodyBytes));
    });

  test('bytes of a body and its parsed form have the same bounds, however parts are mixed', () => {
    const part = fc.constantFrom(...PARTS.map(([, one]) => one));
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const body = bodyOf(...parts);
        assert.deepEqual(inputBoundsOfBody(body), inputBoundsOf(JSON.parse(body.toString()), body.length));
      }),
    );
  });

  test('letters written as escapes hide nothing', () => {
    const body = bodyOf({ type: 'image_url', image_url: { url: URL } })
      .toString()
      .replaceAll('image', '\\u0069mage');
    assert.equal(inputBoundsOfBody(Buffer.from(body)).inputImages, 1);
  });

  test('a caller cannot make text count as media', () => {
    const text = `data:image/png;base64,${'~'.repeat(50)}123456789`;
    const body = bodyOf({ type: 'text', text }, { type: 'image_url', image_url: { url: URL } });
    assert.ok(inputBoundsOfBody(body).bodyBytes >= body.length - 2 * URL.length);
  });

  test('searches count by their limit, or as ten', () => {
    for (const [tools, searches] of [
      [[], 0],
      [[{ type: 'function', name: 'search' }], 0],
      [[{ type: 'web_search' }], 10],
      [[{ type: 'web_search_20250305', max_uses: 3 }], 3],
      [[{ googleSearch: {} }], 10],
    ] as const)
      assert.equal(toolBoundsOf(tools).maxSearches, searches, JSON.stringify(tools));
    assert.equal(toolBoundsOf(undefined, {}).maxSearches, 10);
  });

  test('pictures of a tool count by size and quality', () => {
    const low = toolBoundsOf([{ type: 'image_generation', size: '1024x1024', quality: 'low' }]).moreOutput;
    assert.equal(low, 272);
    assert.ok(toolBoundsOf([{ type: 'image_generation' }]).moreOutput > 6_000);
  });
});

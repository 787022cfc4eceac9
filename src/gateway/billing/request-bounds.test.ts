import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { mp3File, mp4File, wavFile } from '../../../test/support/media-files.ts';
import { StepBudget } from '../../core/index.ts';
import { inputBoundsOf, inputBoundsOfBody } from './request-bounds.ts';
import { toolFactsOf } from './tool-bounds.ts';

const BASE64 = 'QUJD'.repeat(10_000);
const URL = 'https://example.com/lamp.png';
const MP4 = mp4File(60, { isVideo: true }).toString('base64');

/** A part of a request, and what it makes a model read. */
const PARTS: readonly [about: string, part: object, images: number, isFile: boolean][] = [
  ['a text', { type: 'text', text: 'the "image" of a file' }, 0, false],
  ['messages, image by address', { type: 'image', source: { type: 'url', url: URL } }, 1, false],
  ['messages, image inline', { type: 'image', source: { type: 'base64', data: BASE64 } }, 1, false],
  ['messages, document', { type: 'document', source: { type: 'url', url: URL } }, 0, true],
  ['messages, document of text', { type: 'document', source: { type: 'text', data: 'hello' } }, 0, false],
  ['messages, file for a container', { type: 'container_upload', file_id: 'file_1' }, 0, true],
  ['chat, image', { type: 'image_url', image_url: { url: URL } }, 1, false],
  ['chat, file', { type: 'file', file: { file_data: BASE64 } }, 0, true],
  ['responses, image', { type: 'input_image', image_url: URL }, 1, false],
  ['responses, file', { type: 'input_file', file_url: URL }, 0, true],
  ['responses, screenshot', { type: 'computer_screenshot', image_url: URL }, 1, false],
  ['responses, earlier picture', { type: 'image_generation_call', result: BASE64 }, 1, false],
  ['generate, image', { inlineData: { mimeType: 'image/png', data: BASE64 } }, 1, false],
  ['generate, image in the other spelling', { inline_data: { mime_type: 'image/png', data: BASE64 } }, 1, false],
  ['generate, video', { fileData: { mimeType: 'video/mp4', fileUri: URL } }, 0, true],
  ['generate, a file that is said to be an image', { file_data: { mime_type: 'image/png', file_uri: URL } }, 0, true],
  ['a schema that speaks of images', { parameters: { type: 'image' } }, 0, false],
  ['arguments that speak of images', { arguments: { type: 'image' } }, 0, false],
];

const bodyOf = (...parts: object[]): Buffer =>
  Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: parts }] }));

const boundsOfBytes = (body: Buffer) => inputBoundsOfBody(body, new StepBudget());
const boundsOfValue = (request: unknown, bytes: number) => inputBoundsOf(request, bytes, new StepBudget());

describe('bounds of a request', () => {
  for (const [about, part, images, isFile] of PARTS)
    test(`${about} counts as ${images} images${isFile ? ' and the whole context' : ''}`, () => {
      const body = bodyOf(part, part);
      const bounds = boundsOfBytes(body);
      assert.deepEqual([bounds.inputImages, bounds.wholeContext !== undefined], [2 * images, isFile]);
      const isInline = JSON.stringify(part).includes(BASE64);
      assert.ok(isInline ? bounds.bodyBytes < 500 : bounds.bodyBytes > body.length - 200, String(bounds.bodyBytes));
    });

  const wav = wavFile(60).toString('base64');
  const MEDIA: readonly [about: string, part: object, tokens: number][] = [
    ['chat, audio', { type: 'input_audio', input_audio: { format: 'wav', data: wav } }, 60 * 32],
    ['generate, audio', { inlineData: { mimeType: 'audio/mp3', data: mp3File(60, 64).toString('base64') } }, 60 * 32],
    ['generate, video', { inlineData: { mimeType: 'video/mp4', data: MP4 } }, 61 * 332],
    ['generate, video that is said to be an image', { inlineData: { mimeType: 'image/png', data: MP4 } }, 61 * 332],
    [
      'generate, video with four frames a second',
      { inlineData: { mimeType: 'video/mp4', data: MP4 }, videoMetadata: { fps: 4 } },
      61 * (4 * 300 + 32),
    ],
    [
      'generate, audio that is said to be a video',
      { inlineData: { mimeType: 'video/mp4', data: wav } },
      61 * 300 + 60 * 32,
    ],
    ['audio in a data URL', { type: 'input_image', image_url: `data:image/png;base64,${wav}` }, 60 * 32],
  ];
  for (const [about, part, tokens] of MEDIA)
    test(`${about} counts by its length`, () => {
      for (const body of [bodyOf(part), Buffer.from(bodyOf(part).toString().replaceAll('/', '\\/'))]) {
        const bounds = boundsOfBytes(body);
        assert.deepEqual([bounds.inputImages, bounds.wholeContext], [0, undefined]);
        assert.ok(bounds.mediaTokens >= tokens && bounds.mediaTokens < tokens * 1.1, String(bounds.mediaTokens));
        assert.ok(bounds.bodyBytes < 500, String(bounds.bodyBytes));
        assert.equal(boundsOfValue(JSON.parse(body.toString()), body.length).mediaTokens, bounds.mediaTokens);
      }
    });

  test('a document that is said to be an image counts as the whole context, and unknown audio by its size', () => {
    const data = Buffer.from('%PDF-1.7').toString('base64');
    const pdf = boundsOfBytes(bodyOf({ inlineData: { mimeType: 'image/png', data } }));
    assert.deepEqual([pdf.inputImages, pdf.wholeContext], [0, 'inlineData']);
    const audio = boundsOfBytes(bodyOf({ type: 'input_audio', input_audio: { data: BASE64, format: 'wav' } }));
    assert.deepEqual([audio.mediaTokens, audio.wholeContext], [60_000, undefined]);
  });

  test('bytes of a body and its parsed form have the same bounds, however parts are mixed', () => {
    const part = fc.constantFrom(...PARTS.map(([, one]) => one));
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const body = bodyOf(...parts);
        assert.deepEqual(boundsOfBytes(body), boundsOfValue(JSON.parse(body.toString()), body.length));
      }),
    );
  });

  test('letters written as escapes hide nothing', () => {
    const body = bodyOf({ type: 'image_url', image_url: { url: URL } })
      .toString()
      .replaceAll('image', '\\u0069mage');
    assert.equal(boundsOfBytes(Buffer.from(body)).inputImages, 1);
  });

  test('a caller cannot make text count as media', () => {
    const text = `data:image/png;base64,${'~'.repeat(50)}123456789`;
    const body = bodyOf({ type: 'text', text }, { type: 'image_url', image_url: { url: URL } });
    assert.ok(boundsOfBytes(body).bodyBytes >= body.length - 2 * URL.length);
  });

  test('searches count by their limit, or as ten', () => {
    for (const [tools, searches] of [
      [[], 0],
      [[{ type: 'function', name: 'search' }], 0],
      [[{ type: 'web_search' }], 10],
      [[{ type: 'web_search_20250305', max_uses: 3 }], 3],
      [[{ type: 'web_search_20250305', max_uses: 100 }], 100],
      [[{ googleSearch: {} }], 10],
    ] as const)
      assert.equal(toolFactsOf(membersOf({ tools }), false).bounds.maxSearches, searches, JSON.stringify(tools));
    assert.equal(toolFactsOf(membersOf({ web_search_options: {} }), false).bounds.maxSearches, 10);
  });

  test('pictures of a tool count by size, quality and uses', () => {
    const low = { type: 'image_generation', size: '1024x1024', quality: 'low' };
    assert.equal(toolFactsOf(membersOf({ tools: [low], max_tool_calls: 1 }), false).bounds.moreOutput, 272);
    assert.equal(toolFactsOf(membersOf({ tools: [low] }), false).bounds.moreOutput, 2720);
    const partial = { ...low, partial_images: 9 };
    assert.equal(
      toolFactsOf(membersOf({ tools: [partial], max_tool_calls: 1 }), false).bounds.moreOutput,
      272 + 3 * 100,
    );
    const most = toolFactsOf(membersOf({ tools: [{ type: 'image_generation' }], max_tool_calls: 1 }), false).bounds;
    assert.ok(most.moreOutput > 6_000);
  });
});

const membersOf =
  (request: Readonly<Record<string, unknown>>) =>
  (name: string): unknown =>
    request[name];

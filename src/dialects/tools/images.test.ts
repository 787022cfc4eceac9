import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../../core/index.ts';
import { type CapabilityOverrides, capabilitiesOf, type Dialect } from '../../rules/index.ts';
import { codecOf, encodeRequestFor, pairOf } from '../index.ts';
import { settingsOfTool, sizeOfSettings } from './images.ts';

const RATIOS = ['1:1', '5:4', '4:5', '4:3', '3:4', '3:2', '2:3', '16:9', '9:16', '21:9'];

describe('sizes of generated images', () => {
  const toolOf = (size: unknown) => ({ kind: 'server', tool: 'image_gen', options: {}, raw: { size } }) as const;

  test('every ratio and tier has an accepted size, which converts back to them', () => {
    for (const aspectRatio of RATIOS) {
      for (const tier of ['1K', '2K', '4K']) {
        const size = sizeOfSettings({ aspectRatio, tier }) ?? assert.fail(`${aspectRatio} ${tier}`);
        const [width = 0, height = 0] = size.split('x').map(Number);
        assert.ok(width % 16 === 0 && height % 16 === 0, size);
        assert.ok(Math.max(width, height) <= 3840 && width * height <= 8_294_400, size);
        const settings = tier === '1K' ? { aspectRatio } : { aspectRatio, tier };
        assert.deepEqual(settingsOfTool(toolOf(size)), settings, size);
      }
    }
  });

  test('sizes that are automatic, inexact or malformed', () => {
    for (const size of [undefined, null, 'auto']) assert.deepEqual(settingsOfTool(toolOf(size)), {});
    for (const size of ['1792x1024', '672x1568', '0x0', '16x', '1e3x1e3', 1024, {}])
      assert.equal(settingsOfTool(toolOf(size)), undefined, String(size));
    assert.equal(sizeOfSettings({ aspectRatio: '8:1' }), undefined);
    assert.equal(sizeOfSettings({ aspectRatio: 'constructor' }), undefined);
    assert.equal(sizeOfSettings({ tier: '8K' }), undefined);
    assert.equal(sizeOfSettings({ tier: '2K' }), '2048x2048');
  });
});

describe('image output of a generate-content client', () => {
  const encode = (upstream: Dialect, generationConfig: object, flags: CapabilityOverrides = {}) => {
    const body = { contents: [{ role: 'user', parts: [{ text: 'A cat.' }] }], generationConfig };
    const request = codecOf('generate').client.decodeRequest(body, { headers: {}, model: 'm' });
    const style = upstream === 'messages' ? 'messages' : 'responses';
    const target = { model: 'm', capabilities: capabilitiesOf(style, 'm', flags) };
    return encodeRequestFor(pairOf({ client: 'generate', upstream }), request, target);
  };
  const rejected = (upstream: Dialect, config: object, flags?: CapabilityOverrides) =>
    assert.throws(
      () => encode(upstream, config, flags),
      (error) => error instanceof ApiError && error.details.param === 'generationConfig.responseModalities',
    );

  test('becomes the image tool of a responses provider', () => {
    const both = encode('responses', {
      responseModalities: ['TEXT', 'IMAGE'],
      imageConfig: { aspectRatio: '16:9', imageSize: '2K', personGeneration: 'ALLOW_NONE' },
    });
    assert.deepEqual(both.body.tools, [{ type: 'image_generation', size: '2560x1440' }]);
    assert.deepEqual(both.body.tool_choice, 'auto');
    assert.deepEqual(both.dropped, ['generationConfig.imageConfig.personGeneration']);
    const only = encode('responses', { response_modalities: ['IMAGE'], image_config: { aspect_ratio: '1:1' } });
    assert.deepEqual(only.body.tools, [{ type: 'image_generation', size: '1024x1024' }]);
    assert.deepEqual(only.body.tool_choice, { type: 'image_generation' });
    assert.deepEqual(only.dropped, []);
    rejected('responses', { responseModalities: ['IMAGE'] }, { imageOutput: false });
  });

  test('is dropped next to text and rejected alone by a messages provider', () => {
    const both = encode('messages', { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '1:1' } });
    assert.deepEqual(both.dropped, ['generationConfig.responseModalities', 'generationConfig.imageConfig']);
    rejected('messages', { responseModalities: ['IMAGE'] });
  });
});

describe('image calls of a responses provider', () => {
  const images = (...output: object[]) => {
    const reply = codecOf('responses').upstream.decodeReply(
      { id: 'r', status: 'completed', output },
      { requestId: 'r' },
    );
    return reply.items.map((item) => (item.kind === 'server_call' ? item.image?.source : undefined));
  };
  const call = (more: object) => ({ type: 'image_generation_call', id: 'ig_1', status: 'completed', ...more });

  test('the media type is that of the format, or else of the first bytes, or else PNG', () => {
    const mimeOf = (more: object) => images(call(more)).map((source) => source?.kind === 'base64' && source.mime)[0];
    assert.equal(mimeOf({ output_format: 'webp', result: 'iVBORw0KGgo=' }), 'image/webp');
    assert.equal(mimeOf({ output_format: 'svg', result: 'PHN2Zy8+' }), 'image/svg+xml');
    assert.equal(mimeOf({ result: '/9j/4AAQSkZJRgABAQ==' }), 'image/jpeg');
    assert.equal(mimeOf({ result: 'UklGRgAAAABXRUJQVlA4' }), 'image/webp');
    assert.equal(mimeOf({ result: 'R0lGODlhAQABAAAA' }), 'image/gif');
    assert.equal(mimeOf({ result: 'AAAA' }), 'image/png');
  });

  test('a failed call has no image', () => {
    assert.deepEqual(images(call({ status: 'failed', result: null }), call({ result: '' })), [undefined, undefined]);
  });
});

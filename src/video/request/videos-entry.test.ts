import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  dataUrl,
  examine,
  IMAGE_STARTS,
  imageItem,
  TEXT,
  URL_TEXT,
  VARIANTS_B,
  verdictOf,
  videoItem,
} from '../../../test/support/video-request.ts';
import { VIDEO_VARIANTS, type VideoVariant } from '../../rules/index.ts';

const INVALID = 'invalid_request';
const UNSUPPORTED = 'unsupported_video_parameter';

const verdict = (members: object, variant: VideoVariant = 'A') =>
  verdictOf(examine({ model: 'm', prompt: 'a lamp', ...members }, { variant, entry: 'videos' }));
const code = (members: object, variant: VideoVariant = 'A') => verdict(members, variant).error?.code ?? 'ok';

test('V 4.7 prompt: model and prompt are enough, and the prompt becomes a text item', () => {
  for (const variant of VIDEO_VARIANTS) {
    const { upstream } = verdict({}, variant);
    assert.deepEqual(upstream, { model: 'upstream-model', content: [{ type: 'text', text: 'a lamp' }] });
  }
});

test('V 4.7 multipart: a multipart body is invalid, and the message names JSON', () => {
  const { error } = verdictOf(
    examine('--x\r\ncontent-disposition: form-data; name="prompt"\r\n\r\na\r\n--x--', { entry: 'videos' }),
  );
  assert.equal(error?.code, INVALID);
  assert.match(error?.message ?? '', /JSON/);
});

test('V 4.7 prompt: required without content, and a string that is not empty', () => {
  for (const prompt of [undefined, null, '', 5, ['a']]) assert.equal(code({ prompt }), INVALID, JSON.stringify(prompt));
  assert.equal(code({ prompt: undefined, content: [TEXT] }), 'ok');
  assert.equal(code({ prompt: undefined, input_reference: URL_TEXT }), INVALID);
});

test('V 4 null: fields and their members with null are absent', () => {
  assert.equal(code({ seconds: null, size: null, input_reference: null, remix_id: null }), 'ok');
  assert.equal(code({ input_reference: { image_url: URL_TEXT, file_id: null } }), 'ok');
});

test('V 4.7 seconds: 4 to 15 as text or integer become the duration', () => {
  for (const variant of VIDEO_VARIANTS) {
    for (const seconds of ['4', '8', '15', 4, 15]) {
      const { request, upstream } = verdict({ seconds }, variant);
      assert.equal(request?.parameters.duration, Number(seconds));
      assert.equal(upstream?.duration, Number(seconds));
    }
    for (const seconds of ['3', '16', 'x', '', '5.5', 5.5, ' 5', '05', '+5', '5s', '0x5', true, 3, 16, '99999999999'])
      assert.equal(code({ seconds }, variant), INVALID, JSON.stringify(seconds));
  }
  assert.equal(verdict({ seconds: '3' }).error?.param, 'seconds');
});

test('V 4.7 seconds: -1 passes on A and is unsupported on B', () => {
  for (const seconds of ['-1', -1]) {
    assert.equal(verdict({ seconds }).request?.parameters.duration, -1);
    for (const variant of VARIANTS_B) assert.equal(code({ seconds }, variant), UNSUPPORTED);
  }
});

test('V 4.7 size: a size of the table becomes resolution and ratio', () => {
  for (const [size, resolution, ratio] of [
    ['1280x720', '720p', '16:9'],
    ['720x1280', '720p', '9:16'],
    ['640x640', '480p', '1:1'],
    ['2206x946', '1080p', '21:9'],
  ] as const) {
    const { request, upstream } = verdict({ size });
    assert.deepEqual([request?.parameters.resolution, request?.parameters.ratio], [resolution, ratio]);
    assert.deepEqual([upstream?.resolution, upstream?.ratio], [resolution, ratio]);
    assert.ok(upstream && !('size' in upstream));
  }
});

test('V 4.7 size: sizes that no model offers are unsupported, other texts are invalid', () => {
  for (const variant of VIDEO_VARIANTS) {
    for (const size of ['1792x1024', '1024x1792']) assert.equal(code({ size }, variant), UNSUPPORTED);
    for (const size of ['720p', '1280X720', '1280x721', '', 'auto', 1_280, ['1280x720']])
      assert.equal(code({ size }, variant), INVALID, JSON.stringify(size));
  }
  const { error } = verdict({ size: '3840x2160' });
  assert.equal(error?.code, UNSUPPORTED);
  assert.equal(error?.param, 'size');
  assert.equal(code({ size: '3840x2160' }, 'EP'), 'ok');
});

test('V 4.7 input_reference: an address becomes the first frame behind the prompt', () => {
  const inline = dataUrl('image/png', IMAGE_STARTS.png ?? Buffer.alloc(0));
  for (const url of [`${URL_TEXT}.png`, inline])
    for (const input_reference of [url, { image_url: url }])
      assert.deepEqual(verdict({ input_reference }).upstream?.content, [
        { type: 'text', text: 'a lamp' },
        imageItem('first_frame', url),
      ]);
  const { request } = verdict({ input_reference: { image_url: 'asset://asset_1' } });
  assert.deepEqual(request?.references, [
    { index: 1, param: 'input_reference.image_url', kind: 'image', role: 'first_frame', id: 'asset_1', form: 'asset' },
  ]);
});

test('V 4.7 input_reference: a file id is unsupported, other values are invalid', () => {
  assert.equal(code({ input_reference: { file_id: 'file_1' } }), UNSUPPORTED);
  for (const input_reference of [
    5,
    {},
    [],
    { image_url: 5 },
    { image_url: { url: URL_TEXT } },
    { image_url: URL_TEXT, x: 1 },
    'http://a.example/x',
    '',
    'data:image/png;base64,x',
  ])
    assert.equal(code({ input_reference }), INVALID, JSON.stringify(input_reference));
  assert.equal(verdict({ input_reference: 'asset://x' }).error?.code, 'invalid_asset_reference');
  assert.equal(code({ input_reference: 'asset://char_1' }), UNSUPPORTED);
  assert.equal(verdict({ input_reference: 'nope' }).error?.param, 'input_reference');
});

test('V 4.7 pairs: fields that mean the same exclude each other', () => {
  for (const members of [
    { seconds: '5', duration: 5 },
    { seconds: '5', frames: 24 },
    { size: '1280x720', resolution: '720p' },
    { size: '1280x720', ratio: '16:9' },
    { prompt: 'a', content: [TEXT] },
    { prompt: 'a', content: [imageItem('first_frame'), TEXT] },
    { prompt: undefined, input_reference: URL_TEXT, content: [TEXT] },
    { input_reference: URL_TEXT, content: [imageItem()] },
    { duration: 5, frames: 24 },
  ])
    for (const variant of VIDEO_VARIANTS)
      if (variant === 'A' || !('frames' in members))
        assert.equal(code(members, variant), INVALID, JSON.stringify(members));
  assert.equal(code({ content: [imageItem('first_frame')] }), 'ok');
});

test('V 4.7 fields: the fields of the task entry have the same names and rules', () => {
  const members = {
    duration: 5,
    resolution: '720p',
    ratio: '1:1',
    generate_audio: false,
    watermark: true,
    return_last_frame: true,
    seed: 7,
    execution_expires_after: 3_600,
    tools: [{ type: 'web_search' }],
  };
  const { upstream, request } = verdict({
    ...members,
    service_tier: 'default',
    callback_url: 'https://hooks.example.com/x',
  });
  assert.deepEqual(upstream, { model: 'upstream-model', content: [{ type: 'text', text: 'a lamp' }], ...members });
  assert.equal(request?.callbackUrl, 'https://hooks.example.com/x');
  assert.equal(code({ seed: 7 }, 'EP'), UNSUPPORTED);
  assert.equal(code({ camera_fixed: false }), UNSUPPORTED);
  assert.equal(code({ resolution: '4k' }), UNSUPPORTED);
  for (const unknown of ['n', 'quality', 'style', 'remix_id']) assert.equal(code({ [unknown]: 1 }), INVALID);
});

test('V 4.7 fields: the fields of this entry are unknown to the task entry', () => {
  for (const name of ['prompt', 'seconds', 'size', 'input_reference'])
    assert.equal(verdictOf(examine({ model: 'm', content: [TEXT], [name]: '5' })).error?.param, name);
});

test('V 4.7 content: prompt and content together have at most 64 items', () => {
  const videos = (count: number) => Array(count).fill(videoItem());
  assert.equal(code({ content: videos(63) }, 'EP'), 'ok');
  assert.equal(code({ content: videos(64) }, 'EP'), INVALID);
  assert.equal(code({ prompt: undefined, content: videos(64) }, 'EP'), 'ok');
  assert.equal(code({ content: [] }), INVALID);
});

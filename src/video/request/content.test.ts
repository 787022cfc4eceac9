import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  audioItem,
  codeOf,
  examine,
  imageItem,
  TEXT,
  taskBody,
  URL_TEXT,
  verdictOf,
  videoItem,
  withItems,
} from '../../../test/support/video-request.ts';
import { sheetOf, VIDEO_VARIANTS } from '../../rules/index.ts';
import { examineTaskBody } from './examine.ts';

const INVALID = 'invalid_request';
const UNSUPPORTED = 'unsupported_video_parameter';

test('V 4.1 items: content is an array of 1 to 64 items', () => {
  for (const content of [undefined, null, {}, 'text', 1, [], Array(65).fill(TEXT)])
    assert.equal(codeOf(taskBody({ content })), INVALID, JSON.stringify(content)?.slice(0, 40));
  for (const count of [1, 64])
    for (const variant of VIDEO_VARIANTS)
      assert.equal(codeOf(taskBody({ content: Array(count).fill(TEXT) }), { variant }), 'ok');
});

test('V 4.1 items: an item needs a known type', () => {
  for (const item of [
    null,
    'x',
    [],
    {},
    { text: 'x' },
    { type: 'draft_task' },
    { type: 1 },
    { type: 'TEXT', text: 'x' },
  ])
    assert.equal(codeOf(withItems(item)), INVALID, JSON.stringify(item));
  for (const type of ['__proto__', 'constructor', 'toString'])
    assert.equal(codeOf(withItems({ type, [`x${type}`]: {} })), INVALID, type);
});

test('V 4.1 text: a text is a string that is not empty, and needs no other item', () => {
  for (const item of [
    { type: 'text' },
    { type: 'text', text: 1 },
    { type: 'text', text: '' },
    { type: 'text', text: null },
  ])
    assert.equal(codeOf(withItems(item)), INVALID, JSON.stringify(item));
  for (const variant of VIDEO_VARIANTS) assert.equal(codeOf(withItems(TEXT), { variant }), 'ok');
});

test('V 4.1 text: a role on a text is unsupported', () => {
  for (const role of ['reference_image', 'x', 1])
    assert.equal(codeOf(withItems({ ...TEXT, role })), UNSUPPORTED, String(role));
});

test('V 4.1 payload: the payload of another type is invalid, beside the own one or instead of it', () => {
  const image = { url: URL_TEXT };
  for (const item of [
    { type: 'image_url', image_url: image, video_url: image },
    { type: 'image_url', video_url: image },
    { type: 'video_url', image_url: image, role: 'reference_video' },
    { type: 'text', text: 'x', image_url: image },
    { type: 'image_url', image_url: image, text: 'x' },
  ])
    assert.equal(codeOf(withItems(item)), INVALID, JSON.stringify(item));
});

test('V 4 null: members of an item with null are absent', () => {
  const text = {
    type: 'text',
    text: 'x',
    role: null,
    image_url: null,
    video_url: null,
    audio_url: null,
    draft_task: null,
  };
  assert.equal(codeOf(withItems(text)), 'ok');
  const image = { type: 'image_url', image_url: { url: URL_TEXT, detail: null }, role: null, text: null };
  assert.equal(codeOf(withItems(image)), 'ok');
});

test('V 4.1 payload: a media payload is an object with a string as url', () => {
  for (const type of ['image_url', 'video_url', 'audio_url'])
    for (const payload of [URL_TEXT, {}, { url: 1 }, { url: null }, null, [], undefined])
      assert.equal(codeOf(withItems({ type, [type]: payload })), INVALID, `${type} ${JSON.stringify(payload)}`);
});

test('V 4.1 role: an image is a reference, a first frame, or a last frame beside a first one', () => {
  for (const variant of VIDEO_VARIANTS) {
    assert.equal(codeOf(withItems(imageItem('reference_image')), { variant }), 'ok');
    assert.equal(codeOf(withItems(imageItem('first_frame')), { variant }), 'ok');
    assert.equal(codeOf(withItems(imageItem('first_frame'), imageItem('last_frame')), { variant }), 'ok');
  }
});

test('V 4.1 role: a video and an audio have one role each', () => {
  const image = imageItem('reference_image');
  for (const variant of VIDEO_VARIANTS) {
    assert.equal(codeOf(withItems(image, videoItem(), audioItem()), { variant }), 'ok');
    for (const role of ['first_frame', 'last_frame', 'reference_image', 'reference_audio'])
      assert.equal(codeOf(withItems(videoItem(role)), { variant }), UNSUPPORTED, role);
    for (const role of ['first_frame', 'reference_image', 'reference_video'])
      assert.equal(codeOf(withItems(image, audioItem(role)), { variant }), UNSUPPORTED, role);
    assert.equal(codeOf(withItems(imageItem('reference_video')), { variant }), UNSUPPORTED);
  }
});

test('V 4.1 role: an unknown role is unsupported, and a role that is not a string is invalid', () => {
  for (const role of ['middle_frame', 'FIRST_FRAME', '', 'x'.repeat(5_000)])
    assert.equal(codeOf(withItems({ ...imageItem(), role })), UNSUPPORTED, role.slice(0, 20));
  for (const role of [1, {}, ['first_frame']])
    assert.equal(codeOf(withItems({ ...imageItem(), role })), INVALID, JSON.stringify(role));
});

test('V 4.1 address: images, videos and audios accept public URLs and assets; only images accept characters', () => {
  const image = imageItem('reference_image');
  for (const variant of VIDEO_VARIANTS) {
    for (const url of [`${URL_TEXT}.png`, 'asset://asset_9aZ', 'asset://char_9aZ'])
      assert.equal(codeOf(withItems(imageItem('reference_image', url)), { variant }), 'ok', url);
    for (const url of [URL_TEXT, 'asset://asset_9aZ']) {
      assert.equal(codeOf(withItems(videoItem(undefined, url)), { variant }), 'ok', url);
      assert.equal(codeOf(withItems(image, audioItem(undefined, url)), { variant }), 'ok', url);
    }
  }
});

test('V 4.1 address: other schemes, bare Base64 and private hosts are invalid', () => {
  const addresses = [
    'http://media.example.com/a',
    'ftp://media.example.com/a',
    'file:///etc/passwd',
    'media.example.com/a',
    '//media.example.com/a',
    'iVBORw0KGgo=',
    '',
    ' ',
    'https://localhost/a',
    'https://127.0.0.1/a',
    'https://[::1]/a',
    'https://10.0.0.1/a',
    'https://169.254.169.254/latest',
    'https://8.8.8.8/a',
    'https://intranet/a',
    'https://printer.local/a',
    'https://db.internal/a',
    'https://user:pass@media.example.com/a',
    'https://user@media.example.com/a',
    'https://media.example.com:8443/a',
    `https://media.example.com/${'a'.repeat(2_048)}`,
    'a'.repeat(100_000),
  ];
  for (const url of addresses) {
    for (const item of [imageItem('reference_image', url), videoItem(undefined, url), audioItem(undefined, url)])
      assert.equal(codeOf(withItems(item)), INVALID, url.slice(0, 60));
    assert.equal(codeOf(taskBody({ callback_url: url })), INVALID, url.slice(0, 60));
  }
});

test('V 4.1 address: a URL of an allowed origin passes although it is not public', () => {
  const bytes = Buffer.from(JSON.stringify(withItems(imageItem(undefined, 'http://127.0.0.1:9000/a.png'))));
  const target = { sheet: sheetOf('A') };
  assert.ok(verdictOf(examineTaskBody(bytes, 'tasks', target)).error);
  const allowedOrigins = ['http://127.0.0.1:9000'];
  assert.ok(verdictOf(examineTaskBody(bytes, 'tasks', { ...target, allowedOrigins })).request);
});

test('V 4.1 address: public URLs are normalised for the provider', () => {
  const body = withItems(TEXT, imageItem('reference_image', 'HTTPS://Media.Example.com/ä'), videoItem());
  const { upstream } = verdictOf(examine(body));
  assert.deepEqual(upstream?.content?.[1], imageItem('reference_image', 'https://media.example.com/%C3%A4'));
});

test('V 4.1 ref: a malformed reference has its own code in every kind of item', () => {
  for (const url of [
    'asset://',
    'asset://x',
    'asset://asset_',
    'asset://assetgrp_1',
    'asset://task_1',
    'asset://asset_1/x',
    'asset://asset_1?x',
    'asset://asset_1 ',
    ' asset://asset_1',
    'asset://asset-20260224200602-qn7wr',
    'ASSET://asset_1',
  ])
    for (const item of [imageItem('reference_image', url), videoItem(undefined, url), audioItem(undefined, url)])
      assert.equal(codeOf(withItems(item)), 'invalid_asset_reference', url);
});

test('V 4.1 ref: references are returned with item, kind, role and id', () => {
  const body = withItems(
    TEXT,
    imageItem('reference_image', 'asset://char_1'),
    videoItem(undefined, 'asset://asset_2'),
    audioItem(),
  );
  assert.deepEqual(verdictOf(examine(body)).request?.references, [
    {
      index: 1,
      param: 'content[1].image_url.url',
      kind: 'image',
      role: 'reference_image',
      id: 'char_1',
      form: 'character',
    },
    {
      index: 2,
      param: 'content[2].video_url.url',
      kind: 'video',
      role: 'reference_video',
      id: 'asset_2',
      form: 'asset',
    },
  ]);
});

test('V 4.1 ref: a character is a reference image and nothing else', () => {
  const character = 'asset://char_1';
  for (const variant of VIDEO_VARIANTS)
    for (const items of [
      [imageItem('first_frame', character)],
      [imageItem(undefined, character)],
      [imageItem('first_frame'), imageItem('last_frame', character)],
      [videoItem(undefined, character)],
      [imageItem('reference_image'), audioItem(undefined, character)],
    ])
      assert.equal(codeOf(withItems(...items), { variant }), UNSUPPORTED, JSON.stringify(items));
});

test('V 4.1 ref: the order of items stays when references are replaced', () => {
  const body = withItems(
    imageItem('reference_image', 'asset://asset_1'),
    TEXT,
    imageItem('reference_image', 'asset://char_2'),
    videoItem(),
    { type: 'text', text: 'second' },
    imageItem('reference_image', 'asset://asset_1'),
  );
  assert.deepEqual(verdictOf(examine(body)).upstream?.content, [
    imageItem('reference_image', 'asset://up-0'),
    TEXT,
    imageItem('reference_image', 'asset://up-2'),
    videoItem(),
    { type: 'text', text: 'second' },
    imageItem('reference_image', 'asset://up-5'),
  ]);
});

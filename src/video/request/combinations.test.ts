import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  audioItem,
  codeOf,
  examine,
  imageItem,
  TEXT,
  URL_TEXT,
  VARIANTS_B,
  verdictOf,
  videoItem,
  withItems,
} from '../../../test/support/video-request.ts';
import { VIDEO_VARIANTS } from '../../rules/index.ts';

const INVALID = 'invalid_request';
const UNSUPPORTED = 'unsupported_video_parameter';

test('V 4.1 role: a lone image without a role becomes the first frame upstream', () => {
  for (const variant of VIDEO_VARIANTS) {
    const { upstream } = verdictOf(examine(withItems(TEXT, imageItem()), { variant }));
    assert.deepEqual(upstream?.content, [TEXT, { ...imageItem('first_frame') }]);
  }
});

test('V 4.1 role: of several images each needs a role, and so do a video and an audio', () => {
  for (const items of [
    [imageItem(), imageItem()],
    [imageItem('first_frame'), imageItem()],
    [imageItem(), imageItem('last_frame')],
    [{ type: 'video_url', video_url: { url: URL_TEXT } }],
    [imageItem('reference_image'), { type: 'audio_url', audio_url: { url: URL_TEXT } }],
  ])
    assert.equal(codeOf(withItems(...items)), INVALID, JSON.stringify(items));
});

test('V 4.1 audio: more than 3 audios are unsupported on all variants', () => {
  const image = imageItem('reference_image');
  for (const variant of VIDEO_VARIANTS) {
    assert.equal(codeOf(withItems(image, ...Array(3).fill(audioItem())), { variant }), 'ok');
    assert.equal(codeOf(withItems(image, ...Array(4).fill(audioItem())), { variant }), UNSUPPORTED);
  }
});

test('V 4.1 audio: on B an audio needs a reference image or video; on A it may be the only reference', () => {
  for (const variant of VARIANTS_B) {
    assert.equal(codeOf(withItems(TEXT, audioItem()), { variant }), UNSUPPORTED);
    assert.equal(codeOf(withItems(audioItem()), { variant }), UNSUPPORTED);
    assert.equal(codeOf(withItems(imageItem('reference_image'), audioItem()), { variant }), 'ok');
    assert.equal(codeOf(withItems(audioItem(), videoItem()), { variant }), 'ok');
  }
  assert.equal(codeOf(withItems(TEXT, audioItem())), 'ok');
});

test('V 4.1 mix: A accepts 9 reference images, 3 videos and 3 audios; B sets no limit on images and videos', () => {
  const items = (images: number, videos: number, audios: number) =>
    withItems(
      ...Array(images).fill(imageItem('reference_image')),
      ...Array(videos).fill(videoItem()),
      ...Array(audios).fill(audioItem()),
    );
  assert.equal(codeOf(items(9, 3, 3)), 'ok');
  for (const [images, videos, audios] of [
    [10, 0, 0],
    [0, 4, 0],
    [0, 0, 4],
    [10, 4, 4],
  ] as const)
    assert.equal(codeOf(items(images, videos, audios)), UNSUPPORTED);
  for (const variant of VARIANTS_B) assert.equal(codeOf(items(40, 20, 3), { variant }), 'ok');
});

test('V 4.1 mix: frames and references do not go together on any variant', () => {
  for (const variant of VIDEO_VARIANTS)
    for (const frames of [
      [imageItem('first_frame')],
      [imageItem('first_frame'), imageItem('last_frame')],
      [imageItem('last_frame')],
    ])
      for (const reference of [imageItem('reference_image'), videoItem(), audioItem()])
        for (const items of [
          [...frames, reference],
          [reference, ...frames],
        ])
          assert.equal(codeOf(withItems(...items), { variant }), UNSUPPORTED);
});

test('V 4.1 mix: a last frame needs a first one, and there is one of each', () => {
  for (const variant of VIDEO_VARIANTS) {
    assert.equal(codeOf(withItems(imageItem('last_frame')), { variant }), UNSUPPORTED);
    for (const role of ['first_frame', 'last_frame']) {
      const others = role === 'last_frame' ? [imageItem('first_frame')] : [];
      assert.equal(codeOf(withItems(...others, imageItem(role), imageItem(role)), { variant }), UNSUPPORTED, role);
    }
  }
});

test('V 4.1 mix: an image without a role counts as a first frame beside references', () => {
  for (const variant of VIDEO_VARIANTS)
    for (const reference of [videoItem(), audioItem()])
      assert.equal(codeOf(withItems(imageItem(), reference), { variant }), UNSUPPORTED);
});

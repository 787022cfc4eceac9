import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import sharp, { type Sharp } from 'sharp';
import { imageSize } from './image-size.ts';

const picture = (): Sharp => sharp({ create: { width: 300, height: 17, channels: 4, background: '#12345680' } });

const FILES: Readonly<Record<string, (image: Sharp) => Sharp>> = {
  'a PNG': (image) => image.png(),
  'a baseline JPEG': (image) => image.jpeg(),
  'a progressive JPEG with metadata': (image) => image.jpeg({ progressive: true }).withMetadata({ density: 300 }),
  'a lossy WebP': (image) => image.flatten().webp(),
  'a lossless WebP': (image) => image.webp({ lossless: true }),
  'an extended WebP': (image) => image.webp().withMetadata({ density: 300 }),
};

describe('the size of an image', () => {
  for (const [name, write] of Object.entries(FILES))
    test(`is read from the head of ${name}, and not from a part of it`, async () => {
      const file = await write(picture()).toBuffer();
      assert.deepEqual(imageSize(file), { width: 300, height: 17 });
      for (let length = 0; length < 20; length += 1) assert.equal(imageSize(file.subarray(0, length)), undefined);
    });

  test('is unknown for other bytes', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from('GIF89a'), Buffer.from('\xff\xd8\xff\xff\xff\xff', 'latin1')])
      assert.equal(imageSize(bytes), undefined);
    assert.equal(imageSize(Buffer.from('RIFF....WEBPVP9 ....', 'latin1')), undefined);
  });

  test('ends the search in a JPEG whose segments have no length', () => {
    const endless = Buffer.alloc(1_000, Buffer.from([0xff, 0xe0, 0, 0]));
    endless.write('\xff\xd8\xff', 'latin1');
    assert.equal(imageSize(endless), undefined);
  });
});

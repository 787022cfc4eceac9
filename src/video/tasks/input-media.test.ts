import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Account } from '../../catalog/index.ts';
import { fail } from '../../core/index.ts';
import type { NeutralMedia } from '../request/task-request.ts';
import { withMedia } from './input-media.ts';

const FILE = `dgfile${'a'.repeat(32)}`;
const BYTES = Buffer.from('the bytes');

/** Without a link: the provider cannot reach this gateway. */
function place(item: NeutralMedia, { adapter = 'ark', reserve = (_: number): void => {} } = {}) {
  const files = {
    find: async () => ({ media_type: 'image/png', bytes: BigInt(BYTES.length) }),
    read: async function* () {
      yield BYTES;
    },
  };
  const services = { files, fileLinkFor: () => undefined, media: {} } as unknown as Parameters<typeof withMedia>[0];
  const submission = { neutral: { items: [item], parameters: {} }, key: { userId: 'ana' }, reserve };
  return withMedia(services, submission as unknown as Parameters<typeof withMedia>[1], { adapter } as Account);
}
const picture: NeutralMedia = { type: 'image_url', role: 'first_frame', address: FILE };

describe('an uploaded file that the provider cannot read at a link', () => {
  test('is sent as its bytes, whose copies are reserved', async () => {
    const reserved: number[] = [];
    const { items } = await place(picture, { reserve: (bytes) => reserved.push(bytes) });
    assert.deepEqual(items, [{ ...picture, address: `data:image/png;base64,${BYTES.toString('base64')}` }]);
    assert.deepEqual(reserved, [4 * BYTES.length]);
  });

  test('is not read without memory for it', async () => {
    const reserve = () => {
      throw fail('server_is_overloaded');
    };
    for (const adapter of ['ark', 'veo'])
      await assert.rejects(place(picture, { adapter, reserve }), { code: 'server_is_overloaded' });
  });

  test('is refused when it is a video, which no provider takes as bytes', async () => {
    const film: NeutralMedia = { type: 'video_url', role: 'reference_video', address: FILE };
    await assert.rejects(place(film), { code: 'invalid_request' });
  });
});

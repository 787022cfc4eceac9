import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetFor } from '../../../../test/laws/dialect-pairs.ts';
import { ApiError } from '../../../core/index.ts';
import { partBlocks } from './encode-content.ts';

const { image } = partBlocks(targetFor('converse', 'anthropic.claude').capabilities);
const encodeImage = (mime: string) => image({ kind: 'image', source: { kind: 'base64', mime, data: 'AA==' } });

test('converse part encoder names the format of an image', () => {
  assert.deepEqual(encodeImage('image/jpg'), { image: { format: 'jpeg', source: { bytes: 'AA==' } } });
});

test('converse part encoder rejects a media type that only objects of JavaScript have as a member', () => {
  assert.throws(
    () => encodeImage('constructor'),
    (error) => error instanceof ApiError && error.message.includes('Images of type constructor are not supported'),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeInputParts } from './encode-content.ts';

const fileNameFor = (mime: string): unknown =>
  encodeInputParts([{ kind: 'file', source: { kind: 'base64', mime, data: 'AA==' } }], [])[0]?.filename;

test('responses part encoder names a file without a title by its media type', () => {
  assert.equal(fileNameFor('text/csv'), 'file.csv');
  assert.equal(fileNameFor('application/x-unknown'), 'file.pdf');
  assert.equal(fileNameFor('constructor'), 'file.pdf');
});

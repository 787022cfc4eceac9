import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newestOfTwoLines } from './versions.ts';

test('newestOfTwoLines chooses the newest version and the newest of the major version before', () => {
  assert.deepEqual(newestOfTwoLines(['6.9.0', '6.49.0', '7.2.0', '7.10.1', '8.0.0-beta.1', '7.9.3']), [
    '7.10.1',
    '6.49.0',
  ]);
});

test('newestOfTwoLines treats minor versions below 1.0 as lines', () => {
  assert.deepEqual(newestOfTwoLines(['0.9.4', '0.10.0', '0.10.2', '0.9.12']), ['0.10.2', '0.9.12']);
  assert.deepEqual(newestOfTwoLines(['0.9.4', '1.0.0', '0.10.2', '1.1.0rc1']), ['1.0.0', '0.10.2']);
});

test('newestOfTwoLines returns fewer versions when a package has only one line or no release', () => {
  assert.deepEqual(newestOfTwoLines(['1.0.0', '1.2']), ['1.2']);
  assert.deepEqual(newestOfTwoLines(['1.0.0-alpha.1', '1.0.0rc2']), []);
});

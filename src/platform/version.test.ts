import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEarlier, isReleaseVersion } from './version.ts';

test('isEarlier compares versions by number, and a pre-release comes before its release', () => {
  const ascending = ['0.2.0', '0.2.9', '0.2.10', '0.9.0', '0.10.0-rc.1', '0.10.0', '1.0.0', '10.0.0'];
  for (const [n, one] of ascending.entries())
    for (const [m, other] of ascending.entries()) assert.equal(isEarlier(one, other), n < m, `${one} and ${other}`);
  assert.equal(isEarlier('0.2.0+build.1', '0.2.0'), false);
  assert.throws(() => isEarlier('0.2', '0.2.0'), /"0\.2" is not a semantic version/);
});

test('isReleaseVersion accepts three numbers only', () => {
  assert.ok(isReleaseVersion('0.10.3'));
  for (const text of ['0.2', '0.2.0-rc.1', '0.2.0+1', '00.2.0', 'v0.2.0', '0.2.0 ', ''])
    assert.ok(!isReleaseVersion(text));
});

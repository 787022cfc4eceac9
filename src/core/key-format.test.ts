import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hintOf, isKeyFormat, newKeyValue } from './key-format.ts';

test('newKeyValue returns a unique key: dg-, 43 characters and a checksum', () => {
  const tokens = Array.from({ length: 500 }, newKeyValue);
  assert.equal(new Set(tokens).size, tokens.length);
  for (const token of tokens) {
    assert.match(token, /^dg-[0-9A-Za-z]{49}$/);
    assert.ok(isKeyFormat(token));
  }
});

test('isKeyFormat rejects a generated key with a wrong, missing or additional character', () => {
  const token = newKeyValue();
  for (let n = 3; n < token.length; n += 1) {
    for (const other of ['0', 'z', 'A']) {
      if (token[n] === other) continue;
      assert.ok(!isKeyFormat(`${token.slice(0, n)}${other}${token.slice(n + 1)}`), `character ${n}`);
    }
    assert.ok(!isKeyFormat(token.slice(0, n)), 'truncated');
  }
  assert.ok(!isKeyFormat(`${token}0`));
  assert.ok(!isKeyFormat(`${token} `));
  assert.ok(!isKeyFormat(token.replace('dg-', 'dg_-').toLowerCase().replace('dg_-', 'dg-')));
});

test('isKeyFormat accepts other values of 20 to 256 visible ASCII characters without the prefix dg-', () => {
  for (const good of ['x'.repeat(20), 'x'.repeat(256), 'sk-proj-!"#$%&/()=?~^_{}|']) assert.ok(isKeyFormat(good), good);
  for (const bad of [
    '',
    'x'.repeat(19),
    'x'.repeat(257),
    `${'x'.repeat(20)} y`,
    `${'x'.repeat(20)}é`,
    `${'x'.repeat(20)}\n`,
    `dg-${'x'.repeat(30)}`,
  ])
    assert.ok(!isKeyFormat(bad), bad);
});

test('hintOf shows the first 6 and the last 4 characters only', () => {
  const token = newKeyValue();
  const hint = hintOf(token);
  assert.match(hint, /^dg-\w{3}\.\.\.\w{4}$/);
  assert.ok(token.startsWith(hint.slice(0, 6)) && token.endsWith(hint.slice(-4)));
});

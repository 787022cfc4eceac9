import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hintOf, isKeyFormat, newKeyValue } from './key-format.ts';

test('a key that we make is dg-, 43 characters and a checksum, never the same', () => {
  const tokens = Array.from({ length: 500 }, newKeyValue);
  assert.equal(new Set(tokens).size, tokens.length);
  for (const token of tokens) {
    assert.match(token, /^dg-[0-9A-Za-z]{49}$/);
    assert.ok(isKeyFormat(token));
  }
});

test('every slip of one character, and nearly every swap of two, is noticed', () => {
  const token = newKeyValue();
  for (let n = 3; n < token.length; n += 1) {
    for (const other of ['0', 'z', 'A']) {
      if (token[n] === other) continue;
      assert.ok(!isKeyFormat(`${token.slice(0, n)}${other}${token.slice(n + 1)}`), `character ${n}`);
    }
    assert.ok(!isKeyFormat(token.slice(0, n)), 'cut off');
  }
  assert.ok(!isKeyFormat(`${token}0`));
  assert.ok(!isKeyFormat(`${token} `));
  assert.ok(!isKeyFormat(token.replace('dg-', 'dg_-').toLowerCase().replace('dg_-', 'dg-')));
});

test("an operator's own value is 20 to 256 visible characters, and does not pretend to be ours", () => {
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

test('the hint shows ends only', () => {
  const token = newKeyValue();
  const hint = hintOf(token);
  assert.match(hint, /^dg-\w{3}\.\.\.\w{4}$/);
  assert.ok(token.startsWith(hint.slice(0, 6)) && token.endsWith(hint.slice(-4)));
});

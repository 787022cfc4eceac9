import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { growthOf, LINEAR_GROWTH } from '../../test/support/cpu-time.ts';
import { runs } from '../../test/support/properties.ts';
import { isGlob, matchesGlob } from './glob.ts';

test('matchesGlob matches * with any run of characters and everything else literally', () => {
  const matching = ['*', 'demo-x', 'demo-*', '*-x', 'd*x', 'demo-x*', '*demo-x', '**', 'd*m*-*x'];
  const notMatching = ['', 'demo', 'demo-', 'demo-x-', 'DEMO-X', 'd.mo-x', 'demo-x*x', 'x*', 'demo-?'];
  for (const pattern of matching) assert.ok(matchesGlob(pattern, 'demo-x'), pattern);
  for (const pattern of notMatching) assert.ok(!matchesGlob(pattern, 'demo-x'), pattern);
});

test('matchesGlob does not let the parts around stars overlap', () => {
  assert.ok(!matchesGlob('ab*b', 'ab'));
  assert.ok(!matchesGlob('a*aa*a', 'aaa'));
  assert.ok(matchesGlob('a*aa*a', 'aaaa'));
  assert.ok(matchesGlob('*a*b', 'xab-ab'));
});

test('matchesGlob treats regular expression characters literally', () => {
  for (const name of ['a.b', 'a+b', '(a)', '[a]', 'a|b', '^a$', 'a\\b', 'a?']) {
    assert.ok(matchesGlob(name, name));
    assert.ok(matchesGlob(`*${name}*`, `x${name}y`));
  }
  assert.deepEqual([isGlob('a*'), isGlob('a?')], [true, false]);
});

test('matchesGlob agrees with the equivalent regular expression', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
  const names = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
  fc.assert(
    fc.property(letters, names, (pattern, name) => {
      const expected = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name);
      return matchesGlob(pattern, name) === expected;
    }),
    { numRuns: runs(3_000) },
  );
});

test('matchesGlob takes linear time for a hostile name', () => {
  for (const pattern of ['*a*b', `${'*a'.repeat(50)}*b*`]) {
    const growth = growthOf((size) => {
      const name = Buffer.alloc(size, 'a').toString();
      return () => void matchesGlob(pattern, name);
    }, 1_000);
    assert.ok(growth < LINEAR_GROWTH, `${pattern}: ${growth}`);
  }
});

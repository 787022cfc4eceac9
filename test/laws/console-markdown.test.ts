import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeParts, INLINE } from '../../console/src/parts/inline.ts';
import { growthOf, LINEAR_GROWTH } from '../support/cpu-time.ts';

const partsOf = (text: string): string[] => text.split(INLINE).filter((part) => part !== undefined && part !== '');

test('code, bold, italic and links are parts of a line', () => {
  assert.deepEqual(partsOf('a `b` **c** *d* [e](https://f.test/g) [h](ftp://i)'), [
    ...['a ', '`b`', ' ', '**c**', ' ', '*d*', ' ', '[e](https://f.test/g)', ' [h](ftp://i)'],
  ]);
});

test('code between backticks is every second part of a sentence', () => {
  assert.deepEqual(codeParts('`A` or `B`: a lone ` stays'), ['', 'A', ' or ', 'B', ': a lone ` stays']);
});

for (const unit of ['[', '[a](https://b', '`', '*', '**a', '[a]'])
  test(`the parts of a line of ${unit} are found at a cost that grows linearly`, () => {
    const growth = growthOf((size) => {
      const text = unit.repeat(Math.ceil(size / unit.length));
      return () => void partsOf(text);
    }, 6_000);
    assert.ok(growth < LINEAR_GROWTH, `${growth} times`);
  });

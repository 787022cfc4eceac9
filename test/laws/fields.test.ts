import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DIALECT_PAIRS } from './dialect-pairs.ts';
import { type Exception, INTENDED, UNTESTED } from './field-exceptions.ts';
import { type FieldOutcome, observeFields } from './field-outcomes.ts';

const OFFERED = DIALECT_PAIRS.filter(({ isOffered }) => isOffered);
const used = new Set<Exception>();

for (const pair of OFFERED) {
  test(`${pair.name}: every field of the SDK's request type is sent, named as dropped, or rejected by name`, () => {
    const excused = ({ field, outcome }: FieldOutcome): boolean => {
      const rows = outcome === 'invalid' ? UNTESTED : INTENDED;
      const row = rows.find(({ fields, pairs }) => fields.test(field.label) && pairs?.test(pair.name) !== false);
      if (row) used.add(row);
      return row !== undefined;
    };
    const failed = observeFields(pair).filter(
      (one) => (one.outcome === 'lost' || one.outcome === 'invalid') && !excused(one),
    );
    assert.deepEqual(
      failed.map(({ field, outcome, name }) => `${outcome}: ${field.label} ${name ?? ''}`),
      [],
    );
  });
}

test('every intended exception excuses a field', () => {
  assert.deepEqual(
    [...INTENDED, ...UNTESTED].filter((row) => !used.has(row)),
    [],
  );
});

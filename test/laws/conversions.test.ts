import { test } from 'node:test';
import { checkVector, readPairs } from './vector.ts';

for (const vector of readPairs()) {
  const numbers = vector.refs.length > 0 ? ` (situation ${vector.refs.join(', ')})` : '';
  test(`${vector.name}${numbers}: ${vector.about}`, () => checkVector(vector));
}

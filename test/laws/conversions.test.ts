import { test } from 'node:test';
import { readConversions } from './vector.ts';
import { checkVector } from './vector-checks.ts';

for (const vector of readConversions()) {
  const situations = vector.situations.map((number) => `S${number}`).join(' ');
  test(`${vector.name}${situations && ` [${situations}]`}: ${vector.about}`, () => checkVector(vector));
}

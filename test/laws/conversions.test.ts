import { test } from 'node:test';
import { readConversions } from './vector.ts';
import { checkVector } from './vector-checks.ts';

for (const vector of readConversions()) test(`${vector.name}: ${vector.about}`, () => checkVector(vector));

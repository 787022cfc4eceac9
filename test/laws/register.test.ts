import { test } from 'node:test';
import { REGISTER } from './register.ts';
import { checkVector } from './vector-checks.ts';

for (const [number, { summary, vectors }] of Object.entries(REGISTER)) {
  test(`lossy point ${number}: ${summary}`, () => {
    for (const vector of vectors) checkVector(vector);
  });
}

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { REGISTER } from './register.ts';
import { checkVector } from './vector-checks.ts';

for (const [number, { summary, conversions, vectors, test: file }] of Object.entries(REGISTER)) {
  test(`lossy point ${number}: ${summary}`, () => {
    for (const vector of vectors) checkVector(vector);
    const covered = new Set<string>(vectors.map(({ client, upstream }) => `${client} over ${upstream}`));
    if (file) assert.ok(existsSync(new URL(`../../${file}`, import.meta.url)), `${file} does not exist`);
    else for (const conversion of conversions) assert.ok(covered.has(conversion), `no vector is ${conversion}`);
  });
}

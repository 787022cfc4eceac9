import { test } from 'node:test';
import { NEEDS } from './needs.ts';
import { assertExists } from './test-reference.ts';

for (const [client, topics] of Object.entries(NEEDS)) {
  for (const [topic, proofs] of Object.entries(topics)) {
    test(`${client}, ${topic}: shown by tests of that name`, () => {
      for (const proof of proofs) assertExists(proof);
    });
  }
}

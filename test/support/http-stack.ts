/** The HTTP stack that a run of the tests uses: `npm test` runs the default one, `npm run test:all -- --stack=node` the one on Node's own HTTP. */
import { test } from 'node:test';
import type { HttpStack } from '../../src/platform/http/index.ts';

export const HTTP_STACK: HttpStack = process.env.HTTP_STACK === 'node' ? 'node' : 'own';

/** Option of a test that the twin cannot pass by its nature; src/platform/http/README.md lists every `difference`. */
export const ownStackOnly = (difference: string): { skip?: string } =>
  HTTP_STACK === 'node' ? { skip: `the twin differs: ${difference}` } : {};

let current: HttpStack = 'own';

/** The stack of the test that runs; `own` outside `testOnStacks`. The tests of a file run one after another. */
export const stackUnderTest = (): HttpStack => current;

/** A test of code that takes the stack as an option, once on each stack in every run. */
export function testOnStacks(name: string, run: () => Promise<void> | void, options: { skip?: boolean } = {}): void {
  for (const stack of ['own', 'node'] as const)
    test(`${name} (${stack})`, options, async () => {
      current = stack;
      try {
        await run();
      } finally {
        current = 'own';
      }
    });
}

/** Tests that hold for every HTTP stack. */
import { test } from 'node:test';
import type { HttpStack } from '../../src/http/index.ts';

let current: HttpStack = 'own';

/** The stack of the test that runs; `own` outside `testOnStacks`. The tests of a file run one after another. */
export const stackUnderTest = (): HttpStack => current;

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

/** The HTTP stack that a run of the tests uses: `npm test` runs the default one, `npm run test:twin` the one on Node's own HTTP. */
import type { HttpStack } from '../../src/http/index.ts';

export const HTTP_STACK: HttpStack = process.env.HTTP_STACK === 'node' ? 'node' : 'own';

/** Option of a test that the twin cannot pass by its nature; src/http/README.md lists every `difference`. */
export const ownStackOnly = (difference: string): { skip?: string } =>
  HTTP_STACK === 'node' ? { skip: `the twin differs: ${difference}` } : {};

/** `npm run fuzz`: searches for failures with random inputs, for minutes. Each part prints its seed. */
import { type Part, runPart } from './parts.ts';

/** Property tests with a random seed, or with the seed of `LAWS_SEED`. */
function explore(...words: readonly string[]): Promise<unknown> {
  process.argv.splice(2, 0, '--explore', ...words);
  return import('./test.ts');
}

const PARTS = {
  http: {
    about:
      'a million HTTP messages against Node and nginx; --seed 7, --first 80, --count 5000, --only corpus|requests|responses|sockets|nginx',
    run: () => import('../test/fuzz/main.ts'),
  },
  providers: {
    about:
      "providers with the manners of real ones, for clients of every dialect; --seed 7, --first 80, --count 500, --minutes 10, --only 'chat>messages', --case '{...}'",
    run: () => import('../test/fuzz/providers/main.ts'),
  },
  cost: {
    about:
      'requests of 100 kB that cost the server most time and memory; --seed 7, --count 500, --turn-ms 100, --memory-mb 100',
    run: () => import('../test/fuzz/cost.ts'),
  },
  explore: {
    about: 'property tests with ten times the runs; names of files for only these; LAWS_SEED=7 repeats a run',
    run: () => explore(),
  },
  api: {
    about: 'valid and damaged requests to every operation of openapi.json; LAWS_SEED=7 repeats a run',
    run: () => {
      process.env.LAWS_RUNS ??= '30';
      return explore('test/e2e/api-fuzz.test.ts');
    },
  },
} as const satisfies Record<string, Part>;

await runPart('fuzz', PARTS, 'http');

/** `npm run soak`: tests that kill real processes, for minutes. */
import { globSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Part, runPart } from './parts.ts';

/** Runs these test files, with a time limit of their own. */
function runTests(files: readonly string[], limitSeconds: number, settings: Readonly<Record<string, string>>) {
  process.argv.splice(2, process.argv.length, ...files);
  Object.assign(process.env, settings, { TEST_TIMEOUT_MS: String(limitSeconds * 1_000) });
  return import('./test.ts');
}

const PARTS = {
  load: {
    about: 'mixed load with faults, and a kill each minute; --minutes 10, --seed 1',
    run: () => {
      const { values } = parseArgs({
        options: {
          minutes: { type: 'string', default: '10' },
          seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        },
      });
      const seconds = Number(values.minutes) * 60;
      if (!(seconds > 0) || !/^\d+$/.test(values.seed)) throw new Error('Use --minutes 10 --seed 1.');
      process.stdout.write(`soak for ${seconds} s with seed ${values.seed}\n`);
      const settings = { SOAK_SECONDS: String(seconds), SOAK_SEED: values.seed };
      return runTests(['test/e2e/soak.test.ts'], seconds + 600, settings);
    },
  },
  suite: {
    about:
      'rounds of npm test, and every test that failed in any of them; --rounds 3, --busy 8 processes, --cores 1, --all',
    run: () => import('../test/soak/suite.ts'),
  },
  memory: {
    about:
      'hostile requests to a server with a memory limit; --count 10000, --limit-mb 2048, --workers 2, --cgroup DIR',
    run: () => import('../test/soak/memory.ts'),
  },
  fallback: {
    about:
      'a provider that goes away under load, while lines of another group serve; --calls 10000, --rate 25, --seconds 40',
    run: () => {
      const options = { type: 'string' } as const;
      const { values } = parseArgs({
        options: {
          calls: { ...options, default: '10000' },
          rate: { ...options, default: '25' },
          seconds: { ...options, default: '40' },
        },
      });
      const settings = { FALLBACK_CALLS: values.calls, FALLBACK_RATE: values.rate, FALLBACK_SECONDS: values.seconds };
      return runTests(['test/soak/fallback.ts'], 3_600, settings);
    },
  },
  rolling: {
    about: 'replaces servers under load; --rounds 20, --way nginx, kubernetes (pods of a Service) or reload (workers)',
    run: () => {
      const { values } = parseArgs({
        options: { rounds: { type: 'string', default: '20' }, way: { type: 'string', default: 'nginx' } },
      });
      const settings = { ROLLING_ROUNDS: values.rounds, ROLLING_WAY: values.way };
      return runTests(['test/e2e/rolling.test.ts'], 3_600, settings);
    },
  },
  failover: {
    about: 'kills a PostgreSQL primary under load and promotes its standby; --rounds 10',
    run: () => {
      const { values } = parseArgs({ options: { rounds: { type: 'string', default: '10' } } });
      return runTests(['test/e2e/failover.test.ts'], 3_600, { FAILOVER_ROUNDS: values.rounds });
    },
  },
  stops: {
    about: 'ends every kind of process while a dependency misbehaves, and in slow turns; --only "two workers"',
    run: () => {
      const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
      return runTests(['test/e2e/slow-stop.test.ts', 'test/e2e/stops.test.ts'], 1_800, { STOPS: values.only });
    },
  },
  crash: {
    about: 'kills at every crash point of every kind of call; --seeds 1,2,3',
    run: () => {
      const { values } = parseArgs({ options: { seeds: { type: 'string', default: '1,2,3' } } });
      const files = globSync(['test/e2e/*crash.test.ts', 'src/ledger/crash.db.test.ts']);
      return runTests(files, 3_600, { CRASH_SEEDS: values.seeds });
    },
  },
  loss: {
    about:
      'loses the answers to video creates of one user, and sends orders to a chaotic provider, with kills; --answers 200, --orders 2000, --seed 1',
    run: () => {
      const { values } = parseArgs({
        options: {
          answers: { type: 'string', default: '200' },
          orders: { type: 'string', default: '2000' },
          seed: { type: 'string', default: '1' },
        },
      });
      const settings = { LOST_ANSWERS: values.answers, CHAOS_ORDERS: values.orders, LOSS_SEED: values.seed };
      return runTests(['test/e2e/video-loss.test.ts'], 3_600, settings);
    },
  },
} as const satisfies Record<string, Part>;

await runPart('soak', PARTS, 'load');

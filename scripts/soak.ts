/** `npm run soak`: tests that kill real processes, for minutes. */
import { globSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Part, runPart } from './parts.ts';

/** Options of the command by name: the variable in which a test reads each, and its usual value. */
type Options = Readonly<Record<string, readonly [variable: string, usual: string]>>;

/** Runs these test files, with a time limit of their own. */
function runTests(files: readonly string[], limitSeconds: number, settings: Readonly<Record<string, string>>) {
  process.argv.splice(2, process.argv.length, ...files);
  Object.assign(process.env, settings, { TEST_TIMEOUT_MS: String(limitSeconds * 1_000) });
  return import('./test.ts');
}

const tests =
  (files: readonly string[], limitSeconds: number, options: Options): Part['run'] =>
  () =>
    runTests(globSync(files), limitSeconds, settingsOf(options));

function settingsOf(options: Options): Record<string, string> {
  const rows = Object.entries(options);
  const { values } = parseArgs({
    options: Object.fromEntries(rows.map(([name, [, usual]]) => [name, { type: 'string', default: usual }])),
  });
  return Object.fromEntries(rows.map(([name, [variable]]) => [variable, String(values[name])]));
}

const PARTS = {
  load: {
    about: 'mixed load with faults, and a kill each minute; --minutes 10, --seed 1',
    run: () => {
      const { MINUTES, SOAK_SEED = '' } = settingsOf({
        minutes: ['MINUTES', '10'],
        seed: ['SOAK_SEED', String(Date.now() % 1_000_000)],
      });
      const seconds = Number(MINUTES) * 60;
      if (!(seconds > 0) || !/^\d+$/.test(SOAK_SEED)) throw new Error('Use --minutes 10 --seed 1.');
      process.stdout.write(`soak for ${seconds} s with seed ${SOAK_SEED}\n`);
      return runTests(['test/e2e/soak.test.ts'], seconds + 600, { SOAK_SECONDS: String(seconds), SOAK_SEED });
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
    run: tests(['test/soak/fallback.ts'], 3_600, {
      calls: ['FALLBACK_CALLS', '10000'],
      rate: ['FALLBACK_RATE', '25'],
      seconds: ['FALLBACK_SECONDS', '40'],
    }),
  },
  rolling: {
    about: 'replaces servers under load; --rounds 20, --way nginx, kubernetes (pods of a Service) or reload (workers)',
    run: tests(['test/e2e/rolling.test.ts'], 3_600, {
      rounds: ['ROLLING_ROUNDS', '20'],
      way: ['ROLLING_WAY', 'nginx'],
    }),
  },
  failover: {
    about: 'kills a PostgreSQL primary under load and promotes its standby; --rounds 10',
    run: tests(['test/e2e/failover.test.ts'], 3_600, { rounds: ['FAILOVER_ROUNDS', '10'] }),
  },
  stops: {
    about: 'ends every kind of process while a dependency misbehaves, and in slow turns; --only "two workers"',
    run: tests(['test/e2e/slow-stop.test.ts', 'test/e2e/stops.test.ts'], 1_800, { only: ['STOPS', ''] }),
  },
  crash: {
    about: 'kills at every crash point of every kind of call; --seeds 1,2,3',
    run: tests(['test/e2e/*crash.test.ts', 'src/ledger/crash.db.test.ts'], 3_600, { seeds: ['CRASH_SEEDS', '1,2,3'] }),
  },
  loss: {
    about:
      'loses the answers to video creates of one user, and sends orders to a chaotic provider, with kills; --answers 200, --orders 2000, --seed 1',
    run: tests(['test/e2e/video-loss.test.ts'], 3_600, {
      answers: ['LOST_ANSWERS', '200'],
      orders: ['CHAOS_ORDERS', '2000'],
      seed: ['LOSS_SEED', '1'],
    }),
  },
} as const satisfies Record<string, Part>;

await runPart('soak', PARTS, 'load');

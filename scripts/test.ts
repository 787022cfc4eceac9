/** `npm test` and `npm run test:all`: run test files against one PostgreSQL that test/setup.ts starts, and print the slowest. */
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { type EventData, run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from '../test/setup.ts';
import { testFiles } from './test-files.ts';
import { groupTests } from './test-groups.ts';

const USAGE = `npm test                                the tests of every capability, in less than four minutes
npm test -- FILE...                     only these files
npm run test:all                        also crash points, every page in a browser and new processes (scripts/test-files.ts)
npm run test:all -- --sweeps            every field, fault and damaged request, of which the others test some; takes minutes
npm run test:all -- --stack=node        the tests of HTTP on the twin of our HTTP stack, which uses Node's own
npm run test:all -- --load              memory and throughput over many calls; takes minutes, needs an idle machine
LAWS_RUNS=1 LAWS_SEED=7 npm test -- FILE...  all runs of each property instead of a quarter, with another seed
`;

/** How a test file shows that it has property tests: it imports fast-check or the settings of property tests. */
const HAS_PROPERTIES = /from '(?:fast-check|[./]+\/(?:runs|properties)\.ts)'/;
/** Many tests wait for processes and time limits; further files use the cores meanwhile. */
const CONCURRENCY = 3;
const SLOWEST = 10;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    load: { type: 'boolean', default: false },
    sweeps: { type: 'boolean', default: false },
    stack: { type: 'string' },
    /** Of `npm run fuzz -- explore`. */
    explore: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit();
}

const groups = mkdtempSync(join(tmpdir(), 'dragoman-tests-'));
const files = chooseFiles();
const timeoutMs = prepareEnvironment();
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort());
process.exitCode = await runFiles().finally(() => rmSync(groups, { recursive: true, force: true }));

function chooseFiles(): readonly string[] {
  if (values.load) return testFiles('load');
  if (values.sweeps) return groupTests(testFiles('sweeps'), groups);
  if (positionals.length > 0) return positionals;
  if (values.explore) return testFiles('all').filter((file) => HAS_PROPERTIES.test(readFileSync(file, 'utf8')));
  if (values.stack) return groupTests(testFiles('stack'), groups);
  return groupTests(testFiles(values.all ? 'all' : 'quick'), groups);
}

/** Sets what the processes of the test files read. Returns the time limit of a test, above which it hangs. */
function prepareEnvironment(): number {
  const { env } = process;
  if (values.stack) env.HTTP_STACK = values.stack;
  if (values.explore) {
    env.LAWS_RUNS ??= '10';
    env.LAWS_SEED ??= String(randomInt(2 ** 31));
    process.stdout.write(`LAWS_SEED=${env.LAWS_SEED}\n`);
  }
  // Exploring multiplies the runs of a property.
  const limitMs = Number(env.TEST_TIMEOUT_MS ?? (values.explore ? 3_600_000 : 240_000));
  // Each process loads the same modules; from the compile cache they load three times as fast.
  env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/compiled');
  // A group of files takes a minute, and several when the machine is busy.
  env.TEST_FILE_MS ??= String(3 * limitMs);
  return limitMs;
}

/** Returns the exit code. */
async function runFiles(): Promise<number> {
  await globalSetup();
  const events = run({
    files: files.map((file) => resolve(file)),
    concurrency: CONCURRENCY,
    timeout: timeoutMs,
    execArgv: ['--import=./test/support/properties.ts', '--import=./test/support/file-limit.ts'],
    signal: interrupted.signal,
  });
  let isPassed = true;
  const times = new Map<string, number>();
  events.on('test:fail', ({ todo }) => {
    isPassed &&= todo !== undefined;
  });
  // A file with a process of its own has a summary; a file in a group is a suite with its path as the name.
  events.on('test:complete', ({ name, nesting, file = '', details }) => {
    if (nesting === 0 && file.startsWith(groups) && name !== file) times.set(name, details.duration_ms);
  });
  events.on('test:summary', ({ file = groups, duration_ms }: EventData.TestSummary) => {
    if (!file.startsWith(groups)) times.set(relative('.', file), duration_ms);
  });
  try {
    for await (const text of events.compose(spec)) process.stdout.write(text);
  } finally {
    await globalTeardown();
  }
  printSlowest(times);
  return isPassed ? 0 : 1;
}

function printSlowest(times: ReadonlyMap<string, number>): void {
  if (times.size <= SLOWEST) return;
  const slowest = [...times].toSorted(([, one], [, other]) => other - one).slice(0, SLOWEST);
  process.stdout.write(`\nThe ${SLOWEST} slowest of ${times.size} files, ${CONCURRENCY} at a time:\n`);
  for (const [file, ms] of slowest) process.stdout.write(`${(ms / 1_000).toFixed(1).padStart(6)} s  ${file}\n`);
}

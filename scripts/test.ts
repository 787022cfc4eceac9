/**
 * `npm test` and `npm run test:all`: run test files against one PostgreSQL that test/setup.ts starts, and print what it
 * cost.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from '../test/setup.ts';
import { RunCosts } from './test/costs.ts';
import { reportFailure } from './test/failures.ts';
import { testFiles } from './test/files.ts';
import { createRunFolder } from './test/folder.ts';
import { groupTests } from './test/groups.ts';
import { endProcesses } from './test/processes.ts';
import { buildProgram } from './test/program.ts';

const USAGE = `npm test                                the tests of every capability; four minutes on two cores
npm test -- FILE...                     only these files
npm run test:all                        also long tests, crash points, every page in a browser (scripts/test/files.ts); eight minutes on two cores
npm run test:all -- --sweeps            every field, fault and damaged request, of which the others test some; takes minutes
npm run test:all -- --load              memory and throughput over many calls; takes minutes, needs an idle machine
npm test -- --costs                     also prints what every file cost, not only the ten dearest
LAWS_RUNS=1 LAWS_SEED=7 npm test -- FILE...  all runs of each property, with another seed
`;

/** How a test file shows that it has property tests: it imports fast-check or the settings of property tests. */
const HAS_PROPERTIES = /from '(?:fast-check|[./]+\/(?:runs|properties)\.ts)'/;
/** Many tests wait for processes and time limits; further files use the cores meanwhile. */
const CONCURRENCY = 3;
const PRELOADED = ['properties', 'file-limit', 'file-cost'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    load: { type: 'boolean', default: false },
    sweeps: { type: 'boolean', default: false },
    /** Of `npm run fuzz -- explore`. */
    explore: { type: 'boolean', default: false },
    costs: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit();
}

/** Long tests are left out unless files or a larger set are asked for. */
const isQuick = positionals.length === 0 && !Object.entries(values).some(([name, value]) => value && name !== 'costs');

const folder = createRunFolder();
const costs = new RunCosts(folder.path);
const files = chooseFiles();
const timeoutMs = prepareEnvironment();
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void interrupt());
process.exitCode = await runFiles().finally(() => folder.remove());

function chooseFiles(): readonly string[] {
  if (values.load) return testFiles('load');
  if (values.sweeps) return groupTests(testFiles('sweeps'), folder.path);
  if (positionals.length > 0) return positionals;
  if (values.explore) return testFiles('all').filter((file) => HAS_PROPERTIES.test(readFileSync(file, 'utf8')));
  return groupTests(testFiles(values.all ? 'all' : 'quick'), folder.path);
}

/** Sets what the processes of the test files read. Returns the time limit of a test, above which it hangs. */
function prepareEnvironment(): number {
  const { env } = process;
  if (isQuick) env.TEST_LONG = 'off';
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
  // Most of these start dozens of processes.
  if (values.all || values.sweeps || values.load) process.env.TEST_PROGRAM = await buildProgram(folder.path);
  await globalSetup();
  const events = run({
    files: files.map((file) => resolve(file)),
    concurrency: CONCURRENCY,
    timeout: timeoutMs,
    execArgv: PRELOADED.map((name) => `--import=./test/support/${name}.ts`),
    signal: interrupted.signal,
  });
  let isPassed = true;
  events.on('test:fail', ({ todo, details, ...failed }) => {
    isPassed &&= todo !== undefined;
    // A suite fails when one of its tests does.
    if (todo === undefined && details.type !== 'suite') reportFailure(failed);
  });
  try {
    for await (const text of events.compose(spec)) process.stdout.write(text);
  } finally {
    await globalTeardown();
  }
  process.stdout.write(`\n${costs.end(values.costs ? Number.POSITIVE_INFINITY : undefined)}`);
  return isPassed ? 0 : 1;
}

/** Ends what the test files started: a process that is ended by a signal ends none of its own. */
async function interrupt(): Promise<void> {
  if (interrupted.signal.aborted) return;
  const ending = endProcesses(folder.path);
  interrupted.abort();
  await ending;
  folder.remove();
  process.exit(130);
}

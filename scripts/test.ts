/**
 * `npm test` and `npm run test:all`: run test files against one PostgreSQL that test/setup.ts starts, and print what it
 * cost.
 */
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { reportFailure } from '../test/soak/failures.ts';
import { ROOT } from './modules.ts';
import { type BudgetedSet, judgeCost } from './test/budget.ts';
import { RunCosts, renderCost } from './test/costs.ts';
import { testFiles } from './test/files.ts';
import { createRunFolder } from './test/folder.ts';
import { groupTests, type TestGroups } from './test/groups.ts';
import { changedFiles, needServices, testsOf } from './test/imports.ts';
import { endProcesses } from './test/processes.ts';

const USAGE = `npm test                                the tests of every capability; four minutes on two cores
npm test -- FILE...                     only these files
npm test -- --grouped FILE...           these files in shared processes, as a whole run has them
npm test -- --changed                   those that import, over any number of files, what differs from main; the nearest first
npm run test:all                        also long tests, crash points, every page in a browser; eight minutes on two cores
npm run test:all -- --sweeps            every field, fault and damaged request, of which the others test some; takes minutes
npm run test:all -- --load              memory and throughput over many calls; takes minutes, needs an idle machine
npm run test:all -- --turn 2/4          the second of four parts of the sweeps and of the tests of load
npm test -- --costs                     also prints what every file cost, not only the ten dearest
LAWS_RUNS=1 LAWS_SEED=7 npm test -- FILE...  all runs of each property, with another seed

A run of npm test or test:all prints its cost beside its budget. With CI=true it fails above the budget (scripts/test/budget.ts).
The first line of a test file says to which set it belongs (scripts/test/files.ts).
`;

/** How a test file shows that it has property tests: it imports fast-check or the settings of property tests. */
const HAS_PROPERTIES = /from '(?:fast-check|[./]+\/(?:runs|properties)\.ts)'/;
/** Many tests wait for processes and time limits; further files use the cores meanwhile. */
const CONCURRENCY = 3;
/** The files of `--changed` that run first. */
const NEAREST = 12;
const PRELOADED = ['test-hooks', 'properties', 'file-limit', 'file-cost'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    load: { type: 'boolean', default: false },
    sweeps: { type: 'boolean', default: false },
    /** `2/4`: the part of the sweeps and of the tests of load that CI runs at a landing. */
    turn: { type: 'string' },
    changed: { type: 'boolean', default: false },
    grouped: { type: 'boolean', default: false },
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

/** The whole sets, which have budgets. */
const budgeted = chooseBudgeted();

const folder = createRunFolder();
const costs = new RunCosts(folder.path);
const files = chooseFiles();
const { paths, members } = groupFiles();
const timeoutMs = prepareEnvironment();
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void interrupt());
process.exitCode = await runAll().finally(() => folder.remove());

function chooseBudgeted(): BudgetedSet | undefined {
  const { load, sweeps, explore, changed, grouped, turn } = values;
  if (positionals.length > 0 || load || sweeps || explore || changed || grouped || turn !== undefined) return;
  return values.all ? 'all' : 'quick';
}

function chooseFiles(): readonly string[] {
  if (positionals.length > 0) return positionals;
  for (const set of ['load', 'sweeps'] as const) if (values[set]) return testFiles(set);
  if (values.turn !== undefined) return filesOfTurn(values.turn);
  if (values.explore) return testFiles('all').filter((file) => HAS_PROPERTIES.test(readFileSync(file, 'utf8')));
  if (values.changed) return testsOf(changedFiles(), testFiles('quick'));
  return testFiles(values.all ? 'all' : 'quick');
}

/** Those of all turns together are all sweeps and tests of load. */
function filesOfTurn(turn: string): string[] {
  const [, number, count] = /^(\d+)\/(\d+)$/.exec(turn) ?? [];
  if (!(Number(number) >= 1 && Number(number) <= Number(count))) throw new Error('Use --turn 2/4.');
  return [...testFiles('sweeps'), ...testFiles('load')].filter((_, n) => n % Number(count) === Number(number) - 1);
}

/** Few files start at once, and those nearest to a change; exploring and tests of load need a process for each. */
function groupFiles(): TestGroups {
  const near = values.changed ? files.slice(0, NEAREST) : [];
  if (budgeted === undefined && !values.sweeps && !values.changed && !values.grouped)
    return { paths: files, members: [] };
  const { paths, members } = groupTests(files.slice(near.length), folder.path);
  return { paths: [...near, ...paths], members };
}

/** Sets what the processes of the test files read. Returns the time limit of a test, above which it hangs. */
function prepareEnvironment(): number {
  const { env } = process;
  // Long tests are left out unless files or a larger set are asked for.
  if (budgeted === 'quick' || (values.changed && files.length > NEAREST)) env.TEST_LONG = 'off';
  if (values.explore) {
    env.LAWS_RUNS ??= '10';
    env.LAWS_SEED ??= String(randomInt(2 ** 31));
    process.stdout.write(`LAWS_SEED=${env.LAWS_SEED}\n`);
  }
  // Exploring multiplies the runs of a property.
  const limitMs = Number(env.TEST_TIMEOUT_MS ?? (values.explore ? 3_600_000 : 240_000));
  // Each process loads the same modules; from the compile cache they load three times as fast.
  env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/compiled');
  // Of one file, also in a group.
  env.TEST_FILE_MS ??= String(3 * limitMs);
  return limitMs;
}

/** Returns the exit code. */
async function runAll(): Promise<number> {
  if (values.changed) process.stdout.write(`${files.length} test files import what differs from main.\n`);
  const stopServices = needServices(files) ? await startServices() : undefined;
  let isPassed = true;
  try {
    // What measures gets the machine for itself.
    const load = testFiles('load');
    isPassed = await runFiles(paths.filter((path) => !load.includes(path)));
    isPassed =
      (await runFiles(
        paths.filter((path) => load.includes(path)),
        1,
      )) && isPassed;
    const lost = interrupted.signal.aborted ? [] : lostFiles();
    if (lost.length > 0) {
      const those = `${lost.length} files did not end in their group. They run again, each in its own process`;
      process.stdout.write(`\n${those}:\n${lost.map((file) => `  ${file}\n`).join('')}`);
      isPassed = (await runFiles(lost)) && isPassed;
    }
  } finally {
    await stopServices?.();
  }
  const cost = costs.end();
  process.stdout.write(`\n${renderCost(cost, values.costs ? Number.POSITIVE_INFINITY : undefined)}`);
  if (budgeted === undefined) return isPassed ? 0 : 1;
  const { text, isKept } = judgeCost(budgeted, cost);
  process.stdout.write(`\n${text}`);
  return isPassed && (isKept || !process.env.CI) ? 0 : 1;
}

/**
 * An exception outside of all tests, or process.exit(), ends the process of a group with the files that have not run.
 */
function lostFiles(): string[] {
  const ended = new Set(costs.files().map(({ file }) => file));
  return members.filter((file) => !ended.has(file));
}

/**
 * PostgreSQL and the console, which most end-to-end tests use. Loading them would take longer than the tests of a
 * module.
 */
async function startServices(): Promise<() => Promise<void>> {
  execFileSync(process.execPath, [join(ROOT, 'scripts', 'console.ts'), '--if-needed'], { stdio: 'inherit' });
  // Most of these start dozens of processes.
  if (values.all) {
    const { buildProgram } = await import('../test/support/program-build.ts');
    process.env.TEST_PROGRAM = await buildProgram(folder.path);
  }
  const { globalSetup, globalTeardown } = await import('../test/setup.ts');
  await globalSetup();
  return globalTeardown;
}

/** Returns whether all tests passed. */
async function runFiles(chosen: readonly string[], concurrency = CONCURRENCY): Promise<boolean> {
  if (chosen.length === 0) return true;
  const events = run({
    files: chosen.map((file) => resolve(file)),
    concurrency,
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
  for await (const text of events.compose(spec)) process.stdout.write(text);
  return isPassed;
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

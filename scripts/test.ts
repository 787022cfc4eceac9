/**
 * `npm test [files]`: runs the whole suite, or only the named files, against one PostgreSQL that test/setup.ts starts.
 * `npm run test:load`: runs the tests of memory and throughput, which `npm test` leaves out.
 * `npm run explore [files]`: runs only the property tests, with a random seed, which it prints.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { groupTests } from './test-groups.ts';

const ALL_TESTS = ['src', 'scripts', 'sim', 'console', 'test'].map((folder) => `${folder}/**/*.test.ts`);
/** How a test file shows that it has property tests: it imports fast-check or the settings of property tests. */
const HAS_PROPERTIES = /from '(?:fast-check|[./]+\/(?:runs|properties)\.ts)'/;

/** Memory and throughput over many calls, which say nothing on a busy machine: `npm run test:load`. */
const LOAD_TESTS = ['memory', 'images-memory', 'video-results-memory', 'native-load', 'video-callbacks-load'].map(
  (name) => join('test/e2e', `${name}.test.ts`),
);

const named = process.argv.slice(2);
const isExploring = named[0] === '--explore' && named.shift() !== undefined;
const groups = mkdtempSync(join(tmpdir(), 'dragoman-tests-'));
const files = chooseFiles();

const seed = process.env.LAWS_SEED ?? String(randomInt(2 ** 31));
if (isExploring) process.stdout.write(`LAWS_SEED=${seed}\n`);

/** A test that runs longer hangs. Exploring multiplies the runs of a property, so it has no such limit. */
const timeoutMs = Number(process.env.TEST_TIMEOUT_MS ?? (isExploring ? 3_600_000 : 240_000));

const child = spawn(
  process.execPath,
  [
    '--test',
    '--test-global-setup=test/setup.ts',
    '--import=./test/support/properties.ts',
    '--import=./test/support/file-limit.ts',
    // Many tests wait for processes and time limits; one file more than cores uses them meanwhile.
    '--test-concurrency=3',
    `--test-timeout=${timeoutMs}`,
    ...files,
  ],
  {
    stdio: 'inherit',
    env: {
      // Each process loads the same modules; from the compile cache they load three times as fast.
      NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled'),
      // A group of files takes a minute, and several when the machine is busy.
      TEST_FILE_MS: String(3 * timeoutMs),
      ...(isExploring && { LAWS_SEED: seed, LAWS_RUNS: '10' }),
      ...process.env,
    },
  },
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => {
  rmSync(groups, { recursive: true, force: true });
  process.exit(code ?? 1);
});

function chooseFiles(): readonly string[] {
  if (named[0] === '--load') return LOAD_TESTS;
  if (named.length > 0) return named;
  if (isExploring) return propertyTests();
  return groupTests(
    globSync(ALL_TESTS).filter((file) => !LOAD_TESTS.includes(file)),
    groups,
  );
}

function propertyTests(): string[] {
  return globSync(ALL_TESTS).filter((file) => HAS_PROPERTIES.test(readFileSync(file, 'utf8')));
}

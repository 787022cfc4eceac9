/**
 * Which test files belong to which command. A file says so in its first line: `// set: all; why`. Others are run by
 * `npm test`.
 */
import { globSync, readFileSync } from 'node:fs';
import { type Module, readModules } from '../modules.ts';

const TEST_FILES = ['src', 'scripts', 'sim', 'console', 'test'].map((folder) => `${folder}/**/*.test.ts`);

/**
 * `quick`: `npm test`, with at least one test of every clause and every capability. `all`: also crash points, browsers
 * and new processes. `sweeps`: every case of what other files test with some. `load`: memory and throughput over many
 * calls, which say nothing on a busy machine, and long runs under load.
 */
const SETS = ['quick', 'all', 'sweeps', 'load'] as const;
export type TestSet = (typeof SETS)[number];

const MARK = /^\/\/ set: (\w+); \S/;

/** Paths from the root, in the order of their names. `all` contains `quick`. */
export const testFiles = (set: TestSet): string[] =>
  globSync(TEST_FILES)
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => {
      const own = setOf(readFileSync(file, 'utf8')) ?? 'quick';
      return own === set || (set === 'all' && own === 'quick');
    })
    .sort();

/** What the first line of a test file says. */
export function setOf(text: string): TestSet | undefined {
  const name = MARK.exec(text)?.[1];
  return SETS.find((set) => set === name);
}

// ---------------------------------------------------------------- the check

/** Starts of processes that a test kills cost seconds each, so that such a file says where it belongs. */
const KILLS = /SIGKILL|\/crash-lane\.ts'/;
const ANY_MARK = /^\s*(?:\/\/|\/?\*+) set: /m;

export const checkTestSets = (): string[] => TEST_FILES.flatMap(readModules).flatMap(misplacedTests);

export function misplacedTests({ file, text }: Pick<Module, 'file' | 'text'>): string[] {
  if (setOf(text) !== undefined) return [];
  if (ANY_MARK.test(text)) return [`${file}: the first line names no set; use \`// set: ${SETS.join('|')}; why\``];
  return KILLS.test(text)
    ? [
        `${file}: it kills processes and names no set; begin it with \`// set: all; why\` (docs/development.md, "Tests")`,
      ]
    : [];
}

/**
 * Groups of test files that share a process. Loading the gateway takes longer than most files, and code that has run
 * before is faster. Each file is a suite of its own, so that its hooks apply only to its tests.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const FILE_COST = new URL('../../test/support/file-cost.ts', import.meta.url).href;

/**
 * The size of a group in bytes of source: about 30 files of test/e2e or 60 of src. Larger groups would leave cores
 * idle at the end.
 */
const GROUP_BYTES = 320 * 1024;

/** A file that changes or measures its process, or awaits while it loads, has a process of its own. */
const NEEDS_PROCESS =
  /process\.(?:env\.\w+ = |memoryUsage|on\()|globalThis\.\w+ = |setFlagsFromString|^\S(?:(?!async)[^\n])*\bawait /m;

/**
 * Those in a browser take minutes: in a group they would run one after the other. Modules of the console await their
 * language as they load.
 */
const RUNS_ALONE = /^(?:test\/browser|console)\//;

export interface TestGroups {
  /** Files to run: those of groups, and those that stay alone. */
  readonly paths: readonly string[];
  /** The test files in groups. */
  readonly members: readonly string[];
}

/** Writes a file per group into `folder`. */
export function groupTests(files: readonly string[], folder: string): TestGroups {
  const alone = files.filter((file) => RUNS_ALONE.test(file) || NEEDS_PROCESS.test(readFileSync(file, 'utf8')));
  const groups: string[][] = [];
  let bytes = GROUP_BYTES;
  // From test/ back to console/: the longest files first, so that no core waits for the last of them.
  for (const file of files
    .filter((one) => !alone.includes(one))
    .toSorted()
    .toReversed()) {
    if (bytes >= GROUP_BYTES) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(file);
    bytes += statSync(file).size;
  }
  const written = groups.map((group, n) => {
    const path = join(folder, `group-${String(n + 1).padStart(2, '0')}.test.mjs`);
    writeFileSync(path, suitesOf(group));
    return path;
  });
  // Those with a process of their own take longest, and start first for the same reason.
  return { paths: [...alone, ...written], members: groups.flat() };
}

/** require() loads a file while its suite is being defined, so that its hooks and tests belong to that suite. */
function suitesOf(files: readonly string[]): string {
  const suites = files.map(
    (file) => `describe(${JSON.stringify(file)}, () => {
  const cost = measureFile(${JSON.stringify(file)}, () => {
    before(() => cost.begin());
    require(${JSON.stringify(resolve(file))});
  });
  after(() => cost.end());
});`,
  );
  return [
    `import { createRequire } from 'node:module';`,
    `import { after, before, describe } from 'node:test';`,
    `import { measureFile } from ${JSON.stringify(FILE_COST)};`,
    `const require = createRequire(import.meta.url);`,
    ...suites,
    '',
  ].join('\n');
}

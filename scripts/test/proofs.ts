/**
 * The tests that pages name as proof. Continuous integration runs test:all at every landing, and of the sweeps and the
 * tests of load a part: a page that names one of those says by which command it runs.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../modules.ts';
import { setOf, type TestSet } from './files.ts';

const PAGES = ['*.md', 'docs/**/*.md', 'src/**/README.md'];
const NAMED = /[\w./-]*\w\.test\.ts\b/g;
/** A paragraph, an item of a list, or a row of a table. */
const BLOCK = /\n(?=\s*\n|\s*[-|] )/;
const COMMANDS: Partial<Record<TestSet, RegExp>> = { sweeps: /--sweeps/, load: /--load|npm run soak/ };

export function checkProofs(): string[] {
  const tests = globSync('{src,scripts,sim,console,test}/**/*.test.ts', { cwd: ROOT }).map((found) => ({
    file: found.replaceAll('\\', '/'),
    set: setOf(readFileSync(join(ROOT, found), 'utf8')) ?? 'quick',
  }));
  return globSync(PAGES, { cwd: ROOT }).flatMap((page) =>
    unprovenNames(page.replaceAll('\\', '/'), readFileSync(join(ROOT, page), 'utf8'), tests),
  );
}

export function unprovenNames(
  page: string,
  text: string,
  tests: readonly { readonly file: string; readonly set: TestSet }[],
): string[] {
  return text.split(BLOCK).flatMap((block) =>
    (block.match(NAMED) ?? []).flatMap((name) => {
      const path = `/${name.replace(/^[./]+/, '')}`;
      const test = tests.find(({ file }) => `/${file}`.endsWith(path));
      if (!test) return [`${page}: ${name} does not exist`];
      const command = COMMANDS[test.set];
      return !command || command.test(block)
        ? []
        : [`${page}: ${name} runs only with \`npm run test:all -- --${test.set}\`; say so beside it, or move the test`];
    }),
  );
}

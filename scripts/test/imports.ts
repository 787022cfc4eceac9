/**
 * What test files load, by the imports of each file: which of them need services, and which of them a change concerns.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { importsOf, ROOT } from '../modules.ts';

/** Databases of tests, and with them whatever runs a gateway, are made by this file. */
const DATABASE = 'test/support/database.ts';

/** Whether a test of these files may use PostgreSQL or the built console. Only tests and their support do. */
export function needServices(files: readonly string[]): boolean {
  const seen = new Set<string>();
  const isNeeded = (file: string): boolean => {
    if (file === DATABASE || file.startsWith('test/e2e/') || file.startsWith('test/browser/')) return true;
    if (seen.has(file) || !/^test\/|\.test\.[cm]?[jt]s$/.test(file)) return false;
    seen.add(file);
    const text = readFileSync(resolve(ROOT, file), 'utf8');
    return text.includes('TEST_DATABASE_URL') || importsOf(file, text).some(isNeeded);
  };
  return files.some((file) => isNeeded(relative(ROOT, resolve(file)).replaceAll('\\', '/')));
}

interface ImportingFile {
  readonly file: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const WITH_TESTS = '{src,sim,console,test,bench,scripts,migrations}/**/*.{ts,tsx}';

/** The test files of `files` that load a changed file, those with the fewest files between them first. */
export function testsOf(changed: readonly string[], files: readonly string[]): string[] {
  const distances = distancesFrom(changed, globSync(WITH_TESTS, { cwd: ROOT }).map(readImports));
  return files
    .filter((file) => distances.has(file))
    .sort((one, other) => (distances.get(one) ?? 0) - (distances.get(other) ?? 0));
}

function readImports(found: string): ImportingFile {
  const file = found.replaceAll('\\', '/');
  const text = readFileSync(join(ROOT, file), 'utf8');
  return { file, text, imports: importsOf(file, text) };
}

/**
 * How many imports lead from each file to a changed one. A file that is no module belongs to the modules that name it.
 */
export function distancesFrom(
  changed: readonly string[],
  modules: readonly ImportingFile[],
): ReadonlyMap<string, number> {
  const importers = new Map<string, string[]>();
  for (const { file, imports } of modules)
    for (const target of imports) importers.set(target, [...(importers.get(target) ?? []), file]);
  const known = new Set(modules.map(({ file }) => file));
  const others = changed.filter((file) => !known.has(file)).map((file) => basename(file));
  const naming = modules.filter(({ text }) => others.some((name) => text.includes(name))).map(({ file }) => file);

  const distances = new Map<string, number>();
  let next = [...changed.filter((file) => known.has(file)), ...naming];
  for (let distance = 0; next.length > 0; distance += 1) {
    const reached = next.filter((file) => !distances.has(file));
    for (const file of reached) distances.set(file, distance);
    next = reached.flatMap((file) => importers.get(file) ?? []);
  }
  return distances;
}

const git = (...args: string[]): string[] =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean);

/** Files that differ from where the branch left main, with those that git does not know yet. */
export function changedFiles(): string[] {
  const [base = 'HEAD'] = git('merge-base', 'HEAD', mainBranch());
  return [
    ...new Set([...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')]),
  ].sort();
}

/** A clone may have only the branch of its origin. */
const mainBranch = (): string =>
  git('for-each-ref', '--format=%(refname)', 'refs/heads/main', 'refs/remotes/origin/main')[0] ?? 'HEAD';

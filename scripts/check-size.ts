/** Lines of TypeScript beside their budgets: a few people must be able to know the code, however good each file is. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './modules.ts';

interface Part {
  readonly name: string;
  readonly has: (file: string) => boolean;
  /** The check fails above it. Without one, the figure only informs. */
  readonly budget?: number;
}

interface Size extends Omit<Part, 'has'> {
  readonly lines: number;
}

const isTest = (file: string): boolean => file.startsWith('test/') || file.endsWith('.test.ts');
const isTool = (file: string): boolean => /^(?:scripts|bench|sim)\//.test(file);

/** The console, whose files are mostly TSX, does not count. */
const PARTS: readonly Part[] = [
  { name: 'src without tests', has: (file) => file.startsWith('src/') && !isTest(file), budget: 100_000 },
  { name: 'scripts, bench and sim without tests', has: (file) => isTool(file) && !isTest(file), budget: 26_000 },
  { name: 'tests', has: isTest },
];

export function checkSize(): string[] {
  const files = globSync('{src,scripts,bench,sim,test}/**/*.ts', { cwd: ROOT }).map((found) => ({
    file: found.replaceAll('\\', '/'),
    text: readFileSync(join(ROOT, found), 'utf8'),
  }));
  const sizes = sizesOf(files);
  for (const size of sizes) console.log(`    ${describeSize(size)}`);
  return tooLarge(sizes);
}

/** Every line counts, also comments and empty ones. */
export const sizesOf = (files: readonly { readonly file: string; readonly text: string }[]): Size[] =>
  PARTS.map(({ has, ...part }) => ({
    ...part,
    lines: files.filter(({ file }) => has(file)).reduce((sum, { text }) => sum + text.split('\n').length - 1, 0),
  }));

export const tooLarge = (sizes: readonly Size[]): string[] =>
  sizes
    .filter(({ lines, budget = Number.POSITIVE_INFINITY }) => lines > budget)
    .map((size) => `${describeSize(size)}: remove repetition and what nothing uses`);

function describeSize({ name, lines, budget }: Size): string {
  const figure = (value: number): string => value.toLocaleString('en');
  return `${name}: ${figure(lines)} lines${budget === undefined ? '' : `, budget ${figure(budget)}`}`;
}

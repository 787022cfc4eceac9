/** The TypeScript files of the repository and the local files that each imports. Type imports count. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeOnly } from './source-tokens.ts';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

export interface Module {
  /** Relative to the root, e.g. `src/platform/db/watch.ts`. */
  readonly file: string;
  readonly text: string;
  /** The text without comments and literals. */
  readonly code: string;
  /** Imported files of the repository, relative to the root. */
  readonly imports: readonly string[];
  readonly isTest: boolean;
}

const IMPORT =
  /^\s*(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|^\s*import\s+['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm;

export function readModules(pattern: string): Module[] {
  return globSync(pattern, { cwd: ROOT }).map((found) => {
    const file = found.replaceAll('\\', '/');
    const text = readFileSync(join(ROOT, file), 'utf8');
    const code = codeOnly(text);
    return { file, text, code, imports: importsOf(file, text, code), isTest: file.endsWith('.test.ts') };
  });
}

function importsOf(file: string, text: string, code: string): string[] {
  return [...text.matchAll(IMPORT)].flatMap((match) => {
    const target = match[1] ?? match[2] ?? match[3] ?? '';
    // Ignores imports inside strings and comments.
    const isCode = /\bimport\b|\bexport\b/.test(code.slice(match.index, match.index + match[0].length));
    return isCode && target.startsWith('.') ? [join(dirname(file), target).replaceAll('\\', '/')] : [];
  });
}

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

/** Several checks of a run read the same files. */
const read = new Map<string, Module>();

export const readModules = (pattern: string): Module[] =>
  globSync(pattern, { cwd: ROOT }).map((found) => {
    const file = found.replaceAll('\\', '/');
    const module = read.get(file) ?? readModule(file);
    read.set(file, module);
    return module;
  });

function readModule(file: string): Module {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const code = codeOnly(text);
  return { file, text, code, imports: importsOf(file, text, code), isTest: file.endsWith('.test.ts') };
}

/** Relative to the root. Without `code`, text that looks like an import counts too. */
export function importsOf(file: string, text: string, code = text): string[] {
  return [...text.matchAll(IMPORT)].flatMap((match) => {
    const target = match[1] ?? match[2] ?? match[3] ?? '';
    // Ignores imports inside strings and comments.
    const isCode = /\bimport\b|\bexport\b/.test(code.slice(match.index, match.index + match[0].length));
    return isCode && target.startsWith('.') ? [join(dirname(file), target).replaceAll('\\', '/')] : [];
  });
}

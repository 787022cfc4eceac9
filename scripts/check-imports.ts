/** Checks every import line of src/ and sim/ against the ranks and the narrower bans, and the map in ARCHITECTURE.md against the tree. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rankOf, rankPicture } from './ranks.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const IMPORT =
  /^\s*(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|^\s*import\s+['"]([^'"]+)['"]|\bimport\(['"]([^'"]+)['"]\)/gm;

interface Ban {
  readonly what: RegExp;
  readonly allowedIn: RegExp;
  readonly why: string;
}

/** Looked for in the text of files under src/ (tests excepted). */
const BANS: readonly Ban[] = [
  {
    what: /\bprocess\.env\b/,
    allowedIn: /^src\/(config|cli\/|db\/embedded\/)/,
    why: 'only config.ts reads the environment',
  },
  {
    what: /\b(?:Date\.now|performance\.now)\(|\bnew Date\(\)/,
    allowedIn: /^src\/(core\/clock|cli\/|identity\/keys|db\/embedded\/)/,
    why: 'only core/clock.ts reads the time',
  },
  { what: /'@redis\/client'/, allowedIn: /^src\/redis\//, why: 'only redis/ knows its client' },
  { what: /from 'pg'/, allowedIn: /^src\/db\//, why: 'only db/ imports the driver' },
  {
    what: /^import (?!type ).*from '(?:ws|node:https?|node:net|node:tls|node:dns(?:\/promises)?)'/m,
    allowedIn: /^src\/(upstream|web|cli\/doctor|db\/embedded)/,
    why: 'only upstream/ and web/ open sockets',
  },
  {
    what: /from 'node:(?:child_process|vm)'|\beval\(|\bnew Function\(/,
    allowedIn: /^src\/db\/embedded\//,
    why: 'nothing runs other programs or text as code',
  },
];
const NO_ASYNC = /^src\/(rules|core|dialects)\//;

export function checkImports(): string[] {
  const files = globSync('{src,sim}/**/*.ts', { cwd: ROOT }).map((file) => file.replaceAll('\\', '/'));
  return [...files.flatMap(checkFile), ...checkMap()];
}

function checkFile(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const imports = [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
  const faults = imports.flatMap((target) => checkImport(file, target));
  if (file.endsWith('.test.ts') || !file.startsWith('src/')) return faults;
  for (const { what, allowedIn, why } of BANS)
    if (what.test(text) && !allowedIn.test(file)) faults.push(`${file}: ${why}`);
  if (NO_ASYNC.test(file) && /\basync\b(?! =)/.test(withoutComments(text)))
    faults.push(`${file}: rules, core and dialects are synchronous`);
  return faults;
}

function checkImport(file: string, target: string): string[] {
  if (!target.startsWith('.')) return [];
  const path = relative(ROOT, join(ROOT, dirname(file), target)).replaceAll('\\', '/');
  const isTest = file.endsWith('.test.ts');
  if (file.startsWith('sim/')) return path.startsWith('src/') ? [`${file}: sim/ imports nothing from src/`] : [];
  // The demo is the one place that joins the product to the simulated world.
  if (path === 'sim/index.ts' && file === 'src/cli/demo.ts') return [];
  if (!path.startsWith('src/')) return isTest ? [] : [`${file}: imports ${path} from outside src/`];
  const from = folderOf(file);
  const to = folderOf(path);
  if (from === to) return [];
  if (rankOf(from) < 0 || rankOf(to) < 0)
    return [`${file}: ${rankOf(from) < 0 ? from : to} has no rank in scripts/ranks.ts`];
  if (isTest) return [];
  if (rankOf(to) >= rankOf(from))
    return [`${file}: ${from} (rank ${rankOf(from)}) may not import ${to} (rank ${rankOf(to)})`];
  if (to === 'dialects' && from !== 'gateway' && file !== 'src/api/errors.ts')
    return [`${file}: dialects are for gateway/ and api/errors.ts only`];
  return /^src\/[^/]+\.ts$/.test(path) || path.endsWith('/index.ts')
    ? []
    : [`${file}: reaches into ${path}; use ${to}/index.ts`];
}

/** `src/db/watch.ts` -> `db`; `src/main.ts` -> `main`. */
const folderOf = (path: string): string => path.split('/')[1]?.replace(/\.ts$/, '') ?? '';

const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');

/** Written maps rot unless they are checked: every path it names exists, and its picture is the table. */
function checkMap(): string[] {
  const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const named = [...text.matchAll(/`((?:src|sim|test|bench|scripts|docs|migrations|bin)\/[\w./-]*)`/g)].map(
    (match) => match[1] ?? '',
  );
  const missing = named
    .filter((path) => !existsSync(join(ROOT, path)))
    .map((path) => `ARCHITECTURE.md: ${path} does not exist`);
  return text.includes(rankPicture())
    ? missing
    : [...missing, `ARCHITECTURE.md: its picture of ranks is not the table; it should read\n${rankPicture()}`];
}

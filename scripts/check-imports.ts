/**
 * Checks the imports of src/, sim/ and console/ against ranks, floors and bans, and the map in ARCHITECTURE.md against
 * the tree.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Module, ROOT, readModules } from './modules.ts';
import { hasModules, RANKS, rankPicture, rowOf } from './ranks.ts';

interface Ban {
  readonly what: RegExp;
  readonly allowedIn: RegExp;
  readonly why: string;
}

/** Searched in the files of src/, tests excepted. */
const BANS: readonly Ban[] = [
  {
    what: /\bprocess\.env\b/,
    allowedIn: /^src\/(platform\/config|program\/cli\/|platform\/db\/embedded\/)/,
    why: 'only config.ts reads the environment',
  },
  {
    what: /\b(?:Date\.now|performance\.now)\(|\bnew Date\(\)/,
    allowedIn: /^src\/(core\/clock|program\/cli\/|access\/keys\/keys|platform\/db\/embedded\/)/,
    why: 'only core/clock.ts reads the time',
  },
  {
    what: /'@redis\/client'/,
    allowedIn: /^src\/platform\/redis\//,
    why: 'only platform/redis/ imports the Redis client',
  },
  { what: /from 'pg'/, allowedIn: /^src\/platform\/db\//, why: 'only platform/db/ imports the driver' },
  {
    what: /^import (?!type ).*from '(?:ws|node:https?|node:net|node:tls|node:dns(?:\/promises)?)'/m,
    allowedIn: /^src\/(platform\/(http|outbound|web|db\/embedded)|providers\/upstream|program\/cli\/(doctor|control))/,
    why: 'only platform/ and providers/upstream/ open sockets',
  },
  {
    what: /from 'node:(?:child_process|vm)'|\beval\(|\bnew Function\(/,
    allowedIn: /^src\/(platform\/db\/embedded\/|program\/cli\/worker-handle)/,
    why: 'no code runs other programs or evaluates text',
  },
];
const NO_ASYNC = /^src\/(rules|core|dialects)\//;
/** The two halves of a dialect: requests from clients, and calls to providers. */
const HALF = /^(src\/dialects\/\w+)\/(client|upstream)\//;

const USES_DIALECTS = /^src\/(?:dialects|gateway)\/|^src\/api\/caller\/errors\.ts$/;

export const checkImports = (): string[] => [
  ...readModules('{src,sim,console}/**/*.{ts,tsx}').flatMap(checkModule),
  ...checkMap(),
];

function checkModule(module: Module): string[] {
  const { file, text, code, imports, isTest } = module;
  const findings = imports.flatMap((target) => checkImport(module, target)).map((finding) => `${file}: ${finding}`);
  if (isTest || !file.startsWith('src/')) return findings;
  for (const { what, allowedIn, why } of BANS)
    if (what.test(text) && !allowedIn.test(file)) findings.push(`${file}: ${why}`);
  if (NO_ASYNC.test(file) && /\basync\b(?! =|:)/.test(code))
    findings.push(`${file}: rules, core and dialects are synchronous`);
  return findings;
}

/** Up to the file that it names. */
const VALUES_OF_SCHEMAS = /^(?:import|export) (?!type )[^;]*src\/schemas\//m;

function checkImport({ file, text, isTest }: Module, target: string): string[] {
  if (file.startsWith('sim/')) return target.startsWith('src/') ? ['sim/ imports nothing from src/'] : [];
  // Whatever it imports is sent to browsers, apart from types.
  if (file.startsWith('console/')) {
    if (target === 'src/schemas/index.ts' && !VALUES_OF_SCHEMAS.test(text)) return [];
    return /^(?:console|src\/rules)\//.test(target)
      ? []
      : ['console/ imports from src/rules/, and types from src/schemas/index.ts'];
  }
  // The demo is the only file that connects the product to the simulated providers.
  if (target === 'sim/index.ts' && file === 'src/program/cli/demo.ts') return [];
  // Generated from the migrations, and only types.
  if (target === 'migrations/rows.ts' && file === 'src/platform/db/rows.ts') return [];
  if (!target.startsWith('src/')) return isTest ? [] : [`imports ${target} from outside src/`];
  if (isTest) return [];
  const [half, otherHalf] = [HALF.exec(file), HALF.exec(target)];
  if (half && otherHalf && half[1] === otherHalf[1] && half[2] !== otherHalf[2])
    return [`the ${half[2]} half of a dialect may not import its ${otherHalf[2]} half (${target})`];
  if (/^src\/dialects\//.test(target) && !USES_DIALECTS.test(file))
    return ['only gateway/ and api/caller/errors.ts import dialects'];
  return checkOrder(file, target);
}

/** Compares the parts of src/ in which the two files are, where their paths part. */
function checkOrder(file: string, target: string): string[] {
  const [source, aim] = [partsOf(file), partsOf(target)];
  const depth = source.findIndex((part, index) => part !== aim[index]);
  const folder = source.slice(0, depth).join('/');
  const [from = '', to = ''] = [source[depth], aim[depth]];
  const [row, lower] = [rowOf(folder, from), rowOf(folder, to)];
  if (row === undefined || lower === undefined || depth < 0) return [];
  for (const [part, at] of [
    [from, row],
    [to, lower],
  ] as const)
    if (at < 0) return [`${join(folder, part)} has no row in scripts/ranks.ts`];
  if (lower >= row) return [`${join(folder, from)} (row ${row}) may not import ${join(folder, to)} (row ${lower})`];
  const inside = aim.slice(depth + (hasModules([...aim.slice(0, depth + 1)].join('/')) ? 2 : 1));
  const isDoor = inside.length === 0 || (inside.length === 1 && inside[0] === 'index');
  return isDoor || (depth > 0 && !hasModules(folder)) ? [] : [`imports ${target}; use the index.ts of its module`];
}

/** `src/gateway/native/forward.ts` -> `gateway`, `native`, `forward`. */
const partsOf = (path: string): string[] =>
  path
    .replace(/(?:\.test)?\.ts$/, '')
    .split('/')
    .slice(1);

const MAX_README_LINES = 20;

/** Every path in the map and in the pages of the rooms must exist, and the picture of ranks must equal the table. */
function checkMap(): string[] {
  const map = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const named = [...map.matchAll(/`((?:src|sim|test|bench|scripts|docs|migrations|bin)\/[\w./-]*)`/g)];
  const missing = named
    .filter(([, path = '']) => !existsSync(join(ROOT, path)))
    .map(([, path]) => `ARCHITECTURE.md: ${path} does not exist`);
  const picture = `ARCHITECTURE.md: the picture of ranks differs from scripts/ranks.ts; it should be\n${rankPicture()}`;
  return [...missing, ...(map.includes(rankPicture()) ? [] : [picture]), ...RANKS.flat().flatMap(checkRoom)];
}

/** The page of a room is short, and the files that it names are in the room. */
function checkRoom(room: string): string[] {
  const page = `src/${room}/README.md`;
  if (!existsSync(join(ROOT, page))) return [`${page} is missing`];
  const text = readFileSync(join(ROOT, page), 'utf8');
  const files = globSync('**/*.ts', { cwd: join(ROOT, 'src', room) }).map((file) => `/${file.replaceAll('\\', '/')}`);
  const missing = [...text.matchAll(/`([\w/-]+\.ts)`/g)]
    .filter(([, name]) => !files.some((file) => file.endsWith(`/${name}`)))
    .map(([, name]) => `${page}: ${name} does not exist`);
  const lines = text.split('\n').length - 1;
  return lines > MAX_README_LINES ? [...missing, `${page}: ${lines} lines, at most ${MAX_README_LINES}`] : missing;
}

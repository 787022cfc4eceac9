/** Checks the imports of src/, sim/ and console/ against ranks, floors and bans, and the map in ARCHITECTURE.md against the tree. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Module, ROOT, readModules } from './modules.ts';
import { floorOf, rankOf, rankPicture } from './ranks.ts';

interface Ban {
  readonly what: RegExp;
  readonly allowedIn: RegExp;
  readonly why: string;
}

/** Searched in the files of src/, tests excepted. */
const BANS: readonly Ban[] = [
  {
    what: /\bprocess\.env\b/,
    // The programs of the guides contain it as text.
    allowedIn: /^src\/(config|cli\/|db\/embedded\/|rules\/clients\/)/,
    why: 'only config.ts reads the environment',
  },
  {
    what: /\b(?:Date\.now|performance\.now)\(|\bnew Date\(\)/,
    allowedIn: /^src\/(core\/clock|cli\/|identity\/keys|db\/embedded\/)/,
    why: 'only core/clock.ts reads the time',
  },
  { what: /'@redis\/client'/, allowedIn: /^src\/redis\//, why: 'only redis/ imports the Redis client' },
  { what: /from 'pg'/, allowedIn: /^src\/db\//, why: 'only db/ imports the driver' },
  {
    what: /^import (?!type ).*from '(?:ws|node:https?|node:net|node:tls|node:dns(?:\/promises)?)'/m,
    allowedIn: /^src\/(http|upstream|web|cli\/(doctor|control)|db\/embedded)/,
    why: 'only http/, upstream/ and web/ open sockets',
  },
  {
    what: /from 'node:(?:child_process|vm)'|\beval\(|\bnew Function\(/,
    allowedIn: /^src\/(db\/embedded\/|cli\/worker-handle)/,
    why: 'no code runs other programs or evaluates text',
  },
];
const NO_ASYNC = /^src\/(rules|core|dialects)\//;
/** The two halves of a dialect: requests from clients, and calls to providers. */
const HALF = /^(src\/dialects\/\w+)\/(client|upstream)\//;

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
const VALUES_OF_OBJECTS = /^(?:import|export) (?!type )[^;]*src\/objects\//m;

function checkImport({ file, text, isTest }: Module, target: string): string[] {
  if (file.startsWith('sim/')) return target.startsWith('src/') ? ['sim/ imports nothing from src/'] : [];
  // Whatever it imports is sent to browsers, apart from types.
  if (file.startsWith('console/')) {
    if (target === 'src/objects/index.ts' && !VALUES_OF_OBJECTS.test(text)) return [];
    return /^(?:console|src\/rules)\//.test(target)
      ? []
      : ['console/ imports from src/rules/, and types from src/objects/index.ts'];
  }
  // The demo is the only file that connects the product to the simulated providers.
  if (target === 'sim/index.ts' && file === 'src/cli/demo.ts') return [];
  if (!target.startsWith('src/')) return isTest ? [] : [`imports ${target} from outside src/`];
  const [from, to] = [folderOf(file), folderOf(target)];
  for (const folder of [from, to]) if (rankOf(folder) < 0) return [`${folder} has no rank in scripts/ranks.ts`];
  if (isTest) return [];
  return from === to ? checkInside(file, target) : checkAcross(file, target);
}

function checkAcross(file: string, target: string): string[] {
  const [from, to] = [folderOf(file), folderOf(target)];
  if (rankOf(to) >= rankOf(from)) return [`${from} (rank ${rankOf(from)}) may not import ${to} (rank ${rankOf(to)})`];
  if (to === 'dialects' && from !== 'gateway' && file !== 'src/api/errors.ts')
    return ['only gateway/ and api/errors.ts import dialects'];
  return /^src\/[^/]+\.ts$/.test(target) || target.endsWith('/index.ts')
    ? []
    : [`imports ${target}; use ${to}/index.ts`];
}

function checkInside(file: string, target: string): string[] {
  const [half, otherHalf] = [HALF.exec(file), HALF.exec(target)];
  if (half && otherHalf && half[1] === otherHalf[1] && half[2] !== otherHalf[2])
    return [`the ${half[2]} half of a dialect may not import its ${otherHalf[2]} half (${target})`];
  const [from, to] = [roomOf(file), roomOf(target)];
  const [floor, lower] = [floorOf(folderOf(file), from), floorOf(folderOf(file), to)];
  if (from === to || floor === undefined || lower === undefined) return [];
  if (floor < 0 || lower < 0) return [`${floor < 0 ? from : to} has no floor in scripts/ranks.ts`];
  return lower < floor ? [] : [`${from} (floor ${floor}) may not import ${to} (floor ${lower})`];
}

/** `src/db/watch.ts` -> `db`; `src/config.ts` -> `config`. */
const folderOf = (path: string): string => path.split('/')[1]?.replace(/(?:\.test)?\.ts$/, '') ?? '';

/** `src/gateway/native/forward.ts` -> `native`; `src/gateway/failover.ts` -> `failover`. */
const roomOf = (path: string): string => path.split('/')[2]?.replace(/\.ts$/, '') ?? '';

/** Every path in the map must exist, and its picture of ranks must equal the table. */
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
    : [
        ...missing,
        `ARCHITECTURE.md: the picture of ranks differs from scripts/ranks.ts; it should be\n${rankPicture()}`,
      ];
}

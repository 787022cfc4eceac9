/**
 * `npm run console`: builds the console in the browser from console/ into dist/console, and checks its size. With
 * `--if-needed`, as `npm start` calls it, it builds only when the sources differ from those of the last build, and
 * never fails: the gateway works without its console. `npm run console -- screenshots` takes pictures of its pages.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ROOT } from './modules.ts';
import { type Part, runPart } from './parts.ts';
import { writeReference } from './reference/files.ts';

const SOURCE = join(ROOT, 'console');
const TARGET = join(ROOT, 'dist', 'console');
/** Holds the hash of the sources; the server skips it, because its type is unknown. */
const STAMP = join(TARGET, 'source.sha256');
/** What a browser loads before the first page shows: index.html names these files. */
const MAX_FIRST_LOAD_BYTES = 135_900;

const SOURCES = [
  ...['console/**/*', 'src/rules/**/*.ts', 'package.json', 'openapi.json', 'scripts/{console,reference/*}.ts'],
  'docs/{*,guides/*}.md',
];

const sourceHash = (): string => {
  const hash = createHash('sha256');
  const files = globSync(SOURCES, {
    cwd: ROOT,
    withFileTypes: true,
  });
  for (const path of files
    .filter((file) => file.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort())
    hash.update(path.slice(ROOT.length)).update('\0').update(readFileSync(path)).update('\0');
  return hash.digest('hex');
};

async function buildConsole(): Promise<void> {
  const { build } = await import('vite');
  const { default: react } = await import('@vitejs/plugin-react');
  await build({
    configFile: false,
    root: SOURCE,
    base: '/console/',
    logLevel: 'warn',
    plugins: [react()],
    build: {
      outDir: TARGET,
      emptyOutDir: true,
      target: 'es2023',
      // A data: URL of a script or style would break the content security policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // One file for the first load; with a top-level await the bundler would make a dozen.
      rolldownOptions: {
        checks: { bundlerTimings: false },
        output: { codeSplitting: { groups: [{ name: 'main', tags: ['$initial'] }] } },
      },
    },
  });
}

/** Compressed size of index.html and of the scripts and styles that it names. */
function firstLoadBytes(): number {
  const html = readFileSync(join(TARGET, 'index.html'), 'utf8');
  const names = [...html.matchAll(/(?:src|href)="\/console\/([^"]+)"/g)].map(([, name = '']) => name);
  return ['index.html', ...names].reduce((sum, name) => sum + gzipSync(readFileSync(join(TARGET, name))).length, 0);
}

async function main(isOptional: boolean): Promise<void> {
  const hash = sourceHash();
  if (isOptional && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === hash) return;
  if (isOptional) console.log('Building the console, once ...');
  await buildConsole();
  writeReference(TARGET);
  const bytes = firstLoadBytes();
  if (bytes > MAX_FIRST_LOAD_BYTES)
    throw new Error(`The first load has ${bytes} bytes with gzip, expected at most ${MAX_FIRST_LOAD_BYTES}.`);
  writeFileSync(STAMP, hash);
  if (!isOptional) console.log(`Built dist/console; its first load has ${bytes} bytes with gzip.`);
}

async function build(isOptional: boolean): Promise<void> {
  await main(isOptional).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    const advice = isMissing ? 'Run "npm ci" with development packages, then "npm run console".' : reason;
    console.error(`The console is not built. ${advice}`);
    if (!isOptional) process.exitCode = 1;
  });
}

const PARTS = {
  build: {
    about: 'the console in the browser, into dist/console; --if-needed: only when its sources changed',
    run: () => build(process.argv.includes('--if-needed')),
  },
  screenshots: {
    about: 'pictures of every page in an installed Chromium; names of pages, or --readme for those of README.md',
    run: async () => {
      await build(true);
      await import('./screenshots.ts');
    },
  },
} as const satisfies Record<string, Part>;

await runPart('console', PARTS, 'build');

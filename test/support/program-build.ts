/**
 * The program in a few files, for tests that start many processes: loading its 1,400 modules takes most of the time of
 * a start. Threads and data files are those of the sources, because `import.meta` keeps naming these.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'vite';
import { ROOT } from '../../scripts/modules.ts';

/** Packages that load modules by computed names stay outside. */
const OUTSIDE = ['pg', 'ws', 'nodemailer', '@redis/client'];

/** Builds it in `folder` and returns its path. */
export async function buildProgram(folder: string): Promise<string> {
  const target = join(folder, 'program');
  const entry = join(target, 'program.ts');
  mkdirSync(target);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
  writeFileSync(entry, entrySource(target));
  const { build } = await import('vite');
  await build({
    configFile: false,
    root: ROOT,
    logLevel: 'warn',
    plugins: [keepLocations],
    ssr: { noExternal: true, external: OUTSIDE },
    build: {
      ssr: entry,
      outDir: target,
      emptyOutDir: false,
      target: 'node24',
      minify: false,
      rolldownOptions: { output: { entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' } },
    },
  });
  return join(target, 'program.mjs');
}

/** Does what bin/dragoman.js does with a Node that is new enough. */
const entrySource = (target: string): string => `import { enableCompileCache } from 'node:module';
enableCompileCache(${JSON.stringify(join(target, 'compiled'))});
const { run } = await import(${JSON.stringify(join(ROOT, 'src', 'program', 'cli', 'program.ts'))});
await run(process.argv);
`;

const keepLocations: Plugin = {
  name: 'keep-locations',
  enforce: 'pre',
  transform: (code, path) =>
    path.startsWith(ROOT) && !path.includes('node_modules') && code.includes('import.meta.')
      ? code
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
      : undefined,
};

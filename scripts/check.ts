/** `npm run check`: types, lint and format, imports, generated files. Says everything that is wrong, then fails once. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkImports } from './check-imports.ts';
import { checkProofs } from './check-proofs.ts';
import { staleFiles } from './gen.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const tool = (name: string, args: string[]): string[] => {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'node_modules/.bin', name), args, {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return status === 0 ? [] : [`${stdout}${stderr}`.trim()];
};

const STEPS: readonly [string, () => string[] | Promise<string[]>][] = [
  ['types', () => tool('tsc', ['-p', '.'])],
  ['lint and format', () => tool('biome', ['check', '--error-on-warnings'])],
  ['imports and map', checkImports],
  ['proofs', checkProofs],
  ['generated files', staleFiles],
];

let failed = false;
for (const [name, step] of STEPS) {
  const faults = await step();
  console.log(`${faults.length === 0 ? 'ok ' : 'BAD'} ${name}`);
  for (const fault of faults) console.log(fault);
  failed ||= faults.length > 0;
}
if (failed) process.exitCode = 1;

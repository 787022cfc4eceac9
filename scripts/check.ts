/** `npm run check`: types, lint, imports, names, clauses, generated files and schemas. Reports all findings, then fails once. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { checkCircles } from './check-circles.ts';
import { checkExports } from './check-exports.ts';
import { checkImports } from './check-imports.ts';
import { checkClauses } from './clauses.ts';
import { staleFiles } from './gen.ts';
import { checkSchemas } from './gen-schemas.ts';
import { ROOT } from './modules.ts';

const tool = (name: string, args: string[]): string[] => {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'node_modules/.bin', name), args, {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return status === 0 ? [] : [`${stdout}${stderr}`.trim()];
};

/** A tool that the machine may have; without it the step is skipped. */
const installed = (name: string, args: string[]): string[] => {
  const { status, error, stdout, stderr } = spawnSync(name, args, { cwd: ROOT, encoding: 'utf8' });
  if (error) console.log(`skip ${name}: it is not installed`);
  return error || status === 0 ? [] : [`${stdout}${stderr}`.trim()];
};

const STEPS: readonly [string, () => string[] | Promise<string[]>][] = [
  ['types', () => tool('tsc', ['-p', '.'])],
  ['types of the console', () => tool('tsc', ['-p', 'console'])],
  ['lint and format', () => tool('biome', ['check', '--error-on-warnings'])],
  ['imports and map', checkImports],
  ['import circles', checkCircles],
  ['exported names', checkExports],
  ['clauses', checkClauses],
  ['generated files', staleFiles],
  ['schemas', checkSchemas],
  ['alerts', () => installed('promtool', ['check', 'rules', 'deploy/prometheus-alerts.yaml'])],
];

let failed = false;
for (const [name, step] of STEPS) {
  const findings = await step();
  console.log(`${findings.length === 0 ? 'ok ' : 'BAD'} ${name}`);
  for (const finding of findings) console.log(finding);
  failed ||= findings.length > 0;
}
if (failed) process.exitCode = 1;

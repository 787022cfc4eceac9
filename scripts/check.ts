/**
 * `npm run check`: types, lint, imports, names, clauses, waits of tests, generated files and schemas. Reports all
 * findings, then fails once.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkExports } from './check-exports.ts';
import { checkImports } from './check-imports.ts';
import { checkWaits } from './check-waits.ts';
import { checkClauses } from './clauses.ts';
import { copyKustomization } from './deploy-files.ts';
import { staleFiles } from './gen.ts';
import { ALL_PARTS, differingObjects } from './gen-kubernetes.ts';
import { checkSchemas } from './gen-schemas.ts';
import { ROOT } from './modules.ts';
import { checkObserve, renderAlertTests } from './observe.ts';
import { printSizes } from './sizes.ts';

const tool = (name: string, args: string[]): string[] => {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'node_modules/.bin', name), args, {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return status === 0 ? [] : [`${stdout}${stderr}`.trim()];
};

/** What a tool prints that the machine may not have. */
function installed(name: string, args: string[]): { readonly stdout: string; readonly findings: string[] } {
  const { status, error, stdout, stderr } = spawnSync(name, args, { cwd: ROOT, encoding: 'utf8' });
  if (error) console.log(`skip ${name} ${args[0]}: it is not installed`);
  return { stdout: error ? '' : stdout, findings: error || status === 0 ? [] : [`${stdout}${stderr}`.trim()] };
}

function checkChart(): string[] {
  const lint = installed('helm', ['lint', '--quiet', 'deploy/chart']);
  const plain = installed('helm', ['template', 'dragoman', 'deploy/chart']);
  const whole = installed('helm', ['template', 'dragoman', 'deploy/chart', ...ALL_PARTS, '--set=tls.secretName=tls']);
  const findings = [...lint.findings, ...plain.findings, ...whole.findings];
  return plain.stdout === '' || findings.length > 0 ? findings : differingObjects(plain.stdout, whole.stdout);
}

function withFolder(check: (folder: string) => string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-check-'));
  try {
    return check(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function checkAlerts(folder: string): string[] {
  const tests = join(folder, 'tests.yaml');
  writeFileSync(tests, renderAlertTests());
  const check = installed('promtool', ['check', 'rules', 'deploy/prometheus-alerts.yaml']);
  return [...checkObserve(), ...check.findings, ...installed('promtool', ['test', 'rules', tests]).findings];
}

/** With the files that an operator makes, in a copy. */
function checkKustomize(folder: string): string[] {
  copyKustomization(folder);
  return installed('kubectl', ['kustomize', folder]).findings;
}

const STEPS: readonly [string, () => string[] | Promise<string[]>][] = [
  ['types', () => tool('tsc', ['-p', '.'])],
  ['types of the console', () => tool('tsc', ['-p', 'console'])],
  ['lint and format', () => tool('biome', ['check', '--error-on-warnings'])],
  ['imports and map', checkImports],
  ['exported names', checkExports],
  ['clauses', checkClauses],
  ['waits of tests', checkWaits],
  ['generated files', staleFiles],
  ['schemas', checkSchemas],
  ['dashboard and alerts', () => withFolder(checkAlerts)],
  ['chart', checkChart],
  ['kustomization', () => withFolder(checkKustomize)],
];

let failed = false;
for (const [name, step] of STEPS) {
  const findings = await step();
  console.log(`${findings.length === 0 ? 'ok ' : 'BAD'} ${name}`);
  for (const finding of findings) console.log(finding);
  failed ||= findings.length > 0;
}
printSizes();
if (failed) process.exitCode = 1;

/**
 * `npm run check`: types, lint, imports, names, clauses, sets and waits of tests, generated files and schemas. Reports
 * all findings, then fails once.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { checkExports } from './check-exports.ts';
import { checkImports } from './check-imports.ts';
import { checkMigrations } from './check-migrations.ts';
import { checkWaits } from './check-waits.ts';
import { checkClauses } from './clauses.ts';
import { copyKustomization } from './deploy-files.ts';
import { staleFiles } from './gen.ts';
import { ALL_PARTS, differingObjects } from './gen-kubernetes.ts';
import { checkSchemas } from './gen-schemas.ts';
import { ROOT } from './modules.ts';
import { checkObserve, renderAlertTests } from './observe.ts';
import { printSizes } from './sizes.ts';
import { checkTestSets } from './test/files.ts';
import { checkProofs } from './test/proofs.ts';

/** Findings of thousands of files. */
const MAX_OUTPUT = 64 * 1_024 ** 2;
const CACHE = join(ROOT, 'node_modules', '.cache');

/** Runs beside the other steps. */
async function tool(name: string, args: readonly string[]): Promise<string[]> {
  const command = promisify(execFile)(join(ROOT, 'node_modules/.bin', name), args, {
    cwd: ROOT,
    maxBuffer: MAX_OUTPUT,
  });
  return command.then(
    () => [],
    ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => [`${stdout}${stderr}`.trim()],
  );
}

/** Only what changed since the last check, and what that concerns. */
const checkTypes = (project: string): Promise<string[]> =>
  tool('tsc', ['-p', project, '--incremental', '--tsBuildInfoFile', join(CACHE, `types-${basename(project)}.json`)]);

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

/** In processes of their own. They begin at once; the last of them takes longer than the others together. */
const TOOLS = {
  types: () => checkTypes('.'),
  'types of the console': () => checkTypes('console'),
  'lint and format': () => tool('biome', ['check', '--error-on-warnings']),
} as const;

const STEPS: readonly [string, () => string[] | Promise<string[]>][] = [
  ['imports and map', checkImports],
  ['exported names', checkExports],
  ['clauses', checkClauses],
  ['sets of tests', checkTestSets],
  ['tests that pages name', checkProofs],
  ['migrations', () => checkMigrations()],
  ['waits of tests', checkWaits],
  ['generated files', staleFiles],
  ['schemas', checkSchemas],
  ['dashboard and alerts', () => withFolder(checkAlerts)],
  ['chart', checkChart],
  ['kustomization', () => withFolder(checkKustomize)],
];

const running = Object.entries(TOOLS).map(([name, start]) => [name, start()] as const);
for (const [name, step] of STEPS) report(name, await step());
for (const [name, findings] of running) report(name, await findings);

function report(name: string, findings: readonly string[]): void {
  console.log(`${findings.length === 0 ? 'ok ' : 'BAD'} ${name}`);
  for (const finding of findings) console.log(finding);
  if (findings.length > 0) process.exitCode = 1;
}
printSizes();

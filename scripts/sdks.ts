/**
 * `npm run sdks [names]`: installs the newest and the previous major version of each official SDK, starts the demo, and runs a
 * program of each SDK with a key of each group. Only address and key differ from a use without the gateway.
 * `SDKS_DIR` is the folder of the installed versions.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from '../test/support/process.ts';
import { ROOT } from './modules.ts';
import { runCommand } from './sdks/command.ts';
import { type InstalledSdk, installSdk, missingLanguage, SDKS } from './sdks/packages.ts';

const GROUPS = ['responses', 'messages', 'generate'] as const;
type Group = (typeof GROUPS)[number];

const CACHE = process.env.SDKS_DIR ?? join(ROOT, 'node_modules/.cache/sdks');
const PROGRAM_TIMEOUT_MS = 120_000;
/** The first start creates a database; on a busy machine that takes longer than tests wait. */
const START_TIMEOUT_MS = 120_000;

interface CheckResult {
  readonly name: string;
  /** Undefined when the check passed. */
  readonly error?: string;
}

const installed = await installAll(process.argv.slice(2));
const failures = await proveAll(installed);
for (const failure of failures) console.log(failure);
if (installed.length === 0) console.log('No SDK was installed, so nothing is proved.');
if (failures.length > 0 || installed.length === 0) process.exitCode = 1;

/** Without names, all. */
async function installAll(names: readonly string[]): Promise<InstalledSdk[]> {
  const missing = new Set<string>();
  const found: InstalledSdk[] = [];
  for (const sdk of SDKS.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const sentence = await missingLanguage(sdk.language);
    if (sentence === undefined) found.push(...(await installSdk(sdk, CACHE, console.log)));
    else if (!missing.has(sentence)) console.log(sentence);
    if (sentence !== undefined) missing.add(sentence);
  }
  return found;
}

/** Prints a row for each version and returns the failed checks, one line each. */
async function proveAll(versions: readonly InstalledSdk[]): Promise<string[]> {
  if (versions.length === 0) return [];
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-sdks-'));
  // Every program uses a wrong key several times, all from one address.
  const env = { DATA_DIR: join(folder, 'data'), PORT: '0', LOG_LEVEL: 'error', AUTH_FAILURES_PER_MINUTE: '100000' };
  const gateway = launch(['serve'], env);
  try {
    const [, url = ''] = await gateway.until(/^Dragoman is ready at (\S+)$/m, START_TIMEOUT_MS);
    const keys = keysIn(gateway.output());
    console.log(row('SDK', GROUPS));
    const failures: string[] = [];
    for (const version of versions) failures.push(...(await prove(version, url, keys)));
    return failures;
  } finally {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function keysIn(output: string): Record<Group, string> {
  const keyOf = (group: Group): string => new RegExp(`^ +${group} +(dg-\\w+)$`, 'm').exec(output)?.[1] ?? '';
  return { responses: keyOf('responses'), messages: keyOf('messages'), generate: keyOf('generate') };
}

async function prove(installed: InstalledSdk, url: string, keys: Record<Group, string>): Promise<string[]> {
  const title = `${installed.sdk.name} ${installed.version} (${installed.sdk.language})`;
  const cells: string[] = [];
  const failures: string[] = [];
  for (const group of GROUPS) {
    const results = await runProgram(installed, { GATEWAY_URL: url, GATEWAY_KEY: keys[group], GATEWAY_GROUP: group });
    const failed = results.filter(({ error }) => error !== undefined);
    const passed = `${results.length - failed.length} passed`;
    cells.push(failed.length === 0 ? passed : `${passed}, ${failed.length} FAILED`);
    failures.push(...failed.map(({ name, error }) => `${title}, ${group} key, ${name}: ${error}`));
  }
  console.log(row(title, cells));
  return failures;
}

/** The environment has nothing else, because SDKs read keys, addresses and proxies from it. */
async function runProgram({ sdk, command }: InstalledSdk, settings: Record<string, string>): Promise<CheckResult[]> {
  const [file, ...args] = command;
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, PYTHONDONTWRITEBYTECODE: '1', ...sdk.env, ...settings };
  const { isOk, stdout, reason } = await runCommand(file, args, { env, timeoutMs: PROGRAM_TIMEOUT_MS });
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
  const results = lines.map((line) => JSON.parse(line) as CheckResult);
  return isOk && results.length > 0 ? results : [...results, { name: 'the program', error: reason || 'no output' }];
}

function row(title: string, cells: readonly string[]): string {
  return [title.padEnd(44), ...cells.map((cell) => cell.padEnd(22))].join('').trimEnd();
}

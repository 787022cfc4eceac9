/**
 * `npm run release -- sdks [names]`: installs the newest and the previous major version of each official SDK, starts
 * the demo, and runs a program of each SDK with a key of each group. Only address and key differ from a use without the
 * gateway. `SDKS_DIR` is the folder of the installed versions.
 */
import { join } from 'node:path';
import { DEMO_GROUP_NAMES, type DemoServer, startDemoServer } from './demo-server.ts';
import { ROOT } from './modules.ts';
import { runCommand } from './sdks/command.ts';
import { type InstalledSdk, installSdk, missingLanguage, SDKS } from './sdks/packages.ts';

const CACHE = process.env.SDKS_DIR ?? join(ROOT, 'node_modules/.cache/sdks');
const PROGRAM_TIMEOUT_MS = 120_000;

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
  const demo = await startDemoServer();
  try {
    console.log(row('SDK', DEMO_GROUP_NAMES));
    const failures: string[] = [];
    for (const version of versions) failures.push(...(await prove(version, demo)));
    return failures;
  } finally {
    await demo.stop();
  }
}

async function prove(installed: InstalledSdk, { url, keys }: DemoServer): Promise<string[]> {
  const title = `${installed.sdk.name} ${installed.version} (${installed.sdk.language})`;
  const cells: string[] = [];
  const failures: string[] = [];
  for (const group of DEMO_GROUP_NAMES) {
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

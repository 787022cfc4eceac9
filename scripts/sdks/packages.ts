/**
 * The SDKs that `npm run release -- sdks` proves, and their installation: a folder for each version, which later runs
 * use again.
 */
import { copyFile, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from './command.ts';
import { newestOfTwoLines } from './versions.ts';

export interface Sdk {
  readonly language: 'Python' | 'JavaScript';
  readonly name: string;
  /** A file in the folder of the language. */
  readonly program: string;
  /** A package that is installed beside the SDK, its major versions in step with those of the SDK. */
  readonly companion?: string;
  /** The optional part of a Python package that the program uses, and packages that it imports but does not declare. */
  readonly extra?: string;
  readonly undeclared?: readonly string[];
  /** Only the newest version is proved. */
  readonly onlyNewest?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

export interface InstalledSdk {
  readonly sdk: Sdk;
  readonly version: string;
  /** The command that runs the program of the SDK. */
  readonly command: readonly [file: string, ...args: string[]];
}

const aiSdk = (provider: string, program = 'ai-sdk.js'): Sdk => ({
  language: 'JavaScript',
  name: `@ai-sdk/${provider}`,
  program,
  companion: 'ai',
  env: { AI_SDK_PROVIDER: provider },
});

/**
 * Newer versions always contain the extra; pip only warns that they do not have it. The major version before has no
 * options of a task, and its `delete` fails with a NameError of its own.
 */
const arkSdk = (name: string, module: string, undeclared: readonly string[] = []): Sdk => ({
  language: 'Python',
  name,
  program: 'use_ark.py',
  extra: 'ark',
  undeclared,
  onlyNewest: true,
  env: { ARK_MODULE: module },
});

export const SDKS: readonly Sdk[] = [
  { language: 'Python', name: 'openai', program: 'use_openai.py' },
  { language: 'Python', name: 'anthropic', program: 'use_anthropic.py' },
  { language: 'Python', name: 'google-genai', program: 'use_google.py' },
  arkSdk('volcengine-python-sdk', 'volcenginesdkarkruntime'),
  arkSdk('byteplus-python-sdk-v2', 'byteplussdkarkruntime', ['httpx', 'pydantic', 'sniffio']),
  { language: 'JavaScript', name: 'openai', program: 'openai.js' },
  { language: 'JavaScript', name: '@anthropic-ai/sdk', program: 'anthropic.js' },
  { language: 'JavaScript', name: '@google/genai', program: 'google.js' },
  aiSdk('openai'),
  aiSdk('anthropic'),
  aiSdk('google'),
  { ...aiSdk('bytedance', 'ai-sdk-video.js'), onlyNewest: true },
];

const PYTHON = 'python3';
/** The Ark SDK of one provider has hundreds of packages. */
const INSTALL_TIMEOUT_MS = 20 * 60_000;
const PROGRAMS = { Python: programFolder('python'), JavaScript: programFolder('javascript') } as const;

/** Undefined when the language can be used, else a sentence for the operator. */
export async function missingLanguage(language: Sdk['language']): Promise<string | undefined> {
  if (language === 'JavaScript') return undefined;
  const { isOk } = await runCommand(PYTHON, ['-c', 'import ensurepip, pip, venv']);
  return isOk ? undefined : `Python SDKs are skipped: ${PYTHON} with pip and venv is not installed.`;
}

/** Installs the versions to prove, newest first. `skip` gets a sentence for each that cannot be installed. */
export async function installSdk(sdk: Sdk, cache: string, skip: (sentence: string) => void): Promise<InstalledSdk[]> {
  const [versions, companions] = await Promise.all([
    chooseVersions(sdk, sdk.name),
    sdk.companion === undefined ? [] : chooseVersions(sdk, sdk.companion),
  ]);
  if (versions.length === 0) skip(`${sdk.name} (${sdk.language}) is skipped: its registry returned no versions.`);
  const installed: InstalledSdk[] = [];
  for (const [n, version] of versions.slice(0, sdk.onlyNewest ? 1 : undefined).entries()) {
    const companion = sdk.companion && companions[n] !== undefined ? `${sdk.companion}@${companions[n]}` : undefined;
    const folder = join(cache, sdk.language.toLowerCase(), `${sdk.name.replace('/', '+')}-${version}`);
    const install = sdk.language === 'Python' ? installPython : installJavaScript;
    const reason = await once(folder, () => install(folder, { sdk, version, companion }));
    if (reason === undefined) installed.push({ sdk, version, command: await commandOf(sdk, folder) });
    else skip(`${sdk.name} ${version} (${sdk.language}) is skipped: it could not be installed: ${reason}`);
  }
  return installed;
}

/** Asks the registry that the package manager is configured for. Empty when it does not respond. */
async function chooseVersions({ language }: Sdk, name: string): Promise<string[]> {
  if (language === 'Python') {
    // The list has only versions that this Python can run.
    const { stdout } = await runCommand(PYTHON, ['-m', 'pip', 'index', 'versions', name]);
    return newestOfTwoLines(/^Available versions: (.*)$/m.exec(stdout)?.[1]?.split(', ') ?? []);
  }
  const { isOk, stdout } = await runCommand('npm', ['view', name, 'versions', '--json']);
  return isOk ? newestOfTwoLines([JSON.parse(stdout) as string | string[]].flat()) : [];
}

interface Installation {
  readonly sdk: Sdk;
  readonly version: string;
  readonly companion: string | undefined;
}

async function installPython(folder: string, { sdk, version }: Installation): Promise<string | undefined> {
  const created = await runCommand(PYTHON, ['-m', 'venv', '--clear', folder]);
  if (!created.isOk) return created.reason;
  const requirement = `${sdk.name}${sdk.extra === undefined ? '' : `[${sdk.extra}]`}==${version}`;
  const packages = [requirement, ...(sdk.undeclared ?? [])];
  const args = ['-m', 'pip', 'install', '-q', ...packages];
  const { isOk, reason } = await runCommand(pythonIn(folder), args, { timeoutMs: INSTALL_TIMEOUT_MS });
  return isOk ? undefined : reason;
}

async function installJavaScript(folder: string, task: Installation): Promise<string | undefined> {
  const { sdk, version, companion } = task;
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const packages = [`${sdk.name}@${version}`, ...(companion === undefined ? [] : [companion])];
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { isOk, reason } = await runCommand('npm', ['install', ...flags, ...packages], { cwd: folder });
  return isOk ? undefined : reason;
}

/** A file marks a finished installation, because an interrupted one leaves a folder that looks complete. */
async function once(folder: string, install: () => Promise<string | undefined>): Promise<string | undefined> {
  const mark = join(folder, 'installed');
  if (await stat(mark).catch(() => undefined)) return undefined;
  await mkdir(folder, { recursive: true });
  const reason = await install();
  if (reason === undefined) await writeFile(mark, '');
  return reason;
}

/**
 * Node resolves packages from the location of the importing file, so JavaScript programs run as copies beside their
 * packages.
 */
async function commandOf({ language, program }: Sdk, folder: string): Promise<InstalledSdk['command']> {
  if (language === 'Python') return [pythonIn(folder), join(PROGRAMS.Python, program)];
  for (const file of [program, 'checks.js']) await copyFile(join(PROGRAMS.JavaScript, file), join(folder, file));
  return [process.execPath, join(folder, program)];
}

const pythonIn = (folder: string): string => join(folder, 'bin', 'python');

function programFolder(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

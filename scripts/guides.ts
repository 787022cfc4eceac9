/**
 * `npm run release -- guides [clients]`: installs the clients of docs/guides that are not development dependencies,
 * starts the demo, and runs the blocks of their pages with a key of each group that serves them. `GUIDES_DIR` is the
 * folder of the installed packages.
 */
import { globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLIENTS, type ClientId, type ClientRow, stylesOf } from '../console/clients/index.ts';
import { type DemoServer, startDemoServer } from './demo-server.ts';
import { ROOT } from './modules.ts';
import { blocksOf, PAGE_ORIGIN, type PageBlock } from './pages.ts';
import { runCommand } from './sdks/command.ts';

const CACHE = process.env.GUIDES_DIR ?? join(ROOT, 'node_modules/.cache/guides');
const BLOCK_TIMEOUT_MS = 180_000;
/** aider brings hundreds of megabytes. */
const INSTALL_TIMEOUT_MS = 1_200_000;
/** Every reply of the simulated providers contains it. */
const REPLY = 'simulated answer';

const GROUP_OF = { responses: 'responses', messages: 'messages', 'generate-content': 'generate' } as const;

const named = process.argv.slice(2);
const blocks = globSync('docs/guides/*.md', { cwd: ROOT })
  .toSorted()
  .flatMap((page) => blocksOf(page, readFileSync(join(ROOT, page), 'utf8')))
  .filter(({ mode, client = '' }) => mode === 'guides' && (named.length === 0 || named.includes(client)));

let failed = 0;
const demo = await startDemoServer();
try {
  for (const block of blocks) await prove(block, demo);
} finally {
  await demo.stop();
}
console.log(failed === 0 ? `All ${blocks.length} blocks work.` : `${failed} runs failed.`);
if (failed > 0 || blocks.length === 0) process.exitCode = 1;

async function prove(block: PageBlock, { url, keys }: DemoServer): Promise<void> {
  const id = block.client;
  if (id === undefined)
    throw new Error(`${block.page}:${block.line} has no client, so nothing can be installed for it`);
  const client: ClientRow = CLIENTS[id];
  const folder = await install(id, client).catch((error: Error) => {
    failed += 1;
    console.log(`${title(block)}: cannot be installed: ${error.message}`);
  });
  if (folder === undefined) return;
  for (const style of block.style ? [block.style] : stylesOf(client)) {
    const text = block.text.replaceAll(PAGE_ORIGIN, url);
    const { isOk, output, reason } = await run({ ...block, text }, folder, keys[GROUP_OF[style]]);
    const isRight = isOk && output.includes(REPLY);
    if (!isRight) failed += 1;
    console.log(`${title(block)}, ${style} key: ${isRight ? 'ok' : `FAILED: ${reason}\n${output.slice(-1_000)}`}`);
  }
}

function title({ page, line, client }: PageBlock): string {
  return `${client} (${page}:${line})`;
}

/** Later runs use the same folder again; remove it to get newer versions. */
async function install(id: ClientId, { registry, packages }: ClientRow): Promise<string> {
  const folder = join(CACHE, id);
  const marker = join(folder, '.installed');
  if (await stat(marker).catch(() => undefined)) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const { isOk, reason } = await (registry === 'npm' ? installFromNpm : installFromPyPI)(folder, packages);
  if (!isOk) throw new Error(reason);
  await writeFile(marker, '');
  return folder;
}

/**
 * With install scripts, as for a reader: some agent CLIs fetch their binary in one. The settings of this project switch
 * them off.
 */
async function installFromNpm(folder: string, packages: readonly string[]) {
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  return runCommand('npm', ['install', '--ignore-scripts=false', '--no-audit', '--no-fund', ...packages], {
    cwd: folder,
    timeoutMs: INSTALL_TIMEOUT_MS,
  });
}

async function installFromPyPI(folder: string, packages: readonly string[]) {
  const created = await runCommand('python3', ['-m', 'venv', folder]);
  if (!created.isOk) return created;
  return runCommand(join(folder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', ...packages], {
    timeoutMs: INSTALL_TIMEOUT_MS,
  });
}

/** Runs as on a new machine: an empty home, and nothing in the environment but the key. */
async function run({ language, text }: PageBlock, folder: string, key: string) {
  const scratch = await mkdtemp(join(tmpdir(), 'dragoman-guide-'));
  try {
    const cwd = join(scratch, 'project');
    await mkdir(cwd);
    const PATH = [join(folder, 'node_modules/.bin'), join(folder, 'bin'), process.env.PATH].join(':');
    const env = { PATH, HOME: scratch, TERM: 'xterm-256color', DRAGOMAN_KEY: key };
    const [file, ...args] = await commandOf(language, text, folder);
    const { isOk, stdout, reason } = await runCommand(file, args, { cwd, env, timeoutMs: BLOCK_TIMEOUT_MS });
    return { isOk, output: stdout, reason };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function commandOf(language: string, text: string, folder: string): Promise<[file: string, ...args: string[]]> {
  if (language === 'sh') return ['bash', '-c', `set -e\n${text}`];
  // Packages are found from the folder of the file.
  const file = join(folder, language === 'ts' ? 'block.ts' : 'block.py');
  await writeFile(file, text);
  return language === 'ts' ? [process.execPath, file] : [join(folder, 'bin/python'), file];
}

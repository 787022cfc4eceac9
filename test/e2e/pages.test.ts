// set: all; every command of the documentation; demo.test.ts runs those of the demo
/**
 * The shell blocks of README.md and the pages in docs, run as they stand against a demo, and the TypeScript blocks of the guides. A page is
 * one terminal: its blocks share variables and files. `npm run release -- guides` runs the blocks that need other packages.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { CLIENTS, stylesOf } from '../../console/clients/index.ts';
import { ROOT } from '../../scripts/modules.ts';
import { blocksOf, PAGE_ORIGIN, type PageBlock } from '../../scripts/pages.ts';
import { CONSOLE_HEADERS, type Style } from '../../src/rules/index.ts';
import { testDatabase } from '../support/database.ts';
import { createFolder, removeFolder } from '../support/embedded.ts';
import { launch } from '../support/process.ts';

const run = promisify(execFile);
const PAGES = ['README.md', ...globSync('docs/{,adr/,guides/,operating/}*.md', { cwd: ROOT })].toSorted();
const BLOCKS = PAGES.flatMap((page) => blocksOf(page, readFileSync(join(ROOT, page), 'utf8')));
const ADMIN_TOKEN = 'token-of-the-test-of-pages';
/** On a busy machine each command takes several seconds. */
const TIMEOUT_MS = 200_000;

const folder = await createFolder();
const database = await testDatabase();
const settings = { DATABASE_URL: database.url, DATA_DIR: join(folder, 'data'), ADMIN_TOKEN, LOG_LEVEL: 'error' };
const server = launch(['serve'], { ...settings, DEMO: 'on', PORT: '0' });
let url = '';
let keys: Record<Style, string>;

before(async () => {
  [, url = ''] = await server.until(/^Dragoman is ready at (\S+)$/m, TIMEOUT_MS);
  const [, line = ''] = await server.until(/^ {2}export (.*)$/m);
  const shown = Object.fromEntries(line.split(' ').map((pair) => pair.split('=') as [string, string]));
  const { RESPONSES_KEY = '', MESSAGES_KEY = '', GENERATE_KEY = '' } = shown;
  keys = { responses: RESPONSES_KEY, messages: MESSAGES_KEY, 'generate-content': GENERATE_KEY };
  // Packages are found from the folder of a program.
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});
after(async () => {
  await server.stop();
  await database.drop();
  await removeFolder(folder);
});

/** What a reader has: curl and the keys. `npx dragoman` is the launcher, because npx would need a second and the folder of the clone. */
const environment = () => ({
  PATH: process.env.PATH,
  HOME: folder,
  ...settings,
  RESPONSES_KEY: keys.responses,
  MESSAGES_KEY: keys.messages,
  GENERATE_KEY: keys['generate-content'],
  ANTHROPIC_KEY: 'sk-ant-test',
  OPENAI_KEY: 'sk-test',
});
const PRELUDE = `set -euo pipefail
npx() { shift; ${process.execPath} ${join(ROOT, 'bin/dragoman.js')} "$@"; }
`;

const isShell = ({ language, mode }: PageBlock): boolean => language === 'sh' && mode === 'test';
const isScript = ({ language, mode }: PageBlock): boolean => language === 'ts' && mode === 'test';
const shellPages = Map.groupBy(BLOCKS.filter(isShell), ({ page }) => page);

describe('pages', { concurrency: true }, () => {
  for (const [page, blocks] of shellPages)
    test(`the commands of ${page} work as pasted`, async () => {
      const cwd = join(folder, page.replaceAll('/', '+'));
      await mkdir(cwd);
      await writeFile(join(cwd, 'presenter.png'), PIXEL);
      for (const { text } of BLOCKS.filter((block) => block.page === page && block.text.startsWith('# dragoman.yaml')))
        await writeFile(join(cwd, 'dragoman.yaml'), text);
      const script = blocks.map(
        ({ line, style = 'responses', text }) =>
          `echo '### ${page}:${line}'\nexport DRAGOMAN_KEY=${keys[style]}\n${text.replaceAll(PAGE_ORIGIN, url)}`,
      );
      const { stdout } = await run('bash', ['-c', PRELUDE + script.join('\n')], {
        cwd,
        env: environment(),
        timeout: TIMEOUT_MS,
      });
      assert.doesNotMatch(stdout, /"error":\{/, page);
      assert.doesNotMatch(stdout, /"status":"failed"/, page);
      if (page === 'README.md') await assertMedia(cwd, stdout);
    });

  test('the TypeScript programs of the guides print streamed replies', async () => {
    const programs = BLOCKS.filter(isScript).filter(({ page }) => page.startsWith('docs/guides/'));
    const lines = await Promise.all(programs.map(writeProgram));
    const file = join(folder, 'programs.ts');
    await writeFile(file, lines.join('\n'));
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, HOME: folder, NODE_COMPILE_CACHE };
    const { stdout } = await run(process.execPath, [file], { env, timeout: TIMEOUT_MS });
    const outputs = stdout.split('### ').slice(1);
    assert.equal(outputs.length, programs.length);
    for (const output of outputs) assert.match(output, /simulated answer/);
  });
});

/** Returns the lines that run the program in a process that all of them share, because loading the SDKs takes most of the time. */
async function writeProgram({ page, line, client = 'curl', style, text }: PageBlock): Promise<string> {
  const file = join(folder, `${client}-${line}.ts`);
  await writeFile(file, text.replaceAll(PAGE_ORIGIN, url));
  // The last style is another than the client's own where the gateway converts.
  const key = keys[style ?? stylesOf(CLIENTS[client]).at(-1) ?? 'responses'];
  return `console.log('### ${page}:${line}'); process.env.DRAGOMAN_KEY = '${key}'; await import('${file}');`;
}

test('every client has a page whose block the guides run', () => {
  const shown = new Set(BLOCKS.filter(({ mode }) => mode !== 'no-run').map(({ client }) => client));
  for (const id of Object.keys(CLIENTS)) assert.ok(shown.has(id as keyof typeof CLIENTS), id);
});

test('links between pages lead to files and headings that exist', () => {
  for (const page of [
    ...PAGES,
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    'src/platform/http/README.md',
    'sim/README.md',
  ])
    for (const [, path = '', heading] of linksIn(page)) {
      const target = path === '' ? page : join(page, '..', path);
      const text = readFileSync(join(ROOT, target), 'utf8');
      if (heading !== undefined) assert.ok(headingsOf(text).includes(heading), `${page}: ${path}#${heading}`);
    }
});

test('every design decision is in the index and linked from the code or a page', () => {
  const index = readFileSync(join(ROOT, 'docs/adr/README.md'), 'utf8');
  const sources = globSync(['src/**/*.{ts,md}', 'docs/*.md', 'docs/{guides,operating}/*.md'], { cwd: ROOT });
  const text = sources.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n');
  const decisions = globSync('docs/adr/0*.md', { cwd: ROOT });
  assert.ok(decisions.length > 0);
  for (const file of decisions) {
    const [title = ''] = readFileSync(join(ROOT, file), 'utf8').split('\n');
    assert.ok(index.includes(`[${title.replace(/^# \d+\. /, '')}](${basename(file)})`), `${file} is not in the index`);
    assert.ok(text.includes(`adr/${basename(file)}`), `${file} is not linked`);
  }
});

test('docs/security.md shows the content security policy of the console', () => {
  const text = readFileSync(join(ROOT, 'docs/security.md'), 'utf8').replaceAll('\n', ' ');
  assert.ok(text.includes(CONSOLE_HEADERS['content-security-policy']));
});

const linksIn = (page: string) =>
  readFileSync(join(ROOT, page), 'utf8')
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g);

/** As GitHub makes them. */
const headingsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** The ten minutes of README.md: streams on each key, an image and a video. */
async function assertMedia(cwd: string, stdout: string): Promise<void> {
  assert.ok((stdout.match(/^data: /gm) ?? []).length > 10, 'streams');
  assert.equal((await readFile(join(cwd, 'lamp.png'))).subarray(1, 4).toString(), 'PNG');
  assert.equal((await readFile(join(cwd, 'lamp.mp4'))).subarray(4, 8).toString(), 'ftyp', 'a real MP4');
}

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

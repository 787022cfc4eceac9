/**
 * `npm run release -- news`: fetches the newest SDKs and agent CLIs, and prints what they have that no table knows, by
 * endpoint, with what happens to it today. `scripts/news.json` lists what is known besides the tables, by kind and
 * pattern, with the reason. `NEWS_DIR` is the folder of the packages; `--cached` uses them again.
 */
import { globSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeSchemasIn } from './gen-schemas.ts';
import { ROOT } from './modules.ts';
import { runCommand } from './sdks/command.ts';

const CACHE = process.env.NEWS_DIR ?? join(ROOT, 'node_modules/.cache/news');
process.env.SDK_SCHEMAS = CACHE;
const SDKS = ['openai', '@anthropic-ai/sdk', '@google/genai'];
const CLIS = ['@anthropic-ai/claude-code', '@openai/codex', '@google/gemini-cli', '@ai-sdk/bytedance'];
const PYTHON = ['openai', 'anthropic', 'google-genai', 'volcengine-python-sdk', 'byteplus-python-sdk-v2'];

/** Of a bundle inside a binary, what looks like headers and paths. */
const STRINGS = '"(x-(claude|cc|app|client)[a-z0-9-]*|anthropic-[a-z0-9-]+|/v1/[a-z_/]+(\\?[a-z=]+)?)"';

type Kind = 'paths' | 'headers' | 'betas' | 'members' | 'parameters';
const KNOWN = JSON.parse(readFileSync(join(ROOT, 'scripts/news.json'), 'utf8')) as Record<Kind, Record<string, string>>;
const isKnown = (kind: Kind, name: string): boolean =>
  Object.keys(KNOWN[kind]).some((pattern) => new RegExp(`^(?:${pattern})$`).test(name));

if (!process.argv.includes('--cached')) await fetchAll();

const packages = await import('../test/laws/package-news.ts');
const find = packages.findIn(CACHE);
const { eventTypes, newsOfTypes, CREATING } = await import('../test/laws/news.ts');
const committed = (dialect: keyof typeof CREATING) =>
  eventTypes(JSON.parse(readFileSync(join(ROOT, `test/schemas/${dialect}.json`), 'utf8')));
const news = [
  ...newsOfTypes(committed).filter(({ what }) => !isKnown('members', what)),
  ...named('paths', packages.pathsOfSdks(find), 'answers 404'),
  ...named('headers', packages.headersOf(find), 'a request header passes, a response header is left out'),
  ...named('betas', packages.betasOf(find), 'passes to Anthropic; Bedrock does not get it'),
  ...named('members', packages.membersOfPython(find), 'native: reserves the most that its model can cost'),
  ...named('parameters', packages.parametersOfArk(find), 'refused by name'),
];
for (const [where, items] of Map.groupBy(news, (item) => item.where))
  console.log(`\n${where}\n${items.map(({ what, today }) => `  ${what}\n      ${today}`).join('\n')}`);
console.log(news.length === 0 ? 'Nothing is unknown.' : `\n${news.length} things are unknown.`);
if (news.length > 0) process.exitCode = 1;

async function fetchAll(): Promise<void> {
  await rm(CACHE, { recursive: true, force: true });
  await mkdir(join(CACHE, 'python'), { recursive: true });
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', CACHE, ...latest()]);
  for (const name of PYTHON)
    await run('python3', ['-m', 'pip', 'download', '-q', '--no-deps', '-d', join(CACHE, 'python'), name]).then(
      () => undefined,
      (error: Error) => console.log(`${name} (Python) is skipped: ${error.message}`),
    );
  for (const file of globSync('python/*', { cwd: CACHE }).filter((name) => /\.(?:whl|tar\.gz)$/.test(name)))
    await run('python3', ['-c', UNPACK(), join(CACHE, file), join(CACHE, 'python')]);
  for (const file of globSync('node_modules/@anthropic-ai/claude-code-*/claude*', { cwd: CACHE })) {
    const { stdout } = await runCommand('grep', ['-aohE', STRINGS, file], { cwd: CACHE });
    await writeFile(join(CACHE, `${file}.strings`), [...new Set(stdout.split('\n'))].join('\n'));
  }
  writeSchemasIn(CACHE);
}

function latest(): string[] {
  return [...SDKS, ...CLIS].map((name) => `${name}@latest`).concat('anthropic-0@npm:@anthropic-ai/sdk@0');
}

async function run(file: string, args: readonly string[]): Promise<void> {
  const { isOk, reason } = await runCommand(file, [...args], { cwd: CACHE, timeoutMs: 1_200_000 });
  if (!isOk) throw new Error(`${file}: ${reason}`);
}

/** A wheel is a zip file. */
function UNPACK(): string {
  return 'import shutil,sys; shutil.unpack_archive(sys.argv[1], sys.argv[2], "zip" if sys.argv[1].endswith("whl") else None)';
}

function named(kind: Kind, found: ReadonlyMap<string, string>, today: string) {
  return [...found].filter(([what]) => !isKnown(kind, what)).map(([what, where]) => ({ where, what, today }));
}

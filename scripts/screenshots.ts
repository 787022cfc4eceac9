/**
 * `npm run screenshots [-- page ...]`: starts the demo, makes some traffic, and writes a picture of every page of the console to
 * SHOTS_DIR (/tmp/shots by default), light and dark, for a desktop and a phone. Needs an installed Chromium (CHROMIUM names it).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { ROOT } from './modules.ts';

const FOLDER = process.env.SHOTS_DIR ?? join(tmpdir(), 'shots');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const PASSWORD = 'a password for pictures';
const READY_MS = 120_000;

interface Demo {
  readonly url: string;
  readonly token: string;
  /** By group. */
  readonly keys: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const wanted = new Set(process.argv.slice(2));

async function startDemo(): Promise<Demo> {
  const dataDir = mkdtempSync(join(tmpdir(), 'dragoman-shots-'));
  const child = spawn(process.execPath, [join(ROOT, 'bin/dragoman.js'), 'serve'], {
    env: { ...process.env, PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'warn', WORKERS: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const output = await outputUntil(child, /Dragoman is ready at (\S+)/);
  const found = (pattern: RegExp): string => pattern.exec(output)?.[1] ?? '';
  return {
    url: found(/ready at (\S+)/),
    token: found(/Admin token[^\n]*\n +(\S+)/),
    keys: Object.fromEntries(
      [...output.matchAll(/^ {2}(\w+) +(dg-\w+)$/gm)].map(([, group = '', key = '']) => [group, key]),
    ),
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => {
          rmSync(dataDir, { recursive: true, force: true });
          resolve();
        });
        child.kill('SIGTERM');
      }),
  };
}

function outputUntil(child: ChildProcess, pattern: RegExp): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`The demo is not ready after ${READY_MS} ms.`)), READY_MS);
    child.stderr?.on('data', (chunk: Buffer) => {
      text += chunk;
      if (!pattern.test(text)) return;
      clearTimeout(timer);
      resolve(text);
    });
    child.once('exit', () => reject(new Error('The demo ended.')));
  });
}

interface JsonRequest {
  readonly body?: unknown;
  readonly token: string;
}

async function request<T>(url: string, { body, token }: JsonRequest): Promise<T> {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return JSON.parse((await response.text()) || 'null') as T;
}

const PEOPLE = {
  operator: { email: 'operator@example.test', name: 'Olga Operator', role: 'operator', user: 'demo' },
  user: { email: 'demo@example.test', name: 'Dana Demo', role: 'user', user: 'demo' },
} as const;
type Reader = keyof typeof PEOPLE;

async function invitePeople({ url, token }: Demo): Promise<void> {
  for (const person of Object.values(PEOPLE)) {
    const { link } = await request<{ link: string }>(`${url}/admin/v1/people`, { token, body: person });
    const redeemed = await fetch(`${url}/console/v1/link`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url },
      body: JSON.stringify({ token: link.split('#')[1], password: PASSWORD }),
    });
    if (!redeemed.ok) throw new Error(`The link of ${person.email} gives ${redeemed.status}: ${await redeemed.text()}`);
  }
}

/** Native, converted, refused and slow calls, an image and a video. */
async function makeTraffic({ url, token, keys }: Demo): Promise<void> {
  const call = (group: string, path: string, body: object): Promise<unknown> =>
    fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then((response) => response.text());
  const messages = [{ role: 'user', content: 'Hello' }];
  for (let n = 0; n < 10; n += 1) {
    await call('messages', '/v1/messages', { model: 'demo-messages', max_tokens: 200, messages });
    await call('responses', '/v1/messages', { model: 'demo-responses', max_tokens: 200, top_k: 5, messages });
    await call('generate', '/v1/responses', { model: 'demo-generate', input: 'Hello', stream: true });
  }
  await call('messages', '/v1/messages', { model: 'unknown', max_tokens: 200, messages });
  await call('responses', '/v1/images/generations', { model: 'demo-image', prompt: 'a lamp', size: '1024x1024' });
  const content = [{ type: 'text', text: 'a lamp at night' }];
  await call('messages', '/api/v3/contents/generations/tasks', { model: 'demo-video-a', content, duration: 5 });
  const credit = { user: 'demo', amount: '25.50', reason: 'bank transfer', reference: 'invoice-1' };
  await request(`${url}/admin/v1/credits`, { token, body: credit });
}

interface ShotPage {
  readonly name: string;
  readonly path: string;
  readonly reader: Reader;
}

const PATHS: Readonly<Record<Reader, readonly string[]>> = {
  operator: [
    ...[
      'overview',
      'first-steps',
      'requests',
      'tasks',
      'callbacks',
      'groups',
      'accounts',
      'models',
      'characters',
      'users',
    ],
    ...['keys', 'assets', 'ledger', 'review', 'audit', 'people', 'settings', 'accounts/demo-messages', 'users/demo'],
    'models/messages/demo-messages',
  ],
  user: ['my/keys', 'my/usage', 'my/statement', 'my/requests', 'my/tasks', 'my/assets', 'my/playground'],
};

async function pagesOf({ url, token }: Demo): Promise<ShotPage[]> {
  const first = async (list: string): Promise<string> => {
    const { data } = await request<{ data: readonly { id: string }[] }>(`${url}/admin/v1/${list}`, { token });
    return data[0]?.id ?? 'none';
  };
  const [call, task, key] = [await first('requests?group=responses'), await first('tasks'), await first('keys')];
  const pages: [Reader, string, string][] = [
    ...PATHS.operator.map((path): [Reader, string, string] => ['operator', path.replaceAll('/', '-'), path]),
    ...PATHS.user.map((path): [Reader, string, string] => ['user', path.replaceAll('/', '-'), path]),
    ['operator', 'request', `requests/${call}`],
    ['operator', 'task', `tasks/${task}`],
    ['operator', 'key', `keys/${key}`],
    ['user', 'my-key', `my/keys/${key}`],
    ['user', 'my-task', `my/tasks/${task}`],
  ];
  return pages
    .filter(([, name]) => wanted.size === 0 || wanted.has(name))
    .map(([reader, name, path]) => ({ reader, name, path: `${url}/console/${path}` }));
}

interface Shooting {
  readonly url: string;
  readonly pages: readonly ShotPage[];
  readonly theme: 'light' | 'dark';
  readonly size: 'desktop' | 'phone';
}

const SIZES = { desktop: { width: 1440, height: 900 }, phone: { width: 375, height: 812 } } as const;

async function shootAll(browser: Browser, { url, pages, theme, size }: Shooting): Promise<void> {
  for (const reader of ['operator', 'user'] as const) {
    const context = await browser.newContext({ viewport: SIZES[size], colorScheme: theme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    await signIn(page, url, reader);
    for (const { name, path } of pages.filter((one) => one.reader === reader)) {
      await page.goto(path);
      await page.waitForSelector('h1');
      await page.waitForSelector('[aria-busy=true]', { state: 'detached' });
      await page.screenshot({ path: join(FOLDER, `${name}.${theme}.${size}.png`), fullPage: true });
    }
    await context.close();
  }
}

async function signIn(page: Page, url: string, reader: Reader): Promise<void> {
  await page.goto(`${url}/console/`);
  await page.fill('input[name=email]', PEOPLE[reader].email);
  await page.fill('input[name=password]', PASSWORD);
  await page.click('button[type=submit]');
  await page.waitForSelector('.frame');
}

mkdirSync(FOLDER, { recursive: true });
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
const demo = await startDemo();
try {
  await invitePeople(demo);
  await makeTraffic(demo);
  const pages = await pagesOf(demo);
  for (const theme of ['light', 'dark'] as const)
    for (const size of ['desktop', 'phone'] as const) await shootAll(browser, { url: demo.url, pages, theme, size });
} finally {
  await browser.close();
  await demo.stop();
}

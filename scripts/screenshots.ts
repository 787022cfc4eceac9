/**
 * `npm run console -- screenshots [page ...]`: writes a picture of every page of the console to SHOTS_DIR (/tmp/shots
 * by default), light and dark, for a desktop, a laptop and a phone, with `--chinese` in Chinese, and prints the time to
 * the first paint and every error in the log of the browser. `npm run console -- screenshots --readme`: writes the
 * three pictures of README.md to docs/pictures. Needs an installed Chromium (CHROMIUM names it).
 */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import sharp from 'sharp';
import { chromiumPath, launchChromium, NO_CHROMIUM } from '../test/support/chromium.ts';
import type { ConsolePage, Reader } from '../test/support/console-pages.ts';
import { ROOT } from './modules.ts';
import { openStage, PASSWORD, PEOPLE, type Stage } from './screenshots/stage.ts';

const FOLDER = process.env.SHOTS_DIR ?? join(tmpdir(), 'shots');
const PICTURES = join(ROOT, 'docs', 'pictures');

type Theme = 'light' | 'dark';
const SIZES = {
  desktop: { viewport: { width: 1440, height: 900 } },
  laptop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 375, height: 812 }, isMobile: true, hasTouch: true },
} as const satisfies Record<string, BrowserContextOptions>;

const words = process.argv.slice(2);
const IS_CHINESE = words.includes('--chinese');
const LANGUAGE: BrowserContextOptions = IS_CHINESE ? { locale: 'zh-CN' } : {};

/** The pictures of the README: page, theme, and the height that shows what matters. */
const README: readonly (readonly [page: string, theme: Theme, height: number])[] = [
  ['overview', 'dark', 768],
  ['request', 'light', 748],
  ['task', 'light', 820],
];
const README_WIDTH = 1280;

/** What opens over a page, or appears on it by an action. */
const ACTIONS: readonly (readonly [name: string, page: string, act: (page: Page) => Promise<unknown>])[] = [
  ['palette', 'users', (page) => page.keyboard.press('Control+k')],
  ['help', 'users', (page) => page.keyboard.press('?')],
  ['dialog', 'keys', (page) => page.getByRole('button', { name: 'Make key' }).click()],
  ['dialog-account', 'accounts', (page) => page.getByRole('button', { name: 'Add account' }).click()],
  ['reply', 'my-playground', runPlayground],
  ['menu', 'users', openMenu],
];

async function runPlayground(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('charge and details').waitFor();
}

/** Only a phone has the button. */
async function openMenu(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Menu' });
  if (await button.isVisible()) await button.click();
}

async function shootAll(browser: Browser, stage: Stage, wanted: ReadonlySet<string>): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const)
    for (const [size, options] of Object.entries(SIZES))
      for (const reader of ['operator', 'user'] as const) {
        const page = await signedIn(browser, stage, reader, { ...options, ...LANGUAGE, colorScheme });
        const pages = stage.pages.filter((one) => one.reader === reader);
        await shootPages(page, stage, {
          pages,
          wanted,
          suffix: `${colorScheme}.${size}${IS_CHINESE ? '.zh' : ''}.png`,
        });
        await page.context().close();
      }
}

interface Series {
  readonly pages: readonly ConsolePage[];
  /** Names of pictures; all of them when it is empty. */
  readonly wanted: ReadonlySet<string>;
  readonly suffix: string;
}

async function shootPages(page: Page, stage: Stage, { pages, wanted, suffix }: Series): Promise<void> {
  const isWanted = (name: string): boolean => wanted.size === 0 || wanted.has(name);
  for (const one of pages.filter(({ name }) => isWanted(name))) {
    await show(page, stage, one);
    await page.screenshot({ path: join(FOLDER, `${one.name}.${suffix}`), fullPage: true });
  }
  // They name buttons in English.
  for (const [name, on, act] of IS_CHINESE ? [] : ACTIONS) {
    const below = pages.find((one) => one.name === on);
    if (!below || !isWanted(name)) continue;
    await show(page, stage, below);
    await act(page);
    await page.screenshot({ path: join(FOLDER, `${name}.${suffix}`) });
  }
}

async function shootReadme(browser: Browser, stage: Stage): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  for (const [name, colorScheme, height] of README) {
    const found = stage.pages.find((one) => one.name === name && one.reader === 'operator');
    if (!found) throw new Error(`There is no page "${name}".`);
    const page = await signedIn(browser, stage, 'operator', { viewport: { width: README_WIDTH, height }, colorScheme });
    await show(page, stage, found);
    const shot = await page.screenshot();
    const { size } = await sharp(shot)
      .png({ palette: true, effort: 10 })
      .toFile(join(PICTURES, `${name}.png`));
    console.log(`docs/pictures/${name}.png has ${size} bytes.`);
    await page.context().close();
  }
}

async function signedIn(
  browser: Browser,
  { url }: Stage,
  reader: Reader,
  options: BrowserContextOptions,
): Promise<Page> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('status of 401'))
      console.log(`${page.url()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => console.log(`${page.url()}: ${error.message}`));
  await page.goto(`${url}/console/`);
  await page.waitForSelector('form');
  await page.fill('input[name=email]', PEOPLE[reader].email);
  await page.fill('input[name=password]', PASSWORD);
  await page.click('button[type=submit]');
  await page.waitForSelector('.frame');
  return page;
}

/** Until a frame is shown, and for a moment longer, a player shows that it loads. */
const SHOW_FRAMES = `Promise.all([...document.querySelectorAll('video')].map((video) => new Promise((resolve) => {
  video.onseeked = () => setTimeout(resolve, 1000);
  video.currentTime = 2;
}))).then(() => undefined)`;

/** Opens a page and waits until everything on it is loaded. */
async function show(page: Page, { url }: Stage, { path }: ConsolePage): Promise<void> {
  await page.goto(`${url}/console${path}`);
  await page.waitForSelector('h1');
  await page.waitForLoadState('networkidle');
  await page.waitForSelector('[aria-busy=true]', { state: 'detached' });
  await page.evaluate(SHOW_FRAMES);
}

/** With an empty cache. */
async function printFirstPaint(browser: Browser, { url }: Stage): Promise<void> {
  const page = await browser.newPage();
  await page.goto(`${url}/console/`);
  await page.waitForSelector('form');
  const ms = await page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
  );
  console.log(`First paint after ${Math.round(ms)} ms.`);
  await page.close();
}

const executable = chromiumPath();
if (executable === undefined) throw new Error(NO_CHROMIUM);
const browser = await launchChromium(executable);
const stage = await openStage();
try {
  await printFirstPaint(browser, stage);
  if (words.includes('--readme')) await shootReadme(browser, stage);
  else await shootAll(browser, stage, new Set(words.filter((word) => !word.startsWith('--'))));
} finally {
  await browser.close();
  await stage.close();
}

// set: all; every page in two roles and two colours
/** Every page of the console, full of hostile texts: nothing of them runs, and no page has an obstacle for readers, light or dark. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { type Sim, startSim } from '../../sim/index.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { obstaclesOf } from '../support/axe.ts';
import { openPage, signInAs, untilLoaded, type WatchedPage } from '../support/browser.ts';
import { Receiver } from '../support/callbacks.ts';
import { type Canned, startCanned } from '../support/canned.ts';
import { chromiumPath, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { addPerson } from '../support/console.ts';
import { type ConsolePage, consolePages, type Reader } from '../support/console-pages.ts';
import { failInWords, playScene, SCENE_VIDEO, sceneSetup } from '../support/console-scene.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { sampled } from '../support/properties.ts';

const executable = chromiumPath();
const skip = executable === undefined && NO_CHROMIUM;

/** Runs wherever a text becomes markup. Short, because a key's name has at most a hundred characters. */
const PROBE = '"><img src=x onerror=alert(1)>';
const hostile = (plain: string): string => `${plain}${PROBE}`;

let sim: Sim;
let failing: Canned;
let receiver: Receiver;
let gateway: TestGateway;
let browser: Browser;
let pages: readonly ConsolePage[];
const readers = {} as Record<Reader, WatchedPage>;

before(async () => {
  if (executable === undefined) return;
  [sim, failing, receiver] = await Promise.all([
    startSim({ video: SCENE_VIDEO }),
    startCanned(),
    new Receiver().listen(),
  ]);
  failInWords(failing, hostile);
  gateway = await startGateway({
    worker: true,
    env: { ADMIN_TOKEN, EGRESS_ALLOW: receiver.origin, ALARM_CHECK_MS: '500' },
  });
  const keys = await gateway.apply(sceneSetup(sim, failing, hostile));
  const { db } = gateway.context.database;
  const starting = launchChromium(executable);
  const scene = await playScene({ url: gateway.url, token: ADMIN_TOKEN, db, keys, receiver, text: hostile });
  browser = await starting;
  const own = await db.selectFrom('keys').select('id').where('user_id', '=', 'demo').executeTakeFirstOrThrow();
  await db
    .updateTable('keys')
    .set({ name: hostile('demo') })
    .where('id', '=', own.id)
    .execute();
  pages = consolePages(scene, own.id);
  for (const role of ['operator', 'user'] as const) {
    const id = await addPerson(db, { email: `${role}@example.test`, role, user: 'demo' });
    await db
      .updateTable('people')
      .set({ name: hostile('Dana') })
      .where('id', '=', id)
      .execute();
    readers[role] = await openPage(browser);
    await signInAs(readers[role].page.context(), gateway, id);
  }
});
after(async () => {
  if (skip) return;
  await browser?.close();
  await gateway?.stop();
  receiver?.close();
  await failing?.close();
  await sim?.close();
});

for (const reader of ['operator', 'user'] as const)
  test(`no text runs as a script on a page of the ${reader}, and no page has a serious obstacle, light or dark`, {
    skip,
  }, async () => {
    const { page, faults } = readers[reader];
    const own = pages.filter((one) => one.reader === reader);
    const examined = new Set(sampled(own));
    const findings: string[] = [];
    let seen = 0;
    for (const one of own) {
      const { name, path } = one;
      await page.goto(`${gateway.url}/console${path}`);
      await untilLoaded(page);
      if ((await page.locator('body').innerText()).includes(PROBE)) seen += 1;
      // Markup that was parsed is an element, even where the policy keeps it from running.
      if ((await page.locator('img[src=x]').count()) > 0) findings.push(`${name}: the text became markup`);
      const obstacles = examined.has(one) ? await obstaclesOf(page) : [];
      findings.push(...[...obstacles, ...faults.splice(0)].map((finding) => `${name}: ${finding}`));
    }
    assert.deepEqual(findings, []);
    assert.ok(seen > own.length / 2, `only ${seen} of ${own.length} pages show a hostile text`);
  });

test('lists of a laptop need no scrolling to their last column, and its filters need one line', { skip }, async () => {
  const { page } = readers.operator;
  await page.setViewportSize({ width: 1280, height: 800 });
  for (const path of ['requests', 'models', 'accounts', 'users', 'keys', 'tasks', 'callbacks']) {
    await page.goto(`${gateway.url}/console/${path}`);
    await untilLoaded(page);
    const [box, filters] = await page.evaluate<[number, number]>(`[
      Math.max(...[...document.querySelectorAll('.table-box')].map((box) => box.scrollWidth - box.clientWidth)),
      document.querySelector('.filters')?.offsetHeight ?? 0,
    ]`);
    assert.equal(box, 0, `${path} is ${box} px too wide`);
    assert.ok(filters < 80, `the filters of ${path} are ${filters} px high`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
});

test('a hostile text in an address is shown as text', { skip }, async () => {
  const { page, faults } = readers.operator;
  const stranger = await openPage(browser);
  const word = encodeURIComponent(PROBE);
  await stranger.page.goto(`${gateway.url}/console/sign-in?error=${word}`);
  assert.ok((await stranger.page.locator('.notice').innerText()).includes(PROBE));
  for (const path of [`requests?model=${word}`, `users/${word}`, `accounts/${word}`, `keys/${word}`, `${word}`]) {
    await page.goto(`${gateway.url}/console/${path}`);
    await untilLoaded(page);
    assert.equal(await page.locator('img[src=x]').count(), 0, path);
  }
  // The browser logs responses with status 404 as errors.
  assert.deepEqual(
    [...faults, ...stranger.faults].filter((fault) => !fault.includes('status of 4')),
    [],
  );
  await stranger.page.context().close();
});

test('a browser that asks for Chinese gets it, and its reader can switch to English', { skip }, async () => {
  const { page } = await openPage(browser, { locale: 'zh-CN' });
  await page.goto(`${gateway.url}/console/`);
  await page.getByRole('heading', { name: '登录' }).waitFor();
  const id = await addPerson(gateway.context.database.db, {
    email: 'lin@example.test',
    role: 'operator',
    user: 'demo',
  });
  await signInAs(page.context(), gateway, id);
  for (const path of ['/accounts', '/requests']) {
    await page.goto(`${gateway.url}/console${path}`);
    await untilLoaded(page);
    const labels = await page.locator('h1, th, label, nav a').allInnerTexts();
    assert.ok(labels.length > 20, path);
    assert.deepEqual(
      labels.filter((text) => text !== '' && !/\p{Script=Han}/u.test(text)),
      [],
      path,
    );
  }
  assert.match(await page.locator('time').first().innerText(), /前$|^刚刚$/);
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByRole('columnheader', { name: 'Status' }).waitFor();
  assert.equal(await page.locator('html').getAttribute('lang'), 'en');
  await page.context().close();
});

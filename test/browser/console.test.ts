/** What operators and users do in the console, in a real Chromium: from an empty gateway to calls, videos, money and callbacks. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type Sim, startSim } from '../../sim/index.ts';
import { createFirstLink, linkUrl } from '../../src/people/index.ts';
import { demoSetup } from '../../src/setup/index.ts';
import { openPage, signInAs, untilLoaded, type WatchedPage } from '../support/browser.ts';
import { Receiver, seedEvents } from '../support/callbacks.ts';
import { chromiumPath, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { addPerson } from '../support/console.ts';
import { SCENE_VIDEO } from '../support/console-scene.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const executable = chromiumPath();
const skip = executable === undefined && NO_CHROMIUM;
const PASSWORD = 'a password for the tests';
/** On a busy machine. */
const PATIENCE_MS = 30_000;

let sim: Sim;
let receiver: Receiver;
let gateway: TestGateway;
let browser: Browser;
let operator: WatchedPage;
let user: WatchedPage;
const db = () => gateway.context.database.db;

before(async () => {
  if (executable === undefined) return;
  [sim, receiver, browser] = await Promise.all([
    startSim({ video: SCENE_VIDEO }),
    new Receiver().listen(),
    launchChromium(executable),
  ]);
  gateway = await startGateway({ worker: true, env: { EGRESS_ALLOW: receiver.origin } });
  [operator, user] = [await openPage(browser), await openPage(browser)];
});
after(async () => {
  if (skip) return;
  await browser?.close();
  await gateway?.stop();
  receiver?.close();
  await sim?.close();
});

const open = async (page: Page, path: string): Promise<void> => {
  await page.goto(`${gateway.url}/console${path}`);
  await untilLoaded(page);
};

const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();

/** Fills the fields of the open dialog, or of the page. */
async function fill(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
}

test('the first link leads an operator from an empty gateway to an answered call', { skip }, async () => {
  const { page } = operator;
  const link = await createFirstLink(db(), { now: Date.now(), pepper: gateway.context.secrets.pepper });
  await page.goto(linkUrl(gateway.url, link ?? assert.fail('there is an operator')));
  await fill(page, { Name: 'Olga', 'E-mail': 'olga@example.test', Password: PASSWORD });
  await press(page, 'Save and sign in');
  await page.getByRole('heading', { name: 'First steps' }).waitFor();

  await fill(page, {
    'Id of the group': 'openai',
    'Id of the account': 'openai-1',
    'Base URL': `${sim.url}/v1`,
    Credential: 'sk-of-the-operator',
  });
  await press(page, 'Add account');
  await fill(page, { Model: 'demo-responses', 'Price of input': '1.25', 'Price of output': '10' });
  await press(page, 'Run test');
  await page.getByText('It works: first').waitFor();
  await press(page, 'Make key');
  await page.getByText('Waiting for your call…').waitFor();
  const key = /dg-\w+/.exec(await page.locator('.step pre').first().innerText())?.[0];
  const response = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-responses', input: 'Hello' }),
  });
  assert.equal(response.status, 200, await response.text());
  await page.getByText('Response in').click();
  await page.getByRole('heading', { name: 'Charge' }).waitFor();
});

test('an operator signs in with a password, and a wrong one is refused at the form', { skip }, async () => {
  const { page, faults } = operator;
  await press(page, 'Sign out');
  await fill(page, { 'E-mail': 'olga@example.test', Password: 'not the password' });
  await press(page, 'Sign in');
  await page.getByRole('alert').waitFor();
  // The browser logs the refusal.
  faults.length = 0;
  await fill(page, { Password: PASSWORD });
  await press(page, 'Sign in');
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
});

test('an operator adds an account, tests it, and makes a key whose value is shown once', { skip }, async () => {
  await gateway.apply(demoSetup({ url: sim.url, videoUrl: sim.video.url }));
  const { page } = operator;
  await open(page, '/accounts');
  await press(page, 'Add account');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Group').selectOption('messages');
  await fill(page, { 'Id of the account': 'second', 'Base URL': sim.url, Credential: 'sk-second' });
  await dialog.getByRole('button', { name: 'Add account' }).click();
  await page.getByRole('heading', { name: 'second' }).waitFor();
  await press(page, 'Test');
  await press(page, 'Run test');
  await page.getByText('It works: first').waitFor();

  await open(page, '/keys');
  await press(page, 'Make key');
  await dialog.getByLabel('User', { exact: true }).selectOption('demo');
  await fill(page, { Name: 'laptop' });
  await dialog.getByRole('button', { name: 'Make key' }).click();
  await dialog.getByText('The value is shown only now.').waitFor();
  const value = await dialog.locator('pre').first().innerText();
  assert.match(value, /^dg-/);
  await press(page, 'Done');
  await page.getByRole('link', { name: 'laptop' }).click();
  await untilLoaded(page);
  assert.ok(!(await page.locator('body').innerText()).includes(value));
});

test('a user runs the playground with a key of each group, and the reply is streamed', { skip }, async () => {
  const { page, faults } = user;
  await signInAs(
    page.context(),
    gateway,
    await addPerson(db(), { email: 'dana@example.test', role: 'user', user: 'demo' }),
  );
  for (const [group, dialect] of [
    ['responses', 'Messages'],
    ['messages', 'Responses'],
    ['generate', 'Chat completions'],
  ] as const) {
    const { id } = await db()
      .selectFrom('keys')
      .select('id')
      .where('group_id', '=', group)
      .where('name', '=', 'demo')
      .executeTakeFirstOrThrow();
    await open(page, `/my/playground?key=${id}`);
    await press(page, dialect);
    await fill(page, { Model: `demo-${group}`, Prompt: `Hello <b>${group}</b>` });
    await page.keyboard.press('Control+Enter');
    await page.getByText('charge and details').waitFor();
    assert.match(await page.locator('.reply').innerText(), new RegExp(`simulated.*Hello <b>${group}</b>`, 's'));
    await press(page, 'Response');
    assert.ok((await page.locator('.code pre').innerText()).split('delta').length > 2, 'several events');
  }
  // The page asks again until the call is in the log; the browser logs each response with status 404.
  await page.getByRole('link', { name: 'charge and details' }).click();
  await page.getByRole('heading', { name: 'Charge' }).waitFor();
  assert.deepEqual(
    faults.splice(0).filter((fault) => !fault.includes('status of 404')),
    [],
  );
});

test('a user starts a video task and watches its result', { skip }, async () => {
  const { page } = user;
  await open(page, '/my/playground?form=video');
  await fill(page, { Model: 'demo-video-2-0-ep', Prompt: 'A lamp at night' });
  await press(page, 'Run');
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  const isDone = async (): Promise<boolean> => {
    await db()
      .updateTable('video_tasks')
      .set({ next_check_at: new Date(0) })
      .where('next_check_at', 'is not', null)
      .execute();
    return (await page.locator('video').count()) > 0;
  };
  await until('the video', isDone, PATIENCE_MS);
  await page.evaluate("Object.assign(document.querySelector('video'), { muted: true }).play()");
  await until('playback', () => page.evaluate("document.querySelector('video').currentTime > 0.1"), PATIENCE_MS);
});

test('an operator publishes a character with a preview, and callers see it', { skip }, async () => {
  const { page } = operator;
  await open(page, '/characters');
  await press(page, 'Add character');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Group').selectOption('video-ep');
  await fill(page, { Id: 'anna', Name: 'Anna', Models: 'demo-video-2-0-ep', 'Asset at the provider': 'asset-1' });
  await dialog.getByRole('button', { name: 'Add character' }).click();
  const row = page.locator('tr[data-id=anna]');
  await row.getByRole('button', { name: 'Picture' }).click();
  await dialog.getByLabel('File').setInputFiles({ name: 'anna.png', mimeType: 'image/png', buffer: PICTURE });
  await dialog.getByRole('button', { name: 'Upload picture' }).click();
  await row.getByText('Shown once published').waitFor();
  await row.getByRole('button', { name: 'Publish' }).click();
  await dialog.getByRole('button', { name: 'Publish character' }).click();
  await row.getByText('Published', { exact: true }).waitFor();
  const isShown = () => page.evaluate("document.querySelector('tr[data-id=anna] img')?.naturalWidth > 0");
  await until('the preview', isShown, PATIENCE_MS);
  const shown = await db().selectFrom('characters').select('published').where('id', '=', 'anna').executeTakeFirst();
  assert.equal(shown?.published, true);
});

/** One transparent pixel. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

test('an operator credits a balance, and the same reference is booked only once', { skip }, async () => {
  const { page } = operator;
  await open(page, '/users/me');
  for (const _ of ['first', 'second']) {
    await press(page, 'Credit');
    await fill(page, { 'Amount in dollars': '12.50', Reason: 'Bank transfer', Reference: 'invoice-1' });
    await press(page, 'Book credit');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  await page.getByRole('cell', { name: 'Bank transfer' }).waitFor();
  const rows = await db().selectFrom('entries').select('nanos').where('reference', 'like', '%invoice-1').execute();
  assert.deepEqual(
    rows.map(({ nanos }) => String(nanos)),
    ['12500000000'],
  );
});

test('an operator redelivers a callback, which keeps its id', { skip }, async () => {
  const { sealer } = gateway.context;
  const [event] = await seedEvents(db(), sealer, [{ userId: 'demo', token: 'secret', url: `${receiver.origin}/hook` }]);
  const { page } = operator;
  await until('the delivery', () => receiver.deliveries.length === 1, PATIENCE_MS);
  await open(page, '/callbacks');
  await page.getByRole('link', { name: event?.eventId.slice(0, 10) ?? '' }).click();
  await press(page, 'Redeliver');
  await fill(page, { Reason: 'the receiver lost it' });
  await press(page, 'Redeliver callback');
  await page.getByText('The callback is on its way.').waitFor();
  await until('the second delivery', () => receiver.deliveries.length === 2, PATIENCE_MS);
  assert.deepEqual(
    receiver.deliveries.map(({ headers }) => headers['webhook-id']),
    [event?.eventId, event?.eventId],
  );
});

test('the keyboard opens pages, rows and dialogs, and the focus returns to where it was', { skip }, async () => {
  const { page } = operator;
  const focused = (): Promise<string> => page.evaluate("document.activeElement?.textContent ?? ''");
  await open(page, '/users');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('audit');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Audit' }).waitFor();
  await page.keyboard.press('/');
  assert.equal(await page.evaluate('document.activeElement?.tagName'), 'INPUT');

  await open(page, '/users');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  for (const leave of [() => page.keyboard.press('Escape'), () => press(page, 'Cancel')]) {
    await page.getByRole('button', { name: 'Make user' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Make user' });
    await dialog.waitFor();
    assert.equal(await page.evaluate("document.activeElement?.closest('dialog') !== null"), true);
    await leave();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await focused(), 'Make user');
  }
  await page.getByRole('link', { name: 'demo' }).waitFor();
  await page.keyboard.press('j');
  const row = await focused();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: row }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Users' }).waitFor();
  await page.keyboard.press('Tab');
  assert.deepEqual([...operator.faults, ...user.faults], [], 'no page logged an error');
});

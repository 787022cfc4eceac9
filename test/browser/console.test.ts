/** What operators and users do in the console, in a real Chromium: from an empty gateway to calls, videos, money and callbacks. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import { type Sim, startSim } from '../../sim/index.ts';
import { createFirstLink, linkUrl } from '../../src/access/people/index.ts';
import { demoSetup } from '../../src/catalog/setup/index.ts';
import { openPage, signInAs, untilLoaded, type WatchedPage } from '../support/browser.ts';
import { Receiver, seedEvents } from '../support/callbacks.ts';
import { chromiumPath, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { addPerson } from '../support/console.ts';
import { SCENE_VIDEO } from '../support/console-scene.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { until } from '../support/wait.ts';

const executable = chromiumPath();
const skip = executable === undefined && NO_CHROMIUM;
const PASSWORD = 'a password for the tests';

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
  const dialog = page.getByRole('dialog').last();
  const scope = (await dialog.count()) > 0 ? dialog : page;
  for (const [label, value] of Object.entries(fields)) await scope.getByLabel(label, { exact: true }).fill(value);
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

longTest('an operator signs in with a password, and a wrong one is refused at the form', { skip }, async () => {
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

longTest('an operator adds an account, tests it, and makes a key whose value is shown once', { skip }, async () => {
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
  await fill(page, { User: 'demo', Name: 'laptop' });
  await dialog.getByRole('button', { name: 'Make key' }).click();
  await dialog.getByText('The value is shown only now.').waitFor();
  const value = await dialog.locator('pre').first().innerText();
  assert.match(value, /^dg-/);
  for (const _ of ['first', 'second']) await page.keyboard.press('Escape');
  assert.equal(await dialog.locator('pre').first().innerText(), value, 'Escape does not lose the value');
  await dialog.getByRole('button', { name: 'Copy' }).first().click();
  await press(page, 'Done');
  await page.getByRole('link', { name: 'laptop' }).click();
  await untilLoaded(page);
  assert.ok(!(await page.locator('body').innerText()).includes(value));
});

longTest('a user runs the playground with a key of each group, and the reply is streamed', { skip }, async () => {
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
    const model = page.getByLabel('Model', { exact: true });
    await until('a text model of the key', async () => (await model.inputValue()).startsWith('demo-'));
    await fill(page, { Model: `demo-${group}`, Prompt: `Hello <b>${group}</b>` });
    await page.keyboard.press('Control+Enter');
    await page.getByText('charge and details').waitFor();
    assert.match(await page.locator('.reply').innerText(), new RegExp(`simulated.*Hello <b>${group}</b>`, 's'));
    await press(page, 'Details');
    await press(page, 'Response');
    assert.ok((await page.locator('.code pre').innerText()).split('delta').length > 2, 'several events');
    await press(page, 'Close');
  }
  // The page asks again until the call is in the log; the browser logs each response with status 404.
  await page.getByRole('link', { name: 'charge and details' }).click();
  await page.getByRole('heading', { name: 'Charge' }).waitFor();
  assert.deepEqual(
    faults.splice(0).filter((fault) => !fault.includes('status of 404')),
    [],
  );
});

longTest('a user starts a video task and watches its result', { skip }, async () => {
  const { page } = user;
  await open(page, '/my/playground?form=video');
  await fill(page, { Model: 'demo-video-2-0-ep', Prompt: 'A lamp at night' });
  await page.getByText('Held at the start, at most:').waitFor();
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
  await until('the video', isDone);
  await page.evaluate("Object.assign(document.querySelector('video'), { muted: true }).play()");
  await until('playback', () => page.evaluate("document.querySelector('video').currentTime > 0.1"));
});

longTest('an operator publishes a character with a preview, and callers see it', { skip }, async () => {
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
  await until('the preview', isShown);
  const shown = await db().selectFrom('characters').select('published').where('id', '=', 'anna').executeTakeFirst();
  assert.equal(shown?.published, true);
});

/** One transparent pixel. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

longTest('an operator credits a balance, and the same reference is booked only once', { skip }, async () => {
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

longTest('a form that would create what exists says so at its field, and changes nothing', { skip }, async () => {
  const { page, faults } = operator;
  const dialog = page.getByRole('dialog');
  const stored = () => db().selectFrom('accounts').select(['id', 'base_url', 'weight']).orderBy('id').execute();
  const before = await stored();
  await open(page, '/accounts');
  await press(page, 'Add account');
  await dialog.getByLabel('Group').selectOption('New group');
  await fill(page, { 'Id of the group': 'Not An Id', 'Id of the account': 'second', Credential: 'sk-thief' });
  // What was typed survives another choice; what was suggested follows it.
  await dialog.getByLabel('Style').selectOption('messages');
  assert.equal(await dialog.getByLabel('Base URL').inputValue(), 'https://api.anthropic.com');
  await dialog.getByRole('button', { name: 'Add account' }).click();
  await dialog.locator('.field', { hasText: 'Id of the group' }).locator('.error').waitFor();
  assert.equal(await dialog.locator('.error').count(), 1);
  await fill(page, { 'Id of the group': 'another' });
  await dialog.getByRole('button', { name: 'Add account' }).click();
  const error = dialog.locator('.field', { hasText: 'Id of the account' }).locator('.error');
  await error.getByText('Account second exists').waitFor();
  assert.deepEqual(await stored(), before);
  // The browser logs the two refusals.
  faults.length = 0;
});

longTest('a session that is lost under a form is offered back over it, and the form is sent', { skip }, async () => {
  const { page, faults } = operator;
  await open(page, '/users/me');
  await press(page, 'Edit user');
  await fill(page, { 'Requests a minute': '77' });
  const changes = page.getByRole('region', { name: 'Changes' });
  assert.equal(await changes.innerText(), 'Requests a minute\nnone → 77');
  const olga = db().selectFrom('people').select('id').where('email', '=', 'olga@example.test');
  await db().deleteFrom('person_sessions').where('person_id', '=', olga).execute();
  await press(page, 'Save user');
  const again = page.getByRole('dialog', { name: 'Sign in again' });
  await again.getByLabel('Password').fill(PASSWORD);
  await again.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The user is saved.').waitFor();
  await page.getByText('77 rpm').waitFor();
  faults.length = 0;
});

longTest('the audit log says in words who changed a price, from what to what', { skip }, async () => {
  const { page } = operator;
  await open(page, '/models/messages/demo-messages');
  await press(page, 'Set price');
  await fill(page, { 'Price output': '16' });
  await press(page, 'Save price');
  await page.getByRole('cell', { name: 'Olga' }).waitFor();
  await page.getByRole('link', { name: 'All changes' }).click();
  const row = page.getByRole('row', { name: /Price changed/ }).first();
  await row.getByText('demo-messages of messages').waitFor();
  assert.match(await row.innerText(), /Price output\s+15 → 16/);
  assert.match(await row.innerText(), /Olga/);
});

longTest('an operator names the fallback of a model', { skip }, async () => {
  const { page } = operator;
  await open(page, '/models/messages/demo-messages');
  await press(page, 'Set fallback');
  await fill(page, { Fallback: 'responses/demo-responses' });
  await press(page, 'Save fallback');
  await page.getByText('The fallback is saved.').waitFor();
  await page.getByText('responses/demo-responses').waitFor();
});

longTest('an operator states what a model accepts', { skip }, async () => {
  const { page, faults } = operator;
  await open(page, '/models/responses/demo-image');
  await press(page, 'Set capabilities');
  await fill(page, { Capabilities: '{"imageQuality": ["max"]}' });
  await press(page, 'Save capabilities');
  await page.getByText('no such field').waitFor();
  await fill(page, { Capabilities: '{"imageQualities": ["low", "max"]}' });
  await press(page, 'Save capabilities');
  await page.getByText('The capabilities are saved.').waitFor();
  await page.getByText('imageQualities').waitFor({ state: 'attached' });
  // The browser logs the refusal.
  faults.length = 0;
});

longTest('an operator has a call explained in the playground and on the page of a request', { skip }, async () => {
  const person = await addPerson(db(), { email: 'oscar@example.test', role: 'operator', user: 'demo' });
  const { page, faults } = await openPage(browser);
  await signInAs(page.context(), gateway, person);
  const { id } = await db()
    .selectFrom('keys')
    .select('id')
    .where('group_id', '=', 'messages')
    .where('name', '=', 'demo')
    .executeTakeFirstOrThrow();
  await open(page, `/my/playground?key=${id}`);
  await press(page, 'Chat completions');
  await fill(page, { Model: 'demo-messages', Prompt: 'Hello' });
  const dialog = page.getByRole('dialog', { name: 'Explain' });
  const explained = async (): Promise<string> => {
    await press(page, 'Explain');
    await dialog.getByText('Way 1 would serve the call.').waitFor();
    const text = await dialog.innerText();
    await press(page, 'Close');
    return text;
  };
  const plan = await explained();
  for (const part of [
    'POST /v1/chat/completions',
    'as it would be sent',
    'Converted',
    'Healthy',
    'Covered',
    'Max cost',
  ])
    assert.ok(plan.toLowerCase().includes(part.toLowerCase()), `${part}: ${plan}`);
  await press(page, 'Run');
  const link = page.getByRole('link', { name: 'charge and details' });
  const request = (await link.getAttribute('href'))?.split('/').at(-1);
  await until('the entry of the call', async () => {
    await open(page, `/requests/${request}`);
    return (await page.getByRole('button', { name: 'Explain' }).count()) > 0;
  });
  assert.match(await explained(), /a minimal one/);
  assert.deepEqual(
    faults.filter((fault) => !fault.includes('status of 404')),
    [],
  );
  await page.context().close();
});

longTest('an operator redelivers a callback, which keeps its id', { skip }, async () => {
  const { sealer } = gateway.context;
  const [event] = await seedEvents(db(), sealer, [{ userId: 'demo', token: 'secret', url: `${receiver.origin}/hook` }]);
  const { page } = operator;
  await until('the delivery', () => receiver.deliveries.length === 1);
  await open(page, '/callbacks');
  await page.getByRole('link', { name: event?.eventId.slice(0, 10) ?? '' }).click();
  await press(page, 'Redeliver');
  await fill(page, { Reason: 'the receiver lost it' });
  await press(page, 'Redeliver callback');
  await page.getByText('The callback is on its way.').waitFor();
  await until('the second delivery', () => receiver.deliveries.length === 2);
  assert.deepEqual(
    receiver.deliveries.map(({ headers }) => headers['webhook-id']),
    [event?.eventId, event?.eventId],
  );
});

longTest('an operator finds one of ten thousand users in a field and by the palette', { skip }, async () => {
  await sql`insert into users (id) select 'visitor-' || n from generate_series(1, 10000) n`.execute(db());
  const { page } = operator;
  await open(page, '/keys');
  await press(page, 'Make key');
  const dialog = page.getByRole('dialog');
  const field = dialog.getByLabel('User', { exact: true });
  await field.pressSequentially('itor-9999');
  await dialog.getByRole('option', { name: 'visitor-9999' }).click();
  assert.equal(await field.inputValue(), 'visitor-9999');
  await dialog.getByLabel('Name', { exact: true }).fill('far');
  await dialog.getByRole('button', { name: 'Make key' }).click();
  await dialog.getByRole('button', { name: 'Copy' }).first().click();
  await press(page, 'Done');
  const key = await db().selectFrom('keys').select('id').where('user_id', '=', 'visitor-9999').executeTakeFirst();

  for (const [text, heading] of [
    ['visitor-77', 'visitor-77'],
    [key?.id ?? '', 'far'],
  ] as const) {
    await page.keyboard.press('Control+k');
    await page.keyboard.type(text);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: heading }).waitFor();
  }
  await open(page, '/users');
  for (const _ of ['the first', 'the last']) await press(page, 'User');
  await page.locator('tbody tr').first().getByText('visitor-9999').waitFor();
  assert.equal(
    await page.getByRole('button', { name: 'Held for tasks' }).count(),
    0,
    'no other column offers an order',
  );

  await page.keyboard.press('Control+k');
  await page.keyboard.type('acme-1');
  await page.keyboard.press('Enter');
  await page.getByText('Nothing has this name or id.').waitFor();
  await page.keyboard.press('Escape');
});

longTest('an operator finds calls by what they know of them, and keeps the view', { skip }, async () => {
  const { page } = operator;
  const rows = page.locator('tbody tr');
  const isOnly = (text: string) => async (): Promise<boolean> => {
    const found = await rows.allInnerTexts();
    return found.length > 0 && found.every((row) => row.includes(text));
  };
  const refused = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: 'Bearer no' },
  });
  const id = refused.headers.get('x-request-id') ?? '';
  const isLogged = async () =>
    (await db().selectFrom('requests').select('id').where('id', '=', id).execute()).length > 0;
  await until('the refused call', isLogged);

  await open(page, '/requests');
  await page.getByLabel('Model', { exact: true }).fill('emo-resp');
  await until('a part of a name', isOnly('demo-responses'));
  await page.getByLabel('Period', { exact: true }).selectOption('own');
  await page.getByLabel('From (UTC)').fill('2020-01-31T10:00:00');
  await until('a time of day', isOnly('demo-responses'));
  await page.getByLabel('Before (UTC)').fill('2020-01-31T10:00:01');
  await page.getByText('Nothing matches').waitFor();

  await open(page, '/requests');
  const status = page.getByLabel('Status', { exact: true });
  await status.pressSequentially('5');
  await status.pressSequentially('xx');
  await page.waitForURL(/status=5xx/);
  assert.equal(await page.getByRole('alert').count(), 0);
  await status.fill('401');
  await page.getByRole('link', { name: '401' }).first().click();
  await page.getByText('The API key is not valid').first().waitFor();

  const call = await db()
    .selectFrom('requests')
    .select(['id', 'at', 'group_id', 'account_id'])
    .where('status', '=', 200)
    .where('account_id', 'is not', null)
    .limit(1)
    .executeTakeFirstOrThrow();
  await db()
    .insertInto('request_faults')
    .values({
      at: call.at,
      request_id: call.id,
      attempt: 1,
      group_id: call.group_id,
      account_id: call.account_id ?? '',
      kind: 'failed',
      provider_request_id: 'req_011CSomeProvider',
    })
    .execute();
  await open(page, '/requests');
  await page.getByLabel('Request id').fill('req_011CSomeProvider');
  await until('the call', async () => (await rows.count()) === 1);
  await rows.first().click();
  await page.getByRole('heading', { name: call.id }).waitFor();

  await open(page, '/requests?status=200');
  await press(page, 'Charge');
  await page.locator('th[aria-sort=descending]').waitFor();
  const dearest = await db()
    .selectFrom('requests')
    .select(({ fn }) => fn.max('nanos').as('nanos'))
    .where('status', '=', 200)
    .executeTakeFirstOrThrow();
  const first = async () => (await rows.first().locator('td').last().innerText()).replace('$', '');
  await until('the order', async () => Math.round(Number(await first()) * 1e9) === Number(dearest.nanos));
  await page.getByText('Views', { exact: true }).click();
  await fill(page, { 'Name of the view': 'Dear ones' });
  await press(page, 'Save view');
  await open(page, '/requests');
  await page.locator('.menu summary').first().click();
  await press(page, 'Dear ones');
  await page.waitForURL(/status=200&sort=charge/);
});

longTest('three jobs are done with the keyboard alone', { skip }, async () => {
  const { page } = operator;
  const focused = (): Promise<string> =>
    page.evaluate("document.activeElement?.textContent || document.activeElement?.labels?.[0]?.textContent || ''");
  const tabTo = async (name: string): Promise<void> => {
    for (let n = 0; n < 80; n += 1) {
      if ((await focused()) === name) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`the keyboard does not reach ${name}`);
  };
  const go = async (name: string): Promise<void> => {
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type(name);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name, level: 1 }).waitFor();
  };
  await open(page, '/overview');

  await go('Groups');
  await tabTo('Add group');
  await page.keyboard.press('Enter');
  await tabTo('Id');
  await page.keyboard.type('by-keys');
  await page.keyboard.press('Enter');
  await page.getByText('The group is saved.').waitFor();

  await go('Users');
  await tabTo('Make user');
  await page.keyboard.press('Enter');
  await tabTo('Id');
  await page.keyboard.type('typist');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'typist' }).waitFor();

  await tabTo('Make key');
  await page.keyboard.press('Enter');
  await tabTo('Name');
  await page.keyboard.type('typed');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Key typed' }).waitFor();
  await page.keyboard.press('Escape');
  await tabTo('I have saved it');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'typed' }).waitFor();
});

longTest('the keyboard opens pages, rows and dialogs, and the focus returns to where it was', { skip }, async () => {
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
  const keys = page.getByRole('dialog', { name: 'Keys' });
  await keys.waitFor();
  await page.keyboard.press('Escape');
  await keys.waitFor({ state: 'detached' });
  // It gives the focus back moments after it is gone.
  const hasFocus = (found: string) =>
    until('the focus', () => page.evaluate(`Boolean(document.activeElement?.${found})`));
  await hasFocus("matches('h1')");
  for (const leave of [() => page.keyboard.press('Escape'), () => press(page, 'Cancel')]) {
    await page.getByRole('button', { name: 'Make user' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Make user' });
    await dialog.waitFor();
    assert.equal(await page.evaluate("document.activeElement?.closest('dialog') !== null"), true);
    await leave();
    await dialog.waitFor({ state: 'detached' });
    await hasFocus("textContent === 'Make user'");
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

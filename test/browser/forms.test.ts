// set: all; three forms in a browser; console.test.ts sends some, and a test of the API repeats requests with their key
/** Forms and lists of the console in a real Chromium: nothing is sent twice, nothing is undone unseen, and filters show their hits. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { type Sim, startSim } from '../../sim/index.ts';
import { openPage, signInAs, untilLoaded } from '../support/browser.ts';
import { chromiumPath, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { addPerson } from '../support/console.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { until } from '../support/wait.ts';

const executable = chromiumPath();
const skip = executable === undefined && NO_CHROMIUM;
const PRICES = { input: '2', output: '10' };

let sim: Sim;
let gateway: TestGateway;
let browser: Browser;
let operator: string;
let keys: Readonly<Record<string, string>>;

before(async () => {
  if (executable === undefined) return;
  [sim, browser] = await Promise.all([startSim(), launchChromium(executable)]);
  gateway = await startGateway({ setup: basicSetup(sim.url) });
  keys = await gateway.apply({
    models: [
      { id: 'demo-one', groups: ['openai'], upstream: 'demo-responses', prices: PRICES },
      { id: 'demo-two', groups: ['openai'], upstream: 'demo-responses', prices: PRICES },
    ],
    users: [{ id: 'ana', balance: '10', email: 'ana@example.test' }],
    keys: [{ user: 'ana', group: 'openai' }],
  });
  operator = await addPerson(gateway.context.database.db, { email: 'olga@example.test', role: 'operator' });
});
after(async () => {
  if (skip) return;
  await browser?.close();
  await gateway?.stop();
  await sim?.close();
});

async function openConsole(): Promise<Page> {
  const { page } = await openPage(browser);
  await signInAs(page.context(), gateway, operator);
  return page;
}

const open = async (page: Page, path: string): Promise<void> => {
  await page.goto(`${gateway.url}/console${path}`);
  await untilLoaded(page);
};

const press = (scope: Page | Locator, name: string): Promise<void> =>
  scope.getByRole('button', { name, exact: true }).first().click();

interface FormCase {
  readonly path: string;
  readonly opener: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly action: string;
}

/** Before the page can render anything in between. */
const TWO_CLICKS = (button: unknown): void => {
  const { form } = button as { readonly form: { requestSubmit(): void } };
  form.requestSubmit();
  form.requestSubmit();
};

/** every-form.test.ts has all of them. */
const FORMS: readonly FormCase[] = [
  { path: '/users', opener: 'Make user', fields: { Id: 'new-user' }, action: 'Make user' },
  {
    path: '/users/ana',
    opener: 'Credit',
    fields: { 'Amount in dollars': '5', Reason: 'paid', Reference: 'invoice-1' },
    action: 'Book credit',
  },
];

test('two clicks send one request, and a repetition after a failure carries the same key', { skip }, async () => {
  const page = await openConsole();
  for (const { path, opener, fields = {}, action } of FORMS) {
    await open(page, path);
    await press(page, opener);
    const dialog = page.getByRole('dialog');
    for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label, { exact: true }).fill(value);
    const sent: (string | undefined)[] = [];
    await page.route('**/admin/v1/**', async (route) => {
      const request = route.request();
      if (request.method() === 'GET') return route.continue();
      sent.push(request.headers()['idempotency-key']);
      if (sent.length > 1) return route.continue();
      return route.fulfill({ status: 500, json: { error: { code: 'internal_error', message: 'It broke.' } } });
    });
    const submit = dialog.getByRole('button', { name: action, exact: true });
    await submit.evaluate(TWO_CLICKS);
    await dialog.getByRole('alert').waitFor();
    assert.equal(sent.length, 1, `${action}: two clicks`);
    for (const [label, value] of Object.entries(fields))
      assert.equal(await dialog.getByLabel(label, { exact: true }).inputValue(), value, `${action}: keeps ${label}`);
    await until(`${action} can be repeated`, () => submit.isEnabled());
    await submit.evaluate(TWO_CLICKS);
    await submit.waitFor({ state: 'detached' });
    assert.equal(sent.length, 2, `${action}: two more clicks`);
    assert.ok(sent[0], `${action} has a key`);
    assert.equal(sent[0], sent[1], `${action}: the repetition has the same key`);
    await page.unroute('**/admin/v1/**');
  }
  await page.context().close();
});

test('the second of two tabs sees what the first one saved, and decides', { skip }, async () => {
  const [first, second] = [await openConsole(), await openConsole()];
  const edit = async (page: Page, label: string, value: string): Promise<Locator> => {
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(label, { exact: true }).fill(value);
    return dialog;
  };
  for (const [path, opener, action, label, other] of [
    ['/users/ana', 'Edit user', 'Save user', 'Multiplier', 'Dollars a day'],
    ['/models/openai/demo-one', 'Set price', 'Save price', 'Price input', undefined],
  ] as const) {
    for (const page of [first, second]) {
      await open(page, path);
      await press(page, opener);
    }
    await press(await edit(first, label, '7'), action);
    await first.getByRole('dialog').waitFor({ state: 'detached' });
    const dialog = await edit(second, label, '8');
    await press(dialog, action);
    await dialog.getByText('it was changed meanwhile').waitFor();
    await dialog.locator('.changes', { hasText: '7' }).waitFor();
    await press(dialog, action);
    await dialog.waitFor({ state: 'detached' });
    if (other === undefined) continue;
    // What the other tab changed elsewhere stays.
    for (const page of [first, second]) {
      await open(page, path);
      await press(page, opener);
    }
    await press(await edit(first, label, '9'), action);
    await first.getByRole('dialog').waitFor({ state: 'detached' });
    await press(await edit(second, other, '50'), action);
    await second.getByRole('dialog').waitFor({ state: 'detached' });
  }
  const { db } = gateway.context.database;
  const user = await db.selectFrom('users').selectAll().where('id', '=', 'ana').executeTakeFirstOrThrow();
  assert.equal(user.multiplier_ppm, 9_000_000n);
  assert.deepEqual(user.limits, { spend_day: '50' });
  const price = await db.selectFrom('prices').selectAll().orderBy('id', 'desc').limit(1).executeTakeFirstOrThrow();
  assert.equal((price.rates as Record<string, string>).input, '8');
  for (const page of [first, second]) await page.context().close();
});

longTest('a changed filter of a live list shows its hits at once', { skip }, async () => {
  for (const model of ['demo-one', 'demo-two', 'demo-one']) {
    const response = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.openai}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, input: 'Hello' }),
    });
    assert.equal(response.status, 200, await response.text());
  }
  const page = await openConsole();
  const rows = page.locator('tbody tr');
  await until('the calls in the log', async () => {
    await open(page, '/requests');
    return (await rows.count()) === 3;
  });
  const model = page.locator('[data-name=model] input');
  for (const [text, count] of [
    ['demo-two', 1],
    ['demo-one', 2],
    ['demo-two', 1],
  ] as const) {
    await model.fill(text);
    await until(
      `hits of ${text}`,
      async () =>
        (await rows.count()) === count &&
        !(await rows.first().innerText()).includes(text === 'demo-one' ? 'demo-two' : 'demo-one'),
    );
    assert.equal(await page.locator('.new-rows').count(), 0, 'rows of another filter are not new');
  }
  await page.context().close();
});

longTest('sums by user begin with the largest, and users are found by their address', { skip }, async () => {
  const page = await openConsole();
  await open(page, '/ledger?by=user');
  await page.getByRole('row', { name: 'ana' }).waitFor();
  await page.getByRole('row', { name: 'Total' }).waitFor();
  await open(page, '/users');
  await page.locator('[data-name=user] input').fill('ana@example');
  await page.getByRole('link', { name: 'ana', exact: true }).waitFor();
  await page.context().close();
});

longTest('an operator sees what an erasure removes, and types the id to begin it', { skip }, async () => {
  await gateway.apply({
    users: [{ id: 'gone', email: 'gone@example.test' }],
    keys: [{ user: 'gone', group: 'openai' }],
  });
  const page = await openConsole();
  await open(page, '/users/gone');
  await press(page, 'Erase user');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('keys: 1').waitFor();
  await dialog.getByRole('link', { name: 'Export data' }).waitFor();
  await dialog.getByLabel('Id of the user').fill('ana');
  await press(dialog, 'Erase user');
  await dialog.getByText('the id of the user to erase').waitFor();
  await dialog.getByLabel('Id of the user').fill('gone');
  await press(dialog, 'Erase user');
  await dialog.getByText('Access has ended.').waitFor();
  await press(dialog, 'Close');
  await page.getByText('gone@example.test').waitFor({ state: 'detached' });
  const { erased_at } = await gateway.context.database.db
    .selectFrom('users')
    .select('erased_at')
    .where('id', '=', 'gone')
    .executeTakeFirstOrThrow();
  assert.ok(erased_at);
});

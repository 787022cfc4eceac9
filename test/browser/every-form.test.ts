// set: sweeps; every form of the console; forms.test.ts submits some of them
/**
 * Every form of the console in a real Chromium: two clicks, a lost session, a server that fails and one that is slow send one change, and
 * lose nothing that was typed. Two tabs do not undo each other. No dialog has an obstacle for readers. A run loses the session at a
 * quarter of the forms and examines these for readers, because a dialog takes a second for it; with LAWS_RUNS=1 at all of them.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Browser, Locator, Page, Request } from 'playwright-core';
import { type Sim, startSim } from '../../sim/index.ts';
import { Passwords } from '../../src/access/people/index.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { PIXEL } from '../support/agent.ts';
import { obstaclesOf } from '../support/axe.ts';
import { openPage, signInAs, untilLoaded } from '../support/browser.ts';
import { Receiver } from '../support/callbacks.ts';
import { type Canned, startCanned } from '../support/canned.ts';
import { chromiumPath, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { addPerson, browserOf } from '../support/console.ts';
import { type ConsoleForm, consoleForms, PASSWORD } from '../support/console-forms.ts';
import type { Reader } from '../support/console-pages.ts';
import { failInWords, playScene, SCENE_VIDEO, sceneSetup } from '../support/console-scene.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { sampled } from '../support/properties.ts';
import { until } from '../support/wait.ts';

const executable = chromiumPath();
const skip = executable === undefined && NO_CHROMIUM;

let sim: Sim;
let failing: Canned;
let receiver: Receiver;
let gateway: TestGateway;
let browser: Browser;
let forms: readonly ConsoleForm[];
/** Each with a second tab. */
const readers = {} as Record<Reader, readonly [Page, Page]>;

before(async () => {
  if (executable === undefined) return;
  [sim, failing, receiver, browser] = await Promise.all([
    startSim({ video: SCENE_VIDEO }),
    startCanned(),
    new Receiver().listen(),
    launchChromium(executable),
  ]);
  const plain = (text: string): string => text;
  failInWords(failing, plain);
  gateway = await startGateway({ worker: true, env: { ADMIN_TOKEN, EGRESS_ALLOW: receiver.origin } });
  const keys = await gateway.apply(sceneSetup(sim, failing, plain));
  const { db } = gateway.context.database;
  const scene = await playScene({ url: gateway.url, token: ADMIN_TOKEN, db, keys, receiver, text: plain });
  await db.updateTable('users').set({ max_keys: 5 }).where('id', '=', 'demo').execute();
  const passwordHash = await new Passwords(gateway.context.secrets.pepper).hash(PASSWORD);
  let own = '';
  for (const role of ['operator', 'user'] as const) {
    const id = await addPerson(db, { email: `${role}@example.test`, role, user: 'demo', passwordHash });
    readers[role] = [await pageOf(id), await pageOf(id)];
    if (role === 'operator') continue;
    const person = await browserOf(gateway, id);
    await person.send('GET', '/console/v1/session');
    const { body } = await person.send<{ id: string }>('POST', '/console/v1/keys', { group: 'messages', name: 'own' });
    own = body.id;
  }
  forms = consoleForms(scene, own);
});
after(async () => {
  if (skip) return;
  await browser?.close();
  await gateway?.stop();
  receiver?.close();
  await failing?.close();
  await sim?.close();
});

async function pageOf(person: string): Promise<Page> {
  const { page } = await openPage(browser);
  await signInAs(page.context(), gateway, person);
  return page;
}

/** Opens the form and fills it. Returns the dialog that it is in. */
async function openForm(page: Page, form: ConsoleForm): Promise<Locator> {
  const dialog = page.locator('dialog[open]').last();
  if (!form.follows) {
    await page.goto(`${gateway.url}/console${form.path}`);
    await untilLoaded(page);
    const place = form.within === undefined ? page : page.locator(form.within).first();
    for (const label of form.open ?? []) await place.getByRole('button', { name: label, exact: true }).first().click();
  }
  await dialog.getByRole('button', { name: form.action, exact: true }).waitFor();
  for (const [label, option] of Object.entries(form.choices ?? {}))
    await dialog.getByLabel(label, { exact: true }).selectOption(option);
  await fill(dialog, form);
  return dialog;
}

async function fill(dialog: Locator, { fields = {}, file = false }: Pick<ConsoleForm, 'fields' | 'file'>) {
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label, { exact: true }).fill(value);
  if (file)
    await dialog
      .getByLabel('File')
      .setInputFiles({ name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') });
}

/** Before the page can render anything in between. */
const TWO_CLICKS = (button: unknown): void => {
  const { form } = button as { readonly form: { requestSubmit(): void } };
  form.requestSubmit();
  form.requestSubmit();
};

/** The changes that a form sends: the session is lost at the first one, if wanted, then the server fails, and then it is slow. */
async function watchChanges(page: Page, { operation }: ConsoleForm, losesSession: boolean) {
  const keys: string[] = [];
  const refusals = [
    ...(losesSession ? [refusal(401, 'not_signed_in', 'Sign in.')] : []),
    refusal(500, 'internal_error', 'It broke.'),
  ];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const isOperation = (request: Request): boolean => {
    const [method, path = ''] = operation.split(' ');
    const wanted = new RegExp(`^${path.replaceAll('*', '[^/]+')}$`);
    return request.method() === method && wanted.test(new URL(request.url()).pathname);
  };
  const handler = async (route: Parameters<Parameters<Page['route']>[1]>[0], request: Request): Promise<void> => {
    const key = request.headers()['idempotency-key'];
    // What a page reads with POST has no key.
    if (!isOperation(request) || key === undefined) return route.continue();
    keys.push(key);
    const next = refusals.shift();
    if (next) return route.fulfill(next);
    await released;
    return route.continue();
  };
  await page.route(/\/(?:admin|console)\/v1\//, handler);
  return { keys, release, stop: () => page.unroute(/\/(?:admin|console)\/v1\//, handler) };
}

const refusal = (status: number, code: string, message: string) => ({ status, json: { error: { code, message } } });

async function signInAgain(page: Page): Promise<void> {
  const again = page.getByRole('dialog', { name: 'Sign in again' });
  await again.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await again.getByRole('button', { name: 'Sign in' }).click();
  await again.waitFor({ state: 'detached' });
}

/** Submits the form until it is accepted. Returns what axe finds in its dialogs, if they are examined. */
async function submitOnce(page: Page, form: ConsoleForm, isExamined: boolean): Promise<string[]> {
  const { action, fields = {} } = form;
  const dialog = await openForm(page, form);
  const obstacles = isExamined ? await obstaclesOf(page, 'dialog[open]') : [];
  const { keys, release, stop } = await watchChanges(page, form, isExamined);
  const submit = dialog.getByRole('button', { name: action, exact: true });
  await submit.evaluate(TWO_CLICKS);
  if (isExamined) await signInAgain(page);
  await dialog.getByRole('alert').waitFor();
  const sent = isExamined ? 2 : 1;
  assert.equal(keys.length, sent, 'two clicks are sent once, and again after signing in');
  for (const [label, value] of Object.entries(fields))
    assert.equal(await dialog.getByLabel(label, { exact: true }).inputValue(), value, `keeps ${label}`);
  await until('a repetition is possible', () => submit.isEnabled());
  await submit.evaluate(TWO_CLICKS);
  await until('the button waits', () => submit.isDisabled());
  await submit.evaluate(TWO_CLICKS);
  release();
  await submit.waitFor({ state: 'detached' });
  assert.equal(keys.length, sent + 1, 'clicks while the server is slow send nothing');
  assert.ok(keys[0], 'it has a key');
  assert.equal(new Set(keys).size, form.file ? 2 : 1, 'every repetition has the same key');
  await stop();
  if (isExamined && (await page.locator('dialog[open]').count()) > 0)
    obstacles.push(...(await obstaclesOf(page, 'dialog[open]')));
  return obstacles;
}

/** The second tab has read the value before the first one changed it. */
async function submitLater(page: Page, form: ConsoleForm, dialog: Locator): Promise<void> {
  const submit = dialog.getByRole('button', { name: form.action, exact: true });
  await submit.click();
  await dialog.getByText('it was changed meanwhile').waitFor();
  await submit.click();
  await submit.waitFor({ state: 'detached' });
  await page.goto('about:blank');
}

for (const reader of ['operator', 'user'] as const)
  test(`every form of the ${reader} submits once, keeps what was typed, and undoes nothing of another tab`, {
    skip,
  }, async () => {
    const [page, second] = readers[reader];
    const findings: string[] = [];
    const own = forms.filter((one) => (one.reader ?? 'operator') === reader);
    const examined = new Set(sampled(own));
    for (const form of own) {
      const { action, path, fields = {}, other } = form;
      const [label = ''] = Object.keys(fields);
      const later =
        other === undefined ? undefined : await openForm(second, { ...form, fields: { ...fields, [label]: other } });
      try {
        const obstacles = await submitOnce(page, form, examined.has(form));
        if (later) await submitLater(second, form, later);
        findings.push(...obstacles.map((obstacle) => `${action} on ${path}: ${obstacle}`));
      } catch (error) {
        throw new Error(`${action} on ${path}: ${error instanceof Error ? error.message : error}`, { cause: error });
      }
    }
    assert.deepEqual(findings, []);
  });

/** Forms without a session, and those whose label is not in their file. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'shell/link.tsx': 'sets up a sign-in: console.test.ts',
  'shell/sign-in.tsx': 'console.test.ts',
  'shell/sign-in-again.tsx': 'above',
  'operator/first-steps.tsx': 'an empty gateway: console.test.ts',
};

test('the table has every form of the console', { skip }, () => {
  const root = new URL('../../console/src/', import.meta.url);
  const actions = new Set(forms.map(({ action }) => action));
  const missing = globSync('**/*.tsx', { cwd: root }).flatMap((file) => {
    if (ELSEWHERE[file.replaceAll('\\', '/')] !== undefined || file.endsWith('form.tsx')) return [];
    const code = readFileSync(new URL(file.replaceAll('\\', '/'), root), 'utf8');
    // `action="Save"`, or a choice of two.
    const given = [...code.matchAll(/\baction(?:=|: )(?:["']([^"']+)["']|\{[^}]*? \? '([^']+)' : '([^']+)'\})/g)];
    return given.flatMap(([, ...labels]) =>
      labels.flatMap((one) => (one && /^[A-Z]/.test(one) && !actions.has(one) ? `${file}: ${one}` : [])),
    );
  });
  assert.deepEqual(missing, []);
});

// set: sweeps; every job of operators and users
/** What operators and users open the console for, in a real Chromium: each job takes the clicks that docs/operating/console.md states. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type Sim, startSim } from '../../sim/index.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { openPage, signInAs, untilLoaded } from '../support/browser.ts';
import { Receiver } from '../support/callbacks.ts';
import { type Canned, startCanned } from '../support/canned.ts';
import { chromiumPath, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { addPerson, browserOf } from '../support/console.ts';
import type { Reader } from '../support/console-pages.ts';
import {
  FAILING_ACCOUNT,
  failInWords,
  playScene,
  SCENE_VIDEO,
  type Scene,
  sceneSetup,
} from '../support/console-scene.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const executable = chromiumPath();
const skip = executable === undefined && NO_CHROMIUM;

let sim: Sim;
let failing: Canned;
let receiver: Receiver;
let gateway: TestGateway;
let browser: Browser;
let scene: Scene;
let own = '';
const readers = {} as Record<Reader, Page>;
const HOMES: Readonly<Record<Reader, string>> = { operator: '/overview', user: '/my/keys' };

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
  scene = await playScene({ url: gateway.url, token: ADMIN_TOKEN, db, keys, receiver, text: plain });
  await db.updateTable('users').set({ max_keys: 5 }).where('id', '=', 'demo').execute();
  for (const role of ['operator', 'user'] as const) {
    const id = await addPerson(db, { email: `${role}@example.test`, role, user: 'demo' });
    readers[role] = (await openPage(browser)).page;
    await signInAs(readers[role].context(), gateway, id);
    if (role === 'operator') continue;
    const person = await browserOf(gateway, id);
    await person.send('GET', '/console/v1/session');
    own = (await person.send<{ id: string }>('POST', '/console/v1/keys', { group: 'responses', name: 'own' })).body.id;
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

/** `link`, `button` and `in` are clicks, so is `choose`; `fill` is typed. */
type Step = readonly [kind: 'link' | 'button' | 'in' | 'choose' | 'fill', what: string, value?: string];
/** What the reader wants to see, as a selector. */
type Job = readonly [name: string, steps: readonly Step[], shows: string];

const link = (name: string): Step => ['link', name];
const button = (name: string): Step => ['button', name];
const row = (id: string): Step => ['in', `tr[data-id="${id}"] a.row-link`];
const fill = (label: string, value: string): Step => ['fill', label, value];

const operatorJobs = (): readonly Job[] => [
  ['see which account is slow or fails', [link('Accounts')], 'tr[data-id="demo-responses"] >> text=/ms| s/'],
  ['see why a provider refuses a credential', [], 'text=Your organization has been disabled'],
  [
    'find a call by its id',
    [link('Requests'), fill('Request id', scene.request)],
    `tbody tr:only-child[data-id="${scene.request}"]`,
  ],
  ['see what a call cost, and why', [link('Requests'), row(scene.request)], 'h2:text-is("Charge")'],
  [
    'see how a call would be served now',
    [link('Requests'), row(scene.request), button('Explain')],
    'dialog >> text=would serve the call',
  ],
  ['find users who reached a limit', [link('Users'), ['choose', 'Limit used', 'Reached']], 'text=Nothing matches'],
  [
    'credit a user',
    [
      link('Users'),
      row('ana'),
      button('Credit'),
      fill('Amount in dollars', '5'),
      fill('Reason', 'paid'),
      fill('Reference', 'invoice-9'),
      button('Book credit'),
    ],
    'text=The credit is booked.',
  ],
  [
    'invite a person with a user, credit and limits',
    [
      link('People'),
      button('Invite person'),
      fill('E-mail', 'new@example.test'),
      fill('User', 'newcomer'),
      fill('First credit in dollars', '25'),
      fill('Dollars a day', '5'),
      button('Invite person'),
    ],
    'dialog >> text=The link is shown only now.',
  ],
  [
    'make a key',
    [link('Keys'), button('Make key'), fill('User', 'ana'), fill('Name', 'second'), button('Make key')],
    'dialog >> text=The value is shown only now.',
  ],
  ['revoke a key', [link('Keys'), row(scene.key), button('Revoke'), button('Revoke key')], 'text=The key is revoked.'],
  [
    'add an account',
    [
      link('Accounts'),
      button('Add account'),
      ['choose', 'Group', 'messages'],
      fill('Id of the account', 'second'),
      fill('Base URL', sim.url),
      fill('Credential', 'sk-second'),
      button('Add account'),
    ],
    'h1:has-text("second")',
  ],
  [
    'test an account',
    [link('Accounts'), row('demo-responses'), button('Test'), button('Run test')],
    'text=It works: first',
  ],
  [
    'park an account',
    [link('Accounts'), row(FAILING_ACCOUNT), button('Park'), button('Park account')],
    'text=The account is parked.',
  ],
  [
    'set a price',
    [
      link('Models'),
      row('messages demo-messages'),
      button('Set price'),
      fill('Price input', '4'),
      button('Save price'),
    ],
    'text=The price is saved.',
  ],
  ['see who set a price', [link('Models'), row('messages demo-messages')], 'td:text-is("operator")'],
  [
    'preview the public prices',
    [link('Models'), button('Import prices'), button('Preview changes')],
    'dialog >> text=to change',
  ],
  ['see what was earned today', [['in', 'a.tile:has-text("Revenue today")']], 'tfoot >> text=$'],
  ['see the largest customers', [link('Ledger'), ['choose', 'Sum by', 'user']], 'tbody >> text=demo'],
  [
    'settle a hold in review',
    [link('Review'), button('Settle'), fill('Tokens on the bill', '1000'), fill('Reason', 'bill'), button('Settle')],
    'text=Decided.',
  ],
  [
    'redeliver a callback',
    [link('Callbacks'), row(scene.callback), button('Redeliver'), button('Redeliver callback')],
    'text=The callback is on its way.',
  ],
  [
    'be warned of a low balance',
    [link('Warnings'), button('Add warning'), fill('Below (US dollars)', '5'), button('Add warning')],
    'text=The warning is saved.',
  ],
];

const userJobs = (): readonly Job[] => [
  [
    'make a key',
    [button('Make key'), fill('Name', 'mine'), button('Make key')],
    'dialog >> text=The value is shown only now.',
  ],
  ['copy a command for a client', [row(own)], 'h2:text-is("Use it")'],
  [
    'limit a key',
    [row(own), button('Edit key'), fill('Requests a minute', '50'), button('Save key')],
    'text=The key is saved.',
  ],
  ['rotate a key', [row(own), button('Rotate'), button('Rotate key')], 'dialog >> text=The value is shown only now.'],
  ['see models and prices', [link('Models')], 'td >> text=$'],
  [
    'try a model',
    [link('Models'), ['in', 'tr[data-id$=" demo-responses"] a:text-is("Playground")'], button('Run')],
    'text=charged',
  ],
  ['make an image', [link('Playground'), button('Image'), button('Run')], 'img.media, [role=alert]'],
  ['make a video', [link('Playground'), button('Video'), button('Run')], 'h2:text-is("Result")'],
  ['see what was spent by day', [link('Usage')], 'tbody >> text=$'],
  ['see every movement of the balance', [link('Statement')], 'tbody tr'],
  ['see why a call failed', [link('Requests'), fill('Status', '404'), row(scene.refused)], 'text=model_not_found'],
  ['watch a video', [link('Tasks'), row(scene.task)], 'video'],
  ['see assets', [link('Assets')], 'text=Brass lamp'],
  [
    'be warned of a low balance',
    [link('Warnings'), button('Add warning'), fill('Below (US dollars)', '5'), button('Add warning')],
    'text=The warning is saved.',
  ],
  [
    'delete a file',
    [link('Files'), ['in', 'tr:has-text("Product sheet") button.danger'], button('Delete object')],
    'text=It is deleted.',
  ],
  ['export the own data', [['in', 'a:text-is("Export my data")']], 'h1'],
];

/** Does the job from the first page of its reader, and returns the number of clicks. */
async function clicksOf(page: Page, reader: Reader, [, steps, shows]: Job): Promise<number> {
  await page.goto(`${gateway.url}/console${HOMES[reader]}`);
  await untilLoaded(page);
  for (const [kind, what, value = ''] of steps) {
    const dialog = page.locator('dialog[open]').last();
    const scope = (await dialog.count()) > 0 ? dialog : page;
    if (kind === 'fill') await scope.getByLabel(what, { exact: true }).fill(value);
    else if (kind === 'choose') await scope.getByLabel(what, { exact: true }).selectOption(value);
    else if (kind === 'in') await page.locator(what).first().click();
    else await scope.getByRole(kind, { name: what, exact: true }).first().click();
  }
  await until(shows, async () => (await page.locator(shows).count()) > 0);
  return steps.filter(([kind]) => kind !== 'fill').length;
}

/** The tables of the page, one for each reader. */
const statedOf = (title: string): Record<string, number> => {
  const text = readFileSync(new URL('../../docs/operating/console.md', import.meta.url), 'utf8');
  const [, part = ''] = text.split(`## ${title}\n`);
  const lines = (part.split('\n## ')[0] ?? '').matchAll(/^\| ([a-z].*?) \| (\d+) \|$/gm);
  return Object.fromEntries([...lines].map(([, name = '', count]) => [name, Number(count)]));
};

for (const [reader, title, jobs] of [
  ['operator', 'Jobs of an operator', operatorJobs],
  ['user', 'Jobs of a user', userJobs],
] as const)
  test(`each job of the ${reader} takes its number of clicks`, { skip }, async () => {
    const counted: Record<string, number> = {};
    for (const job of jobs())
      counted[job[0]] = await clicksOf(readers[reader], reader, job).catch((error: unknown) => {
        throw new Error(`${job[0]}: ${error instanceof Error ? error.message : error}`, { cause: error });
      });
    assert.deepEqual(counted, statedOf(title));
  });

/** The playground in a real Chromium: conversations with calls, files and a second model, and the same request as a program. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { type Sim, startSim } from '../../sim/index.ts';
import { demoSetup } from '../../src/catalog/setup/index.ts';
import { openPage, signInAs, untilLoaded, type WatchedPage } from '../support/browser.ts';
import { chromiumPath, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { addPerson } from '../support/console.ts';
import { SCENE_VIDEO } from '../support/console-scene.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { until } from '../support/wait.ts';

const executable = chromiumPath();
const skip = executable === undefined && NO_CHROMIUM;
const ROOT = new URL('../..', import.meta.url);
const run = promisify(execFile);

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
let browser: Browser;
let watched: WatchedPage;
let page: Page;
const db = () => gateway.context.database.db;

before(async () => {
  if (executable === undefined) return;
  [sim, browser] = await Promise.all([startSim({ video: SCENE_VIDEO }), launchChromium(executable)]);
  gateway = await startGateway({ worker: true });
  keys = await gateway.apply(demoSetup({ url: sim.url, videoUrl: sim.video.url }));
  watched = await openPage(browser, { permissions: ['clipboard-read', 'clipboard-write'] });
  page = watched.page;
  const person = await addPerson(db(), { email: 'dana@example.test', role: 'user', user: 'demo' });
  await signInAs(page.context(), gateway, person);
});
after(async () => {
  if (skip) return;
  await browser?.close();
  await gateway?.stop();
  await sim?.close();
});

const keyId = async (group: string): Promise<string> =>
  (
    await db()
      .selectFrom('keys')
      .select('id')
      .where('group_id', '=', group)
      .where('name', '=', 'demo')
      .executeTakeFirstOrThrow()
  ).id;

async function open(group: string, form = 'text'): Promise<void> {
  await page.goto(`${gateway.url}/console/my/playground?form=${form}&key=${await keyId(group)}`);
  await untilLoaded(page);
  const model = page.getByLabel('Model', { exact: true });
  await until('a model of the key', async () => (await model.inputValue()).startsWith('demo-'));
}

const press = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
const sentBodies = (): string[] => sim.journal.requests.map(({ body }) => body?.toString() ?? '');
const last = (): string => sentBodies().at(-1) ?? '';
const exchange = (n: number) => page.locator('.exchange').nth(n);
/** Its reply is whole, and its charge is known. */
const untilCharged = (n: number): Promise<void> =>
  exchange(n)
    .getByText(/charged \$/)
    .waitFor();

test('a conversation calls a function, goes on with its result, and is edited and sent again', { skip }, async () => {
  await open('messages');
  await page.getByLabel('Model', { exact: true }).fill('demo-messages');
  await page.getByLabel('Instructions').fill('Be brief.');
  await page.getByLabel('Effort').selectOption('low');
  await page.locator('.fold .fold > summary').click();
  await press('Add function');
  await page.getByLabel('Prompt').fill('Explain the weather in "Oslo"');
  const before = sim.journal.requests.length;
  // Two clicks and two shortcuts, all before the page can show that the first one was heard.
  await page.evaluate(`{
    const form = document.querySelector('.composer');
    const key = () => form.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true }));
    form.requestSubmit(); form.requestSubmit(); key(); key();
  }`);
  await page.getByLabel('Result of get_weather').fill('{"celsius":4}');
  assert.equal(sim.journal.requests.length, before + 1, 'one request for four tries');
  assert.match(last(), /"system":.*Be brief\..*"input_schema"/s);
  assert.match(await exchange(0).locator('.thinking').innerText(), /The user wrote/);
  assert.match(await exchange(0).locator('.call').innerText(), /get_weather\s+\{\s+"city": "Oslo"\s+\}/);
  await page.evaluate(
    "{ const form = document.querySelector('.results'); form.requestSubmit(); form.requestSubmit(); }",
  );
  await exchange(1).getByText('The tool get_weather returned').waitFor();
  assert.equal(sim.journal.requests.length, before + 2);
  // The thought of the first reply goes back to the provider that signed it.
  assert.match(last(), /"signature":".*"tool_use_id":.*\{\\"celsius\\":4\}/s);
  await untilCharged(1);

  await page.getByLabel('Prompt').fill('And now?');
  await press('Run');
  await untilCharged(2);
  await exchange(2).getByRole('button', { name: 'Edit' }).click();
  assert.equal(await page.getByLabel('Prompt').inputValue(), 'And now?');
  assert.equal(await page.locator('.exchange').count(), 2);
  await page.getByLabel('Prompt').fill('And tomorrow?');
  await press('Run');
  await untilCharged(2);
  assert.match(last(), /And tomorrow\?/);
  assert.doesNotMatch(last(), /And now\?/, 'what was edited is not sent');
  await press('Clear');
  assert.equal(await page.locator('.exchange').count(), 0);
  assert.deepEqual(watched.faults.splice(0), [], 'the browser logged nothing, also no 404');
});

longTest('two models of two keys reply to one prompt side by side, each charged to its key', { skip }, async () => {
  await open('responses');
  await page.getByLabel('Model', { exact: true }).fill('demo-responses');
  await press('Compare two models');
  const otherKey = await keyId('generate');
  const listed = page.waitForResponse((response) => response.url().includes(`key=${otherKey}`));
  await page.getByLabel('Second key').selectOption(otherKey);
  const second = page.getByLabel('Second model');
  // A list of models that arrives while a name is typed would mix both.
  await listed;
  await until('a model of the second key', async () => (await second.inputValue()) !== '');
  await second.fill('demo-generate');
  await page.getByLabel('Prompt').fill('Which one are you?');
  await press('Run');
  for (const [n, model] of ['demo-responses', 'demo-generate'].entries()) {
    const side = page.locator('.side').nth(n);
    await side.getByText(/charged \$/).waitFor();
    assert.match(
      await side.locator('.reply').innerText(),
      new RegExp(`simulated answer from ${model}.*Which one`, 's'),
    );
  }
  assert.deepEqual(watched.faults.splice(0), []);
});

longTest(
  'a picture and a text go with the prompt, and what cannot be attached is refused by name',
  { skip },
  async () => {
    await open('responses');
    const input = page.getByLabel('Attach');
    await input.setInputFiles([
      { name: 'lamp.png', mimeType: 'image/png', buffer: PICTURE },
      { name: 'notes.md', mimeType: '', buffer: Buffer.from('Of brass.') },
      { name: 'lamp.exe', mimeType: 'application/x-msdownload', buffer: PICTURE },
    ]);
    await page.getByRole('alert').getByText('lamp.exe is not attached').waitFor();
    await page.evaluate(`{
    const field = document.querySelector('.composer input[type=file]');
    const chosen = new DataTransfer();
    chosen.items.add(new File([new Uint8Array(17 * 2 ** 20)], 'huge.png', { type: 'image/png' }));
    field.files = chosen.files;
    field.dispatchEvent(new Event('change', { bubbles: true }));
  }`);
    await page.getByRole('alert').getByText('huge.png is not attached').waitFor();
    assert.equal(await page.locator('.composer .chips li').count(), 2);
    await page.getByLabel('Prompt').fill('What is this?');
    await press('Run');
    await untilCharged(0);
    assert.ok(last().includes(`data:image/png;base64,${PICTURE.toString('base64')}`));
    assert.match(last(), /Of brass\./);
    assert.deepEqual(watched.faults.splice(0), []);
  },
);

longTest(
  'an image is edited with a mask, and a double click makes one video with its first frame',
  { skip },
  async () => {
    await open('responses', 'image');
    await page.getByLabel('Pictures').setInputFiles({ name: 'lamp.png', mimeType: 'image/png', buffer: PICTURE });
    await page.getByLabel('Mask').setInputFiles({ name: 'mask.png', mimeType: 'image/png', buffer: PICTURE });
    await page.getByRole('button', { name: 'Remove mask.png' }).waitFor();
    await press('Run');
    await page.locator('img.media').waitFor();
    await page.getByText(/charged \$/).waitFor();
    assert.match(last(), /name="image\[\]"; filename="lamp\.png".*name="mask"; filename="mask\.png"/s);

    await page.goto(`${gateway.url}/console/my/playground?form=video`);
    await page.getByLabel('Model', { exact: true }).fill('demo-video-2-0-ep');
    await page.getByLabel('Prompt').fill('A lamp at night');
    await page.getByLabel('Pictures').setInputFiles({ name: 'lamp.png', mimeType: 'image/png', buffer: PICTURE });
    await page.getByRole('button', { name: 'Remove lamp.png' }).waitFor();
    await page.getByText('Held at the start, at most:').waitFor();
    await page.evaluate(
      "{ const form = document.querySelector('form.card'); form.requestSubmit(); form.requestSubmit(); }",
    );
    await page.getByRole('heading', { name: 'Result' }).waitFor();
    const tasks = await db().selectFrom('video_tasks').select('id').execute();
    assert.equal(tasks.length, 1);
    watched.faults.length = 0;
  },
);

longTest(
  'the code of a reply makes exactly its request: curl and JavaScript are run, Python compiles',
  { skip },
  async () => {
    for (const [group, dialect] of [
      ['responses', 'Responses'],
      ['messages', 'Messages'],
      ['responses', 'Chat completions'],
      ['generate', 'Generate content'],
    ] as const) {
      await open(group);
      await press(dialect);
      await page.getByLabel('Model', { exact: true }).fill(`demo-${group}`);
      await page.getByLabel('Prompt').fill(`It's "${dialect}" \\ $HOME\n— 你好`);
      await page.getByLabel('Attach').setInputFiles({ name: 'lamp.png', mimeType: 'image/png', buffer: PICTURE });
      await page.getByRole('button', { name: 'Remove lamp.png' }).waitFor();
      await press('Run');
      await untilCharged(0);
      // A native request keeps its bytes, so that the provider has what the page sent.
      const sent = JSON.parse(last());
      const env = { ...process.env, DRAGOMAN_KEY: keys[group] ?? assert.fail(group) };
      for (const language of ['curl', 'Python', 'JavaScript']) {
        await exchange(0).getByRole('button', { name: 'Code' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('button', { name: language, exact: true }).click();
        await dialog.getByRole('button', { name: 'Copy' }).click();
        const code = await page.evaluate<string>('navigator.clipboard.readText()');
        await dialog.getByRole('button', { name: 'Close' }).click();
        if (language === 'Python') {
          await compilePython(code);
          continue;
        }
        const [program, args] =
          language === 'curl' ? ['sh', ['-c', code]] : ['node', ['--input-type=module', '-e', code]];
        const count = sim.journal.requests.length;
        const { stdout } = await run(program, args, { env, cwd: ROOT });
        assert.match(stdout, /simulated/);
        assert.equal(sim.journal.requests.length, count + 1);
        assert.deepEqual(JSON.parse(last()), sent, `${dialect}, ${language}`);
      }
    }
    watched.faults.length = 0;
  },
);

async function compilePython(code: string): Promise<void> {
  await run('python3', ['-c', 'import ast, sys; ast.parse(sys.argv[1])', code]).catch(
    (error: NodeJS.ErrnoException) => {
      // Machines without Python test the rest.
      if (error.code !== 'ENOENT') throw error;
    },
  );
}

/** One transparent pixel. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

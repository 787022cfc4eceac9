/** The API reference: /openapi.json as this server serves it, and the page /docs in a browser. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { writeReference } from '../../scripts/reference/files.ts';
import { ERRORS, type ErrorRow } from '../../src/rules/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

let folder: string;
let gateway: TestGateway;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-reference-'));
  gateway = await startGateway({ env: { CONSOLE_DIR: folder } });
});
after(async () => {
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('/docs says how to build the console when it is not built', async () => {
  const response = await fetch(`${gateway.url}/docs`);
  assert.equal(response.status, 503);
  assert.match(await response.text(), /npm run console/);
});

test('/openapi.json names the address of the server, is compressed, and has a tag that saves its repetition', async () => {
  const first = await fetch(`${gateway.url}/openapi.json`);
  const { openapi, servers } = (await first.json()) as { openapi: string; servers: { url: string }[] };
  assert.deepEqual([openapi, servers], ['3.1.0', [{ url: gateway.url }]]);
  assert.equal(first.headers.get('content-encoding'), 'gzip');
  const etag = first.headers.get('etag') ?? '';
  const again = await fetch(`${gateway.url}/openapi.json`, { headers: { 'if-none-match': etag } });
  assert.deepEqual([again.status, await again.text()], [304, '']);
});

test('/docs has a strict content security policy and serves every file that it names', async () => {
  writeReference(folder);
  writeFileSync(join(folder, 'index.html'), '<!doctype html>');
  for (const path of ['/docs', '/docs/']) {
    const response = await fetch(gateway.url + path);
    assert.equal(response.status, 200, path);
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'; script-src 'self';/);
    assert.doesNotMatch(policy, /unsafe|https?:/);
    const names = [...(await response.text()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, name = '']) => name);
    assert.ok(names.length > 100);
    for (const name of new Set(names.map((name) => name.replace(/#.*/, ''))))
      if (name !== '/console/') assert.equal((await fetch(gateway.url + name, { method: 'HEAD' })).status, 200, name);
  }
  assert.equal((await fetch(`${gateway.url}/docs/nothing.js`)).status, 404);
});

/** Of index.html and what it names, as it was before there were guides, errors and a search. */
const MAX_FIRST_LOAD_BYTES = 11_166;

test('/docs leads a caller to guides, limits and every error with what to do, and its first load stays small', async () => {
  writeReference(folder);
  const read = async (path: string): Promise<string> => {
    const response = await fetch(`${gateway.url}/docs${path}`);
    assert.equal(response.status, 200, path);
    return response.text();
  };
  const first = await Promise.all(['', '/page.js', '/style.css', '/tokens.css', '/icon.svg'].map(read));
  const bytes = first.reduce((sum, text) => sum + gzipSync(text).length, 0);
  assert.ok(bytes <= MAX_FIRST_LOAD_BYTES, `${bytes} bytes`);

  const errors = await read('/errors.html');
  for (const [code, row] of Object.entries<ErrorRow>(ERRORS))
    if (!['admin', 'console'].includes(row.doc))
      assert.match(errors, new RegExp(`id="${code}".*What to do\\.</b> \\S`, 's'), code);
  const guides = new Set<string>(['/guides.html']);
  const broken: string[] = [];
  for (const path of guides) {
    const html = await read(path);
    const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id));
    for (const [, link = ''] of html.matchAll(/href="([^"]+)"/g)) {
      if (link.startsWith('#') && !ids.has(link.slice(1))) broken.push(`${path}: ${link}`);
      if (link.startsWith('/docs/guides/')) guides.add(link.slice('/docs'.length).replace(/#.*/, ''));
      else if (/\.md/.test(link)) broken.push(`${path}: ${link}`);
    }
  }
  assert.deepEqual(broken, []);
  assert.ok(guides.size > 20, `${guides.size} guides`);
  assert.match(await read('/guides/billing.html'), /<table>/);
});

longTest(
  '/docs has every operation on light pages, tries a request with a key, and loads nothing from elsewhere',
  {
    skip: existsSync(CHROMIUM) ? false : `${CHROMIUM} is not installed`,
  },
  async () => {
    const { claude: key = '' } = await gateway.apply({
      groups: [{ id: 'claude', style: 'messages' }],
      users: [{ id: 'ana' }],
      keys: [{ user: 'ana', group: 'claude' }],
    });
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    try {
      const page = await browser.newPage();
      const problems: string[] = [];
      page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
      page.on('pageerror', (error) => problems.push(String(error)));
      page.on('request', (request) => {
        if (!request.url().startsWith(gateway.url)) problems.push(request.url());
      });
      await page.goto(`${gateway.url}/docs`);
      const pages = await page.$$eval('nav li a', (all) => all.map((link) => link.getAttribute('href') ?? ''));
      const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
        paths: Record<string, Record<string, { operationId: string }>>;
      };
      const ids = Object.values(document.paths).flatMap((one) =>
        Object.values(one).map(({ operationId }) => operationId.toLowerCase().replaceAll(/[^a-z0-9]+/g, '')),
      );
      const shown = new Set<string>();
      for (const path of pages) {
        await page.goto(gateway.url + path);
        for (const id of await page.$$eval('article', (all) => all.map((one) => one.id))) shown.add(id);
        const nodes = await page.evaluate<number>("document.querySelectorAll('*').length");
        assert.ok(nodes < MAX_NODES, `${path} has ${nodes} nodes`);
      }
      assert.deepEqual(
        ids.filter((id) => !shown.has(id)),
        [],
      );

      await page.goto(`${gateway.url}/docs/modelsandusage.html#modelslist`);
      const operation = page.locator('#modelslist');
      await operation.getByText('Try it').click();
      await operation.getByLabel('API key').fill(key);
      await operation.getByRole('button', { name: 'Send GET' }).click();
      await operation.getByText('200 OK').waitFor();
      assert.match(await operation.locator('pre').last().innerText(), /"object": "list"/);
      await operation.getByText('Example in curl, Python and JavaScript').click();
      const example = operation.locator('pre[data-language=curl]');
      assert.match(await example.innerText(), new RegExp(`curl '${gateway.url}/v1/models'`));

      for (const [words, title, place] of [
        ['insufficient_balance', 'insufficient_balance', '/docs/errors.html#insufficient_balance'],
        ['429 wait', 'rate_limit_exceeded', '/docs/errors.html#rate_limit_exceeded'],
        ['ANTHROPIC_BASE_URL haiku', 'Claude Code', '/docs/guides/claude-code.html'],
        ['POST /v1/messages', 'Send a messages-dialect request', '/docs/messages.html#messagescreate'],
        ['pixels', 'Limits: Images', '/docs/limits.html#images'],
      ] as const) {
        await page.goto(`${gateway.url}/docs`);
        await page.getByRole('searchbox').fill(words);
        await page.locator('#found').getByRole('link', { name: title }).first().click();
        await page.waitForURL(gateway.url + place);
      }
      assert.deepEqual(problems, []);
    } finally {
      await browser.close();
    }
  },
);

/** The page of all operations of operators is the largest. */
const MAX_NODES = 15_000;

/** The API reference: /openapi.json as this server serves it, and the page /docs in a browser. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { copyReference } from '../../scripts/reference.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';

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
  copyReference(folder);
  writeFileSync(join(folder, 'index.html'), '<!doctype html>');
  for (const path of ['/docs', '/docs/']) {
    const response = await fetch(gateway.url + path);
    assert.equal(response.status, 200, path);
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'; script-src 'self';/);
    assert.doesNotMatch(policy, /unsafe|https?:/);
    const names = [...(await response.text()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, name = '']) => name);
    assert.equal(names.length, 4);
    for (const name of names) assert.equal((await fetch(gateway.url + name, { method: 'HEAD' })).status, 200, name);
  }
  assert.equal((await fetch(`${gateway.url}/docs/nothing.js`)).status, 404);
});

test('/docs shows every operation in a browser, breaks no policy and loads nothing from elsewhere', {
  skip: existsSync(CHROMIUM) ? false : `${CHROMIUM} is not installed`,
}, async () => {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('request', (request) => {
      const url = request.url().replace(/^blob:/, '');
      if (!url.startsWith(gateway.url) && !url.startsWith('data:')) problems.push(url);
    });
    await page.goto(`${gateway.url}/docs`);
    await page.waitForSelector('[data-section-id]', { timeout: 120_000 });
    const shown = await page.$$eval('[data-section-id]', (sections) =>
      sections.map((section) => section.getAttribute('data-section-id') ?? ''),
    );
    const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    for (const operations of Object.values(document.paths))
      for (const { operationId } of Object.values(operations))
        assert.ok(
          shown.some((id) => id.endsWith(`/${operationId}`)),
          operationId,
        );
    assert.deepEqual(problems, []);
  } finally {
    await browser.close();
  }
});

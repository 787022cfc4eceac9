/** Results that are not what a video provider should send: none is served as a type that a browser renders, and none runs script. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { chromiumPath, launchChromium, NO_CHROMIUM } from '../support/chromium.ts';
import { longTest } from '../support/long-test.ts';
import { KEYS, startVideo, type VideoFixture } from '../support/video.ts';
import { lastFramePath, readResult, succeed } from '../support/video-results.ts';

const SCRIPT = `fetch('/ran'+location.pathname)`;
const SVG = `<svg xmlns="http://www.w3.org/2000/svg"><script>${SCRIPT}</script></svg>`;
const HTML = `<!doctype html><script>${SCRIPT}</script>`;
const PDF = `%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\n${HTML}`;
const XML = `<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">${SCRIPT}</x:script>`;
const GIF_POLYGLOT = `GIF89a/*${HTML}*/=1`;

/** A file of a provider: its type, its bytes, and the type it is served with; undefined when it is rejected. */
const FILES: readonly [type: string, bytes: string, served: string | undefined][] = [
  ['image/svg+xml', SVG, undefined],
  ['IMAGE/SVG+XML; charset=utf-8', SVG, undefined],
  ['text/html', HTML, undefined],
  ['application/xhtml+xml', XML, undefined],
  ['application/xml', XML, undefined],
  ['application/pdf', PDF, undefined],
  ['image/x-anything', HTML, undefined],
  ['application/octet-stream', SVG, 'application/octet-stream'],
  ['application/octet-stream', PDF, 'application/octet-stream'],
  ['application/octet-stream', GIF_POLYGLOT, 'image/gif'],
  ['', HTML, 'application/octet-stream'],
  ['image/png', HTML, 'image/png'],
  ['video/mp4', SVG, 'video/mp4'],
];

let fixture: VideoFixture;
let provider: Server;
let origin: string;
/** A task for each file, because a server remembers the type of a result. */
let tasks: readonly string[];

before(async () => {
  provider = createServer((request, response) => {
    const [type, bytes] = FILES[Number(request.url?.slice(1))] ?? ['', ''];
    response.writeHead(200, { ...(type && { 'content-type': type }), 'content-length': Buffer.byteLength(bytes) });
    response.end(bytes);
  });
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  fixture = await startVideo({
    worker: true,
    video: { queuedMs: 10, runningMs: 10 },
    env: { EGRESS_ALLOW: origin },
  });
  const created: string[] = [];
  for (const n of FILES.keys()) created.push(await taskWith(n));
  tasks = created;
});
after(async () => {
  await fixture?.close();
  provider.closeAllConnections();
  provider.close();
});

async function taskWith(file: number): Promise<string> {
  const id = await succeed(fixture, { body: { return_last_frame: true } });
  const { db } = fixture.gateway.context.database;
  await db
    .updateTable('video_tasks')
    .set({ last_frame_url: `${origin}/${file}` })
    .where('id', '=', id)
    .execute();
  return id;
}

for (const [n, [type, bytes, served]] of FILES.entries())
  test(`a result of type "${type}" that begins with ${JSON.stringify(bytes.slice(0, 8))} is ${served ? `served as ${served}` : 'rejected'}`, async () => {
    const { status, headers, error } = await readResult(fixture, lastFramePath(tasks[n] ?? ''));
    if (served === undefined) return assert.deepEqual([status, error], [502, 'upstream_error']);
    assert.deepEqual([status, headers.get('content-type')], [200, served]);
    assert.equal(headers.get('content-security-policy'), "sandbox; default-src 'none'");
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.match(
      headers.get('content-disposition') ?? '',
      served.startsWith('application') ? /^attachment; / : /^inline; /,
    );
  });

const executable = chromiumPath();

longTest(
  'a browser that opens a result as a page runs nothing of it',
  {
    skip: executable === undefined && NO_CHROMIUM,
  },
  async () => {
    const browser = await launchChromium(executable ?? '');
    try {
      const page = await browser.newPage({ extraHTTPHeaders: { authorization: `Bearer ${KEYS.ana}` } });
      const ran: string[] = [];
      page.on('request', (request) => request.url().includes('/ran') && ran.push(request.url()));
      for (const n of FILES.keys()) {
        const path = lastFramePath(tasks[n] ?? '');
        // Chromium ends the navigation when it saves the file instead.
        await page.goto(fixture.gateway.url + path, { waitUntil: 'load' }).catch((error: Error) => {
          assert.match(error.message, /Download is starting|ERR_ABORTED/);
        });
      }
      assert.deepEqual(ran, []);
      // The same files without these headers do run script: the check above is able to fail.
      await page.goto(`${origin}/0`, { waitUntil: 'networkidle' });
      assert.equal(ran.length, 1);
    } finally {
      await browser.close();
    }
  },
);

/** Image URLs that the gateway fetches for providers that need bytes. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;
let imageServer: Server;
let origin: string;
let fetchCount = 0;

before(async () => {
  imageServer = createServer((request, response) => {
    fetchCount += 1;
    if (request.url === '/moved.png') return void response.writeHead(302, { location: '/lamp.png' }).end();
    response.writeHead(200, { 'content-type': 'image/png' }).end(PNG);
  });
  await new Promise<void>((resolve) => imageServer.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(imageServer.address() as AddressInfo).port}`;
  sim = await startSim();
  gateway = await startGateway({ env: { EGRESS_ALLOW: origin } });
  keys = await gateway.apply(basicSetup(sim.url));
});
after(async () => {
  await gateway.stop();
  await sim.close();
  imageServer.close();
});

const sendImage = (url: string) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.gemini}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'demo-generate',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'what is this?' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
    }),
  });

test('[S23 L20] image URLs are fetched and sent inline, with the type of their bytes, to a provider that needs bytes', async () => {
  sim.journal.clear();
  assert.equal((await sendImage(`${origin}/lamp.png`)).status, 200);
  const sent = JSON.parse(sim.journal.requests.at(-1)?.body?.toString() ?? '{}');
  const part = sent.contents[0].parts.find((entry: { inlineData?: unknown }) => entry.inlineData);
  assert.deepEqual(part.inlineData, { mimeType: 'image/png', data: PNG.toString('base64') });
});

for (const url of [
  'http://169.254.169.254/latest/meta-data',
  'https://127.0.0.1/x.png',
  'https://[::1]/x',
  'https://localhost/x',
  'file:///etc/passwd',
  'https://user:pw@example.com/x',
  'https://2130706433/',
]) {
  test(`[S23 L20] SSRF: ${url} is rejected before any request is made`, async () => {
    const before = fetchCount;
    sim.journal.clear();
    const response = await sendImage(url);
    assert.equal(response.status, 400);
    assert.equal(fetchCount, before);
    assert.equal(sim.journal.requests.length, 0);
  });
}

test('image URL redirects are not followed', async () => {
  const response = await sendImage(`${origin}/moved.png`);
  assert.equal(response.status, 400);
});

/** Image URLs that the gateway fetches for providers that need bytes. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';

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
    if (request.url?.startsWith('/large-')) {
      response.writeHead(200, { 'content-type': 'image/png' });
      return void response.end(Buffer.concat([PNG, Buffer.alloc(15 * 2 ** 20)]));
    }
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

const sendImage = (...urls: string[]) =>
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
            ...urls.map((url) => ({ type: 'image_url', image_url: { url } })),
          ],
        },
      ],
    }),
  });

test('image URLs are fetched and sent inline, with the type of their bytes, to a provider that needs bytes', async () => {
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
  test(`SSRF: ${url} is rejected before any request is made`, async () => {
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

longTest(
  'media that are too large together are 400 before the provider is called, also when one URL is named often',
  async () => {
    sim.journal.clear();
    const many = Array.from({ length: 20 }, (_, n) => `${origin}/large-${n}.png`);
    for (const urls of [many, Array(3).fill(`${origin}/large-0.png`)]) {
      const response = await sendImage(...urls);
      assert.equal(response.status, 400);
      const { error } = (await response.json()) as { error: { message: string } };
      assert.match(error.message, /more than 40 MiB together/);
    }
    assert.equal(sim.journal.requests.length, 0);
    assert.equal((await sendImage(...many.slice(0, 2))).status, 200, 'two of them fit');
  },
);

test('media take part in the memory for bodies, and give it back', async () => {
  const small = await startGateway({
    database: gateway.database,
    env: { EGRESS_ALLOW: origin, BODY_MEMORY_BYTES: String(16 * 2 ** 20) },
  });
  try {
    const response = await fetch(`${small.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.gemini}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'demo-generate',
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: `${origin}/large-0.png` } }] }],
      }),
    });
    assert.ok([429, 503].includes(response.status), String(response.status));
    const metrics = await (await fetch(`${small.url}/metrics`)).text();
    assert.match(metrics, /^dragoman_large_body_bytes 0$/m);
  } finally {
    await small.stop();
  }
});

test('G 4.3: counting fetches image URLs as the call itself does', async () => {
  const url = `${origin}/lamp.png`;
  for (const [path, body] of [
    [
      '/v1/messages/count_tokens',
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }] }] },
    ],
    [
      '/v1/responses/input_tokens',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url, detail: 'auto' }] }] },
    ],
  ] as const) {
    sim.journal.clear();
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.gemini}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo-generate', ...body }),
    });
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get('x-gateway-token-count'), null);
    assert.ok(sim.journal.requests.at(-1)?.body?.includes(PNG.toString('base64')), path);
  }
});

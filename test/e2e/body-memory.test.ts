// set: load; memory of large bodies
/** Memory of request bodies: one budget for the process with a share for each key, checked while bodies are decompressed. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { errorCode } from '../support/error-body.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { jsonOf, request, Wire } from '../support/raw.ts';
import { until } from '../support/wait.ts';

const MIB = 2 ** 20;
const BUDGET = 32 * MIB;
const REPLY = '{"id":"msg_1","usage":{"input_tokens":1,"output_tokens":1}}';

let upstream: Canned;
let gateway: TestGateway;
let ana: string;
let ben: string;
/** The provider responds when this resolves. */
let release = Promise.withResolvers<void>();

before(async () => {
  upstream = await startCanned();
  upstream.respondWith(async (response, received) => {
    await release.promise;
    await jsonResponse(REPLY)(response, received);
  });
  gateway = await startGateway({ env: { BODY_MEMORY_BYTES: String(BUDGET) } });
  ana = (await gateway.apply(basicSetup(upstream.url))).claude ?? '';
  ben =
    (await gateway.apply({ users: [{ id: 'ben', balance: '100' }], keys: [{ user: 'ben', group: 'claude' }] }))
      .claude ?? '';
});
after(async () => {
  release.resolve();
  await gateway?.stop();
  await upstream?.close();
});

/** Compresses to a fiftieth; what compresses further is rejected for that. */
const NOISE = randomBytes(64 * 1024).toString('base64');
const bodyOf = (bytes: number, text = NOISE): string =>
  `{"model":"demo-messages","messages":[],"x":"${text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes)}"}`;

const send = (key: string, body: Buffer, encoding: string): Promise<Response> =>
  fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-encoding': encoding },
    body: new Uint8Array(body),
  });

async function keptBytes(): Promise<number> {
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  return Number(/^dragoman_large_body_bytes (\d+)/m.exec(metrics)?.[1] ?? assert.fail(metrics));
}

test('compressed bodies that grow beyond the memory budget are rejected, and others still get a share', async () => {
  const bomb = zstdCompressSync(bodyOf(3 * MIB));
  assert.ok(bomb.length < 80_000, `${bomb.length} bytes`);
  const responses = Array.from({ length: 20 }, () => send(ana, bomb, 'zstd'));
  const settled: Response[] = [];
  for (const response of responses) void response.then((one) => settled.push(one));
  // Three bodies of 3 MiB and their copies fit into three quarters of the budget.
  await until('the rejections', () => settled.length === 17);
  for (const response of settled) {
    assert.equal(errorCode('messages', response.status, await response.json()), 'rate_limit_exceeded');
    assert.ok(Number(response.headers.get('retry-after')) >= 1);
  }
  assert.ok((await keptBytes()) <= (BUDGET * 3) / 4);
  const other = send(ben, gzipSync(bodyOf(MIB)), 'gzip');
  const small = send(ana, gzipSync(bodyOf(100_000)), 'gzip');
  await until('the requests at the provider', () => upstream.requests.length === 5);
  release.resolve();
  assert.deepEqual([(await other).status, (await small).status], [200, 200]);
  for (const response of await Promise.all(responses)) if (response.status === 200) await response.text();
  assert.equal(settled.filter(({ status }) => status === 200).length, 3);
  await until('the memory', async () => (await keptBytes()) === 0);
  release = Promise.withResolvers();
});

test('a body that expands to more than 64 times its compressed size is 413, however much memory is free', async () => {
  for (const [encoding, compress] of [
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    const response = await send(ana, compress(bodyOf(3 * MIB, ' ')), encoding);
    assert.equal(response.status, 413);
    const error = (await response.json()) as { error: { message: string } };
    assert.equal(errorCode('messages', 413, error), 'request_too_large');
    assert.match(error.error.message, /^content-encoding: .* more than 64 times its compressed size/);
  }
  assert.equal(await keptBytes(), 0);
});

test('a content encoding with the name of an object member is 415', async () => {
  for (const encoding of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    const response = await send(ana, Buffer.from('{}'), encoding);
    assert.equal(errorCode('messages', response.status, await response.json()), 'unsupported_media_type');
    assert.equal(response.status, 415);
  }
});

for (const [about, framing] of [
  ['declared', ['content-length', String(60 * MIB)]],
  ['chunked', ['transfer-encoding', 'chunked']],
] as const)
  test(`a client that sends a body of 60 MiB (${about}) before it reads gets an error, not a reset`, async () => {
    const wire = new Wire(gateway.url);
    wire.socket.pause();
    wire.send(request('POST /v1/chat/completions HTTP/1.1', [['authorization', `Bearer ${ana}`], framing]));
    const block = Buffer.alloc(MIB, ' ');
    const piece = about === 'chunked' ? Buffer.concat([Buffer.from('100000\r\n'), block, Buffer.from('\r\n')]) : block;
    for (let n = 0; n < 60; n += 1) if (!wire.socket.write(piece)) await once(wire.socket, 'drain');
    wire.socket.resume();
    const response = await wire.response();
    // Without a length, the memory of the key ends before the limit of the endpoint.
    const [status, code] = about === 'declared' ? [413, 'request_too_large'] : [429, 'rate_limit_exceeded'];
    assert.equal(response?.status, status);
    assert.equal(errorCode('openai', status, jsonOf(response)), code);
    wire.end();
  });

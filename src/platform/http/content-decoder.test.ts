import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { systemClock } from '../../core/index.ts';
import type { Exchange, TransportError } from './client.ts';
import type { HttpHeaders } from './headers.ts';
import { createHttpClient } from './stack.ts';

let respond: (response: ServerResponse) => void = () => {};
const server = createServer((_request, response) => respond(response));
const client = createHttpClient({ clock: systemClock });
let origin = '';

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  await client.close();
  server.closeAllConnections();
  server.close();
});

class Received {
  readonly exchange: Exchange;
  headers: HttpHeaders | undefined;
  bytes = 0;
  readonly #chunks: Buffer[] = [];
  readonly #done = Promise.withResolvers<TransportError | 'end'>();

  constructor(onData: (received: Received) => boolean = () => true, encoding: 'decode' | 'keep' = 'decode') {
    const timeouts = { connect: 1_000, firstByte: 10_000, idle: 10_000, total: 60_000 };
    const request = { method: 'GET', origin, path: '/', headers: [], body: null, timeouts, encoding } as const;
    this.exchange = client.send(request, {
      onHead: (_status, headers) => {
        this.headers = headers;
      },
      onData: (chunk) => {
        this.bytes += chunk.length;
        this.#chunks.push(chunk);
        return onData(this);
      },
      onEnd: () => this.#done.resolve('end'),
      onError: this.#done.resolve,
    });
  }

  get done(): Promise<TransportError | 'end'> {
    return this.#done.promise;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

const TEXT = JSON.stringify({ text: 'ä'.repeat(100_000) });
const sendAll =
  (encoding: string, body: Buffer): typeof respond =>
  (response) =>
    response.writeHead(200, { 'content-encoding': encoding, 'content-length': body.length, etag: 'x' }).end(body);

for (const [encoding, compress] of [
  ['gzip', gzipSync],
  ['X-GZIP', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
] as const)
  test(`a response in ${encoding} (${compress.name}) is decoded, and its head says nothing of it`, async () => {
    respond = sendAll(encoding, compress(TEXT));
    const received = new Received();
    assert.equal(await received.done, 'end');
    assert.equal(received.text, TEXT);
    assert.equal(received.headers?.['content-encoding'], undefined);
    assert.equal(received.headers?.['content-length'], undefined);
    assert.equal(received.headers?.etag, 'x');
  });

test('a body without encoding or without bytes passes as it is', async () => {
  respond = sendAll('identity', Buffer.from('plain'));
  const plain = new Received();
  assert.equal(await plain.done, 'end');
  assert.equal(plain.text, 'plain');
  respond = sendAll('gzip', Buffer.alloc(0));
  const empty = new Received();
  assert.equal(await empty.done, 'end');
  assert.equal(empty.text, '');
});

test('a request for a file keeps the encoded bytes', async () => {
  const body = gzipSync(TEXT);
  respond = sendAll('gzip', body);
  const received = new Received(() => true, 'keep');
  assert.equal(await received.done, 'end');
  assert.equal(received.bytes, body.length);
  assert.equal(received.headers?.['content-encoding'], 'gzip');
});

test('an unknown encoding and malformed or truncated data are failures of the provider', async () => {
  for (const [encoding, body, code] of [
    ['compress', Buffer.from('x'), /^CONTENT_ENCODING$/],
    ['gzip, br', gzipSync(TEXT), /^CONTENT_ENCODING$/],
    ['gzip', Buffer.from('not gzip at all'), /^Z_DATA_ERROR$/],
    ['gzip', gzipSync(TEXT).subarray(0, -20), /^Z_BUF_ERROR$/],
  ] as const) {
    respond = sendAll(encoding, body);
    const outcome = await new Received().done;
    assert.ok(outcome !== 'end');
    assert.equal(outcome.kind, 'failed');
    assert.match(outcome.code, code);
  }
});

test('a listener that pauses holds back a small body that decodes to a huge one', async () => {
  const size = 256 * 2 ** 20;
  respond = sendAll('gzip', gzipSync(Buffer.alloc(size)));
  const paused = Promise.withResolvers<void>();
  let isPausing = true;
  const received = new Received(() => {
    if (isPausing) paused.resolve();
    return !isPausing;
  });
  await paused.promise;
  const before = received.bytes;
  // Further requests run meanwhile, so the decoder has had its turns.
  for (let n = 0; n < 20; n++) await fetch(origin);
  assert.equal(received.bytes, before, 'nothing arrives during a pause');
  isPausing = false;
  received.exchange.resume();
  // Enough to see that it continues; the rest is aborted.
  while (received.bytes < 2 ** 20) await new Promise((resolve) => setImmediate(resolve));
  received.exchange.abort();
  const aborted = received.bytes;
  for (let n = 0; n < 5; n++) await fetch(origin);
  assert.equal(received.bytes, aborted, 'nothing arrives after an abort');
});

test('an error that the listener throws ends its exchange and nothing else', async () => {
  respond = sendAll('gzip', gzipSync(TEXT));
  const received = new Received(() => {
    throw new RangeError('bug');
  });
  assert.deepEqual(await received.done, { kind: 'failed', code: 'RangeError' });
});

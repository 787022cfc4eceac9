/** Which connection a call goes over: kept ones, new ones, and never one that is not fit. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { certificateFor } from '../../test/support/certificate.ts';
import { type RawPeer, RawServer } from '../../test/support/raw-server.ts';
import { FakeClock, systemClock } from '../core/index.ts';
import type { Timeouts } from '../rules/index.ts';
import { type TransportError, UpstreamClient } from './client.ts';
import { type OpenSocket, openTcpOrTls, targetOf } from './open-socket.ts';

const PATIENCE: Timeouts = { connect: 1_000, firstByte: 10_000, idle: 10_000, total: 20_000 };
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

const server = new RawServer();
let origin = '';
const open: UpstreamClient[] = [];

before(async () => {
  origin = await server.listen();
});
beforeEach(() => {
  server.forget();
  server.reply = ({ socket }) => socket.write(ANSWER);
});
after(async () => {
  for (const upstream of open) await upstream.close();
  server.close();
});

/** With the sockets that it opened, in order. */
function upstreamOn(
  clock = systemClock,
  connectMs = PATIENCE.connect,
): { upstream: UpstreamClient; dialled: Socket[] } {
  const dialled: Socket[] = [];
  const upstream = new UpstreamClient(clock, connectMs, (target) => {
    const socket = connect(target);
    dialled.push(socket);
    return socket;
  });
  open.push(upstream);
  return { upstream, dialled };
}

/** Settles with the body or the trouble. */
function call(
  upstream: UpstreamClient,
  path = '/',
  at = origin,
  onEnd = (): void => {},
): Promise<string | TransportError> {
  const { promise, resolve } = Promise.withResolvers<string | TransportError>();
  let body = '';
  upstream.send(
    { method: 'GET', origin: at, path, headers: [], body: null, timeouts: PATIENCE },
    {
      onHead() {},
      onData(chunk) {
        body += chunk.toString('latin1');
        return true;
      },
      onEnd() {
        onEnd();
        resolve(body);
      },
      onError: resolve,
    },
  );
  return promise;
}

const closed = async (socket: Socket | undefined): Promise<void> => {
  while (socket && !socket.closed) await turn();
};

test('one connection serves one call after the other, also a call that is made at the end of one', async () => {
  const { upstream, dialled } = upstreamOn();
  assert.equal(await call(upstream), 'ok');
  let next: Promise<string | TransportError> | undefined;
  await call(upstream, '/', origin, () => {
    next = call(upstream);
  });
  assert.equal(await next, 'ok');
  assert.equal(dialled.length, 1);
  assert.equal(server.requests.length, 3);
});

test('of several connections the one that was used last is used next', async () => {
  const { upstream, dialled } = upstreamOn();
  const waiting: RawPeer[] = [];
  server.reply = (peer) => waiting.push(peer);
  const calls = [call(upstream), call(upstream), call(upstream)];
  while (waiting.length < 3) await turn();
  for (const n of [2, 0, 1]) {
    // In this order, each before the next one.
    server.peers[n]?.socket.write(ANSWER);
    const port = server.peers[n]?.socket.remotePort;
    await calls[dialled.findIndex(({ localPort }) => localPort === port)];
  }
  server.reply = ({ socket }) => socket.write(ANSWER);
  const before = server.peers[1]?.received.length ?? 0;
  assert.equal(await call(upstream), 'ok');
  assert.ok((server.peers[1]?.received.length ?? 0) > before);
  assert.equal(dialled.length, 3);
});

test('a hundred calls at once get each its own answer', async () => {
  const { upstream, dialled } = upstreamOn();
  server.reply = ({ socket }, request) => {
    const path = request.split(' ')[1] ?? '';
    setImmediate(() => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${path.length}\r\n\r\n${path}`));
  };
  const paths = Array.from({ length: 100 }, (_, n) => `/${n}`);
  for (let round = 0; round < 3; round++)
    assert.deepEqual(await Promise.all(paths.map((path) => call(upstream, path))), paths);
  assert.equal(dialled.length, 100);
});

test('a connection is not used again when its answer says so or leaves a doubt', async () => {
  for (const answer of [
    'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok',
    'HTTP/1.1 200 OK\r\nConnection: x-a, Close\r\ncontent-length: 2\r\n\r\nok',
    'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok',
    'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok',
    `${ANSWER}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`,
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nx',
  ]) {
    const { upstream, dialled } = upstreamOn();
    server.reply = ({ socket }) => socket.write(answer);
    assert.equal(await call(upstream), 'ok', answer);
    assert.ok(dialled[0]?.destroyed, answer);
    server.reply = ({ socket }) => socket.write(ANSWER);
    assert.equal(await call(upstream), 'ok', answer);
    assert.equal(dialled.length, 2, answer);
  }
});

test('a kept connection that is closed or speaks unasked is let go', async () => {
  for (const end of [
    ({ socket }: RawPeer) => socket.end(),
    ({ socket }: RawPeer) => socket.resetAndDestroy(),
    ({ socket }: RawPeer) => socket.write('HTTP/1.1 408 Request Timeout\r\ncontent-length: 4\r\n\r\nlate'),
  ]) {
    server.forget();
    server.reply = ({ socket }) => socket.write(ANSWER);
    // The time stands still: it is not its age that ends it.
    const { upstream, dialled } = upstreamOn(new FakeClock());
    assert.equal(await call(upstream), 'ok');
    end(server.peers[0] ?? assert.fail());
    await closed(dialled[0]);
    assert.equal(await call(upstream), 'ok');
    assert.equal(dialled.length, 2);
  }
});

for (const [about, header, keptMs] of [
  ['four seconds', '', 4_000],
  ['a second less than the server says', 'keep-alive: timeout=3, max=100\r\n', 2_000],
  ['four seconds where the server would wait longer', 'Keep-Alive: max=9, timeout=600\r\n', 4_000],
] as const)
  test(`a connection is kept for ${about}`, async () => {
    const clock = new FakeClock();
    const { upstream, dialled } = upstreamOn(clock);
    server.reply = ({ socket }) => socket.write(`HTTP/1.1 200 OK\r\n${header}content-length: 2\r\n\r\nok`);
    await call(upstream);
    clock.advance(keptMs - 1);
    await call(upstream);
    assert.equal(dialled.length, 1);
    clock.advance(keptMs);
    await call(upstream);
    assert.equal(dialled.length, 2);
    await closed(dialled[0]);
  });

test('a connection that nobody needs any more is closed, though nobody calls', async () => {
  const { upstream, dialled } = upstreamOn();
  server.reply = ({ socket }) =>
    socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=2\r\ncontent-length: 2\r\n\r\nok');
  await Promise.all([call(upstream), call(upstream)]);
  assert.equal(dialled.length, 2);
  await Promise.all(server.peers.map(({ socket }) => once(socket, 'close')));
});

test('a kept connection that breaks on its next request is broken, and nothing is sent twice', async () => {
  const { upstream, dialled } = upstreamOn();
  await call(upstream);
  server.reply = ({ socket }) => socket.destroy();
  assert.deepEqual(await call(upstream), { kind: 'failed', code: 'CLOSED_EARLY' });
  assert.equal(server.requests.length, 2);
  assert.equal(dialled.length, 1);
});

test('closing ends what is under way and what waits, and nothing begins afterwards', async () => {
  const { upstream, dialled } = upstreamOn();
  await call(upstream);
  await call(upstream, '/', 'http://127.0.0.1:1');
  server.reply = () => {};
  const under = [call(upstream), call(upstream)];
  while (server.requests.length < 3) await turn();
  await upstream.close();
  assert.deepEqual(await Promise.all(under), new Array(2).fill({ kind: 'failed', code: 'CLOSED' }));
  assert.deepEqual(await call(upstream), { kind: 'failed', code: 'CLOSED' });
  assert.equal(dialled.length, 3);
  assert.ok(dialled.every(({ destroyed }) => destroyed));
});

test('an origin says where to connect, also by address and without a port', () => {
  for (const [at, host, port, isTls] of [
    ['http://a.test', 'a.test', 80, false],
    ['https://a.test', 'a.test', 443, true],
    ['https://a.test:8443', 'a.test', 8443, true],
    ['http://[::1]:81', '::1', 81, false],
  ] as const)
    assert.deepEqual(targetOf(new URL(at)), { host, port, isTls });
});

/** A TLS server for `localhost` that answers everything, and the connections it had. */
async function startTls(host = 'localhost') {
  const { key, cert } = certificateFor(host);
  const seen: unknown[] = [];
  const tls = createTlsServer({ key, cert, ALPNProtocols: ['h2', 'http/1.1'] }, (socket: TLSSocket) => {
    seen.push([socket.servername, socket.alpnProtocol, socket.isSessionReused()]);
    socket.on('error', () => {});
    socket.on('data', () => socket.end(ANSWER.replace('OK\r\n', 'OK\r\nconnection: close\r\n')));
  });
  tls.listen(0, '127.0.0.1');
  await once(tls, 'listening');
  const trusting: OpenSocket = (target) => openTcpOrTls({ ...target, ca: cert });
  return {
    at: `https://localhost:${(tls.address() as AddressInfo).port}`,
    seen,
    trusting,
    close: () => tls.close(),
  };
}

test('TLS: a trusted certificate of the right name is called, and its session saves the next handshake', async () => {
  const tls = await startTls();
  const upstream = new UpstreamClient(systemClock, PATIENCE.connect, tls.trusting);
  try {
    for (let n = 0; n < 3; n++) assert.equal(await call(upstream, '/', tls.at), 'ok');
    assert.deepEqual(
      tls.seen,
      [false, true, true].map((isReused) => ['localhost', 'http/1.1', isReused]),
    );
  } finally {
    await upstream.close();
    tls.close();
  }
});

test('TLS: nobody is called whose certificate is not trusted or for another name, whatever the environment says', async () => {
  const [own, other] = await Promise.all([startTls(), startTls('elsewhere.test')]);
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    for (const [tls, dialling, code] of [
      [own, openTcpOrTls, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
      [other, other.trusting, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ] as const) {
      const upstream = new UpstreamClient(systemClock, PATIENCE.connect, dialling);
      assert.deepEqual(await call(upstream, '/', tls.at), { kind: 'unreachable', code });
      await upstream.close();
    }
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    own.close();
    other.close();
  }
});

test('a connection that does not come about, its handshake included, is unreachable after the connect time', async () => {
  const sockets: Socket[] = [];
  const mute = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {}).resume();
  });
  mute.listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const upstream = new UpstreamClient(systemClock, 50);
  const at = `https://127.0.0.1:${(mute.address() as AddressInfo).port}`;
  assert.deepEqual(await call(upstream, '/', at), { kind: 'unreachable', code: 'CONNECT_TIME' });
  await Promise.all(sockets.map(closed));
  // What answers a handshake with something else is no server either.
  mute.on('connection', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const trouble = await call(upstream, '/', at);
  assert.equal(typeof trouble === 'object' && trouble.kind, 'unreachable');
  const nameless = await call(upstream, '/', 'http://no-such-name.invalid');
  assert.equal(typeof nameless === 'object' && nameless.kind, 'unreachable');
  await upstream.close();
  mute.close();
});

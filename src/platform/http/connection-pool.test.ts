/** Reuse of provider connections: idle ones, new ones, and those that must not be reused. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { certificateFor } from '../../../test/support/certificate.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { type RawPeer, RawServer } from '../../../test/support/raw-server.ts';
import { type Clock, systemClock } from '../../core/index.ts';
import type { HttpClient, HttpRequest, RequestTimeouts, TransportError } from './client.ts';
import { type OpenSocket, openTcpOrTls, targetOf } from './open-socket.ts';
import { createHttpClient } from './stack.ts';

const TIMEOUTS: RequestTimeouts = { connect: 1_000, firstByte: 10_000, idle: 10_000, total: 20_000 };
const RESPONSE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

const server = new RawServer();
let origin = '';
const open: HttpClient[] = [];

before(async () => {
  origin = await server.listen();
});
beforeEach(() => {
  server.reset();
  server.respond = ({ socket }) => socket.write(RESPONSE);
});
after(async () => {
  for (const upstream of open) await upstream.close();
  server.close();
});

/** A client with the sockets that it opened, in order. */
function upstreamOn(
  clock: Clock = systemClock,
  connectionsPerOrigin?: number,
): { upstream: HttpClient; sockets: Socket[] } {
  const sockets: Socket[] = [];
  const openSocket: OpenSocket = (target) => {
    const socket = connect(target);
    sockets.push(socket);
    return socket;
  };
  const upstream = createHttpClient({ clock, openSocket, connectionsPerOrigin });
  open.push(upstream);
  return { upstream, sockets };
}

/** Resolves with the body or the error. */
function call(
  upstream: HttpClient,
  path = '/',
  at = origin,
  onEnd = (): void => {},
  timeouts = TIMEOUTS,
  connection: HttpRequest['connection'] = 'any',
  isResendable = false,
): Promise<string | TransportError> {
  const { promise, resolve } = Promise.withResolvers<string | TransportError>();
  let body = '';
  upstream.send(
    { method: 'GET', origin: at, path, headers: [], body: null, timeouts, connection, isResendable },
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

test('a connection serves one request after another, including one sent from onEnd', async () => {
  const { upstream, sockets } = upstreamOn();
  assert.equal(await call(upstream), 'ok');
  let next: Promise<string | TransportError> | undefined;
  await call(upstream, '/', origin, () => {
    next = call(upstream);
  });
  assert.equal(await next, 'ok');
  assert.equal(sockets.length, 1);
  assert.equal(server.requests.length, 3);
});

test('the pool reuses the most recently used connection', async () => {
  const { upstream, sockets } = upstreamOn();
  const waiting: RawPeer[] = [];
  server.respond = (peer) => waiting.push(peer);
  const calls = [call(upstream), call(upstream), call(upstream)];
  while (waiting.length < 3) await turn();
  for (const n of [2, 0, 1]) {
    // In this order, each before the next one.
    server.peers[n]?.socket.write(RESPONSE);
    const port = server.peers[n]?.socket.remotePort;
    await calls[sockets.findIndex(({ localPort }) => localPort === port)];
  }
  server.respond = ({ socket }) => socket.write(RESPONSE);
  const before = server.peers[1]?.received.length ?? 0;
  assert.equal(await call(upstream), 'ok');
  assert.ok((server.peers[1]?.received.length ?? 0) > before);
  assert.equal(sockets.length, 3);
});

test('a hundred concurrent requests each get their own response', async () => {
  const { upstream, sockets } = upstreamOn();
  server.respond = ({ socket }, request) => {
    const path = request.split(' ')[1] ?? '';
    setImmediate(() => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${path.length}\r\n\r\n${path}`));
  };
  const paths = Array.from({ length: 100 }, (_, n) => `/${n}`);
  for (let round = 0; round < 3; round++)
    assert.deepEqual(await Promise.all(paths.map((path) => call(upstream, path))), paths);
  assert.equal(sockets.length, 100);
});

test('beyond the limit of connections to an origin a request fails before it is sent, and idle connections make room', async () => {
  const { upstream, sockets } = upstreamOn(systemClock, 2);
  const waiting: RawPeer[] = [];
  server.respond = (peer) => waiting.push(peer);
  const calls = [call(upstream), call(upstream)];
  while (waiting.length < 2) await turn();
  assert.deepEqual(await call(upstream), { kind: 'unreachable', code: 'TOO_MANY_CONNECTIONS' });
  assert.equal(server.requests.length, 2);
  server.respond = ({ socket }) => socket.write(RESPONSE);
  for (const peer of waiting) peer.socket.write(RESPONSE);
  assert.deepEqual(await Promise.all(calls), ['ok', 'ok']);
  // Both connections are idle now; a request that wants a new one closes the older.
  assert.equal(await call(upstream, '/', origin, undefined, TIMEOUTS, 'new'), 'ok');
  assert.deepEqual([sockets.length, sockets.filter(({ destroyed }) => !destroyed).length], [3, 2]);
});

test('a connection is not reused when its response forbids it or has extra bytes', async () => {
  for (const response of [
    'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok',
    'HTTP/1.1 200 OK\r\nConnection: x-a, Close\r\ncontent-length: 2\r\n\r\nok',
    'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok',
    'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok',
    `${RESPONSE}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`,
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nx',
  ]) {
    const { upstream, sockets } = upstreamOn();
    server.respond = ({ socket }) => socket.write(response);
    assert.equal(await call(upstream), 'ok', response);
    assert.ok(sockets[0]?.destroyed, response);
    server.respond = ({ socket }) => socket.write(RESPONSE);
    assert.equal(await call(upstream), 'ok', response);
    assert.equal(sockets.length, 2, response);
  }
});

test('an idle connection that closes or sends unsolicited bytes is dropped', async () => {
  for (const end of [
    ({ socket }: RawPeer) => socket.end(),
    ({ socket }: RawPeer) => socket.resetAndDestroy(),
    ({ socket }: RawPeer) => socket.write('HTTP/1.1 408 Request Timeout\r\ncontent-length: 4\r\n\r\nlate'),
  ]) {
    server.reset();
    server.respond = ({ socket }) => socket.write(RESPONSE);
    // A fake clock, so that the connection does not expire.
    const { upstream, sockets } = upstreamOn(new FakeClock());
    assert.equal(await call(upstream), 'ok');
    end(server.peers[0] ?? assert.fail());
    await closed(sockets[0]);
    assert.equal(await call(upstream), 'ok');
    assert.equal(sockets.length, 2);
  }
});

for (const [description, header, keptMs] of [
  ['four seconds', '', 4_000],
  ['one second less than the server announces', 'keep-alive: timeout=3, max=100\r\n', 2_000],
  ['four seconds when the server announces more', 'Keep-Alive: max=9, timeout=600\r\n', 4_000],
] as const)
  test(`an idle connection is kept for ${description}`, async () => {
    const clock = new FakeClock();
    const { upstream, sockets } = upstreamOn(clock);
    server.respond = ({ socket }) => socket.write(`HTTP/1.1 200 OK\r\n${header}content-length: 2\r\n\r\nok`);
    await call(upstream);
    clock.advance(keptMs - 1);
    await call(upstream);
    assert.equal(sockets.length, 1);
    clock.advance(keptMs);
    await call(upstream);
    assert.equal(sockets.length, 2);
    await closed(sockets[0]);
  });

test('expired idle connections are closed without further requests, few in a turn', async () => {
  const { upstream, sockets } = upstreamOn();
  server.respond = ({ socket }) =>
    socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=2\r\ncontent-length: 2\r\n\r\nok');
  await Promise.all(Array.from({ length: 40 }, () => call(upstream)));
  assert.equal(sockets.length, 40);
  const closedIn: number[] = [];
  let turn = 0;
  let next = setImmediate(function count() {
    turn += 1;
    next = setImmediate(count);
  });
  for (const socket of sockets) {
    const destroy = socket.destroy.bind(socket);
    socket.destroy = (error) => {
      if (!socket.destroyed) closedIn[turn] = (closedIn[turn] ?? 0) + 1;
      return destroy(error);
    };
  }
  await Promise.all(server.peers.map(({ socket }) => once(socket, 'close')));
  clearImmediate(next);
  assert.ok(
    Object.values(closedIn).every((count) => count <= 16),
    String(closedIn),
  );
});

test('a reused connection that fails is an error, and the request is not resent', async () => {
  const { upstream, sockets } = upstreamOn();
  await call(upstream);
  server.respond = ({ socket }) => socket.destroy();
  assert.deepEqual(await call(upstream), { kind: 'failed', code: 'CLOSED_EARLY' });
  assert.equal(server.requests.length, 2);
  assert.equal(sockets.length, 1);
});

const resendable = (upstream: HttpClient): Promise<string | TransportError> =>
  call(upstream, '/', origin, undefined, TIMEOUTS, 'any', true);

for (const [description, end] of [
  ['closes', ({ socket }: RawPeer) => socket.destroy()],
  ['resets', ({ socket }: RawPeer) => socket.resetAndDestroy()],
] as const)
  test(`a resendable request leaves again when the server ${description} the idle connection it left on`, async () => {
    const { upstream, sockets } = upstreamOn(new FakeClock());
    await resendable(upstream);
    let isFirst = true;
    server.respond = (peer) => {
      if (isFirst) end(peer);
      else peer.socket.write(RESPONSE);
      isFirst = false;
    };
    assert.equal(await resendable(upstream), 'ok');
    assert.deepEqual([server.requests.length, sockets.length], [3, 2]);
  });

test('a resendable request leaves only once more, and only if nothing shows that the server has read it', async () => {
  const cases: readonly [respond: (peer: RawPeer, clock: FakeClock) => void, requests: number][] = [
    // Every connection closes: the new one cannot have been idle.
    [({ socket }) => void socket.destroy(), 3],
    [({ socket }) => void socket.end('HTTP/1.1 2'), 2],
    [
      ({ socket }, clock) => {
        clock.advance(1_001);
        socket.destroy();
      },
      2,
    ],
  ];
  for (const [respond, requests] of cases) {
    server.reset();
    server.respond = ({ socket }) => socket.write(RESPONSE);
    const clock = new FakeClock();
    const { upstream } = upstreamOn(clock);
    await resendable(upstream);
    server.respond = (peer) => respond(peer, clock);
    assert.deepEqual(await resendable(upstream), { kind: 'failed', code: 'CLOSED_EARLY' });
    assert.equal(server.requests.length, requests);
  }
});

test('close() ends open and idle connections and rejects new requests', async () => {
  const { upstream, sockets } = upstreamOn();
  await call(upstream);
  await call(upstream, '/', 'http://127.0.0.1:1');
  server.respond = () => {};
  const pending = [call(upstream), call(upstream)];
  while (server.requests.length < 3) await turn();
  await upstream.close();
  assert.deepEqual(await Promise.all(pending), new Array(2).fill({ kind: 'failed', code: 'CLOSED' }));
  assert.deepEqual(await call(upstream), { kind: 'failed', code: 'CLOSED' });
  assert.equal(sockets.length, 3);
  assert.ok(sockets.every(({ destroyed }) => destroyed));
});

test('targetOf returns host, port and TLS of an origin', () => {
  for (const [at, host, port, isTls] of [
    ['http://a.test', 'a.test', 80, false],
    ['https://a.test', 'a.test', 443, true],
    ['https://a.test:8443', 'a.test', 8443, true],
    ['http://[::1]:81', '::1', 81, false],
  ] as const)
    assert.deepEqual(targetOf(new URL(at)), { host, port, isTls });
});

/** A TLS server for `localhost` that responds to every request and records its connections. */
async function startTls(host = 'localhost') {
  const { key, cert } = certificateFor(host);
  const seen: unknown[] = [];
  const tls = createTlsServer({ key, cert, ALPNProtocols: ['h2', 'http/1.1'] }, (socket: TLSSocket) => {
    seen.push([socket.servername, socket.alpnProtocol, socket.isSessionReused()]);
    socket.on('error', () => {});
    socket.on('data', () => socket.end(RESPONSE.replace('OK\r\n', 'OK\r\nconnection: close\r\n')));
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

test('TLS: the client accepts a trusted certificate and resumes its session', async () => {
  const tls = await startTls();
  const upstream = createHttpClient({ clock: systemClock, openSocket: tls.trusting });
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

test('TLS: the client rejects an untrusted certificate or another name, whatever the environment sets', async () => {
  const [own, other] = await Promise.all([startTls(), startTls('elsewhere.test')]);
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    for (const [tls, openSocket, code] of [
      [own, openTcpOrTls, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
      [other, other.trusting, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ] as const) {
      const upstream = createHttpClient({ clock: systemClock, openSocket });
      assert.deepEqual(await call(upstream, '/', tls.at), { kind: 'unreachable', code });
      await upstream.close();
    }
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    own.close();
    other.close();
  }
});

test('a connection that is not established in time, TLS included, is unreachable', async () => {
  const sockets: Socket[] = [];
  const mute = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {}).resume();
  });
  mute.listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const upstream = createHttpClient({ clock: systemClock });
  const at = `https://127.0.0.1:${(mute.address() as AddressInfo).port}`;
  const brief = { ...TIMEOUTS, connect: 50 };
  assert.deepEqual(await call(upstream, '/', at, undefined, brief), { kind: 'unreachable', code: 'CONNECT_TIME' });
  await Promise.all(sockets.map(closed));
  // A server that does not speak TLS is unreachable too.
  mute.on('connection', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const failed = await call(upstream, '/', at);
  assert.equal(typeof failed === 'object' && failed.kind, 'unreachable');
  const nameless = await call(upstream, '/', 'http://no-such-name.invalid');
  assert.equal(typeof nameless === 'object' && nameless.kind, 'unreachable');
  await upstream.close();
  mute.close();
});

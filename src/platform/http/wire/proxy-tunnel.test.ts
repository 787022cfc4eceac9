/** Requests through outbound proxies, over real sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { inspect, promisify } from 'node:util';
import { certificateFor } from '../../../../test/support/certificate.ts';
import { startConnectProxy, startSocksProxy, type TestProxy } from '../../../../test/support/proxy.ts';
import { until } from '../../../../test/support/wait.ts';
import { systemClock } from '../../../core/index.ts';
import type { HttpRequest, TransportError } from '../client.ts';
import { type OpenSocket, openTcpOrTls } from '../open-socket.ts';
import { createHttpClient } from '../stack.ts';
import { openTunnel } from './proxy-tunnel.ts';

const TIMEOUTS = { connect: 60_000, firstByte: 60_000, idle: 60_000, total: 60_000 };
const CREDENTIALS = 'ana:pa55%40 word';
const WRITTEN = 'ana:pa55%2540%20word';

const proxyCertificate = certificateFor('localhost');
const serverCertificate = certificateFor('provider.test');
const open: TestProxy[] = [];
let plain: Server;
let secure: Server;
let connections = 0;

const respond: RequestListener = (request, response) => response.end(`${request.method} ${request.headers.host}`);
const portOf = (server: Server): number => (server.address() as AddressInfo).port;
const openOf = promisify<Server, number>((server, report) =>
  server.getConnections((error, count) => report(error, count)),
);

before(async () => {
  plain = createServer(respond).on('connection', () => {
    connections += 1;
  });
  secure = createTlsServer(serverCertificate, respond);
  for (const server of [plain, secure]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
});
after(async () => {
  for (const proxy of open) await proxy.close();
  for (const server of [plain, secure]) {
    server.closeAllConnections();
    server.close();
  }
});

const started = async (starting: Promise<TestProxy>): Promise<TestProxy> => {
  const proxy = await starting;
  open.push(proxy);
  return proxy;
};

const openSocket: OpenSocket = (target) =>
  openTcpOrTls({ ...target, ca: [proxyCertificate.cert, serverCertificate.cert] });

const requestOf = (request: Partial<HttpRequest>): HttpRequest => ({
  method: 'GET',
  origin: `http://provider.test:${portOf(plain)}`,
  path: '/',
  headers: [],
  body: null,
  timeouts: TIMEOUTS,
  ...request,
});

/** Resolves with the body or the error of the last of several requests in a row. */
async function call(...requests: Partial<HttpRequest>[]): Promise<string | TransportError> {
  const client = createHttpClient({ clock: systemClock, openSocket });
  try {
    let result: string | TransportError = '';
    for (const request of requests)
      result = await new Promise((resolve) => {
        let body = '';
        client.send(requestOf(request), {
          onHead() {},
          onData(chunk) {
            body += chunk;
            return true;
          },
          onEnd: () => resolve(body),
          onError: resolve,
        });
      });
    return result;
  } finally {
    await client.close();
  }
}

for (const [description, start, credentials] of [
  ['HTTP CONNECT', () => startConnectProxy(), undefined],
  ['HTTP CONNECT with credentials', () => startConnectProxy({ credentials: CREDENTIALS }), WRITTEN],
  ['HTTP CONNECT over TLS', () => startConnectProxy({ tls: proxyCertificate, credentials: CREDENTIALS }), WRITTEN],
  ['SOCKS5', () => startSocksProxy(), undefined],
  ['SOCKS5 with credentials', () => startSocksProxy({ credentials: CREDENTIALS }), WRITTEN],
] as const)
  test(`proxy: requests go through ${description}, and TLS to the provider is verified`, async () => {
    const proxy = await started(start());
    const url = credentials ? proxy.urlFor(credentials) : proxy.url;
    const [http, https] = [`provider.test:${portOf(plain)}`, `provider.test:${portOf(secure)}`];
    const before = connections;
    const post = { proxy: url, method: 'POST', body: 'x' } as const;
    assert.equal(await call(post, post, post), `POST ${http}`);
    assert.equal(connections, before + 1, 'the connection is reused');
    assert.equal(await call({ proxy: url, origin: `https://${https}` }), `GET ${https}`);
    // The name does not resolve here: the proxy gets it.
    assert.deepEqual(proxy.targets, [http, https]);
    assert.deepEqual(await call({ proxy: url, origin: `https://other.test:${portOf(secure)}` }), {
      kind: 'unreachable',
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    for (const server of [plain, secure])
      await until('the end of the tunnels', async () => (await openOf(server)) === 0);
  });

test('proxy: with socks5 the name is resolved before, and the proxy gets an address', async () => {
  const proxy = await started(startSocksProxy());
  const origin = `http://localhost:${portOf(plain)}`;
  assert.equal(await call({ proxy: proxy.url.replace('socks5h', 'socks5'), origin }), `GET ${new URL(origin).host}`);
  assert.match(proxy.targets[0] ?? '', /^(?:127\.0\.0\.1|0\.0.*\.1):\d+$/);
});

for (const [description, start, credentials, code] of [
  ['HTTP proxy without credentials', () => startConnectProxy({ credentials: CREDENTIALS }), '', 'PROXY_AUTH'],
  ['HTTP proxy with wrong ones', () => startConnectProxy({ credentials: CREDENTIALS }), 'ana:no', 'PROXY_AUTH'],
  ['HTTP proxy that refuses', () => startConnectProxy({ refuses: true }), '', 'PROXY_REFUSED'],
  ['SOCKS proxy without credentials', () => startSocksProxy({ credentials: CREDENTIALS }), '', 'PROXY_AUTH'],
  ['SOCKS proxy with wrong ones', () => startSocksProxy({ credentials: CREDENTIALS }), 'ana:no', 'PROXY_AUTH'],
  ['SOCKS proxy that refuses', () => startSocksProxy({ refuses: true }), '', 'PROXY_REFUSED'],
  [
    'TLS proxy with a certificate for another name',
    () => startConnectProxy({ tls: certificateFor('elsewhere.test') }),
    '',
    'PROXY_DEPTH_ZERO_SELF_SIGNED_CERT',
  ],
] as const)
  test(`proxy: ${description} makes the provider unreachable with ${code}`, async () => {
    const proxy = await started(start());
    const error = await call({ proxy: credentials ? proxy.urlFor(credentials) : proxy.url });
    assert.deepEqual(error, { kind: 'unreachable', code });
    assert.deepEqual(proxy.targets, []);
  });

/** A server of raw bytes that keeps what it received. */
async function startRaw(onRequest: (socket: Socket) => void): Promise<TestProxy & { readonly received: string[] }> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    const at = received.push('') - 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      received[at] += bytes.toString('latin1');
      if (received[at]?.endsWith('\r\n\r\n')) onRequest(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    urlFor: (credentials) => `http://${credentials}@127.0.0.1:${port}`,
    targets: [],
    received,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

test('proxy: one that is not there, or silent, makes the provider unreachable', async () => {
  for (const scheme of ['http', 'socks5h'])
    assert.deepEqual(await call({ proxy: `${scheme}://127.0.0.1:1` }), {
      kind: 'unreachable',
      code: 'PROXY_ECONNREFUSED',
    });
  const mute = createTcpServer((socket) => void socket.on('error', () => {}).resume());
  mute.listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const { port } = mute.address() as AddressInfo;
  for (const scheme of ['http', 'https', 'socks5h'])
    assert.deepEqual(
      await call({ proxy: `${scheme}://127.0.0.1:${port}`, timeouts: { ...TIMEOUTS, connect: 100 } }),
      { kind: 'unreachable', code: 'CONNECT_TIME' },
      scheme,
    );
  mute.close();
});

test('proxy: the connection to a silent one closes with the request that waits for it', async () => {
  let closed = 0;
  const proxy = await startRaw((socket) => socket.once('close', () => (closed += 1)));
  open.push(proxy);
  const client = createHttpClient({ clock: systemClock, openSocket });
  const unused = { onHead() {}, onData: () => true, onEnd() {}, onError() {} };
  const timeouts = { connect: 600_000, firstByte: 600_000, idle: 600_000, total: 600_000 };
  const exchange = client.send(requestOf({ proxy: proxy.url, timeouts }), unused);
  await until('the CONNECT', () => proxy.received[0]?.endsWith('\r\n\r\n'));
  exchange.abort();
  await until('the end of the connection', () => closed === 1);
  const failed = Promise.withResolvers<TransportError>();
  client.send(requestOf({ proxy: proxy.url, timeouts }), { ...unused, onError: failed.resolve });
  await until('the CONNECT', () => proxy.received[1]?.endsWith('\r\n\r\n'));
  await client.close();
  assert.deepEqual(await failed.promise, { kind: 'unreachable', code: 'CLOSED' });
  await until('the end of the connection', () => closed === 2);
});

test('proxy: CONNECT names the server and has the credentials; its response may come in parts', async () => {
  const proxy = await startRaw((socket) => {
    for (const byte of 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nVia: x\r\nContent-Length: 9\r\n\r\n')
      socket.write(byte);
    socket.removeAllListeners('data');
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'));
  });
  open.push(proxy);
  for (const [origin, authority] of [
    ['http://provider.test', 'provider.test:80'],
    ['http://[2001:db8::1]:8080', '[2001:db8::1]:8080'],
  ] as const)
    assert.equal(await call({ origin, proxy: proxy.urlFor(WRITTEN) }), 'ok', authority);
  const basic = Buffer.from(CREDENTIALS).toString('base64');
  assert.deepEqual(proxy.received, [
    `CONNECT provider.test:80 HTTP/1.1\r\nhost: provider.test:80\r\nproxy-authorization: Basic ${basic}\r\n\r\n`,
    `CONNECT [2001:db8::1]:8080 HTTP/1.1\r\nhost: [2001:db8::1]:8080\r\nproxy-authorization: Basic ${basic}\r\n\r\n`,
  ]);
});

const OK = 'HTTP/1.1 200 OK\r\n';
for (const [description, response, code] of [
  ['text', 'hello\r\n\r\n', 'PROXY_BAD_HTTP'],
  ['bytes of another protocol', '\x15\x03\x01\x00\x02\x02\x46', 'PROXY_BAD_HTTP'],
  ['bare line feeds', 'HTTP/1.1 200 OK\n\n', 'PROXY_BAD_HTTP'],
  ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 'PROXY_BAD_HTTP'],
  ['a head without end', `${OK}${`x: ${'x'.repeat(1_000)}\r\n`.repeat(70)}`, 'PROXY_BAD_HTTP'],
  ['headers without end', `${OK}${'x: y\r\n'.repeat(300)}\r\n`, 'PROXY_BAD_HTTP'],
  ['informational responses without end', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(20), 'PROXY_BAD_HTTP'],
  ['a response in the name of the server', `${OK}\r\n${OK}content-length: 6\r\n\r\nforged`, 'PROXY_BAD_HTTP'],
  ['half a head, then the end', 'HTTP/1.1 2', 'PROXY_CLOSED_EARLY'],
  ['nothing, then the end', '', 'PROXY_CLOSED_EARLY'],
  ['a redirect', 'HTTP/1.1 302 Found\r\nlocation: http://elsewhere.test/\r\n\r\n', 'PROXY_REFUSED'],
  ['a page', 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 6\r\n\r\n<html>', 'PROXY_REFUSED'],
  ['a demand for credentials', 'HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\n\r\n', 'PROXY_AUTH'],
] as const)
  test(`proxy: one that sends ${description} gives ${code}, without the credentials`, async () => {
    const proxy = await startRaw((socket) =>
      code === 'PROXY_CLOSED_EARLY' ? socket.end(response, 'latin1') : socket.write(response, 'latin1'),
    );
    open.push(proxy);
    const url = proxy.urlFor(WRITTEN);
    for (const origin of [`http://provider.test:${portOf(plain)}`, `https://provider.test:${portOf(secure)}`])
      assert.deepEqual(await call({ origin, proxy: url }), { kind: 'unreachable', code });
    const { signal } = new AbortController();
    const target = { host: 'provider.test', port: 80 };
    const error = await openTunnel({ proxy: url, target, openSocket, signal, timeoutMs: 10_000 }).catch(
      (thrown) => thrown,
    );
    assert.equal(error.code, code);
    for (const secret of ['pa55', Buffer.from(CREDENTIALS).toString('base64')])
      assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(secret), secret);
    assert.ok(
      proxy.received.every((text) => /^CONNECT [^\r]+\r\n(?:[^\r]+\r\n)+\r\n$/.test(text)),
      'nothing but CONNECT was sent',
    );
  });

test('proxy: a connection serves only requests with the same proxy', async () => {
  const [one, other] = [await started(startConnectProxy()), await started(startSocksProxy())];
  const origin = `http://localhost:${portOf(plain)}`;
  const before = connections;
  const ways = [{ proxy: one.url, origin }, { proxy: other.url, origin }, { origin }];
  assert.equal(await call(...ways, ...ways), `GET ${new URL(origin).host}`);
  assert.deepEqual([one.targets.length, other.targets.length, connections - before], [1, 1, 3]);
});

test('proxy: a request with checked addresses never goes through one', async () => {
  const proxy = await started(startConnectProxy());
  const error = await call({ proxy: proxy.url, addresses: ['127.0.0.1'] });
  assert.deepEqual(error, { kind: 'failed', code: 'TypeError' });
  assert.deepEqual(proxy.targets, []);
});

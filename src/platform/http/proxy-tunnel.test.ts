/** Requests through outbound proxies, over real sockets, on both stacks. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { after, before } from 'node:test';
import { certificateFor } from '../../../test/support/certificate.ts';
import { stackUnderTest, testOnStacks } from '../../../test/support/http-stack.ts';
import { startConnectProxy, startSocksProxy, type TestProxy } from '../../../test/support/proxy.ts';
import { systemClock } from '../../core/index.ts';
import type { HttpRequest, TransportError } from './client.ts';
import { openTcpOrTls } from './open-socket.ts';
import { createHttpClient } from './stack.ts';

const TIMEOUTS = { connect: 2_000, firstByte: 5_000, idle: 5_000, total: 10_000 };
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

/** Resolves with the body or the error, of as many requests in a row as given. */
async function call(request: Partial<HttpRequest>, times = 1): Promise<string | TransportError> {
  const client = createHttpClient({
    clock: systemClock,
    stack: stackUnderTest(),
    openSocket: (target) => openTcpOrTls({ ...target, ca: [proxyCertificate.cert, serverCertificate.cert] }),
  });
  try {
    let result: string | TransportError = '';
    for (let n = 0; n < times; n += 1)
      result = await new Promise((resolve) => {
        let body = '';
        client.send(
          {
            method: 'GET',
            origin: `http://provider.test:${portOf(plain)}`,
            path: '/',
            headers: [],
            body: null,
            timeouts: TIMEOUTS,
            ...request,
          },
          {
            onHead() {},
            onData(chunk) {
              body += chunk;
              return true;
            },
            onEnd: () => resolve(body),
            onError: resolve,
          },
        );
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
  testOnStacks(`proxy: requests go through ${description}, and TLS to the provider is verified`, async () => {
    const proxy = await started(start());
    const url = credentials ? proxy.urlFor(credentials) : proxy.url;
    const [http, https] = [`provider.test:${portOf(plain)}`, `provider.test:${portOf(secure)}`];
    const before = connections;
    assert.equal(await call({ proxy: url, method: 'POST', body: 'x' }, 3), `POST ${http}`);
    assert.equal(connections, before + 1, 'the connection is reused');
    assert.equal(await call({ proxy: url, origin: `https://${https}` }), `GET ${https}`);
    // The name does not resolve here: the proxy gets it.
    assert.deepEqual(proxy.targets, [http, https]);
    assert.deepEqual(await call({ proxy: url, origin: `https://other.test:${portOf(secure)}` }), {
      kind: 'unreachable',
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

testOnStacks('proxy: with socks5 the name is resolved before, and the proxy gets an address', async () => {
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
  testOnStacks(`proxy: ${description} makes the provider unreachable with ${code}`, async () => {
    const proxy = await started(start());
    const error = await call({ proxy: credentials ? proxy.urlFor(credentials) : proxy.url });
    assert.deepEqual(error, { kind: 'unreachable', code });
    assert.deepEqual(proxy.targets, []);
  });

testOnStacks('proxy: one that is not there, or silent, makes the provider unreachable', async () => {
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

testOnStacks('proxy: a request with checked addresses never goes through one', async () => {
  const proxy = await started(startConnectProxy());
  const error = await call({ proxy: proxy.url, addresses: ['127.0.0.1'] });
  assert.deepEqual(error, { kind: 'failed', code: 'TypeError' });
  assert.deepEqual(proxy.targets, []);
});

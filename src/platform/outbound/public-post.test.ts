import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { NON_PUBLIC_ADDRESSES, REJECTED_URLS } from '../../../test/support/urls.ts';
import { until } from '../../../test/support/wait.ts';
import type { OpenSocket } from '../http/index.ts';
import { type PostResult, PublicFetcher, type PublicFetcherOptions, type PublicPost } from './public-fetch.ts';

const BODY = Buffer.from('{"name":"Zoë"}\n');
const POST: PublicPost = {
  headers: ['content-type', 'application/json', 'x-test', '1'],
  body: BODY,
  headMs: 5_000,
  timeoutMs: 10_000,
  maxBytes: 1_000,
};
const HOST = 'hooks.pinned-host.net';
const PUBLIC = '93.184.215.14';

interface Received {
  readonly request: IncomingMessage;
  readonly body: Buffer;
}

let server: Server;
let origin: string;
let received: Received[] = [];
/** Sends the rest of the stalled response. */
let finish = (): void => {};

const RESPONSES: Readonly<Record<string, RequestListener>> = {
  '/large': (_request, response) => response.end(Buffer.alloc(POST.maxBytes * 100)),
  '/endless': (request, response) => {
    const more = (): void => {
      if (!request.socket.destroyed) response.write(Buffer.alloc(100), () => setImmediate(more));
    };
    more();
  },
  '/mute': () => {},
  '/stalled': (_request, response) => {
    finish = () => response.end('x');
    response.setHeader('content-length', 1).flushHeaders();
  },
  '/cut': (request, response) => response.setHeader('content-length', 100).write('x', () => request.socket.destroy()),
};

before(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    received.push({ request, body: Buffer.concat(chunks) });
    const path = request.url ?? '';
    const status = /^\/(\d{3})/.exec(path)?.[1];
    if (status) response.writeHead(Number(status), { location: `${origin}/200`, 'retry-after': '7' }).end('ignored');
    else RESPONSES[path]?.(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  received = [];
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const allowed = (options: Partial<PublicFetcherOptions> = {}): PublicFetcher =>
  new PublicFetcher({
    allow: [origin],
    clock: new FakeClock(),
    resolve: () => assert.fail(),
    ...options,
  });
const outcomeOf = (result: PostResult): string | number => (result.ok ? result.status : result.reason);
const untilClosed = () =>
  until('all connections to be closed', async () => {
    const open = await new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
    return open === 0;
  });

test('post sends the bytes and headers as given, on a connection of its own', async () => {
  assert.deepEqual(await allowed().post(`${origin}/204?a=b`, POST), { ok: true, status: 204, retryAfter: '7' });
  const [{ request, body } = assert.fail()] = received;
  assert.deepEqual(body, BODY);
  assert.deepEqual([request.method, request.url], ['POST', '/204?a=b']);
  assert.deepEqual(request.headers, {
    host: new URL(origin).host,
    'content-type': 'application/json',
    'x-test': '1',
    accept: '*/*',
    'accept-encoding': 'identity',
    'user-agent': 'dragoman',
    connection: 'close',
    'content-length': String(BODY.length),
  });
});

test('post reports every status and follows no redirect', async () => {
  const statuses = [200, 201, 299, 301, 302, 307, 308, 400, 401, 410, 429, 500, 503];
  for (const status of statuses) assert.equal(outcomeOf(await allowed().post(`${origin}/${status}`, POST)), status);
  assert.equal(received.length, statuses.length);
});

test('post reads no more of the response than its limit', async () => {
  for (const path of ['/large', '/endless']) assert.equal(outcomeOf(await allowed().post(origin + path, POST)), 200);
  await untilClosed();
});

test('post fails when the head or the rest of the response is late, or the response is cut', async () => {
  /**
   * The outcome when so much time passes after the request,
   * or after the head of the response, and then the rest arrives.
   */
  const outcomeAfter = async (path: string, ms: number, hasHead: boolean): Promise<string | number> => {
    const clock = new FakeClock();
    const sockets: Socket[] = [];
    const openSocket: OpenSocket = (target) => {
      const socket = connect(target);
      sockets.push(socket);
      return socket;
    };
    received = [];
    const result = allowed({ clock, openSocket }).post(origin + path, { ...POST, maxBytes: 2 ** 40 });
    await until('the request', () => received.length > 0);
    if (hasHead) await until('the head', () => (sockets[0]?.bytesRead ?? 0) > 0);
    clock.advance(ms);
    finish();
    return outcomeOf(await result);
  };
  assert.equal(await outcomeAfter('/mute', POST.headMs, false), 'time');
  assert.equal(await outcomeAfter('/stalled', POST.headMs, true), 200);
  assert.equal(await outcomeAfter('/stalled', POST.timeoutMs, true), 'time');
  assert.equal(await outcomeAfter('/endless', POST.timeoutMs, true), 'time');
  assert.equal(outcomeOf(await allowed().post(`${origin}/cut`, POST)), 'network');
});

test('post connects to no rejected URL, and checks the addresses of a name at every call', async () => {
  const attempted: string[] = [];
  const openSocket: OpenSocket = ({ host, lookup = assert.fail() }) => {
    lookup(host, { all: true }, (_error, addresses) => attempted.push(JSON.stringify(addresses)));
    return new Socket().destroy(new Error('no network in tests'));
  };
  const clock = new FakeClock();
  const unresolved = new PublicFetcher({
    allow: [],
    clock,
    openSocket,
    resolve: () => assert.fail(),
  });
  for (const url of REJECTED_URLS.flatMap(([, urls]) => urls))
    assert.equal(outcomeOf(await unresolved.post(url, POST)), 'address', url);
  let addresses: string[] = [];
  const rebinding = new PublicFetcher({
    allow: [],
    clock,
    openSocket,
    resolve: async () => addresses,
  });
  const postTo = async (...resolved: string[]): Promise<string | number> => {
    addresses = resolved;
    return outcomeOf(await rebinding.post(`https://${HOST}/`, POST));
  };
  for (const address of NON_PUBLIC_ADDRESSES) {
    assert.equal(await postTo(address), 'address', address);
    assert.equal(await postTo(PUBLIC, address), 'address', address);
  }
  assert.deepEqual(attempted, []);
  assert.equal(await postTo(PUBLIC), 'network');
  assert.deepEqual(attempted, [JSON.stringify([{ address: PUBLIC, family: 4 }])]);
  assert.equal(await postTo(), 'resolve');
});

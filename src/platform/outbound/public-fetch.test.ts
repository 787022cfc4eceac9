import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type LookupFunction,
  Socket,
  type Server as TcpServer,
} from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { certificateFor } from '../../../test/support/certificate.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { startNameServer } from '../../../test/support/nameserver.ts';
import { runs } from '../../../test/support/properties.ts';
import { seededRandom } from '../../../test/support/random.ts';
import { ACCEPTED_URLS, NON_PUBLIC_ADDRESSES, PUBLIC_ADDRESSES, REJECTED_URLS } from '../../../test/support/urls.ts';
import { until } from '../../../test/support/wait.ts';
import { systemClock } from '../../core/index.ts';
import { createHttpClient, type OpenSocket, openTcpOrTls, type TransportError } from '../http/index.ts';
import { detectMime } from './mime-sniff.ts';
import { PublicFetcher, type PublicFetcherOptions, type PublicResult } from './public-fetch.ts';
import { createResolver } from './public-guard.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1');
const HOST = 'media.pinned-host.net';
const PUBLIC = '93.184.215.14';
const LIMITS = { maxBytes: 1_000, timeoutMs: 10_000 };

/** Number of TCP client sockets that this process opened. */
let sockets = 0;
const countSocket = (): void => {
  sockets += 1;
};
/** Hosts that the code under test tried to connect to; no connection is made. */
let attemptedHosts: string[] = [];
const NO_NETWORK = new Error('no network in tests');
const refuseToConnect: OpenSocket = ({ host }) => {
  attemptedHosts.push(host);
  return new Socket().destroy(NO_NETWORK);
};

const fetcher = (options: Partial<PublicFetcherOptions> = {}): PublicFetcher =>
  new PublicFetcher({
    allow: [],
    clock: new FakeClock(),
    openSocket: refuseToConnect,
    resolve: () => assert.fail('the resolver must not be called'),
    ...options,
  });
const resolving = (...addresses: string[]): PublicFetcher => fetcher({ resolve: async () => addresses });
const reasonOf = (result: PublicResult): string => (result.ok ? 'ok' : result.reason);

const RESPONSES: Readonly<Record<string, RequestListener>> = {
  '/image': (_request, response) => response.setHeader('content-type', 'image/png').end(PNG),
  '/unnamed': (_request, response) => response.setHeader('content-type', 'application/octet-stream').end(PNG),
  '/twice': (_request, response) => response.setHeader('content-type', ['image/png', 'image/gif']).end(PNG),
  '/page': (_request, response) => response.setHeader('content-type', 'text/html').end('<html>'),
  '/lie': (_request, response) => response.setHeader('content-type', 'image/png').end('<html>'),
  '/zip': (_request, response) => response.setHeader('content-encoding', 'gzip').end(PNG),
  '/exact': (_request, response) => response.end(Buffer.alloc(LIMITS.maxBytes)),
  '/announced': (_request, response) => {
    response.setHeader('content-length', LIMITS.maxBytes + 1).flushHeaders();
  },
  '/endless': (request, response) => {
    const more = (): void => {
      if (!request.socket.destroyed) response.write(Buffer.alloc(500), () => setImmediate(more));
    };
    more();
  },
  '/mute': () => {},
  '/stalled': (_request, response) => void response.setHeader('content-length', 100).write('x'),
  '/cut': (request, response) => response.setHeader('content-length', 100).write('x', () => request.socket.destroy()),
  '/early': (_request, response) => {
    response.writeEarlyHints({ link: '</x>; rel=preload' });
    response.end(PNG);
  },
  '/upgrade': (request) =>
    request.socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
};

let server: Server;
let origin: string;
let requests: { path: string; headers: Record<string, unknown>; port: number }[] = [];

const listening = async (tcp: TcpServer): Promise<number> => {
  tcp.listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  return (tcp.address() as AddressInfo).port;
};

before(async () => {
  channel('net.client.socket').subscribe(countSocket);
  server = createServer((request, response) => {
    const path = request.url ?? '';
    requests.push({ path, headers: request.headers, port: request.socket.remotePort ?? 0 });
    const status = /^\/(\d{3})$/.exec(path)?.[1];
    if (status)
      response.writeHead(Number(status), { location: `${origin}/image`, 'content-type': 'image/png' }).end(PNG);
    else RESPONSES[path.replace(/\?.*/, '')]?.(request, response);
  });
  origin = `http://127.0.0.1:${await listening(server)}`;
});
beforeEach(() => {
  sockets = 0;
  attemptedHosts = [];
  requests = [];
});
after(() => {
  channel('net.client.socket').unsubscribe(countSocket);
  server.closeAllConnections();
  server.close();
});

test('the fetcher neither resolves nor contacts a rejected URL', async () => {
  const guarded = fetcher();
  for (const url of REJECTED_URLS.flatMap(([, urls]) => urls)) {
    assert.equal(reasonOf(await guarded.fetch(url, LIMITS)), 'address', url);
  }
  assert.deepEqual(attemptedHosts, []);
  assert.equal(sockets, 0);
});

test('the fetcher does not contact a name with any non-public address', async () => {
  for (const address of NON_PUBLIC_ADDRESSES) {
    for (const addresses of [
      [address],
      [PUBLIC, address],
      [address, PUBLIC],
      [PUBLIC, '2606:4700::1111', address, '1.1.1.1'],
    ])
      assert.equal(reasonOf(await resolving(...addresses).fetch(`https://${HOST}/x`, LIMITS)), 'address', address);
  }
  assert.deepEqual(attemptedHosts, []);
  assert.equal(sockets, 0);
});

test('the fetcher contacts a name whose addresses are all public', async () => {
  for (const address of PUBLIC_ADDRESSES) await resolving(address).fetch(`https://${HOST}/x`, LIMITS);
  await resolving(...PUBLIC_ADDRESSES).fetch(`https://${HOST}/x`, LIMITS);
  assert.deepEqual(attemptedHosts, new Array(PUBLIC_ADDRESSES.length + 1).fill(HOST));
  for (const [url] of ACCEPTED_URLS)
    assert.equal(reasonOf(await resolving('10.0.0.1').fetch(url, LIMITS)), 'address', url);
  assert.equal(sockets, 0);
});

test('the fetcher contacts exactly the public ones of thousands of random addresses', async () => {
  const next = seededRandom(20_261_115);
  let resolved: string[] = [];
  const guarded = fetcher({ resolve: async () => resolved });
  const isContacted = async (...addresses: string[]): Promise<boolean> => {
    resolved = addresses;
    attemptedHosts.length = 0;
    await guarded.fetch('https://random-host.net/', LIMITS);
    return attemptedHosts.length > 0;
  };
  let publicCount = 0;
  let batch: string[] = [];
  const count = runs(80_000);
  for (let n = 0; n < count; n += 1) {
    const { bits, value } = randomAddress(next);
    const address = bits === 32 ? dotted(value) : grouped(value);
    if (IANA.some((range) => range.bits === bits && value >> range.shift === range.prefix)) {
      assert.equal(await isContacted(address), false, address);
      continue;
    }
    publicCount += 1;
    batch.push(address);
    if (batch.length < 16) continue;
    assert.equal(await isContacted(...batch), true, batch.join(' '));
    batch = [];
  }
  assert.ok(publicCount > count / 10 && publicCount < count / 2, `${publicCount} of ${count} are public`);
  assert.equal(sockets, 0);
});

test('the fetcher resolves a name once per fetch and checks the new addresses every time', async () => {
  const flips = [[PUBLIC], ['169.254.169.254'], [PUBLIC, '10.0.0.1']];
  let lookups = 0;
  const offered: unknown[] = [];
  const rebinding = fetcher({
    resolve: async () => flips[lookups++] ?? assert.fail(),
    openSocket: ({ host, lookup = assert.fail() }) => {
      // The calls that net.connect makes.
      lookup(host, { all: true }, (_error, addresses) => offered.push(addresses));
      lookup(host, {}, (_error, ...address) => offered.push(address));
      lookup(host, { family: 6 }, (error) => offered.push(error?.code));
      return new Socket().destroy(NO_NETWORK);
    },
  });
  assert.equal(reasonOf(await rebinding.fetch(`https://${HOST}/`, LIMITS)), 'network');
  assert.deepEqual(offered, [[{ address: PUBLIC, family: 4 }], [PUBLIC, 4], 'ENOTFOUND']);
  assert.equal(lookups, 1);
  assert.equal(reasonOf(await rebinding.fetch(`https://${HOST}/`, LIMITS)), 'address');
  assert.equal(reasonOf(await rebinding.fetch(`https://${HOST}/`, LIMITS)), 'address');
  assert.equal(offered.length, 3);
});

test('an unknown name and a name with a private address give the same message', async () => {
  const none = await resolving().fetch(`https://${HOST}/`, LIMITS);
  const failed = await fetcher({ resolve: () => Promise.reject(new Error('SERVFAIL')) }).fetch(
    `https://${HOST}/`,
    LIMITS,
  );
  const inside = await resolving('10.0.0.1').fetch(`https://${HOST}/`, LIMITS);
  assert.deepEqual([none, failed, inside].map(reasonOf), ['resolve', 'resolve', 'address']);
  assert.equal(new Set([none, failed, inside].map((result) => !result.ok && result.message)).size, 1);
});

test('a silent resolver is aborted after 3 s or at the total timeout', async () => {
  for (const [timeoutMs, limit] of [
    [10_000, 3_000],
    [500, 500],
  ] as const) {
    const clock = new FakeClock();
    let isGivenUp = false;
    const resolve = (_host: string, signal: AbortSignal) => {
      signal.addEventListener('abort', () => (isGivenUp = true));
      return new Promise<never>(() => {});
    };
    const result = fetcher({ clock, resolve }).fetch(`https://${HOST}/`, { ...LIMITS, timeoutMs });
    clock.advance(limit - 1);
    assert.equal(isGivenUp, false);
    clock.advance(1);
    assert.equal(reasonOf(await result), 'time');
    assert.equal(isGivenUp, true);
  }
  assert.deepEqual(attemptedHosts, []);
});

test('the resolver queries both families, follows CNAMEs and omits a family that fails', async () => {
  const names = await startNameServer({
    'both.host.net': { A: [PUBLIC], AAAA: ['2606:4700:0:0:0:0:0:1111'] },
    'half.host.net': { A: [PUBLIC] },
    'alias.host.net': { CNAME: 'db.corp.internal' },
    'db.corp.internal': { A: ['10.0.0.5'] },
    'mixed.host.net': { A: [PUBLIC], AAAA: ['fd00:ec2:0:0:0:0:0:254'] },
    'mapped.host.net': { AAAA: ['0:0:0:0:0:ffff:a9fe:a9fe'] },
    'mute.host.net': { A: [PUBLIC], mute: 'AAAA' },
  });
  try {
    const resolve = createResolver([names.address]);
    const signal = new AbortController().signal;
    assert.deepEqual(await resolve('both.host.net', signal), [PUBLIC, '2606:4700::1111']);
    assert.deepEqual(await resolve('half.host.net', signal), [PUBLIC]);
    assert.deepEqual(await resolve('alias.host.net', signal), ['10.0.0.5']);
    const guarded = fetcher({ resolve });
    for (const [host, reason] of [
      ['both', 'network'],
      ['alias', 'address'],
      ['mixed', 'address'],
      ['mapped', 'address'],
      ['unknown', 'resolve'],
    ] as const)
      assert.equal(reasonOf(await guarded.fetch(`https://${host}.host.net/`, LIMITS)), reason, host);
    assert.deepEqual(attemptedHosts, ['both.host.net']);
    const giveUp = new AbortController();
    const late = resolve('mute.host.net', giveUp.signal);
    giveUp.abort();
    assert.deepEqual(await late, []);
  } finally {
    names.close();
  }
});

const allowed = (options: Partial<PublicFetcherOptions> = {}): PublicFetcher =>
  new PublicFetcher({
    allow: [origin],
    clock: systemClock,
    resolve: () => assert.fail(),
    ...options,
  });

test('an allowed origin is fetched over a new connection, without credentials or proxy', async () => {
  process.env.HTTP_PROXY = 'http://127.0.0.1:1';
  try {
    for (const path of ['/image', '/image?a=b', '/image#c', '/early', '/unnamed', '/twice'])
      assert.deepEqual(await allowed().fetch(origin + path, LIMITS), { ok: true, mime: 'image/png', bytes: PNG }, path);
  } finally {
    delete process.env.HTTP_PROXY;
  }
  assert.deepEqual(requests[0]?.headers, {
    host: origin.slice('http://'.length),
    connection: 'close',
    accept: '*/*',
    'accept-encoding': 'identity',
    'user-agent': 'dragoman',
  });
  assert.deepEqual(
    requests.map(({ path }) => path),
    ['/image', '/image?a=b', '/image', '/early', '/unnamed', '/twice'],
  );
  assert.equal(new Set(requests.map(({ port }) => port)).size, requests.length);
  assert.equal(sockets, requests.length);
});

test('a port, scheme or host other than the allowed origin is rejected', async () => {
  const port = Number(new URL(origin).port);
  for (const url of [
    `http://127.0.0.1:${port === 65_535 ? 1_024 : port + 1}/`,
    `https://127.0.0.1:${port}/`,
    'http://127.0.0.1/',
  ])
    assert.equal(reasonOf(await allowed({ openSocket: refuseToConnect }).fetch(url, LIMITS)), 'address', url);
  assert.equal(sockets, 0);
});

test('every status but 200 is a failure, and redirects are not followed', async () => {
  const statuses = [301, 302, 303, 307, 308, 201, 204, 206, 300, 304, 400, 401, 404, 410, 429, 500, 503];
  for (const status of statuses) {
    const result = await allowed().fetch(`${origin}/${status}`, LIMITS);
    assert.equal(reasonOf(result), 'status');
    assert.match(result.ok ? '' : result.message, new RegExp(` ${status} `));
  }
  assert.deepEqual(
    requests.map(({ path }) => path),
    statuses.map((status) => `/${status}`),
  );
  assert.equal(reasonOf(await allowed().fetch(`${origin}/upgrade`, LIMITS)), 'network');
});

test('a file above the size limit is aborted, with or without content-length', async () => {
  const exact = await allowed().fetch(`${origin}/exact`, LIMITS);
  assert.equal(exact.ok && exact.bytes.length, LIMITS.maxBytes);
  assert.equal(reasonOf(await allowed().fetch(`${origin}/announced`, LIMITS)), 'size');
  assert.equal(reasonOf(await allowed().fetch(`${origin}/endless`, LIMITS)), 'size');
  assert.equal(reasonOf(await allowed().fetch(`${origin}/image`, { ...LIMITS, maxBytes: PNG.length - 1 })), 'size');
  await until('all connections to be closed', () => connections(server).then((open) => open === 0));
});

test('the timeout covers the whole fetch', async () => {
  for (const path of ['/mute', '/stalled', '/endless']) {
    const clock = new FakeClock();
    const result = allowed({ clock }).fetch(origin + path, { maxBytes: 2 ** 40, timeoutMs: 2_000 });
    await until('the request', () => requests.some((request) => request.path === path));
    clock.advance(2_000);
    assert.equal(reasonOf(await result), 'time', path);
  }
  await until('all connections to be closed', () => connections(server).then((open) => open === 0));
});

test('a connection attempt ends at the connect timeout', async () => {
  const mute = createTcpServer((socket) => socket.on('error', () => {}).resume());
  const port = await listening(mute);
  try {
    const slow = allowed({ allow: [`https://127.0.0.1:${port}`], connectMs: 50 });
    assert.equal(reasonOf(await slow.fetch(`https://127.0.0.1:${port}/`, LIMITS)), 'time');
    await until('the connection to be closed', () => connections(mute).then((open) => open === 0));
  } finally {
    mute.close();
  }
  assert.equal(
    reasonOf(await allowed({ allow: [`http://127.0.0.1:${port}`] }).fetch(`http://127.0.0.1:${port}/`, LIMITS)),
    'network',
  );
});

test('a truncated body is a failure', async () => {
  assert.equal(reasonOf(await allowed().fetch(`${origin}/cut`, LIMITS)), 'network');
});

test('the type is checked in the header and in the bytes', async () => {
  const checkedTypes: string[] = [];
  const accept = (mime: string): boolean => {
    checkedTypes.push(mime);
    return mime.startsWith('image/');
  };
  const fetchType = async (path: string): Promise<string> =>
    reasonOf(await allowed().fetch(origin + path, { ...LIMITS, accept }));
  assert.equal(await fetchType('/image'), 'ok');
  assert.equal(await fetchType('/unnamed'), 'ok');
  assert.equal(await fetchType('/page'), 'type');
  assert.equal(await fetchType('/lie'), 'type');
  assert.equal(await fetchType('/zip'), 'type');
  assert.deepEqual(checkedTypes, [
    'image/png',
    'image/png',
    'image/png',
    'text/html',
    'image/png',
    'application/octet-stream',
  ]);
});

test('detectMime trusts the bytes first, and the header where the bytes cannot decide', () => {
  const cases: [string | Buffer, string | undefined, string][] = [
    [PNG, 'image/jpeg', 'image/png'],
    ['\xff\xd8\xff\xe0', undefined, 'image/jpeg'],
    ['GIF87a..', undefined, 'image/gif'],
    ['GIF89a..', 'text/html', 'image/gif'],
    ['RIFF....WEBPVP8 ', undefined, 'image/webp'],
    ['RIFF....WAVEfmt ', 'audio/x-wav', 'audio/wav'],
    ['RIFF....AVI LIST', 'video/avi', 'video/avi'],
    ['%PDF-1.7', undefined, 'application/pdf'],
    ['ID3\x04', undefined, 'audio/mpeg'],
    ['\xff\xfb\x90\x64', undefined, 'audio/mpeg'],
    ['\xff\xf3\x40\xc0', undefined, 'audio/mpeg'],
    ['\xff\xf1\x50\x80', 'audio/aac', 'audio/aac'],
    ['\xff\xfe<\x00', undefined, 'application/octet-stream'],
    ['....', 'audio/mp3', 'audio/mpeg'],
    ['....', 'Image/JPG; x=y', 'application/octet-stream'],
    ['....', 'image/webp', 'application/octet-stream'],
    ['....', 'image/avif', 'image/avif'],
    ['hello', 'Text/Plain; charset=utf-8', 'text/plain'],
    ['hello', 'nonsense', 'application/octet-stream'],
    ['hello', '', 'application/octet-stream'],
    ['', 'image/png', 'application/octet-stream'],
    ['', undefined, 'application/octet-stream'],
  ];
  for (const [bytes, header, mime] of cases)
    assert.equal(
      detectMime(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, header),
      mime,
      `${bytes} ${header}`,
    );
});

/** A TLS server for HOST on loopback, which records its requests. */
async function startTls() {
  const { key, cert } = certificateFor(HOST);
  const requests: { sni: unknown; host: string | undefined; alpn: unknown }[] = [];
  const tls = createTlsServer({ key, cert }, (request, response) => {
    const socket = request.socket as unknown as { servername: unknown; alpnProtocol: unknown };
    requests.push({ sni: socket.servername, host: request.headers.host, alpn: socket.alpnProtocol });
    response.end(PNG);
  });
  const port = await listening(tls);
  const close = (): void => {
    tls.closeAllConnections();
    tls.close();
  };
  return { port, cert, requests, close };
}

test('the connection goes to the pinned address, with TLS for the name', async () => {
  const tls = await startTls();
  const trusting: OpenSocket = (target) => openTcpOrTls({ ...target, ca: tls.cert });
  const read = (addresses: string[], host = HOST, openSocket = trusting): Promise<number | string> => {
    const { promise, resolve } = Promise.withResolvers<number | string>();
    let status = 0;
    const timeouts = { connect: 2_000, firstByte: 2_000, idle: 2_000, total: 2_000 };
    const origin = `https://${host}:${tls.port}`;
    createHttpClient({ clock: systemClock, openSocket }).send(
      { method: 'GET', origin, path: '/', headers: [], body: null, timeouts, addresses },
      {
        onHead(code) {
          status = code;
        },
        onData: () => true,
        onEnd: () => resolve(status),
        onError: ({ code }: TransportError) => resolve(code),
      },
    );
    return promise;
  };
  try {
    // This name does not resolve, so only the pinned address can be reached.
    assert.equal(await read(['127.0.0.1']), 200);
    assert.deepEqual(tls.requests, [{ sni: HOST, host: `${HOST}:${tls.port}`, alpn: 'http/1.1' }]);
    assert.equal(await read(['127.0.0.1'], 'other.pinned-host.net'), 'ERR_TLS_CERT_ALTNAME_INVALID');
    assert.equal(await read(['127.0.0.1'], HOST, openTcpOrTls), 'DEPTH_ZERO_SELF_SIGNED_CERT');
    // Node skips the lookup hook for IP addresses; the check of the remote address rejects it.
    const unchecked: OpenSocket = (target) => trusting({ ...target, checkServerIdentity: () => undefined });
    assert.equal(await read(['127.0.0.1'], '127.0.0.1', unchecked), 200);
    assert.equal(await read([PUBLIC], '127.0.0.1', unchecked), 'OTHER_ADDRESS');
    assert.equal(tls.requests.length, 2);
  } finally {
    tls.close();
  }
});

/** Records the addresses that the lookup hook returns, and connects to loopback instead. */
const diversion = (port: number, ca: string, offered: unknown[], claimedAddress: string | undefined): OpenSocket => {
  const to: LookupFunction = (_host, { all }, callback) =>
    all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4);
  return ({ lookup = assert.fail(), ...target }) => {
    const diverted: LookupFunction = (host, options, callback) =>
      lookup(host, options, (_error, addresses) => {
        offered.push(host, addresses);
        to(host, options, callback);
      });
    const socket = openTcpOrTls({ ...target, port, ca, lookup: diverted });
    return claimedAddress ? Object.defineProperty(socket, 'remoteAddress', { value: claimedAddress }) : socket;
  };
};

test('a public name is fetched over verified TLS from its checked address', async () => {
  const tls = await startTls();
  const offered: unknown[] = [];
  const through = (openSocket: OpenSocket): Promise<PublicResult> =>
    new PublicFetcher({
      allow: [],
      clock: systemClock,
      resolve: async () => [PUBLIC],
      openSocket,
    }).fetch(`https://${HOST}/x`, LIMITS);
  try {
    const result = await through(diversion(tls.port, tls.cert, offered, PUBLIC));
    assert.deepEqual(result, { ok: true, mime: 'image/png', bytes: PNG });
    assert.deepEqual(offered, [HOST, [{ address: PUBLIC, family: 4 }]]);
    assert.deepEqual(tls.requests, [{ sni: HOST, host: HOST, alpn: 'http/1.1' }]);
    // The socket reports loopback, which differs from the checked address.
    assert.equal(reasonOf(await through(diversion(tls.port, tls.cert, [], undefined))), 'network');
    // An untrusted certificate, although the environment disables verification.
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    assert.equal(reasonOf(await through(diversion(tls.port, certificateFor(HOST).cert, [], PUBLIC))), 'network');
    assert.equal(tls.requests.length, 1);
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    tls.close();
  }
});

const connections = (tcp: TcpServer): Promise<number> =>
  new Promise((resolve, reject) => tcp.getConnections((error, count) => (error ? reject(error) : resolve(count))));

/**
 * Non-public ranges as integers, independent of the library:
 * the IANA special-purpose registries, and IPv6 outside 2000::/3.
 */
const IANA = [
  ...`0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
    203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`
    .split(/\s+/)
    .map((text) => range(32, text, (part) => part.split('.').reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n))),
  ...`0000:0000:0000/3 2001:0000:0000/23 2001:0db8:0000/32 2002:0000:0000/16 2620:004f:8000/48 3fff:0000:0000/20
    4000:0000:0000/2 8000:0000:0000/1`
    .split(/\s+/)
    .map((text) => range(128, text, (part) => BigInt(`0x${part.replaceAll(':', '')}`) << 80n)),
];

function range(bits: 32 | 128, text: string, parse: (part: string) => bigint) {
  const [part = '', size = ''] = text.split('/');
  const shift = BigInt(bits - Number(size));
  return { bits, shift, prefix: parse(part) >> shift };
}

/** Mostly inside or next to a special range, where errors are likely; otherwise anywhere. */
function randomAddress(next: () => number): { bits: 32 | 128; value: bigint } {
  const wide = (BigInt(next()) << 96n) | (BigInt(next()) << 64n) | (BigInt(next()) << 32n) | BigInt(next());
  const choice = next() % 10;
  if (choice === 0) return { bits: 32, value: wide & 0xffff_ffffn };
  if (choice === 1) return { bits: 128, value: wide };
  if (choice === 2) return { bits: 128, value: (EMBEDDING[next() % EMBEDDING.length] ?? 0n) | (wide & 0xffff_ffffn) };
  const { bits, shift, prefix } = IANA[next() % IANA.length] ?? assert.fail();
  const beside = BigInt([-1, 0, 0, 0, 0, 0, 0, 0, 0, 1][next() % 10] ?? 0);
  const value = ((prefix + beside) << shift) | (wide & ((1n << shift) - 1n));
  return { bits, value: BigInt.asUintN(bits, value) };
}

/** ::, ::ffff:, ::ffff:0:, 64:ff9b::, 64:ff9b:1:: before an IPv4 address. */
const EMBEDDING = [0n, 0xffffn << 32n, 0xffffn << 48n, 0x64_ff9bn << 96n, 0x64_ff9b_0001n << 80n];

const dotted = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
const grouped = (value: bigint): string =>
  (value.toString(16).padStart(32, '0').match(/.{4}/g) ?? []).map((group) => group.replace(/^0{1,3}/, '')).join(':');

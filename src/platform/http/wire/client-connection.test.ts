/** Bytes on the wire: requests as sent, and responses parsed, against servers that send scripted bytes. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { countBufferBytes, drip } from '../../../../test/support/buffer-work.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { seededRandom } from '../../../../test/support/random.ts';
import { RawServer } from '../../../../test/support/raw-server.ts';
import { until } from '../../../../test/support/wait.ts';
import type { HttpRequest, RequestTimeouts, TransportError } from '../client.ts';
import type { OpenSocket } from '../open-socket.ts';
import { createHttpClient } from '../stack.ts';

const TIMEOUTS: RequestTimeouts = { connect: 1_000, firstByte: 10_000, idle: 10_000, total: 20_000 };

/** The kernel's table of TCP connections. */
const TABLE = '/proc/net/tcp';

const server = new RawServer();
let origin = '';
/** Sockets of the client, in the order opened. */
let sockets: Socket[] = [];
const openSocket: OpenSocket = (target) => {
  const socket = connect(target);
  sockets.push(socket);
  return socket;
};
/** It stands still, so that no time limit ends a request. */
const clock = new FakeClock();
const client = createHttpClient({ clock, openSocket });

before(async () => {
  origin = await server.listen();
});
/** No test may reuse a connection of an earlier one. */
const resetConnections = async (): Promise<void> => {
  server.reset();
  while (sockets.some((socket) => !socket.destroyed)) await turn();
  sockets = [];
};
beforeEach(resetConnections);
after(async () => {
  await client.close();
  server.close();
});

interface Result {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** Number of `onData` calls. */
  readonly chunks: number;
  readonly error: TransportError | undefined;
}

function call(request: Partial<HttpRequest> = {}): Promise<Result> {
  const { promise, resolve } = Promise.withResolvers<Result>();
  const heads: { status: number; headers: Result['headers'] }[] = [];
  const chunks: Buffer[] = [];
  const finish = (error?: TransportError): void => {
    assert.ok(heads.length <= 1, 'one head at most');
    const { status = 0, headers = {} } = heads[0] ?? {};
    resolve({ status, headers, body: Buffer.concat(chunks).toString('latin1'), chunks: chunks.length, error });
  };
  client.send(
    { method: 'GET', origin, path: '/', headers: [], body: null, timeouts: TIMEOUTS, ...request },
    {
      onHead: (status, headers) => heads.push({ status, headers }),
      onData: (chunk) => chunks.push(chunk) > 0,
      onEnd: () => finish(),
      onError: finish,
    },
  );
  return promise;
}

const withLines = (...lines: string[]): string => lines.join('\r\n');
const CHUNKED = withLines(
  'HTTP/1.1 200 OK',
  'Transfer-Encoding: Chunked',
  '',
  '4;name="value"',
  'one ',
  '3',
  'two',
  '0',
  'trailer: x',
  '',
  '',
);
const SIZED = withLines('HTTP/1.1 200 OK', 'Content-Length: 7', '', 'one two');

test('a response is parsed the same wherever the network splits it, and its connection is reused', async () => {
  const continued = 'HTTP/1.1 100 Continue\r\n\r\n';
  for (const [response, status, body] of [
    [SIZED, 200, 'one two'],
    [CHUNKED, 200, 'one two'],
    [`${continued}HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${SIZED}`, 200, 'one two'],
    ['HTTP/1.1 204 No Content\r\n\r\n', 204, ''],
    ['HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n', 304, ''],
    ['HTTP/1.1 404\r\ncontent-length: 0\r\n\r\n', 404, ''],
  ] as const) {
    await resetConnections();
    for (let cut = 0; cut <= response.length; cut++) {
      server.respond = async ({ socket }) => {
        const [mine] = sockets.slice(-1);
        const seen = (mine?.bytesRead ?? 0) + cut;
        socket.write(response.slice(0, cut));
        while ((mine?.bytesRead ?? 0) < seen) await turn();
        socket.write(response.slice(cut));
      };
      const result = await call();
      assert.deepEqual([result.status, result.body, result.error], [status, body, undefined], `cut at ${cut}`);
    }
    assert.equal(sockets.length, 1);
  }
});

test('a response head that arrives byte by byte costs work that grows linearly with its size', async () => {
  const costs: number[] = [];
  for (const size of [25_000, 50_000]) {
    await resetConnections();
    const result = call();
    await until('the request', () => server.requests.length === 1);
    const [socket] = sockets;
    const head = `HTTP/1.1 200 OK\r\nx-big: ${'x'.repeat(size)}\r\ncontent-length: 0\r\n\r\n`;
    costs.push(countBufferBytes(() => drip(socket ?? assert.fail(), head)));
    assert.equal((await result).headers['x-big']?.length, size);
  }
  const [half = 0, whole = 0] = costs;
  assert.ok(whole <= 2.5 * half, `${half} bytes handled, then ${whole}`);
  assert.ok(whole <= 12 * 50_000, `${whole} bytes handled`);
});

for (const [description, bytes] of [
  ['bare line feeds', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n'],
  ['a bare carriage return', 'HTTP/1.1 200 OK\rcontent-length: 0'],
  ['a control character', 'HTTP/1.1 200 OK\r\nserver: \0'],
] as const) {
  test(`a response head with ${description} fails at once, without a time limit`, async () => {
    server.respond = ({ socket }) => void socket.write(bytes);
    assert.deepEqual((await call()).error, { kind: 'failed', code: 'BAD_HTTP' });
  });
}

test('an informational response of HTTP/1.0 fails the request', async () => {
  server.respond = ({ socket }) => void socket.write(`HTTP/1.0 103 Early Hints\r\n\r\n${SIZED}`);
  assert.deepEqual((await call()).error, { kind: 'failed', code: 'BAD_HTTP' });
});

for (const [description, bytes, repeated] of [
  ['more than 16 informational responses', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ['more than 256 headers', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n', 'a: b\r\n'],
] as const) {
  test(`${description} fail the request`, async () => {
    const limit = Number(/\d+/.exec(description));
    const ok = bytes === '' ? SIZED : '\r\n';
    // The head of the second case has one header more.
    for (const [count, error] of [
      [limit - 1, undefined],
      [limit + 1, { kind: 'failed', code: 'BAD_HTTP' }],
    ] as const) {
      server.respond = ({ socket }) => void socket.write(bytes + repeated.repeat(count) + ok);
      assert.deepEqual((await call()).error, error, `${count}`);
    }
  });
}

test('informational responses are counted for each request of a connection', async () => {
  server.respond = ({ socket }) => void socket.write(`${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10)}${SIZED}`);
  for (let n = 0; n < 3; n += 1) assert.equal((await call()).body, 'one two');
  assert.equal(sockets.length, 1);
});

test('a response without a length ends with its connection, wherever it is split', async () => {
  const response = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\none two';
  for (let cut = 0; cut <= response.length; cut++) {
    server.respond = async ({ socket }) => {
      const [mine] = sockets.slice(-1);
      socket.write(response.slice(0, cut));
      while ((mine?.bytesRead ?? 0) < cut) await turn();
      socket.end(response.slice(cut));
    };
    const result = await call();
    assert.deepEqual([result.status, result.body, result.error], [200, 'one two', undefined], `cut at ${cut}`);
  }
  assert.equal(sockets.length, response.length + 1);
});

test('a truncated response is a failure, a complete one is not', async () => {
  for (const response of [SIZED, CHUNKED])
    for (let cut = 0; cut <= response.length; cut++) {
      server.respond = ({ socket }) => socket.end(response.slice(0, cut));
      const { error } = await call();
      assert.deepEqual(
        error,
        cut < response.length ? { kind: 'failed', code: 'CLOSED_EARLY' } : undefined,
        `cut at ${cut}`,
      );
    }
});

test('the chunks of one read are reported as one buffer', async () => {
  const sizes = Array.from({ length: 50 }, (_, n) => (n % 15) + 1);
  const encoded = sizes.map((size) => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`).join('');
  server.respond = ({ socket }) =>
    socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${encoded}0\r\n\r\n`);
  const { body, chunks } = await call();
  assert.match(body, /^x{375}$/);
  assert.equal(chunks, 1);
});

test('TCP keep-alive is active while a response is pending', { skip: !existsSync(TABLE) }, async () => {
  const result = call();
  await until('the request', () => server.requests.length === 1);
  const inTable = (port = 0): string => port.toString(16).toUpperCase().padStart(4, '0');
  const [from, to] = [inTable(sockets[0]?.localPort), inTable(sockets[0]?.remotePort)];
  // The kernel's timer of the connection: 01 is retransmission, 02 is keep-alive.
  const timer = (): string | undefined =>
    new RegExp(`:${from} \\S+:${to} \\S+ \\S+ (\\d\\d):`).exec(readFileSync(TABLE, 'ascii'))?.[1];
  await until('the keep-alive timer', () => timer() === '02');
  server.peers[0]?.socket.write(SIZED);
  assert.equal((await result).body, 'one two');
});

test('response headers have lower-case names, joined repeats and unchanged bytes', async () => {
  server.respond = ({ socket }) =>
    socket.write(
      'HTTP/1.1 200 OK\r\nX-One:  a \t\r\nx-one: b\r\nx-bytes: \xe4\xff\r\nx-empty:\r\ncontent-length: 0\r\n\r\n',
      'latin1',
    );
  const { headers } = await call();
  assert.deepEqual({ ...headers }, { 'x-one': 'a, b', 'x-bytes': '\xe4\xff', 'x-empty': '', 'content-length': '0' });
});

test('a request is written exactly once, in the expected bytes', async () => {
  server.respond = ({ socket }) => socket.write(SIZED);
  const host = origin.slice('http://'.length);
  const large = Buffer.from('0123456789abcdef\xff\x00'.repeat(10_000), 'latin1');
  for (const [request, expected] of [
    [{}, `GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`],
    [{ method: 'DELETE', path: '/a?b=c' }, `DELETE /a?b=c HTTP/1.1\r\nhost: ${host}\r\n\r\n`],
    [{ method: 'POST' }, `POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 0\r\n\r\n`],
    [
      { method: 'POST', headers: ['x-a', '\xe4', 'x-a', ''], body: Buffer.from('\x00\xff{}\r\n', 'latin1') },
      `POST / HTTP/1.1\r\nhost: ${host}\r\nx-a: \xe4\r\nx-a: \r\ncontent-length: 6\r\n\r\n\x00\xff{}\r\n`,
    ],
    [
      { method: 'POST', body: large },
      `POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 180000\r\n\r\n${large.toString('latin1')}`,
    ],
  ] as const satisfies [Partial<HttpRequest>, string][]) {
    const { error } = await call(request);
    assert.equal(error, undefined);
    assert.equal(server.requests.at(-1), expected);
  }
  assert.equal(server.peers.map(({ received }) => received).join(''), server.requests.join(''));
  assert.equal(server.peers.length, 1);
});

test('a request with line breaks or framing headers is rejected before it is sent', async () => {
  for (const request of [
    { path: '/a b' },
    { path: '/a\r\nx: y' },
    { path: '/\u0100' },
    { path: '' },
    { path: 'http://elsewhere.test/' },
    { headers: ['x', 'a\rb'] },
    { headers: ['x', 'a\nb'] },
    { headers: ['x', 'a\0b'] },
    { headers: ['x', '\u0100'] },
    { headers: ['content-length', '5'] },
    { headers: ['transfer-encoding', 'chunked'] },
    { headers: ['host', 'elsewhere.test'] },
  ] satisfies Partial<HttpRequest>[])
    assert.deepEqual((await call(request)).error, { kind: 'failed', code: 'BAD_HTTP' }, JSON.stringify(request));
  assert.equal((await call({ origin: 'not a URL' })).error?.kind, 'failed');
  assert.equal(sockets.length, 0);
});

const OK = 'HTTP/1.1 200 OK\r\n';

test('a malformed response is a failure and does not affect the next request', async () => {
  const endless = `x-a: ${'a'.repeat(1_000)}\r\n`.repeat(70);
  for (const [description, response] of [
    ['garbage', 'hello\r\n\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['no status', 'HTTP/1.1 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 99 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
    ['a header without a colon', `${OK}x\r\n\r\n`],
    ['a header without a name', `${OK}: x\r\n\r\n`],
    ['a folded header', `${OK}x: a\r\n b\r\n\r\n`],
    ['a bare line feed', `${OK}x: a\ny: b\r\n\r\n`],
    ['a NUL byte', `${OK}x: a\0b\r\n\r\n`],
    ['an invalid length', `${OK}content-length: -1\r\n\r\n`],
    ['an invalid length without a body', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 5x\r\n\r\n'],
    ['two lengths without a body', 'HTTP/1.1 204 No Content\r\ncontent-length: 0\r\ncontent-length: 5\r\n\r\n'],
    ['a tab after the coding', `${OK}transfer-encoding: chunked\t\r\n\r\n0\r\n\r\n`],
    ['two lengths', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
    ['a length and chunks', `${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['an unsupported transfer coding', `${OK}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['a chunk without a size', `${OK}transfer-encoding: chunked\r\n\r\nx\r\n\r\n`],
    ['a chunk that is too long', `${OK}transfer-encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n`],
    ['a chunk of a terabyte', `${OK}transfer-encoding: chunked\r\n\r\n10000000000\r\n`],
    ['an endless head', OK + endless],
    ['a head that is too long', `${OK}${endless}\r\n`],
  ] as const) {
    server.respond = ({ socket }) => socket.write(response, 'latin1');
    const { error } = await call();
    assert.deepEqual(error, { kind: 'failed', code: 'BAD_HTTP' }, description);
    server.respond = ({ socket }) => socket.write(SIZED);
    assert.equal((await call()).body, 'one two', description);
    await resetConnections();
  }
});

test('a response that arrives before the request is fully sent is accepted', async () => {
  const body = Buffer.alloc(16 << 20);
  const response = 'HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 9\r\n\r\ntoo large';
  for (let n = 0; n < 10; n++) {
    // Responds at the first byte and closes without reading on, so that the client's next write fails.
    server.onConnection = ({ socket }) => socket.once('readable', () => socket.write(response, () => socket.destroy()));
    const result = await call({ method: 'POST', body });
    assert.deepEqual([result.status, result.body, result.error], [413, 'too large', undefined]);
  }
});

test('a connection is not reused while its request is still being written', async () => {
  server.onConnection = ({ socket }) => socket.once('readable', () => socket.write(SIZED));
  const result = await call({ method: 'POST', body: Buffer.alloc(16 << 20) });
  assert.equal(result.body, 'one two');
  server.onConnection = undefined;
  server.respond = ({ socket }) => socket.write(SIZED);
  assert.equal((await call()).body, 'one two');
  assert.equal(sockets.length, 2);
});

test('responses with random wrong bytes end, and later requests succeed', async () => {
  const random = seededRandom(20_261_115);
  const next = (below: number): number => random() % below;
  const bits = [
    '\r',
    '\n',
    '\r\n',
    ':',
    ' ',
    '0',
    'f',
    '\0',
    '\xff',
    'chunked',
    'content-length: 3\r\n',
    '\r\n\r\n',
    OK,
  ];
  const mutated = (response: string): string => {
    let text = response;
    for (let n = next(4); n >= 0; n--) {
      const at = next(text.length + 1);
      text = text.slice(0, at) + (bits[next(bits.length)] ?? '') + text.slice(at + next(6));
    }
    return text;
  };
  let completed = 0;
  for (let n = 0; n < 150; n++) {
    server.respond = ({ socket }) => {
      const text = mutated(n % 2 ? SIZED : CHUNKED);
      const cut = next(text.length);
      socket.write(text.slice(0, cut), 'latin1');
      setImmediate(() => socket.end(text.slice(cut), 'latin1'));
    };
    const result = await Promise.all(Array.from({ length: 10 }, () => call()));
    for (const { status, error } of result) {
      if (error) assert.equal(error.kind, 'failed');
      else assert.ok(status >= 200);
      if (!error) completed += 1;
    }
  }
  assert.ok(completed > 50, `${completed} were still valid`);
  await resetConnections();
  server.respond = ({ socket }) => socket.write(SIZED);
  assert.equal((await call()).body, 'one two');
});

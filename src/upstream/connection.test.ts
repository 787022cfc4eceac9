/** What goes over the wire and what is made of what comes back, against servers that send exactly the bytes they are told. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { RawServer } from '../../test/support/raw-server.ts';
import { until } from '../../test/support/wait.ts';
import { systemClock } from '../core/index.ts';
import type { Timeouts } from '../rules/index.ts';
import { type TransportError, UpstreamClient, type UpstreamRequest } from './client.ts';

const PATIENCE: Timeouts = { connect: 1_000, firstByte: 10_000, idle: 10_000, total: 20_000 };

/** What the system knows of every connection. */
const TABLE = '/proc/net/tcp';

const server = new RawServer();
let origin = '';
/** The sockets of the client, in the order in which they were opened. */
let dialled: Socket[] = [];
const upstream = new UpstreamClient(systemClock, PATIENCE.connect, (target) => {
  const socket = connect(target);
  dialled.push(socket);
  return socket;
});

before(async () => {
  origin = await server.listen();
});
/** Nobody may meet a connection of an earlier test. */
const startAnew = async (): Promise<void> => {
  server.forget();
  while (dialled.some((socket) => !socket.destroyed)) await turn();
  dialled = [];
};
beforeEach(startAnew);
after(async () => {
  await upstream.close();
  server.close();
});

interface Heard {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** How many calls of `onData`. */
  readonly pieces: number;
  readonly trouble: TransportError | undefined;
}

function call(given: Partial<UpstreamRequest> = {}): Promise<Heard> {
  const { promise, resolve } = Promise.withResolvers<Heard>();
  const heads: { status: number; headers: Heard['headers'] }[] = [];
  const pieces: Buffer[] = [];
  const over = (trouble?: TransportError): void => {
    assert.ok(heads.length <= 1, 'one head at most');
    const { status = 0, headers = {} } = heads[0] ?? {};
    resolve({ status, headers, body: Buffer.concat(pieces).toString('latin1'), pieces: pieces.length, trouble });
  };
  upstream.send(
    { method: 'GET', origin, path: '/', headers: [], body: null, timeouts: PATIENCE, ...given },
    {
      onHead: (status, headers) => heads.push({ status, headers }),
      onData: (chunk) => pieces.push(chunk) > 0,
      onEnd: () => over(),
      onError: over,
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

test('an answer is the same wherever the network cuts it, and its connection serves the next call', async () => {
  for (const [answer, status, body] of [
    [SIZED, 200, 'one two'],
    [CHUNKED, 200, 'one two'],
    [`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${SIZED}`, 200, 'one two'],
    ['HTTP/1.1 204 No Content\r\n\r\n', 204, ''],
    ['HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n', 304, ''],
    ['HTTP/1.1 404\r\ncontent-length: 0\r\n\r\n', 404, ''],
  ] as const) {
    await startAnew();
    for (let cut = 0; cut <= answer.length; cut++) {
      server.reply = async ({ socket }) => {
        const [mine] = dialled.slice(-1);
        const seen = (mine?.bytesRead ?? 0) + cut;
        socket.write(answer.slice(0, cut));
        while ((mine?.bytesRead ?? 0) < seen) await turn();
        socket.write(answer.slice(cut));
      };
      const heard = await call();
      assert.deepEqual([heard.status, heard.body, heard.trouble], [status, body, undefined], `cut at ${cut}`);
    }
    assert.equal(dialled.length, 1);
  }
});

test('an answer without a length ends with its connection, wherever it is cut', async () => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\none two';
  for (let cut = 0; cut <= answer.length; cut++) {
    server.reply = async ({ socket }) => {
      const [mine] = dialled.slice(-1);
      socket.write(answer.slice(0, cut));
      while ((mine?.bytesRead ?? 0) < cut) await turn();
      socket.end(answer.slice(cut));
    };
    const heard = await call();
    assert.deepEqual([heard.status, heard.body, heard.trouble], [200, 'one two', undefined], `cut at ${cut}`);
  }
  assert.equal(dialled.length, answer.length + 1);
});

test('an answer that is cut off is broken, wherever; one that was whole is not', async () => {
  for (const answer of [SIZED, CHUNKED])
    for (let cut = 0; cut <= answer.length; cut++) {
      server.reply = ({ socket }) => socket.end(answer.slice(0, cut));
      const { trouble } = await call();
      assert.deepEqual(
        trouble,
        cut < answer.length ? { kind: 'failed', code: 'CLOSED_EARLY' } : undefined,
        `cut at ${cut}`,
      );
    }
});

test('what comes in one read is told in one piece, however many chunks it was', async () => {
  const sizes = Array.from({ length: 50 }, (_, n) => (n % 15) + 1);
  const chunks = sizes.map((size) => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`).join('');
  server.reply = ({ socket }) =>
    socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
  const { body, pieces } = await call();
  assert.match(body, /^x{375}$/);
  assert.equal(pieces, 1);
});

test('the network is reminded of a connection whose answer takes long', { skip: !existsSync(TABLE) }, async () => {
  const answered = call();
  await until('the request', () => server.requests.length === 1);
  const port = dialled[0]?.localPort?.toString(16).toUpperCase().padStart(4, '0');
  // Which timer the system runs for it: 01 while something is not acknowledged, 02 until it asks whether the other side is there.
  const timer = (): string | undefined =>
    new RegExp(`:${port} \\S+ \\S+ \\S+ (\\d\\d):`).exec(readFileSync(TABLE, 'ascii'))?.[1];
  await until('the reminder', () => timer() === '02');
  server.peers[0]?.socket.write(SIZED);
  assert.equal((await answered).body, 'one two');
});

test('headers come with lower-case names, repeated ones together, every byte as it was', async () => {
  server.reply = ({ socket }) =>
    socket.write(
      'HTTP/1.1 200 OK\r\nX-One:  a \t\r\nx-one: b\r\nx-bytes: \xe4\xff\r\nx-empty:\r\ncontent-length: 0\r\n\r\n',
      'latin1',
    );
  const { headers } = await call();
  assert.deepEqual({ ...headers }, { 'x-one': 'a, b', 'x-bytes': '\xe4\xff', 'x-empty': '', 'content-length': '0' });
});

test('a request leaves exactly as it should, once', async () => {
  server.reply = ({ socket }) => socket.write(SIZED);
  const host = origin.slice('http://'.length);
  const large = Buffer.from('0123456789abcdef\xff\x00'.repeat(10_000), 'latin1');
  for (const [request, wanted] of [
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
  ] as const satisfies [Partial<UpstreamRequest>, string][]) {
    const { trouble } = await call(request);
    assert.equal(trouble, undefined);
    assert.equal(server.requests.at(-1), wanted);
  }
  assert.equal(server.peers.map(({ received }) => received).join(''), server.requests.join(''));
  assert.equal(server.peers.length, 1);
});

test('nothing leaves that would end a line or frame the body anew', async () => {
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
  ] satisfies Partial<UpstreamRequest>[])
    assert.deepEqual((await call(request)).trouble, { kind: 'failed', code: 'BAD_HTTP' }, JSON.stringify(request));
  assert.equal((await call({ origin: 'no address' })).trouble?.kind, 'failed');
  assert.equal(dialled.length, 0);
});

const OK = 'HTTP/1.1 200 OK\r\n';

test('what is no HTTP is broken, and the next call is not touched by it', async () => {
  const endless = `x-a: ${'a'.repeat(1_000)}\r\n`.repeat(70);
  for (const [about, answer] of [
    ['garbage', 'hello\r\n\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['no status', 'HTTP/1.1 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 99 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'],
    ['a header without a colon', `${OK}x\r\n\r\n`],
    ['a header without a name', `${OK}: x\r\n\r\n`],
    ['a header that goes on', `${OK}x: a\r\n b\r\n\r\n`],
    ['half a line break', `${OK}x: a\ny: b\r\n\r\n`],
    ['a byte that is none', `${OK}x: a\0b\r\n\r\n`],
    ['a length that is none', `${OK}content-length: -1\r\n\r\n`],
    ['two lengths', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
    ['a length and chunks', `${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a strange coding', `${OK}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['a chunk without a size', `${OK}transfer-encoding: chunked\r\n\r\nx\r\n\r\n`],
    ['a chunk that is too long', `${OK}transfer-encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n`],
    ['a chunk of a terabyte', `${OK}transfer-encoding: chunked\r\n\r\n10000000000\r\n`],
    ['a head without end', OK + endless],
    ['a head that is too long', `${OK}${endless}\r\n`],
  ] as const) {
    server.reply = ({ socket }) => socket.write(answer, 'latin1');
    const { trouble } = await call();
    assert.deepEqual(trouble, { kind: 'failed', code: 'BAD_HTTP' }, about);
    server.reply = ({ socket }) => socket.write(SIZED);
    assert.equal((await call()).body, 'one two', about);
    await startAnew();
  }
});

test('an answer to a request that is still being sent is an answer', async () => {
  const body = Buffer.alloc(16 << 20);
  const refusal = 'HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 9\r\n\r\ntoo large';
  for (let n = 0; n < 10; n++) {
    // Answers at the first byte, reads nothing more and slams the door: the client's next write fails.
    server.greet = ({ socket }) => socket.once('readable', () => socket.write(refusal, () => socket.destroy()));
    const heard = await call({ method: 'POST', body });
    assert.deepEqual([heard.status, heard.body, heard.trouble], [413, 'too large', undefined]);
  }
});

test('a connection whose request has not left whole is not used again, though its answer has come', async () => {
  server.greet = ({ socket }) => socket.once('readable', () => socket.write(SIZED));
  const heard = await call({ method: 'POST', body: Buffer.alloc(16 << 20) });
  assert.equal(heard.body, 'one two');
  server.greet = undefined;
  server.reply = ({ socket }) => socket.write(SIZED);
  assert.equal((await call()).body, 'one two');
  assert.equal(dialled.length, 2);
});

/** Mulberry32: the same numbers at every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

test('answers with a few wrong bytes end, one way or the other, and harm nobody', async () => {
  const next = numbers(20_261_115);
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
  const mutated = (answer: string): string => {
    let text = answer;
    for (let n = next(4); n >= 0; n--) {
      const at = next(text.length + 1);
      text = text.slice(0, at) + (bits[next(bits.length)] ?? '') + text.slice(at + next(6));
    }
    return text;
  };
  let whole = 0;
  for (let n = 0; n < 150; n++) {
    server.reply = ({ socket }) => {
      const text = mutated(n % 2 ? SIZED : CHUNKED);
      const cut = next(text.length);
      socket.write(text.slice(0, cut), 'latin1');
      setImmediate(() => socket.end(text.slice(cut), 'latin1'));
    };
    const heard = await Promise.all(Array.from({ length: 10 }, () => call()));
    for (const { status, trouble } of heard) {
      if (trouble) assert.equal(trouble.kind, 'failed');
      else assert.ok(status >= 200);
      if (!trouble) whole += 1;
    }
  }
  assert.ok(whole > 50, `${whole} were still answers`);
  await startAnew();
  server.reply = ({ socket }) => socket.write(SIZED);
  assert.equal((await call()).body, 'one two');
});

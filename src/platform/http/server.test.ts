import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { countBufferBytes, drip } from '../../../test/support/buffer-work.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { longTest } from '../../../test/support/long-test.ts';
import { jsonOf, request, Wire } from '../../../test/support/raw.ts';
import { HANGING_MS, until, whileTimePasses } from '../../../test/support/wait.ts';
import { SERVER_BOUNDS } from './bounds.ts';
import { HttpServer } from './listener.ts';
import { bindPort } from './listening-sockets.ts';
import type { ConnectionLimits, IncomingRequest, OutgoingResponse, ProtocolViolation, Upgradable } from './server.ts';

type Handler = (incoming: IncomingRequest, outgoing: OutgoingResponse, connection: Upgradable) => void;

const STATUS: Readonly<Record<ProtocolViolation, number>> = {
  malformed: 400,
  headers_too_large: 431,
  too_slow: 408,
  too_many_connections: 503,
};

class Fixture {
  readonly clock = new FakeClock();
  readonly internalErrors: unknown[] = [];
  readonly refused: number[] = [];
  readonly calls: { incoming: IncomingRequest; outgoing: OutgoingResponse }[] = [];
  readonly sockets: Upgradable['socket'][] = [];
  url = '';
  isDraining = false;
  readonly listener: HttpServer;

  constructor(handler: Handler, limits: ConnectionLimits) {
    const fixture = this;
    this.listener = new HttpServer({
      host: {
        clock: this.clock,
        get isDraining() {
          return fixture.isDraining;
        },
        onRequest(incoming, outgoing, connection) {
          fixture.calls.push({ incoming, outgoing });
          fixture.sockets.push(connection.socket);
          handler(incoming, outgoing, connection);
        },
        onInternalError: (error) => void this.internalErrors.push(error),
        onRefused: (count) => void this.refused.push(count),
        onViolation: (violation) =>
          `HTTP/1.1 ${STATUS[violation]} Refused\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`,
      },
      limits,
    });
  }

  wire(): Wire {
    return new Wire(this.url);
  }
}

const fixtures: Fixture[] = [];

/** How long a listener that closes waits for the last bytes of responses that it has interrupted. */
const LAST_BYTES_MS = 1_000;

/** The most that Linux keeps for a listener, whatever it asks for. */
const SOMAXCONN = '/proc/sys/net/core/somaxconn';

const UNLIMITED: ConnectionLimits = { total: 1_000, perAddress: 1_000, isExempt: () => false };

async function open(handler: Handler, limits = UNLIMITED): Promise<Fixture> {
  const fixture = new Fixture(handler, limits);
  const port = await fixture.listener.listen((await bindPort('127.0.0.1', 0)).sockets);
  fixture.url = `http://127.0.0.1:${port}`;
  fixtures.push(fixture);
  return fixture;
}

afterEach(async () => {
  for (const { listener, clock } of fixtures.splice(0)) {
    await whileTimePasses(clock, LAST_BYTES_MS, listener.close(0));
  }
});

const respondHello = (_incoming: IncomingRequest, outgoing: OutgoingResponse): void => {
  outgoing.writeHead(200, { 'content-type': 'text/plain' });
  outgoing.end('hello');
};

/** Reads the whole body, then responds with its size. */
const respondSize = (incoming: IncomingRequest, outgoing: OutgoingResponse): void => {
  let size = 0;
  incoming.read({
    onData(chunk) {
      size += chunk.length;
      return true;
    },
    onEnd() {
      outgoing.writeHead(200, {});
      outgoing.end(`{"size":${size}}`);
    },
    onAborted() {},
  });
};

const GET = request('GET / HTTP/1.1');

test('a response has a content-length when its body is known, and is chunked otherwise', async () => {
  const fixture = await open((incoming, outgoing) => {
    if (incoming.url === '/whole') return respondHello(incoming, outgoing);
    outgoing.writeHead(200, {});
    outgoing.write('pieces, ');
    outgoing.write(Buffer.from('ünd '));
    outgoing.write('');
    outgoing.end('an end');
  });
  const wire = fixture.wire();
  wire.send(request('GET /whole HTTP/1.1'));
  const whole = await wire.response();
  assert.equal(whole?.headers.get('content-length'), '5');
  assert.equal(whole?.text, 'hello');
  assert.match(whole?.headers.get('date') ?? '', /GMT$/);
  wire.send(request('GET /pieces HTTP/1.1'));
  const chunked = await wire.response();
  assert.equal(chunked?.headers.get('transfer-encoding'), 'chunked');
  assert.equal(chunked?.text, 'pieces, ünd an end');
  wire.end();
});

test('a streamed response to HTTP/1.0 is not chunked and ends with the connection', async () => {
  const fixture = await open((_incoming, outgoing) => {
    outgoing.writeHead(200, {});
    outgoing.write('until ');
    outgoing.end('the end');
  });
  const wire = fixture.wire();
  wire.send(request('GET / HTTP/1.0', [['connection', 'keep-alive']]));
  const response = await wire.response();
  assert.equal(response?.headers.get('transfer-encoding'), undefined);
  assert.equal(response?.headers.get('connection'), 'close');
  assert.equal(response?.text, 'until the end');
});

test('a request of HTTP/1.0 keeps the connection only with the option keep-alive itself', async () => {
  const fixture = await open(respondHello);
  for (const [value, kept] of [
    ['keep-alive', true],
    ['x, Keep-Alive', true],
    ['x-keep-alive', false],
    ['?keep-alive', false],
    ['keep-alive, close', false],
  ] as const) {
    const wire = fixture.wire();
    wire.send(request('GET / HTTP/1.0', [['connection', value]]));
    assert.equal((await wire.response())?.headers.get('connection'), kept ? 'keep-alive' : 'close', value);
    wire.end();
  }
});

test('responses to HEAD and with status 204 or 304 have no body', async () => {
  const fixture = await open((incoming, outgoing) => {
    outgoing.writeHead(Number(incoming.url.slice(1)), { 'x-one': 'a' });
    outgoing.write('not ');
    outgoing.end('seen');
  });
  const wire = fixture.wire();
  for (const line of ['HEAD /200', 'GET /204', 'GET /304']) {
    wire.send(request(`${line} HTTP/1.1`));
    assert.equal((await wire.response({ head: true }))?.text, '', line);
  }
  wire.end();
});

longTest('a large response waits for a slow reader and arrives complete', async () => {
  const chunk = Buffer.alloc(300_000, 'x');
  let waited = 0;
  const fixture = await open((incoming, outgoing) => {
    outgoing.writeHead(200, incoming.url === '/sized' ? { 'content-length': 40 * chunk.length } : {});
    let left = 40;
    const more = (): void => {
      while (left > 0) {
        left -= 1;
        if (left === 0) return outgoing.end(chunk);
        if (!outgoing.write(chunk)) {
          waited += 1;
          return outgoing.once('drain', more);
        }
      }
    };
    more();
  });
  const wire = fixture.wire();
  for (const path of ['/sized', '/chunked']) {
    wire.send(request(`GET ${path} HTTP/1.1`));
    assert.equal((await wire.response())?.text.length, 40 * chunk.length, path);
  }
  assert.ok(waited > 1, 'writing paused');
  wire.end();
});

test('a response that offers an upgrade keeps the connection alive', async () => {
  const fixture = await open((_incoming, outgoing) => {
    outgoing.writeHead(426, { upgrade: 'websocket', connection: 'Upgrade' });
    outgoing.end('no');
  });
  const wire = fixture.wire();
  for (let n = 0; n < 2; n += 1) {
    wire.send(GET);
    assert.equal((await wire.response())?.headers.get('connection'), 'Upgrade, keep-alive');
  }
  wire.end();
});

test('writeHead rejects line breaks in header names and values', async () => {
  const fixture = await open((_incoming, outgoing) => {
    assert.throws(() => outgoing.writeHead(200, { 'x-one': 'a\r\nx-two: b' }));
    assert.throws(() => outgoing.writeHead(200, { 'x-one: a\r\nx-two': 'b' }));
    outgoing.writeHead(200, { 'x-one': 'ü' });
    outgoing.end('ü');
  });
  const wire = fixture.wire();
  wire.send(GET);
  const response = await wire.response();
  assert.equal(response?.headers.get('x-one'), 'ü');
  assert.equal(response?.text, 'ü');
  wire.end();
});

test('the connection sends 100 Continue only when the handler reads the body', async () => {
  const fixture = await open((incoming, outgoing) =>
    (incoming.url === '/read' ? respondSize : respondHello)(incoming, outgoing),
  );
  const expecting = (path: string): string =>
    request(`POST ${path} HTTP/1.1`, [
      ['expect', '100-continue'],
      ['content-length', '3'],
    ]);
  const wire = fixture.wire();
  const received: string[] = [];
  wire.socket.on('data', (bytes: Buffer) => void received.push(bytes.toString('latin1')));
  wire.send(expecting('/read'));
  await until('100 Continue', () => received.join('').includes('100 Continue'));
  wire.send('abc');
  assert.deepEqual(jsonOf((await wire.response()) ?? assert.fail()), { size: 3 });
  received.length = 0;
  wire.send(expecting('/unread'));
  const response = await wire.response();
  assert.equal(response?.text, 'hello');
  assert.equal(response?.headers.get('connection'), 'close', 'the client may or may not send its body');
  assert.ok(!received.join('').includes('100 Continue'));
});

test('the connection discards an unread body and reads the next request', async () => {
  const fixture = await open(respondHello);
  const wire = fixture.wire();
  wire.send(request('POST / HTTP/1.1', [['content-length', '20']], 'GET /'));
  assert.equal((await wire.response())?.status, 200);
  wire.send(` HTTP/1.1\r\n\r\n12${GET}`);
  assert.equal((await wire.response())?.status, 200);
  assert.deepEqual(
    fixture.calls.map(({ incoming }) => incoming.method),
    ['POST', 'GET'],
  );
  wire.end();
});

test('the connection closes when the rest of an unread body does not arrive', async () => {
  const fixture = await open(respondHello);
  const wire = fixture.wire();
  wire.send(request('POST / HTTP/1.1', [['content-length', '20']], 'half'));
  assert.equal((await wire.response())?.status, 200);
  await until('the response to be sent', () => fixture.calls[0]?.outgoing.writableFinished);
  fixture.clock.advance(500);
  await wire.closed();
});

for (const [description, bytes, ms] of [
  ['sends nothing', '', 10_000],
  ['does not finish its head', 'GET / HTTP/1.1\r\nhost:', 10_000],
  ['does not finish its body', request('POST / HTTP/1.1', [['content-length', '9']], 'half'), 300_000],
] as const) {
  test(`the connection sends 408 and closes when a client ${description}`, async () => {
    const fixture = await open(respondSize);
    const wire = fixture.wire();
    await once(wire.socket, 'connect');
    wire.send(bytes);
    // Its response proves that the first connection was accepted.
    const other = fixture.wire();
    other.send(GET);
    assert.equal((await other.response())?.status, 200);
    other.end();
    await until('the call', () => fixture.calls.length === (bytes.startsWith('POST') ? 2 : 1));
    fixture.clock.advance(ms - 1_000);
    fixture.clock.advance(2_000);
    assert.equal((await wire.response())?.status, 408);
    await wire.closed();
  });
}

test('line breaks alone do not extend the time limit of the head', async () => {
  const fixture = await open(respondHello);
  const wire = fixture.wire();
  await once(wire.socket, 'connect');
  for (const bytes of ['\r\n', '\r', '\n\r', '\n']) {
    wire.send(bytes);
    // Its response proves that the line break was read.
    const other = fixture.wire();
    other.send(GET);
    assert.equal((await other.response())?.status, 200);
    other.end();
    fixture.clock.advance(3_000);
  }
  assert.equal((await wire.response())?.status, 408);
  await wire.closed();
});

test('an idle connection closes after the keep-alive time, and not before', async () => {
  const fixture = await open(respondHello);
  const wire = fixture.wire();
  wire.send(GET);
  const response = await wire.response();
  assert.equal(response?.headers.get('keep-alive'), 'timeout=65');
  await until('the response to be sent', () => fixture.calls[0]?.outgoing.writableFinished);
  fixture.clock.advance(64_000);
  wire.send(GET);
  assert.equal((await wire.response())?.status, 200);
  await until('the response to be sent', () => fixture.calls[1]?.outgoing.writableFinished);
  fixture.clock.advance(66_000);
  await wire.closed();
});

test('the request timeout does not apply to a slow response', async () => {
  const fixture = await open(() => {});
  const wire = fixture.wire();
  wire.send(GET);
  await until('the call', () => fixture.calls.length === 1);
  fixture.clock.advance(3_600_000);
  const { incoming, outgoing } = fixture.calls[0] ?? assert.fail();
  respondHello(incoming, outgoing);
  assert.equal((await wire.response())?.text, 'hello');
  wire.end();
});

test('destroy() on a finished response does not close the reused connection', async () => {
  const fixture = await open(respondHello);
  const wire = fixture.wire();
  wire.send(GET);
  await wire.response();
  const [first] = fixture.calls;
  await until('the response to be sent', () => first?.outgoing.writableFinished);
  first?.outgoing.destroy();
  first?.outgoing.end('late');
  wire.send(GET);
  assert.equal((await wire.response())?.text, 'hello');
  wire.end();
});

test('the response is destroyed when the client disconnects early, by FIN or RST', async () => {
  for (const disconnect of [(wire: Wire) => wire.socket.end(), (wire: Wire) => wire.socket.resetAndDestroy()]) {
    const fixture = await open(() => {});
    const wire = fixture.wire();
    wire.send(GET);
    await until('the call', () => fixture.calls.length === 1);
    const { outgoing } = fixture.calls[0] ?? assert.fail();
    const closed = new Promise<void>((resolve) => outgoing.once('close', resolve));
    disconnect(wire);
    await closed;
    assert.equal(outgoing.writableFinished, false);
    assert.equal(outgoing.destroyed, true);
  }
});

test('the body reader is notified when the client disconnects mid-body', async () => {
  const fixture = await open(() => {});
  const wire = fixture.wire();
  wire.send(request('POST / HTTP/1.1', [['content-length', '9']], 'half'));
  await until('the call', () => fixture.calls.length === 1);
  const cut = Promise.withResolvers<void>();
  fixture.calls[0]?.incoming.read({ onData: () => true, onEnd: () => assert.fail(), onAborted: () => cut.resolve() });
  wire.socket.resetAndDestroy();
  await cut.promise;
});

test('an exception in a handler closes only its own connection', async () => {
  const fixture = await open(() => {
    throw new Error('a bug');
  });
  const wire = fixture.wire();
  wire.send(GET);
  assert.equal(await wire.response(), undefined);
  assert.equal(fixture.internalErrors.length, 1);
});

test('the connection stops reading a body of more than 64 KiB until the handler reads it', async () => {
  const fixture = await open((incoming, outgoing) => {
    if (incoming.url === '/other') respondHello(incoming, outgoing);
  });
  const wire = fixture.wire();
  const size = 16 * 2 ** 20;
  wire.send(request('POST / HTTP/1.1', [['content-length', String(size)]]));
  await until('the call', () => fixture.calls.length === 1);
  const bytesRead = (): number => fixture.sockets[0]?.bytesRead ?? 0;
  wire.send(Buffer.alloc(size));
  await until('more than 64 KiB', () => bytesRead() > 64 * 1024);
  // Every other request takes several turns of the event loop, in each of which the server would read on.
  const other = fixture.wire();
  for (let n = 0; n < 20; n += 1) {
    other.send(request('GET /other HTTP/1.1'));
    assert.equal((await other.response())?.status, 200);
  }
  other.end();
  assert.ok(bytesRead() <= 8 * 64 * 1024, `${bytesRead()} bytes read`);
  const { incoming, outgoing } = fixture.calls[0] ?? assert.fail();
  respondSize(incoming, outgoing);
  assert.deepEqual(jsonOf((await wire.response()) ?? assert.fail()), { size });
  wire.end();
});

test('the connection stops reading a client that pipelines more than 64 KiB, until the response is sent', async () => {
  let socket: Upgradable['socket'] | undefined;
  const fixture = await open((incoming, outgoing, connection) => {
    if (incoming.url === '/other') return respondHello(incoming, outgoing);
    socket ??= connection.socket;
  });
  const wire = fixture.wire();
  wire.send(GET);
  await until('the call', () => socket !== undefined);
  const bytesRead = (): number => socket?.bytesRead ?? 0;
  wire.send(GET.repeat(400_000));
  await until('more than 64 KiB', () => bytesRead() > 64 * 1024);
  // Every other request takes several turns of the event loop, in each of which the server would read on.
  const other = fixture.wire();
  for (let n = 0; n < 20; n += 1) {
    other.send(request('GET /other HTTP/1.1'));
    assert.equal((await other.response())?.status, 200);
  }
  other.end();
  // The limit, the buffer of the paused stream, and a read of 64 KiB beyond each; twice that for other read sizes.
  assert.ok(bytesRead() <= 8 * 64 * 1024, `${bytesRead()} bytes read`);
  assert.ok(wire.socket.writableLength > 0, 'the client still holds the rest');
  const [first] = fixture.calls;
  if (first) respondHello(first.incoming, first.outgoing);
  assert.equal((await wire.response())?.text, 'hello');
  await until(
    'the next pipelined request',
    () => fixture.calls.filter(({ incoming }) => incoming.url === '/').length > 1,
  );
  wire.end();
});

/** Opens a connection whose first request was served, and returns the server's side of it. */
async function serveFirst(fixture: Fixture, wire: Wire): Promise<Upgradable['socket']> {
  const before = fixture.calls.length;
  wire.send(request('GET /first HTTP/1.1'));
  assert.equal((await wire.response())?.status, 200);
  await until('the response to be sent', () => fixture.calls[before]?.outgoing.writableFinished);
  return fixture.sockets.at(-1) ?? assert.fail();
}

test('the connection reads a head that arrives byte by byte at a cost that grows linearly with its size', async () => {
  const fixture = await open(respondHello);
  const costs: number[] = [];
  for (const size of [12_000, 24_000]) {
    const wire = fixture.wire();
    const socket = await serveFirst(fixture, wire);
    costs.push(countBufferBytes(() => drip(socket, request('GET / HTTP/1.1', [['x-big', 'x'.repeat(size)]]))));
    assert.equal((await wire.response())?.text, 'hello');
    assert.equal(fixture.calls.at(-1)?.incoming.headers['x-big']?.length, size);
    wire.end();
  }
  const [half = 0, whole = 0] = costs;
  assert.ok(whole <= 2.5 * half, `${half} bytes handled, then ${whole}`);
  assert.ok(whole <= 12 * 24_000, `${whole} bytes handled`);
});

test('the connection buffers pipelined bytes that arrive one by one at a cost that grows linearly', async () => {
  const fixture = await open((incoming, outgoing) => {
    if (incoming.url !== '/pending') respondHello(incoming, outgoing);
  });
  const costs: number[] = [];
  for (const size of [500, 1_000]) {
    const wire = fixture.wire();
    const socket = await serveFirst(fixture, wire);
    const pipelined = GET.repeat(size);
    costs.push(countBufferBytes(() => drip(socket, request('GET /pending HTTP/1.1') + pipelined)));
    const { incoming, outgoing } = fixture.calls.at(-1) ?? assert.fail();
    assert.equal(incoming.url, '/pending');
    respondHello(incoming, outgoing);
    for (let n = 0; n <= size; n += 1) assert.equal((await wire.response())?.text, 'hello');
    wire.end();
  }
  const [half = 0, whole = 0] = costs;
  assert.ok(whole <= 2.5 * half, `${half} bytes handled, then ${whole}`);
});

for (const [description, bytes] of [
  ['a bare line feed', 'GET / HTTP/1.1\r\nhost: a\n'],
  ['a bare carriage return', 'GET / HTTP/1.1\r\nhost: a\rx'],
  ['a control character', 'GET / HTTP/1.1\r\nhost: \x01'],
  ['a lower-case method', 'g'],
] as const) {
  test(`the connection rejects an incomplete head with ${description} at once, in one read or in many`, async () => {
    const fixture = await open(respondHello);
    const whole = fixture.wire();
    whole.send(bytes);
    assert.equal((await whole.response())?.status, 400);
    const wire = fixture.wire();
    drip(await serveFirst(fixture, wire), bytes);
    assert.equal((await wire.response())?.status, 400);
    wire.end();
  });
}

test('the connection serves pipelined requests one after the other, in order', async () => {
  const fixture = await open(() => {});
  const wire = fixture.wire();
  wire.send(['/1', '/2', '/3'].map((path) => request(`GET ${path} HTTP/1.1`)).join(''));
  for (const n of [1, 2, 3]) {
    await until('the call', () => fixture.calls.length === n);
    const { incoming, outgoing } = fixture.calls.at(-1) ?? assert.fail();
    outgoing.end(incoming.url);
    assert.equal((await wire.response())?.text, `/${n}`);
  }
  wire.end();
});

test('a malformed body does not insert an error response into a response in progress', async () => {
  const fixture = await open((_incoming, outgoing) => {
    outgoing.writeHead(200, {});
    outgoing.write('begun');
  });
  const wire = fixture.wire();
  wire.send(request('POST / HTTP/1.1', [['transfer-encoding', 'chunked']]));
  await until('the call', () => fixture.calls.length === 1);
  const received: string[] = [];
  wire.socket.on('data', (bytes: Buffer) => void received.push(bytes.toString('latin1')));
  wire.send('zz\r\n');
  await wire.closed();
  assert.ok(!received.join('').includes('400'));
});

test('release() returns the bytes received after the request', async () => {
  const fixture = await open((_incoming, _outgoing, connection) => {
    connection.socket.end(`taken: ${connection.release()}`);
  });
  const wire = fixture.wire();
  let received = '';
  wire.socket.on('data', (bytes) => (received += bytes));
  const upgrade = request('GET / HTTP/1.1', [
    ['connection', 'upgrade'],
    ['upgrade', 'websocket'],
  ]);
  wire.send(`${upgrade}a first frame`);
  await wire.closed();
  assert.equal(received, 'taken: a first frame');
});

test('a handler cannot write after the error response for malformed bytes', async () => {
  let outgoing: OutgoingResponse | undefined;
  let socket: Upgradable['socket'] | undefined;
  const fixture = await open((_incoming, response, connection) => {
    outgoing = response;
    socket = connection.socket;
  });
  const wire = fixture.wire();
  wire.send(request('POST / HTTP/1.1', [['transfer-encoding', 'chunked']], '4\r\nhalf'));
  await until('the call', () => fixture.calls.length === 1);
  wire.send('no chunk');
  assert.equal((await wire.response())?.status, 400);
  outgoing?.writeHead(200, {});
  outgoing?.flushHeaders();
  outgoing?.end('late');
  // A reset would mean that the connection was closed with unread bytes, which can lose the error response.
  assert.equal(socket?.errored, null);
  wire.end();
});

test('a released connection gets the same time as others at shutdown', async () => {
  const fixture = await open((_incoming, _outgoing, connection) => {
    connection.release();
    connection.socket.write('taken');
  });
  const idle = fixture.wire();
  await once(idle.socket, 'connect');
  const wire = fixture.wire();
  wire.send(GET);
  await once(wire.socket, 'data');
  const stopped = fixture.listener.close(500);
  await idle.closed();
  fixture.clock.advance(499 + LAST_BYTES_MS);
  assert.equal(wire.socket.destroyed, false);
  fixture.clock.advance(1);
  await wire.closed();
  await stopped;
});

for (const turnMs of [25, 100])
  test(`the sockets close together within a second when turns take ${turnMs} ms, and then the time of open requests begins`, async () => {
    const fixture = await open(() => {});
    const { clock, listener } = fixture;
    const wire = fixture.wire();
    wire.send(GET);
    await until('an open request', () => listener.openConnections === 1);
    let interruptedAt = 0;
    const interrupt = (): void => {
      interruptedAt = clock.elapsed();
    };
    let isListening = true;
    const stopped = listener.stopListening().then(() => {
      isListening = false;
    });
    while (isListening) {
      clock.advance(turnMs);
      await nextTurn();
    }
    await stopped;
    const closedAt = clock.elapsed();
    assert.ok(closedAt <= 1_000 + 2 * turnMs, `after ${closedAt} ms`);
    for (let n = 0; n < 100; n += 1) {
      const late = connect(Number(new URL(fixture.url).port), '127.0.0.1');
      const [error] = await once(late, 'error');
      assert.equal((error as NodeJS.ErrnoException).code, 'ECONNREFUSED');
    }
    await whileTimePasses(clock, 1_000, listener.close(30_000, { interrupt }));
    assert.ok(interruptedAt - closedAt >= 30_000, `${interruptedAt - closedAt} ms`);
  });

test('a handover serves one more request of clients that were here shortly before, and closes the others', async () => {
  const fixture = await open(respondHello);
  const [used, idle, fresh] = [fixture.wire(), fixture.wire(), fixture.wire()];
  await serveFirst(fixture, idle);
  fixture.clock.advance(SERVER_BOUNDS.lingerMs.limit);
  await serveFirst(fixture, used);
  await until('all connections', () => fixture.listener.openConnections === 3);
  const stopped = fixture.listener.close(60_000, { isHandover: true });
  fixture.isDraining = true;
  await idle.closed();
  for (const wire of [used, fresh]) {
    wire.send(GET);
    const response = await wire.response();
    assert.deepEqual([response?.status, response?.headers.get('connection')], [200, 'close']);
  }
  await stopped;
});

test('a request that has arrived unread while the event loop was busy is served in a handover', async () => {
  const fixture = await open(respondHello);
  const wire = fixture.wire();
  await serveFirst(fixture, wire);
  fixture.clock.advance(SERVER_BOUNDS.lingerMs.limit);
  const stopped = fixture.listener.close(60_000, { isHandover: true });
  fixture.isDraining = true;
  // Written to the kernel at once, and long before this turn ends.
  wire.send(GET);
  const end = performance.now() + 200;
  while (performance.now() < end);
  assert.equal((await wire.response())?.status, 200);
  await stopped;
});

test('a handover serves connections that the kernel has completed and nobody has accepted', async () => {
  const fixture = await open(respondHello);
  const wires = Array.from({ length: 100 }, () => fixture.wire());
  for (const wire of wires) wire.send(GET);
  // They connect now, in this turn of the event loop.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  fixture.isDraining = true;
  const stopped = fixture.listener.close(60_000, { isHandover: true });
  for (const wire of wires) assert.equal((await wire.response())?.status, 200);
  await stopped;
});

test('a turn of the event loop accepts many connections', { skip: process.platform !== 'linux' }, async () => {
  const fixture = await open(respondHello);
  const wires = Array.from({ length: 200 }, () => fixture.wire());
  let [before, most] = [0, 0];
  while (before < wires.length) {
    await nextTurn();
    most = Math.max(most, fixture.listener.openConnections - before);
    before = fixture.listener.openConnections;
  }
  assert.ok(most >= 16, `at most ${most}`);
});

test('the connection closes when the client does not read the response for five minutes', async () => {
  const fixture = await open((_incoming, outgoing) => outgoing.end(Buffer.alloc(32 * 2 ** 20)));
  const wire = fixture.wire();
  wire.socket.pause();
  wire.send(GET);
  await until('the call', () => fixture.calls.length === 1);
  fixture.clock.advance(299_000);
  assert.equal(fixture.calls[0]?.outgoing.destroyed, false, 'a slow client has five minutes');
  fixture.clock.advance(2_000);
  await until('the end of the connection', () => fixture.calls[0]?.outgoing.destroyed);
  wire.end();
});

test('a pipelined request is dropped when the client closes its side', async () => {
  const fixture = await open((_incoming, outgoing) => outgoing.end(Buffer.alloc(12 * 2 ** 20)));
  const wire = fixture.wire();
  wire.socket.pause();
  wire.socket.end(GET + GET);
  await until('the call', () => fixture.calls.length === 1);
  wire.socket.resume();
  await wire.closed();
  assert.deepEqual([fixture.calls.length, fixture.calls[0]?.outgoing.writableFinished], [1, true]);
});

/** Opens a connection with a request that stays pending. */
async function occupy(fixture: Fixture): Promise<Wire> {
  const before = fixture.calls.length;
  const wire = fixture.wire();
  wire.send(request('GET /pending HTTP/1.1'));
  await until('the call', () => fixture.calls.length > before);
  return wire;
}

const respondUnlessPending: Handler = (incoming, outgoing) => {
  if (incoming.url !== '/pending') respondHello(incoming, outgoing);
};

/**
 * Opens connections, and prints how many the kernel completed.
 * It waits long for the last one only if the kernel does not keep it.
 */
const CONNECT_MANY = `
  const [port, count] = process.argv.slice(1).map(Number);
  let connected = 0;
  const print = () => { console.log(connected); process.exit(); };
  setTimeout(print, ${HANGING_MS});
  for (let n = 0; n < count; n += 1)
    require('node:net').connect(port, '127.0.0.1').on('error', () => {}).on('connect', () => {
      connected += 1;
      if (connected === count) print();
    });`;

test('a burst of connections is kept by the kernel while the process is busy', async () => {
  const { url } = await open((_, outgoing) => outgoing.end());
  const kept = Number(existsSync(SOMAXCONN) ? readFileSync(SOMAXCONN, 'utf8') : 128);
  const count = Math.min(900, kept);
  // `spawnSync` blocks this process, so it accepts nothing meanwhile.
  const { stdout } = spawnSync(process.execPath, ['-e', CONNECT_MANY, new URL(url).port, String(count)]);
  assert.equal(Number(stdout), count);
});

test('the listener refuses connections above the limit with 503, and accepts others once one closes', async () => {
  const fixture = await open(respondUnlessPending, { ...UNLIMITED, total: 2 });
  const [first] = [await occupy(fixture), await occupy(fixture)];
  const refused = fixture.wire();
  refused.send(GET);
  const response = await refused.response();
  assert.deepEqual([response?.status, response?.headers.get('connection')], [503, 'close']);
  await refused.closed();
  assert.deepEqual([fixture.listener.openConnections, fixture.listener.refusedConnections], [2, 1]);
  fixture.clock.advance(1_000);
  assert.deepEqual(fixture.refused, [1]);
  first.end();
  await until('the end of the connection', () => fixture.listener.openConnections === 1);
  const next = fixture.wire();
  next.send(GET);
  assert.equal((await next.response())?.status, 200);
  fixture.clock.advance(1_000);
  assert.deepEqual(fixture.refused, [1], 'nothing to report');
});

test('the listener closes the connection that is idle for the longest time when a new one would exceed the limit', async () => {
  const fixture = await open(respondUnlessPending, { ...UNLIMITED, total: 3 });
  const busy = await occupy(fixture);
  const [older, newer] = [fixture.wire(), fixture.wire()];
  for (const wire of [newer, older]) await serveFirst(fixture, wire);
  fixture.clock.advance(5_000);
  await serveFirst(fixture, newer);
  const latest = fixture.wire();
  latest.send(GET);
  assert.equal((await latest.response())?.status, 200);
  await older.closed();
  assert.deepEqual([busy.isClosed, newer.isClosed, fixture.listener.openConnections], [false, false, 3]);
});

test('the listener limits the connections of one address, trusted proxies excepted', async () => {
  for (const [isExempt, status] of [
    [false, 503],
    [true, 200],
  ] as const) {
    const fixture = await open(respondUnlessPending, { total: 10, perAddress: 2, isExempt: () => isExempt });
    for (let n = 0; n < 2; n += 1) await occupy(fixture);
    const wire = fixture.wire();
    wire.send(GET);
    assert.equal((await wire.response())?.status, status);
  }
});

test('the listener closes further connections at once while many are being refused', async () => {
  const fixture = await open(respondUnlessPending, { ...UNLIMITED, total: 1 });
  await occupy(fixture);
  const wires = Array.from({ length: 100 }, () => fixture.wire());
  // They do not read, so that no refused connection ends early.
  for (const { socket } of wires) socket.pause();
  await until('all connections', () => fixture.listener.refusedConnections === 100);
  for (const { socket } of wires) socket.resume();
  const responses = await Promise.all(wires.map((wire) => wire.response()));
  assert.equal(responses.filter((response) => response?.status === 503).length, 64);
  assert.equal(responses.filter((response) => response === undefined).length, 36);
});

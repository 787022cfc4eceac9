import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, test } from 'node:test';
import { jsonOf, request, Wire } from '../../test/support/raw.ts';
import { until } from '../../test/support/wait.ts';
import { FakeClock } from '../core/index.ts';
import type { ProtocolViolation, ServerConnection } from './connection.ts';
import { Listener } from './listener.ts';
import type { IncomingRequest } from './request.ts';
import type { OutgoingResponse } from './response.ts';

type Handler = (incoming: IncomingRequest, outgoing: OutgoingResponse, connection: ServerConnection) => void;

const STATUS: Readonly<Record<ProtocolViolation, number>> = { malformed: 400, headers_too_large: 431, too_slow: 408 };

class Bed {
  readonly clock = new FakeClock();
  readonly bugs: unknown[] = [];
  readonly calls: { incoming: IncomingRequest; outgoing: OutgoingResponse }[] = [];
  url = '';
  isDraining = false;
  readonly listener: Listener;

  constructor(handler: Handler) {
    const bed = this;
    this.listener = new Listener({
      clock: this.clock,
      get isDraining() {
        return bed.isDraining;
      },
      onRequest(incoming, outgoing, connection) {
        bed.calls.push({ incoming, outgoing });
        handler(incoming, outgoing, connection);
      },
      onBug: (error) => void this.bugs.push(error),
      onViolation: (breach) => `HTTP/1.1 ${STATUS[breach]} Refused\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`,
    });
  }

  wire(): Wire {
    return new Wire(this.url);
  }
}

const beds: Bed[] = [];

async function open(handler: Handler): Promise<Bed> {
  const bed = new Bed(handler);
  const { port } = await bed.listener.listen('127.0.0.1', 0);
  bed.url = `http://127.0.0.1:${port}`;
  beds.push(bed);
  return bed;
}

afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.listener.close(0);
});

const greet = (_incoming: IncomingRequest, outgoing: OutgoingResponse): void => {
  outgoing.writeHead(200, { 'content-type': 'text/plain' });
  outgoing.end('hello');
};

/** Reads the body to its end, then says how long it was. */
const measure = (incoming: IncomingRequest, outgoing: OutgoingResponse): void => {
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
    onCut() {},
  });
};

const GET = request('GET / HTTP/1.1');

test('an answer that is there as a whole has its length, one that comes in pieces has chunks', async () => {
  const bed = await open((incoming, outgoing) => {
    if (incoming.url === '/whole') return greet(incoming, outgoing);
    outgoing.writeHead(200, {});
    outgoing.write('pieces, ');
    outgoing.write(Buffer.from('ünd '));
    outgoing.write('');
    outgoing.end('an end');
  });
  const wire = bed.wire();
  wire.send(request('GET /whole HTTP/1.1'));
  const whole = await wire.answer();
  assert.equal(whole?.headers.get('content-length'), '5');
  assert.equal(whole?.text, 'hello');
  assert.match(whole?.headers.get('date') ?? '', /GMT$/);
  wire.send(request('GET /pieces HTTP/1.1'));
  const pieces = await wire.answer();
  assert.equal(pieces?.headers.get('transfer-encoding'), 'chunked');
  assert.equal(pieces?.text, 'pieces, ünd an end');
  wire.end();
});

test('HTTP/1.0 gets no chunks: the end of the connection is the end of the answer', async () => {
  const bed = await open((_incoming, outgoing) => {
    outgoing.writeHead(200, {});
    outgoing.write('until ');
    outgoing.end('the end');
  });
  const wire = bed.wire();
  wire.send(request('GET / HTTP/1.0', [['connection', 'keep-alive']]));
  const answer = await wire.answer();
  assert.equal(answer?.headers.get('transfer-encoding'), undefined);
  assert.equal(answer?.headers.get('connection'), 'close');
  assert.equal(answer?.text, 'until the end');
});

test('answers to HEAD, 204 and 304 have no body, whatever is written', async () => {
  const bed = await open((incoming, outgoing) => {
    outgoing.writeHead(Number(incoming.url.slice(1)), { 'x-one': 'a' });
    outgoing.write('not ');
    outgoing.end('seen');
  });
  const wire = bed.wire();
  for (const line of ['HEAD /200', 'GET /204', 'GET /304']) {
    wire.send(request(`${line} HTTP/1.1`));
    assert.equal((await wire.answer({ head: true }))?.text, '', line);
  }
  wire.end();
});

test('large answers arrive whole, however they are written, and a slow reader is waited for', async () => {
  const piece = Buffer.alloc(300_000, 'x');
  let waited = 0;
  const bed = await open((incoming, outgoing) => {
    outgoing.writeHead(200, incoming.url === '/sized' ? { 'content-length': 40 * piece.length } : {});
    let left = 40;
    const more = (): void => {
      while (left > 0) {
        left -= 1;
        if (left === 0) return outgoing.end(piece);
        if (!outgoing.write(piece)) {
          waited += 1;
          return outgoing.once('drain', more);
        }
      }
    };
    more();
  });
  const wire = bed.wire();
  for (const path of ['/sized', '/chunked']) {
    wire.send(request(`GET ${path} HTTP/1.1`));
    assert.equal((await wire.answer())?.text.length, 40 * piece.length, path);
  }
  assert.ok(waited > 1, 'writing paused');
  wire.end();
});

test('an answer that offers an upgrade says so, and that the connection goes on', async () => {
  const bed = await open((_incoming, outgoing) => {
    outgoing.writeHead(426, { upgrade: 'websocket', connection: 'Upgrade' });
    outgoing.end('no');
  });
  const wire = bed.wire();
  for (let n = 0; n < 2; n += 1) {
    wire.send(GET);
    assert.equal((await wire.answer())?.headers.get('connection'), 'Upgrade, keep-alive');
  }
  wire.end();
});

test('no header can hold a line break', async () => {
  const bed = await open((_incoming, outgoing) => {
    assert.throws(() => outgoing.writeHead(200, { 'x-one': 'a\r\nx-two: b' }));
    assert.throws(() => outgoing.writeHead(200, { 'x-one: a\r\nx-two': 'b' }));
    outgoing.writeHead(200, { 'x-one': 'ü' });
    outgoing.end('ü');
  });
  const wire = bed.wire();
  wire.send(GET);
  const answer = await wire.answer();
  assert.equal(answer?.headers.get('x-one'), 'ü');
  assert.equal(answer?.text, 'ü');
  wire.end();
});

test('a client that waits to be asked for its body is asked when somebody reads it, and only then', async () => {
  const bed = await open((incoming, outgoing) => (incoming.url === '/read' ? measure : greet)(incoming, outgoing));
  const expecting = (path: string): string =>
    request(`POST ${path} HTTP/1.1`, [
      ['expect', '100-continue'],
      ['content-length', '3'],
    ]);
  const wire = bed.wire();
  const told: string[] = [];
  wire.socket.on('data', (bytes: Buffer) => void told.push(bytes.toString('latin1')));
  wire.send(expecting('/read'));
  await until('the word to go on', () => told.join('').includes('100 Continue'));
  wire.send('abc');
  assert.deepEqual(jsonOf((await wire.answer()) ?? assert.fail()), { size: 3 });
  told.length = 0;
  wire.send(expecting('/unread'));
  const answer = await wire.answer();
  assert.equal(answer?.text, 'hello');
  assert.equal(answer?.headers.get('connection'), 'close', 'whether the body still comes is not known');
  assert.ok(!told.join('').includes('100 Continue'));
});

test('a body that nobody read is thrown away, and what follows is read as the next request', async () => {
  const bed = await open(greet);
  const wire = bed.wire();
  wire.send(request('POST / HTTP/1.1', [['content-length', '20']], 'GET /'));
  assert.equal((await wire.answer())?.status, 200);
  wire.send(` HTTP/1.1\r\n\r\n12${GET}`);
  assert.equal((await wire.answer())?.status, 200);
  assert.deepEqual(
    bed.calls.map(({ incoming }) => incoming.method),
    ['POST', 'GET'],
  );
  wire.end();
});

test('the rest of a body that never comes costs the connection', async () => {
  const bed = await open(greet);
  const wire = bed.wire();
  wire.send(request('POST / HTTP/1.1', [['content-length', '20']], 'half'));
  assert.equal((await wire.answer())?.status, 200);
  await until('the answer to be out', () => bed.calls[0]?.outgoing.writableFinished);
  bed.clock.advance(500);
  await wire.closed();
});

for (const [about, bytes, ms] of [
  ['sends nothing', '', 10_000],
  ['does not finish its head', 'GET / HTTP/1.1\r\nhost:', 10_000],
  ['does not finish its body', request('POST / HTTP/1.1', [['content-length', '9']], 'half'), 300_000],
] as const) {
  test(`a client that ${about} is told so and cut`, async () => {
    const bed = await open(measure);
    const wire = bed.wire();
    await once(wire.socket, 'connect');
    wire.send(bytes);
    // Answered only after the first connection was accepted.
    const other = bed.wire();
    other.send(GET);
    assert.equal((await other.answer())?.status, 200);
    other.end();
    await until('the call', () => bed.calls.length === (bytes.startsWith('POST') ? 2 : 1));
    bed.clock.advance(ms - 1_000);
    bed.clock.advance(2_000);
    assert.equal((await wire.answer())?.status, 408);
    await wire.closed();
  });
}

test('line breaks alone begin no request, and keep no connection', async () => {
  const bed = await open(greet);
  const wire = bed.wire();
  await once(wire.socket, 'connect');
  for (const bytes of ['\r\n', '\r', '\n\r', '\n']) {
    wire.send(bytes);
    // Answered only after the line break was read.
    const other = bed.wire();
    other.send(GET);
    assert.equal((await other.answer())?.status, 200);
    other.end();
    bed.clock.advance(3_000);
  }
  assert.equal((await wire.answer())?.status, 408);
  await wire.closed();
});

test('a connection that rests is closed after its time, and not before', async () => {
  const bed = await open(greet);
  const wire = bed.wire();
  wire.send(GET);
  const answer = await wire.answer();
  assert.equal(answer?.headers.get('keep-alive'), 'timeout=65');
  await until('the answer to be out', () => bed.calls[0]?.outgoing.writableFinished);
  bed.clock.advance(64_000);
  wire.send(GET);
  assert.equal((await wire.answer())?.status, 200);
  await until('the answer to be out', () => bed.calls[1]?.outgoing.writableFinished);
  bed.clock.advance(66_000);
  await wire.closed();
});

test('an answer that takes its time is not cut by the clock of requests', async () => {
  const bed = await open(() => {});
  const wire = bed.wire();
  wire.send(GET);
  await until('the call', () => bed.calls.length === 1);
  bed.clock.advance(3_600_000);
  const { incoming, outgoing } = bed.calls[0] ?? assert.fail();
  greet(incoming, outgoing);
  assert.equal((await wire.answer())?.text, 'hello');
  wire.end();
});

test('whoever cuts an answer that is out cuts nobody else', async () => {
  const bed = await open(greet);
  const wire = bed.wire();
  wire.send(GET);
  await wire.answer();
  const [first] = bed.calls;
  await until('the answer to be out', () => first?.outgoing.writableFinished);
  first?.outgoing.destroy();
  first?.outgoing.end('late');
  wire.send(GET);
  assert.equal((await wire.answer())?.text, 'hello');
  wire.end();
});

test('a client that leaves is noticed while its answer is being made, in whichever way it leaves', async () => {
  for (const leave of [(wire: Wire) => wire.socket.end(), (wire: Wire) => wire.socket.resetAndDestroy()]) {
    const bed = await open(() => {});
    const wire = bed.wire();
    wire.send(GET);
    await until('the call', () => bed.calls.length === 1);
    const { outgoing } = bed.calls[0] ?? assert.fail();
    const closed = new Promise<void>((resolve) => outgoing.once('close', resolve));
    leave(wire);
    await closed;
    assert.equal(outgoing.writableFinished, false);
    assert.equal(outgoing.destroyed, true);
  }
});

test('a reader hears that its body was cut', async () => {
  const bed = await open(() => {});
  const wire = bed.wire();
  wire.send(request('POST / HTTP/1.1', [['content-length', '9']], 'half'));
  await until('the call', () => bed.calls.length === 1);
  const cut = Promise.withResolvers<void>();
  bed.calls[0]?.incoming.read({ onData: () => true, onEnd: () => assert.fail(), onCut: () => cut.resolve() });
  wire.socket.resetAndDestroy();
  await cut.promise;
});

test('a bug in a handler costs its connection and nothing else', async () => {
  const bed = await open(() => {
    throw new Error('a bug');
  });
  const wire = bed.wire();
  wire.send(GET);
  assert.equal(await wire.answer(), undefined);
  assert.equal(bed.bugs.length, 1);
});

test('what is sent ahead waits its turn, and too much of it waits at the sender', async () => {
  const bed = await open(() => {});
  const wire = bed.wire();
  wire.send(GET);
  await until('the call', () => bed.calls.length === 1);
  const flood = Buffer.from(GET.repeat(400_000));
  wire.send(flood);
  await until('the sender to be held up', () => wire.socket.writableLength > 0 && wire.socket.bytesWritten > 0);
  const { incoming, outgoing } = bed.calls[0] ?? assert.fail();
  greet(incoming, outgoing);
  assert.equal((await wire.answer())?.text, 'hello');
  await until('the next call', () => bed.calls.length === 2);
  wire.end();
});

test('an answer that is under way gets no second one when the body behind it turns out to be broken', async () => {
  const bed = await open((_incoming, outgoing) => {
    outgoing.writeHead(200, {});
    outgoing.write('begun');
  });
  const wire = bed.wire();
  wire.send(request('POST / HTTP/1.1', [['transfer-encoding', 'chunked']]));
  await until('the call', () => bed.calls.length === 1);
  const told: string[] = [];
  wire.socket.on('data', (bytes: Buffer) => void told.push(bytes.toString('latin1')));
  wire.send('zz\r\n');
  await wire.closed();
  assert.ok(!told.join('').includes('400'));
});

test('whoever takes a connection over at once has what came behind its request', async () => {
  const bed = await open((_incoming, _outgoing, connection) => {
    connection.socket.end(`taken: ${connection.release()}`);
  });
  const wire = bed.wire();
  let heard = '';
  wire.socket.on('data', (bytes) => (heard += bytes));
  wire.send(`${GET}a first frame`);
  await wire.closed();
  assert.equal(heard, 'taken: a first frame');
});

test('a refusal of broken bytes is the last that is said, whatever a handler says later', async () => {
  let outgoing: OutgoingResponse | undefined;
  let socket: ServerConnection['socket'] | undefined;
  const bed = await open((_incoming, answer, connection) => {
    outgoing = answer;
    socket = connection.socket;
  });
  const wire = bed.wire();
  wire.send(request('POST / HTTP/1.1', [['transfer-encoding', 'chunked']], '4\r\nhalf'));
  await until('the call', () => bed.calls.length === 1);
  wire.send('no chunk');
  assert.equal((await wire.answer())?.status, 400);
  outgoing?.writeHead(200, {});
  outgoing?.flushHeaders();
  outgoing?.end('late');
  // A connection that is cut at once, with bytes of the client under way, may take the refusal with it.
  assert.equal(socket?.errored, null);
  wire.end();
});

test('a connection that was taken over has as long as all others when the server stops, and not longer', async () => {
  const bed = await open((_incoming, _outgoing, connection) => {
    connection.release();
    connection.socket.write('taken');
  });
  const idle = bed.wire();
  await once(idle.socket, 'connect');
  const wire = bed.wire();
  wire.send(GET);
  await once(wire.socket, 'data');
  const stopped = bed.listener.close(500);
  await idle.closed();
  assert.equal(wire.isClosed, false);
  await wire.closed();
  await stopped;
});

test('an answer that nobody takes does not keep its connection for ever', async () => {
  const bed = await open((_incoming, outgoing) => outgoing.end(Buffer.alloc(32 * 2 ** 20)));
  const wire = bed.wire();
  wire.socket.pause();
  wire.send(GET);
  await until('the call', () => bed.calls.length === 1);
  bed.clock.advance(299_000);
  assert.equal(bed.calls[0]?.outgoing.destroyed, false, 'a poor line has five minutes');
  bed.clock.advance(2_000);
  await until('the end of the connection', () => bed.calls[0]?.outgoing.destroyed);
  wire.end();
});

test('what was asked ahead by a client that takes no more answers is not begun', async () => {
  const bed = await open((_incoming, outgoing) => outgoing.end(Buffer.alloc(12 * 2 ** 20)));
  const wire = bed.wire();
  wire.socket.pause();
  wire.socket.end(GET + GET);
  await until('the call', () => bed.calls.length === 1);
  wire.socket.resume();
  await wire.closed();
  assert.deepEqual([bed.calls.length, bed.calls[0]?.outgoing.writableFinished], [1, true]);
});

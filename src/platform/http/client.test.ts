import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { until } from '../../../test/support/wait.ts';
import { type Clock, systemClock } from '../../core/index.ts';
import type { Exchange, HttpClient, HttpRequest, RequestTimeouts, TransportError } from './client.ts';
import { createHttpClient } from './stack.ts';

type Respond = (response: ServerResponse, request: IncomingMessage) => void;

const server = createServer((request, response) => {
  requests.push(request);
  respond(response, request);
});
let requests: IncomingMessage[] = [];
let respond: Respond = (response) => response.end('ok');
let origin = '';
const open: HttpClient[] = [];

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  requests = [];
  respond = (response) => response.end('ok');
});
after(async () => {
  for (const upstream of open) await upstream.close();
  server.closeAllConnections();
  server.close();
});

const TIMEOUTS: RequestTimeouts = { connect: 1_000, firstByte: 10_000, idle: 10_000, total: 60_000 };

interface Sent {
  readonly exchange: Exchange;
  /** Calls of the listener, in order. */
  readonly events: string[];
  /** Resolves with the end or the error. */
  readonly done: Promise<TransportError | 'end'>;
  /** Resolves when a head arrives. */
  readonly head: Promise<void>;
}

function upstreamOn(clock: Clock = systemClock): HttpClient {
  const upstream = createHttpClient({ clock });
  open.push(upstream);
  return upstream;
}

function send(upstream: HttpClient, options: Partial<HttpRequest> = {}, onData = (_chunk: Buffer) => true): Sent {
  const events: string[] = [];
  const done = Promise.withResolvers<TransportError | 'end'>();
  const head = Promise.withResolvers<void>();
  const exchange = upstream.send(
    { method: 'GET', origin, path: '/', headers: [], body: null, timeouts: TIMEOUTS, ...options },
    {
      onHead(status) {
        events.push(`head ${status}`);
        head.resolve();
      },
      onData(chunk) {
        events.push('data');
        return onData(chunk);
      },
      onEnd() {
        events.push('end');
        done.resolve('end');
      },
      onError(error) {
        events.push(`error ${error.kind}`);
        done.resolve(error);
      },
    },
  );
  return { exchange, events: events, done: done.promise, head: head.promise };
}

test('the client reports a response as head, data and end', async () => {
  const { events, done } = send(upstreamOn());
  assert.equal(await done, 'end');
  assert.deepEqual(events, ['head 200', 'data', 'end']);
});

test('the client skips informational responses and does not follow redirects', async () => {
  respond = (response) => {
    response.writeEarlyHints({ link: '</a>; rel=preload' });
    response.writeHead(302, { location: `${origin}/elsewhere` }).end();
  };
  const { events, done } = send(upstreamOn());
  await done;
  assert.deepEqual(events, ['head 302', 'end']);
  assert.equal(requests.length, 1);
});

test('a request aborted before its connection opens is never sent and reports nothing', async () => {
  const upstream = upstreamOn();
  const { exchange, events } = send(upstream, { path: '/aborted' });
  exchange.abort();
  exchange.abort();
  await send(upstream, { path: '/next' }).done;
  await send(upstream, { path: '/last' }).done;
  assert.deepEqual(
    requests.map(({ url }) => url),
    ['/next', '/last'],
  );
  assert.deepEqual(events, []);
});

test('an abort during the response closes the connection and reports nothing more', async () => {
  respond = (response) => void response.write('half');
  const { exchange, events, head } = send(upstreamOn());
  await head;
  const [request] = requests;
  const closed = once(request?.socket ?? assert.fail(), 'close');
  const before = events.length;
  exchange.abort();
  await closed;
  assert.equal(events.length, before);
});

test('the total timeout ends an endless response', async () => {
  const clock = new FakeClock();
  respond = (response) => void response.write('half');
  const { done, head, events } = send(upstreamOn(clock), { timeouts: { ...TIMEOUTS, idle: 120_000 } });
  await head;
  clock.advance(59_999);
  // Errors are reported in a microtask.
  await Promise.resolve();
  assert.equal(
    events.some((event) => event.startsWith('error')),
    false,
  );
  clock.advance(1);
  assert.deepEqual(await done, { kind: 'timeout', code: 'TOTAL_TIME' });
});

test('the total timeout includes the time to connect', async () => {
  const clock = new FakeClock();
  const { done } = send(upstreamOn(clock));
  clock.advance(60_000);
  assert.deepEqual(await done, { kind: 'timeout', code: 'TOTAL_TIME' });
  assert.equal(requests.length, 0);
});

test('a finished or aborted request leaves no timer', async () => {
  const pending = new Set<() => void>();
  const clock: Clock = {
    now: () => 0,
    elapsed: () => 0,
    after: (_ms, task) => {
      pending.add(task);
      return () => pending.delete(task);
    },
  };
  const upstream = upstreamOn(clock);
  await send(upstream).done;
  send(upstream).exchange.abort();
  await send(upstream, { origin: 'http://127.0.0.1:1' }).done;
  assert.equal(pending.size, 0);
});

test('the first-byte timeout applies in spite of informational responses', async () => {
  const clock = new FakeClock();
  const early = Promise.withResolvers<void>();
  respond = (response) => response.writeEarlyHints({ link: '</a>; rel=preload' }, early.resolve);
  const { done, events } = send(upstreamOn(clock));
  await early.promise;
  clock.advance(9_999);
  await Promise.resolve();
  assert.deepEqual(events, []);
  clock.advance(1);
  assert.deepEqual(await done, { kind: 'timeout', code: 'FIRST_BYTE_TIME' });
  assert.deepEqual(events, ['error timeout']);
});

test('the idle timeout restarts with every read and stops while the listener pauses', async () => {
  const clock = new FakeClock();
  const responses: ServerResponse[] = [];
  respond = (response) => {
    responses.push(response);
    response.write('one');
  };
  let isPausing = false;
  let arrived = Promise.withResolvers<void>();
  const { exchange, done, events } = send(upstreamOn(clock), {}, () => {
    arrived.resolve();
    return !isPausing;
  });
  await arrived.promise;
  for (isPausing of [false, true]) {
    clock.advance(9_999);
    arrived = Promise.withResolvers();
    responses[0]?.write('more');
    await arrived.promise;
  }
  clock.advance(20_000);
  exchange.resume();
  clock.advance(9_999);
  await Promise.resolve();
  assert.deepEqual(events, ['head 200', 'data', 'data', 'data']);
  clock.advance(1);
  assert.deepEqual(await done, { kind: 'timeout', code: 'IDLE_TIME' });
});

test('concurrent requests each have their own timeout', async () => {
  const clock = new FakeClock();
  const upstream = upstreamOn(clock);
  respond = () => {};
  const calls = [9_000, 500, 3_000, 500, 7_000].map((firstByte) =>
    send(upstream, { timeouts: { ...TIMEOUTS, firstByte } }),
  );
  while (requests.length < calls.length) await once(server, 'request');
  const ended: number[] = [];
  for (const [n, { done }] of calls.entries()) void done.then(() => ended.push(n));
  for (const [ms, expected] of [
    [499, []],
    [1, [1, 3]],
    [2_500, [1, 3, 2]],
    [5_999, [1, 3, 2, 4]],
    [1, [1, 3, 2, 4, 0]],
  ] as const) {
    clock.advance(ms);
    await new Promise(setImmediate);
    assert.deepEqual(ended, expected);
  }
});

test('an exception in a listener is reported to it as an error and affects no other request', async () => {
  const upstream = upstreamOn();
  for (const callback of ['onHead', 'onData', 'onEnd'] as const) {
    const reported = Promise.withResolvers<TransportError>();
    const listener = { onHead() {}, onData: () => true, onEnd() {}, onError: reported.resolve };
    const request = { method: 'GET', origin, path: '/', headers: [], body: null, timeouts: TIMEOUTS } as const;
    upstream.send(request, {
      ...listener,
      [callback]: () => {
        throw new TypeError('listener failed');
      },
    });
    assert.deepEqual(await reported.promise, { kind: 'failed', code: 'TypeError' });
    assert.equal(await send(upstream).done, 'end');
  }
});

for (const [description, timeouts, script] of [
  ['does not start', { firstByte: 200 }, () => {}],
  ['stalls', { idle: 200 }, (response) => void response.write('half')],
] as const satisfies readonly (readonly [string, Partial<RequestTimeouts>, Respond])[]) {
  test(`a response that ${description} is a timeout`, async () => {
    respond = script;
    const error = await send(upstreamOn(), { timeouts: { ...TIMEOUTS, ...timeouts } }).done;
    assert.equal(typeof error === 'object' && error.kind, 'timeout');
  });
}

test('a connection closed before or during the response is a failure', async () => {
  for (const script of [
    (response) => response.destroy(),
    (response) => response.write('half', () => response.destroy()),
    (response) => {
      response.writeHead(200, { 'content-length': 10 });
      response.write('half', () => response.destroy());
    },
  ] satisfies Respond[]) {
    respond = script;
    const error = await send(upstreamOn()).done;
    assert.equal(typeof error === 'object' && error.kind, 'failed');
  }
});

test('a refused connection is unreachable', async () => {
  assert.deepEqual(await send(upstreamOn(), { origin: 'http://127.0.0.1:1' }).done, {
    kind: 'unreachable',
    code: 'ECONNREFUSED',
  });
});

test('a request with checked addresses reaches only these, on a connection of its own', async () => {
  const upstream = upstreamOn();
  // The name does not resolve.
  const named = origin.replace('127.0.0.1', 'files.pinned-host.net');
  for (let n = 0; n < 2; n += 1)
    assert.equal(await send(upstream, { origin: named, addresses: ['127.0.0.1'] }).done, 'end');
  const ports = requests.map(({ socket }) => socket.remotePort);
  assert.notEqual(ports[0], ports[1]);
  assert.equal(requests[0]?.headers.host, new URL(named).host);
  // A literal address is not looked up, so that only the check of the reached address finds the difference.
  assert.deepEqual(await send(upstream, { addresses: ['127.0.0.2'] }).done, {
    kind: 'unreachable',
    code: 'OTHER_ADDRESS',
  });
  assert.equal(requests.length, 2);
});

test('an invalid request is reported after send() returns', async () => {
  const { events, done } = send(upstreamOn(), { headers: ['authorization', 'two\nlines'] });
  assert.deepEqual(events, []);
  assert.equal(typeof (await done), 'object');
});

test('a pending error is not reported after an abort', async () => {
  const upstream = upstreamOn();
  const { exchange, events } = send(upstream, { headers: ['authorization', 'two\nlines'] });
  exchange.abort();
  await send(upstream).done;
  assert.deepEqual(events, []);
});

test('a response that lasts until the close may be aborted or reset while its listener pauses', async () => {
  respond = (response) => {
    response.writeHead(200, { connection: 'close' });
    response.write('some bytes');
  };
  for (const ends of ['abort', 'reset'] as const) {
    const paused = Promise.withResolvers<void>();
    const { exchange, done } = send(upstreamOn(), {}, () => {
      paused.resolve();
      return false;
    });
    await paused.promise;
    const socket = requests.at(-1)?.socket;
    if (ends === 'abort') exchange.abort();
    else socket?.resetAndDestroy();
    await until('the close', () => socket?.destroyed);
    exchange.resume();
    if (ends === 'reset') assert.notEqual(await done, 'end');
  }
  // An exception in a callback of the socket would have ended the process by now.
  respond = (response) => response.end('ok');
  assert.equal(await send(upstreamOn()).done, 'end');
});

test('a listener that pauses gets no data until it resumes', async () => {
  const chunk = Buffer.alloc(1 << 20);
  respond = (response) => {
    for (let n = 0; n < 64; n++) response.write(chunk);
    response.end();
  };
  let bytes = 0;
  const first = Promise.withResolvers<void>();
  let pausing = true;
  const { exchange, done, events } = send(upstreamOn(), {}, (chunk) => {
    bytes += chunk.length;
    first.resolve();
    return !pausing;
  });
  await first.promise;
  const before = events.length;
  // Other requests complete meanwhile.
  respond = (response) => response.end('ok');
  for (let n = 0; n < 5; n++) await send(upstreamOn()).done;
  assert.ok(events.length - before <= 1, `${events.length - before} more chunks`);
  pausing = false;
  exchange.resume();
  assert.equal(await done, 'end');
  assert.equal(bytes, 64 << 20);
});

// ---------------------------------------------------------------- streamed bodies

/** A body of `count` chunks that records how many were read. */
function streamed(count: number, size = 64 * 1024) {
  const body = {
    length: count * size,
    read: 0,
    async *chunks() {
      for (let n = 0; n < count; n += 1) {
        body.read += 1;
        yield Buffer.alloc(size, n);
      }
    },
  };
  return body;
}

test('streamed body arrives whole with its length, and the connection is used again', async () => {
  const upstream = upstreamOn();
  const sizes: number[] = [];
  respond = (response, request) => {
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
    });
    request.on('end', () => {
      sizes.push(size);
      response.end('ok');
    });
  };
  for (let n = 0; n < 2; n += 1) {
    assert.equal(await send(upstream, { method: 'POST', body: streamed(20) }).done, 'end');
    assert.equal(requests[n]?.headers['content-length'], String(20 * 64 * 1024));
  }
  assert.deepEqual(sizes, [20 * 64 * 1024, 20 * 64 * 1024]);
  assert.equal(requests[0]?.socket, requests[1]?.socket);
});

test('streamed body is read no faster than the server takes it', async () => {
  const body = streamed(1_000);
  respond = (response, request) => {
    request.pause();
    response.on('close', () => request.destroy());
    response.write('wait');
  };
  const { exchange, head } = send(upstreamOn(), { method: 'POST', body });
  await head;
  assert.ok(body.read < 500, `${body.read} of 1000 chunks read`);
  exchange.abort();
});

test('response before the end of a streamed body is delivered, and the connection is not used again', async () => {
  const upstream = upstreamOn();
  respond = (response) => void response.writeHead(413).end('too large');
  const sent = send(upstream, { method: 'POST', body: streamed(1_000) });
  assert.equal(await sent.done, 'end');
  assert.deepEqual(sent.events.slice(0, 1), ['head 413']);
  respond = (response) => response.end('ok');
  assert.equal(await send(upstream).done, 'end');
  assert.notEqual(requests[0]?.socket, requests[1]?.socket);
});

test('streamed body that cannot be read fails the exchange', async () => {
  const body = {
    length: 10,
    // biome-ignore lint/correctness/useYield: the body fails before its first chunk.
    async *chunks(): AsyncIterable<Buffer> {
      throw new Error('the file is gone');
    },
  };
  const error = await send(upstreamOn(), { method: 'POST', body }).done;
  assert.deepEqual(error, { kind: 'failed', code: 'REQUEST_BODY' });
});

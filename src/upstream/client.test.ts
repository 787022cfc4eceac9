import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { type Clock, FakeClock, systemClock } from '../core/index.ts';
import type { Timeouts } from '../rules/index.ts';
import { locateUpstream } from './account-url.ts';
import { type TransportError, UpstreamClient, type UpstreamExchange, type UpstreamRequest } from './client.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const server = createServer((request, response) => {
  asked.push(request);
  answer(response, request);
});
let asked: IncomingMessage[] = [];
let answer: Answer = (response) => response.end('ok');
let origin = '';
const open: UpstreamClient[] = [];

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  asked = [];
  answer = (response) => response.end('ok');
});
after(async () => {
  for (const upstream of open) await upstream.close();
  server.closeAllConnections();
  server.close();
});

const PATIENCE: Timeouts = { connect: 1_000, firstByte: 10_000, idle: 10_000, total: 60_000 };

interface Sent {
  readonly exchange: UpstreamExchange;
  /** What the listener heard, in order. */
  readonly heard: string[];
  /** Settles with the end or the trouble. */
  readonly done: Promise<TransportError | 'end'>;
  /** Settles when a head arrived. */
  readonly head: Promise<void>;
}

function upstreamOn(clock: Clock = systemClock): UpstreamClient {
  const upstream = new UpstreamClient(clock, PATIENCE.connect);
  open.push(upstream);
  return upstream;
}

function send(upstream: UpstreamClient, given: Partial<UpstreamRequest> = {}, onData = (_chunk: Buffer) => true): Sent {
  const heard: string[] = [];
  const done = Promise.withResolvers<TransportError | 'end'>();
  const head = Promise.withResolvers<void>();
  const exchange = upstream.send(
    { method: 'GET', origin, path: '/', headers: [], body: null, timeouts: PATIENCE, ...given },
    {
      onHead(status) {
        heard.push(`head ${status}`);
        head.resolve();
      },
      onData(chunk) {
        heard.push('data');
        return onData(chunk);
      },
      onEnd() {
        heard.push('end');
        done.resolve('end');
      },
      onError(trouble) {
        heard.push(`trouble ${trouble.kind}`);
        done.resolve(trouble);
      },
    },
  );
  return { exchange, heard, done: done.promise, head: head.promise };
}

test('an answer is told as head, data and end', async () => {
  const { heard, done } = send(upstreamOn());
  assert.equal(await done, 'end');
  assert.deepEqual(heard, ['head 200', 'data', 'end']);
});

test('an announcement before the head is passed over, and a redirect is an answer like any other', async () => {
  answer = (response) => {
    response.writeEarlyHints({ link: '</a>; rel=preload' });
    response.writeHead(302, { location: `${origin}/elsewhere` }).end();
  };
  const { heard, done } = send(upstreamOn());
  await done;
  assert.deepEqual(heard, ['head 302', 'end']);
  assert.equal(asked.length, 1);
});

test('a request that is aborted before it has a connection is never sent, and nothing more is heard of it', async () => {
  const upstream = upstreamOn();
  const { exchange, heard } = send(upstream, { path: '/aborted' });
  exchange.abort();
  exchange.abort();
  await send(upstream, { path: '/next' }).done;
  await send(upstream, { path: '/last' }).done;
  assert.deepEqual(
    asked.map(({ url }) => url),
    ['/next', '/last'],
  );
  assert.deepEqual(heard, []);
});

test('an abort in the middle closes the connection, and nothing more is heard', async () => {
  answer = (response) => void response.write('half');
  const { exchange, heard, head } = send(upstreamOn());
  await head;
  const [request] = asked;
  const closed = once(request?.socket ?? assert.fail(), 'close');
  const before = heard.length;
  exchange.abort();
  await closed;
  assert.equal(heard.length, before);
});

test('the total time ends an answer that never ends', async () => {
  const clock = new FakeClock();
  answer = (response) => void response.write('half');
  const { done, head, heard } = send(upstreamOn(clock), { timeouts: { ...PATIENCE, idle: 120_000 } });
  await head;
  clock.advance(59_999);
  // What falls due is told in a microtask.
  await Promise.resolve();
  assert.equal(
    heard.some((word) => word.startsWith('trouble')),
    false,
  );
  clock.advance(1);
  assert.deepEqual(await done, { kind: 'timeout', code: 'TOTAL_TIME' });
});

test('the total time counts while a request still waits for its connection', async () => {
  const clock = new FakeClock();
  const { done } = send(upstreamOn(clock));
  clock.advance(60_000);
  assert.deepEqual(await done, { kind: 'timeout', code: 'TOTAL_TIME' });
  assert.equal(asked.length, 0);
});

test('a finished or aborted request leaves no timer behind', async () => {
  const pending = new Set<() => void>();
  const clock: Clock = {
    now: () => 0,
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

test('an answer has to begin in its time, whatever is said before it', async () => {
  const clock = new FakeClock();
  const early = Promise.withResolvers<void>();
  answer = (response) => response.writeEarlyHints({ link: '</a>; rel=preload' }, early.resolve);
  const { done, heard } = send(upstreamOn(clock));
  await early.promise;
  clock.advance(9_999);
  await Promise.resolve();
  assert.deepEqual(heard, []);
  clock.advance(1);
  assert.deepEqual(await done, { kind: 'timeout', code: 'FIRST_BYTE_TIME' });
  assert.deepEqual(heard, ['trouble silent']);
});

test('the time between two reads begins anew with each of them, and stands still while the listener wants a pause', async () => {
  const clock = new FakeClock();
  const responses: ServerResponse[] = [];
  answer = (response) => {
    responses.push(response);
    response.write('one');
  };
  let isPausing = false;
  let arrived = Promise.withResolvers<void>();
  const { exchange, done, heard } = send(upstreamOn(clock), {}, () => {
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
  assert.deepEqual(heard, ['head 200', 'data', 'data', 'data']);
  clock.advance(1);
  assert.deepEqual(await done, { kind: 'timeout', code: 'IDLE_TIME' });
});

test('each of many calls has its own time, the short ones among the long ones', async () => {
  const clock = new FakeClock();
  const upstream = upstreamOn(clock);
  answer = () => {};
  const calls = [9_000, 500, 3_000, 500, 7_000].map((firstByte) =>
    send(upstream, { timeouts: { ...PATIENCE, firstByte } }),
  );
  while (asked.length < calls.length) await once(server, 'request');
  const ended: number[] = [];
  for (const [n, { done }] of calls.entries()) void done.then(() => ended.push(n));
  for (const [ms, wanted] of [
    [499, []],
    [1, [1, 3]],
    [2_500, [1, 3, 2]],
    [5_999, [1, 3, 2, 4]],
    [1, [1, 3, 2, 4, 0]],
  ] as const) {
    clock.advance(ms);
    await new Promise(setImmediate);
    assert.deepEqual(ended, wanted);
  }
});

test('a listener that throws, wherever, is told of it as a trouble, and nobody else is harmed', async () => {
  const upstream = upstreamOn();
  for (const place of ['onHead', 'onData', 'onEnd'] as const) {
    const told = Promise.withResolvers<TransportError>();
    const listener = { onHead() {}, onData: () => true, onEnd() {}, onError: told.resolve };
    const request = { method: 'GET', origin, path: '/', headers: [], body: null, timeouts: PATIENCE } as const;
    upstream.send(request, {
      ...listener,
      [place]: () => {
        throw new TypeError('a bug');
      },
    });
    assert.deepEqual(await told.promise, { kind: 'failed', code: 'TypeError' });
    assert.equal(await send(upstream).done, 'end');
  }
});

for (const [about, timeouts, script] of [
  ['does not begin', { firstByte: 200 }, () => {}],
  ['falls silent', { idle: 200 }, (response) => void response.write('half')],
] as const satisfies readonly (readonly [string, Partial<Timeouts>, Answer])[]) {
  test(`an answer that ${about} is a silence`, async () => {
    answer = script;
    const trouble = await send(upstreamOn(), { timeouts: { ...PATIENCE, ...timeouts } }).done;
    assert.equal(typeof trouble === 'object' && trouble.kind, 'timeout');
  });
}

test('a provider that breaks off, before or in its answer, is broken', async () => {
  for (const script of [
    (response) => response.destroy(),
    (response) => response.write('half', () => response.destroy()),
    (response) => {
      response.writeHead(200, { 'content-length': 10 });
      response.write('half', () => response.destroy());
    },
  ] satisfies Answer[]) {
    answer = script;
    const trouble = await send(upstreamOn()).done;
    assert.equal(typeof trouble === 'object' && trouble.kind, 'failed');
  }
});

test('a provider that nobody listens for is unreachable', async () => {
  assert.deepEqual(await send(upstreamOn(), { origin: 'http://127.0.0.1:1' }).done, {
    kind: 'unreachable',
    code: 'ECONNREFUSED',
  });
});

test('a request that cannot be written is told only after the caller has its exchange', async () => {
  const { heard, done } = send(upstreamOn(), { headers: ['authorization', 'two\nlines'] });
  assert.deepEqual(heard, []);
  assert.equal(typeof (await done), 'object');
});

test('a trouble that is about to be told is not told after an abort', async () => {
  const upstream = upstreamOn();
  const { exchange, heard } = send(upstream, { headers: ['authorization', 'two\nlines'] });
  exchange.abort();
  await send(upstream).done;
  assert.deepEqual(heard, []);
});

test('a listener that asks for a pause gets nothing until it resumes', async () => {
  const piece = Buffer.alloc(1 << 20);
  answer = (response) => {
    for (let n = 0; n < 64; n++) response.write(piece);
    response.end();
  };
  let bytes = 0;
  const first = Promise.withResolvers<void>();
  let pausing = true;
  const { exchange, done, heard } = send(upstreamOn(), {}, (chunk) => {
    bytes += chunk.length;
    first.resolve();
    return !pausing;
  });
  await first.promise;
  const before = heard.length;
  // Whole other calls pass meanwhile.
  answer = (response) => response.end('ok');
  for (let n = 0; n < 5; n++) await send(upstreamOn()).done;
  assert.ok(heard.length - before <= 1, `${heard.length - before} more pieces`);
  pausing = false;
  exchange.resume();
  assert.equal(await done, 'end');
  assert.equal(bytes, 64 << 20);
});

test('an account is found under its base address, with or without a version and a path in front', () => {
  for (const [style, base, path, at] of [
    ['responses', 'https://a.test/v1', '/v1/responses', '/v1/responses'],
    ['responses', 'https://a.test/v1/', '/v1/responses?x=1', '/v1/responses?x=1'],
    ['responses', 'https://a.test/openai/v9', '/v1/chat/completions', '/openai/v9/chat/completions'],
    ['messages', 'https://a.test', '/v1/messages', '/v1/messages'],
    ['messages', 'https://a.test/anthropic/', '/v1/messages', '/anthropic/v1/messages'],
    ['generate-content', 'https://a.test', '/v1beta/models/m:generateContent', '/v1beta/models/m:generateContent'],
  ] as const) {
    assert.deepEqual(locateUpstream(style, base, path), { origin: 'https://a.test', path: at });
  }
});

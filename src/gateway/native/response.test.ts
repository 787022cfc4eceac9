import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { until } from '../../../test/support/wait.ts';
import type { IncomingRequest } from '../../platform/http/index.ts';
import { Call, ClientStreams, type ResponseWriter } from '../../platform/web/index.ts';
import type { ResponseHead, UpstreamControl } from '../upstream-call.ts';
import { NativeResponse, type NativeResponseContext } from './response.ts';

const STALLED_MS = 5_000;
const BODY =
  '{"id":"chatcmpl-1","object":"chat.completion","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}';

/** A client that does not read the end of its response. */
class SlowClient extends EventEmitter {
  received = '';
  writableEnded = false;
  destroyed = false;

  writeHead(): void {}

  end(text: string): void {
    this.received += text;
    this.writableEnded = true;
  }

  destroy(): void {
    this.destroyed = true;
  }
}

test('native response gives the client its full stall timeout after a failover', () => {
  const clock = new FakeClock();
  const response = new SlowClient();
  const call = {
    id: 'req_1',
    errorFormat: 'openai',
    headers: {},
    response,
    addLogFields: () => {},
    elapsedMs: () => 0,
    onClose: (listener: () => void) => response.once('close', listener),
  };
  const context = {
    call,
    caller: { key: { userId: 'ana', store: false } },
    operation: 'chat.create',
    dialect: 'chat',
    admission: undefined,
    canFailOver: false,
    request: { inputTokens: () => 10 },
    services: { clientStreams: new ClientStreams(clock, { heartbeatMs: 1_000, stalledMs: STALLED_MS }), store: {} },
  } as unknown as NativeResponseContext;
  const respondFrom = (id: string): NativeResponse =>
    new NativeResponse(
      context,
      { status: 200, headers: { 'content-type': 'application/json' }, account: { id } } as unknown as ResponseHead,
      {} as UpstreamControl,
    );

  const first = respondFrom('a');
  first.onData(Buffer.from(BODY.slice(0, 20)));
  clock.advance(STALLED_MS * 2);
  assert.equal(typeof first.onEnd({ kind: 'failed', code: 'ECONNRESET' }), 'object', 'another account may be tried');
  const second = respondFrom('b');
  second.onData(Buffer.from(BODY));
  assert.equal(second.onEnd(), undefined);
  assert.equal(response.received, BODY);
  clock.advance(STALLED_MS - 500);
  assert.equal(response.destroyed, false, 'the timeout runs from the second response');
  clock.advance(1_000);
  assert.equal(response.destroyed, true, 'the stalled client is disconnected');
});

test('native response sends the last chunk of a stream with its end, after the charge', async () => {
  const written: string[] = [];
  const response = Object.assign(new SlowClient(), { write: (bytes: Buffer) => written.push(bytes.toString()) > 0 });
  const charge = Promise.withResolvers<void>();
  const call = {
    id: 'req_1',
    trace: { attempts: [] },
    headers: {},
    response,
    addLogFields: () => {},
    elapsedMs: () => 0,
    onClose: () => {},
    onInterrupted: () => {},
    runAfter: (when: Promise<void>, task: () => void) => void when.then(task),
  };
  const context = {
    call,
    caller: { key: { userId: 'ana', store: false } },
    operation: 'chat.create',
    dialect: 'chat',
    admission: { settle: () => {}, release: () => {}, flushed: () => charge.promise },
    canFailOver: false,
    request: { inputTokens: () => 10, streamType: 'text/event-stream' },
    services: {
      clientStreams: new ClientStreams(new FakeClock(), { heartbeatMs: 1_000, stalledMs: STALLED_MS }),
      store: {},
    },
  } as unknown as NativeResponseContext;
  const head = { status: 200, headers: { 'content-type': 'text/event-stream' }, account: { id: 'a' } };
  const stream = new NativeResponse(context, head as unknown as ResponseHead, {} as UpstreamControl);
  const event = 'data: {"id":"1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n';
  stream.onData(Buffer.from(event));
  stream.onData(Buffer.from(`${event}data: [DONE]\n\n`), true);
  assert.equal(stream.onEnd(), undefined);
  assert.deepEqual([...written, response.received], [event, '']);
  charge.resolve();
  await until('the end', () => response.writableEnded);
  assert.deepEqual([...written, response.received], [event, `${event}data: [DONE]\n\n`]);
});

test('native response closes the connection when the response head cannot be written', async () => {
  const response = new SlowClient();
  response.writeHead = () => {
    throw new Error('Invalid character in header content');
  };
  const call = new Call({
    id: 'req_1',
    operation: 'chat.create',
    errorFormat: 'openai',
    request: {} as IncomingRequest,
    response: response as unknown as ResponseWriter,
    params: {},
    path: '/v1/chat/completions',
    query: '',
    address: '',
    startedAt: 0,
  });
  const context = {
    call,
    caller: { key: { userId: 'ana', store: false } },
    operation: 'chat.create',
    dialect: 'chat',
    admission: { settle: () => {}, release: () => {}, flushed: () => Promise.resolve() },
    canFailOver: false,
    request: { inputTokens: () => 10 },
    services: {
      clientStreams: new ClientStreams(new FakeClock(), { heartbeatMs: 1_000, stalledMs: STALLED_MS }),
      store: {},
    },
  } as unknown as NativeResponseContext;
  const head = { status: 200, headers: { 'content-type': 'application/json' }, account: { id: 'a' } };
  const relay = new NativeResponse(context, head as unknown as ResponseHead, {} as UpstreamControl);
  relay.onData(Buffer.from(BODY));
  relay.onEnd();
  await until('the connection to be cut', () => response.destroyed);
  assert.equal(call.logFields.code, 'internal_error');
});

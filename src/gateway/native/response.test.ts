import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { until } from '../../../test/support/wait.ts';
import { FakeClock } from '../../core/index.ts';
import { Call, type IncomingRequest, type ResponseWriter } from '../../web/index.ts';
import { ClientStreams } from '../client-stream.ts';
import type { ResponseHead, UpstreamControl } from '../failover.ts';
import { NativeResponse, type NativeResponseTask } from './response.ts';

const STALLED_MS = 5_000;
const ANSWER =
  '{"id":"chatcmpl-1","object":"chat.completion","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}';

/** A client that has not taken the end of its answer yet. */
class SlowClient extends EventEmitter {
  taken = '';
  writableEnded = false;
  destroyed = false;

  writeHead(): void {}

  end(text: string): void {
    this.taken += text;
    this.writableEnded = true;
  }

  destroy(): void {
    this.destroyed = true;
  }
}

test('an answer of the second account has all its time, however long the first one took to fail', () => {
  const clock = new FakeClock();
  const response = new SlowClient();
  const call = {
    id: 'req_1',
    envelope: 'openai',
    headers: {},
    response,
    note: () => {},
    onClose: (listener: () => void) => response.once('close', listener),
  };
  const task = {
    call,
    caller: { key: { userId: 'ana', store: false } },
    operation: 'chat.create',
    dialect: 'chat',
    ticket: undefined,
    parcel: { bytes: 10 },
    parts: { outlets: new ClientStreams(clock, { heartbeatMs: 1_000, stalledMs: STALLED_MS }), store: {} },
  } as unknown as NativeResponseTask;
  const relayFrom = (id: string): NativeResponse =>
    new NativeResponse(
      task,
      { status: 200, headers: { 'content-type': 'application/json' }, account: { id } } as unknown as ResponseHead,
      {} as UpstreamControl,
    );

  const first = relayFrom('a');
  first.onData(Buffer.from(ANSWER.slice(0, 20)));
  clock.advance(STALLED_MS * 2);
  assert.equal(typeof first.onEnd({ kind: 'failed', code: 'ECONNRESET' }), 'object', 'another account may be tried');
  const second = relayFrom('b');
  second.onData(Buffer.from(ANSWER));
  assert.equal(second.onEnd(), undefined);
  assert.equal(response.taken, ANSWER);
  clock.advance(STALLED_MS - 500);
  assert.equal(response.destroyed, false, 'its client still has time');
  clock.advance(1_000);
  assert.equal(response.destroyed, true, 'but not for ever');
});

test('a head that cannot be written ends its call, and not the process', async () => {
  const response = new SlowClient();
  response.writeHead = () => {
    throw new Error('Invalid character in header content');
  };
  const call = new Call({
    id: 'req_1',
    operation: 'chat.create',
    envelope: 'openai',
    request: {} as IncomingRequest,
    response: response as unknown as ResponseWriter,
    params: {},
    path: '/v1/chat/completions',
    query: '',
    address: '',
    startedAt: 0,
  });
  const task = {
    call,
    caller: { key: { userId: 'ana', store: false } },
    operation: 'chat.create',
    dialect: 'chat',
    ticket: { settle: () => {}, release: () => {}, flushed: () => Promise.resolve() },
    parcel: { bytes: 10 },
    parts: { outlets: new ClientStreams(new FakeClock(), { heartbeatMs: 1_000, stalledMs: STALLED_MS }), store: {} },
  } as unknown as NativeResponseTask;
  const head = { status: 200, headers: { 'content-type': 'application/json' }, account: { id: 'a' } };
  const relay = new NativeResponse(task, head as unknown as ResponseHead, {} as UpstreamControl);
  relay.onData(Buffer.from(ANSWER));
  relay.onEnd();
  await until('the connection to be cut', () => response.destroyed);
  assert.equal(call.logFields.code, 'internal_error');
});

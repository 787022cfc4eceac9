import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { until } from '../../../test/support/wait.ts';
import { CLOSE, WEBSOCKET } from '../../rules/index.ts';
import { type ReadFrame, readFrame } from './frames.ts';
import { ResponsesSession } from './session.ts';
import type { Turn } from './turn.ts';

interface Frame {
  readonly type: string;
  readonly stream_id?: string;
  readonly status?: number;
  readonly error?: { readonly code: string };
}

const LARGE = 1_000;

/** A client connection with both ends in the test: frames in, frames out, turns that the test finishes. */
function open() {
  const clock = new FakeClock();
  const frames: Frame[] = [];
  const turns: Turn[] = [];
  /** Large frames that a thread would read now. */
  const reading: (() => void)[] = [];
  const read = (text: string): Promise<ReadFrame | undefined> =>
    new Promise((resolve) => void reading.push(() => resolve(readFrame(text))));
  const closed: number[] = [];
  const reserved: number[] = [];
  let hear: (text: string | undefined) => void = () => undefined;
  const session = new ResponsesSession(
    {
      send(text) {
        frames.push(JSON.parse(text));
        return true;
      },
      close: (code) => void closed.push(code),
      onMessage: (listener) => {
        hear = listener;
      },
      onDrain: () => undefined,
      onClose: () => undefined,
    },
    {
      clock,
      runner: { run: async () => undefined, pass: () => undefined, close: () => undefined },
      reserve: () => ({ add: (bytes) => void reserved.push(bytes), release: () => undefined }),
      runTurn: async (turn) => void turns.push(turn),
      readFrame: (text) => (text.length > LARGE ? read(text) : readFrame(text)),
    },
  );
  const create = (stream_id: string): void =>
    hear(JSON.stringify({ type: 'response.create', stream_id, model: 'm', input: 'hi' }));
  const finish = (turn: Turn | undefined): void => {
    turn?.response.writeHead(200, { 'content-type': 'text/event-stream' });
    turn?.response.write('event: response.completed\ndata: {"type":"response.completed"}\n\n');
    turn?.response.end();
  };
  return {
    session,
    clock,
    frames,
    turns,
    closed,
    reserved,
    create,
    finish,
    reading,
    hear: (text: string) => hear(text),
  };
}

test('session past its lifetime finishes its turn, rejects others, and closes', () => {
  const { clock, frames, turns, closed, create, finish } = open();
  create('a');
  create('a');
  clock.advance(WEBSOCKET.lifetimeMs - 1);
  assert.deepEqual([turns.length, frames.length], [1, 0]);
  clock.advance(1);
  const refused = frames.map(({ stream_id, status, error }) => [stream_id, status, error?.code]);
  assert.deepEqual(refused, [['a', 400, 'websocket_connection_limit_reached']], 'the queued turn is rejected');
  create('b');
  assert.deepEqual([frames[1]?.stream_id, frames[1]?.error?.code], ['b', 'websocket_connection_limit_reached']);
  assert.deepEqual([turns.length, closed], [1, []]);
  finish(turns[0]);
  assert.equal(frames.at(-1)?.type, 'response.completed');
  assert.deepEqual(closed, [CLOSE.normal]);
});

test('session past its lifetime closes after the drain time even with a running turn', () => {
  const { clock, closed, create } = open();
  create('a');
  clock.advance(WEBSOCKET.lifetimeMs + WEBSOCKET.drainMs);
  assert.deepEqual(closed, [CLOSE.normal]);
});

test('session without a turn closes at the end of its lifetime', () => {
  const { clock, closed } = open();
  clock.advance(WEBSOCKET.lifetimeMs);
  assert.deepEqual(closed, [CLOSE.normal]);
});

test('session that a restart ends serves one more turn of a client that was here shortly before', () => {
  const times = { withinMs: 30_000, lingerMs: 5_000 };
  const { session, clock, turns, frames, closed, create, finish } = open();
  clock.advance(4_000);
  session.drain(CLOSE.restart, 'the server restarts', times);
  assert.deepEqual(closed, [], 'its first turn may be on the way');
  create('a');
  create('b');
  assert.deepEqual([turns.length, frames[0]?.stream_id], [1, 'b']);
  clock.advance(4_000);
  finish(turns[0]);
  assert.deepEqual(closed, [CLOSE.restart]);

  const idle = open();
  idle.clock.advance(4_999);
  idle.session.drain(CLOSE.restart, 'the server restarts', times);
  idle.clock.advance(1);
  assert.deepEqual(idle.closed, [CLOSE.restart]);
});

test('frames behind a large one wait for it, and take effect in their order', async () => {
  const { turns, create, reading, hear } = open();
  hear(JSON.stringify({ type: 'response.create', stream_id: 'large', input: 'a'.repeat(2 * LARGE) }));
  create('small');
  assert.deepEqual(turns, []);
  reading.shift()?.();
  await until('both turns', () => turns.length === 2);
  assert.deepEqual(
    turns.map(({ streamId }) => streamId),
    ['large', 'small'],
  );
  create('next');
  assert.equal(turns.length, 3);
});

test('a frame with many values reserves the memory of its parsed form', () => {
  const { reserved, hear } = open();
  hear(JSON.stringify({ type: 'response.create', model: 'm', input: Array(400).fill(0) }));
  assert.ok((reserved[0] ?? 0) >= 400 * WEBSOCKET.memoryPerValue, String(reserved));
});

test('a body in the wrapper of older clients is one turn, as if it had none', () => {
  const { turns, hear } = open();
  hear('{"type":"response.create","stream_id":"a","model":"x","response":{"model":"m","stream_id":"b","input":"hi"}}');
  assert.deepEqual([turns[0]?.lane, turns[0]?.create], ['a', { model: 'm', input: 'hi' }]);
  assert.deepEqual(JSON.parse(turns[0]?.text ?? ''), {
    type: 'response.create',
    stream_id: 'a',
    model: 'm',
    input: 'hi',
  });
});

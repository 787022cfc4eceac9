import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import type { ResponseWriter } from './call.ts';
import { type ClientStreamOptions, ClientStreams } from './client-stream.ts';

/** A client whose socket accepts bytes or applies back-pressure. */
class Client extends EventEmitter {
  taken = '';
  isReady = true;
  writableEnded = false;

  write(bytes: Buffer | string): boolean {
    assert.ok(!this.writableEnded, 'nothing is written after the end');
    this.taken += bytes.toString('latin1');
    return this.isReady;
  }

  end(bytes?: Buffer | string): void {
    if (bytes !== undefined) this.write(bytes);
    this.writableEnded = true;
  }

  destroy = (): void => {};

  drain(): void {
    this.isReady = true;
    this.emit('drain');
  }
}

function open(options: Partial<ClientStreamOptions> = {}) {
  const clock = new FakeClock();
  const client = new Client();
  const seen = { drained: 0, stalled: 0 };
  const outlets = new ClientStreams(clock, { heartbeatMs: 1_000, stalledMs: 5_000 });
  const call = {
    response: client as unknown as ResponseWriter,
    onClose: (left: () => void) => client.once('close', left),
  };
  const outlet = outlets.open(call, {
    heartbeat: () => ': hb\n\n',
    onDrain: () => void seen.drained++,
    ...options,
  });
  client.destroy = () => {
    seen.stalled += 1;
    client.emit('close');
  };
  const beats = (): number => client.taken.split(': hb\n\n').length - 1;
  return { clock, client, seen, outlets, outlet, beats };
}

test('client stream sends a heartbeat when silent, and none when busy', () => {
  const { clock, outlet, beats } = open();
  for (let n = 0; n < 20; n++) {
    outlet.write('data: 1\n\n');
    clock.advance(500);
  }
  assert.equal(beats(), 0);
  clock.advance(3_050);
  assert.ok(beats() >= 2 && beats() <= 3, String(beats()));
});

test('client stream sends a heartbeat before the first event', () => {
  const { clock, beats } = open();
  clock.advance(1_150);
  assert.equal(beats(), 1);
});

for (const [about, pieces, isWhole] of [
  ['an event', ['data: 1\n\n'], true],
  ['an event with line ends of two characters', ['data: 1\r\n\r\n'], true],
  ['an event with old line ends', ['data: 1\r\r'], true],
  ['an event with mixed line ends', ['data: 1\n\r\n'], true],
  ['an event whose blank line comes later', ['data: 1\n', '\n'], true],
  ['an event whose blank line comes in pieces', ['data: 1\r', '\n', '\r', '\n'], true],
  ['half an event', ['data: 1\n\ndata: {'], false],
  ['an event without its blank line', ['data: 1\n'], false],
  ['an event with half a blank line', ['data: 1\r\n\r'], false],
  ['one end of line', ['data: 1\r\n'], false],
] as const) {
  for (const form of ['text', 'bytes'] as const) {
    test(`client stream ${isWhole ? 'sends' : 'withholds'} a heartbeat after ${about} as ${form}`, () => {
      const { clock, outlet, beats } = open();
      for (const piece of pieces) outlet.write(form === 'text' ? piece : Buffer.from(piece));
      assert.equal(outlet.isAtBoundary, isWhole);
      clock.advance(1_150);
      assert.equal(beats(), isWhole ? 1 : 0);
    });
  }
}

test('client stream sends no heartbeat in a format without one', () => {
  const { clock, client, outlet } = open({ heartbeat: undefined });
  outlet.write('{"a":\n\n');
  clock.advance(60_000);
  assert.equal(client.taken, '{"a":\n\n');
});

test('client stream applies back-pressure to the source and resumes it on drain', () => {
  const { clock, client, seen, outlet, beats } = open();
  client.isReady = false;
  assert.equal(outlet.write('data: 1\n\n'), false);
  assert.equal(outlet.write('data: 2\n\n'), false);
  clock.advance(4_000);
  assert.equal(beats(), 0, 'what is not taken needs no heartbeat behind it');
  client.drain();
  assert.deepEqual(seen, { drained: 1, stalled: 0 });
  assert.equal(outlet.write('data: 3\n\n'), true);
  clock.advance(1_150);
  assert.equal(beats(), 1);
});

test('client stream disconnects a stalled client after the timeout, not before', () => {
  const { clock, client, seen, outlet } = open();
  client.isReady = false;
  outlet.write('data: 1\n\n');
  clock.advance(4_900);
  assert.equal(seen.stalled, 0);
  clock.advance(200);
  assert.equal(seen.stalled, 1);
});

test('client stream writes nothing after the end and disconnects a client that does not read it', () => {
  const { clock, client, seen, outlet } = open();
  outlet.write('data: 1\n\n');
  clock.advance(500);
  outlet.end('data: 2\n\n');
  clock.advance(4_900);
  assert.equal(client.taken, 'data: 1\n\ndata: 2\n\n');
  assert.equal(seen.stalled, 0);
  clock.advance(200);
  assert.equal(seen.stalled, 1);
});

test('client streams leave no timer behind when the last response is closed', () => {
  const { clock, client, outlets, outlet } = open();
  outlet.end();
  client.emit('close');
  assert.equal(outlets.size, 0);
  clock.advance(60_000);
  assert.equal(client.taken, '');
});

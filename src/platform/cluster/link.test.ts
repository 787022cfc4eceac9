import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { Link, LinkDown, LinkError, type LinkService } from './link.ts';

/** Two links whose messages are JSON, as between processes. */
function connect(services: Record<string, LinkService>) {
  const clock = new FakeClock();
  const messages: string[] = [];
  const here: Link = new Link({ clock, services: {}, send: (message) => deliver(there, message) });
  const there: Link = new Link({ clock, services, send: (message) => deliver(here, message) });
  function deliver(to: Link, message: unknown): void {
    messages.push(JSON.stringify(message));
    to.receive(JSON.parse(messages.at(-1) ?? ''));
  }
  return { clock, messages, here, there };
}

test('a link carries the questions and notices of one turn in one message, in order', async () => {
  const seen: unknown[] = [];
  const { here, messages } = connect({
    add: (input) => {
      seen.push(input);
      return (input as number) + 1;
    },
    note: (input) => void seen.push(input),
  });
  const first = here.ask('add', 1);
  here.post('note', 'between');
  const second = here.ask('add', 2);
  assert.deepEqual(await Promise.all([first, second]), [2, 3]);
  assert.deepEqual(seen, [1, 'between', 2]);
  assert.equal(messages.length, 2, 'one message with the questions, one with the replies');
});

test('a question is rejected by an error of the other side, by an unknown name, at its timeout and at the end', async () => {
  const { here, clock } = connect({
    broken: () => {
      throw new Error('no such port');
    },
    silent: () => new Promise(() => {}),
  });
  await assert.rejects(here.ask('broken', null), new LinkError('no such port'));
  await assert.rejects(here.ask('missing', null), new LinkError('unknown service missing'));
  const late = here.ask('silent', null);
  await turn();
  clock.advance(1_000);
  await assert.rejects(late, LinkDown);
  const open = here.ask('silent', null);
  here.close();
  await assert.rejects(open, LinkDown);
  await assert.rejects(here.ask('silent', null), LinkDown);
});

test('a link ignores messages of others and failures of notices', async () => {
  const { here, there } = connect({
    note: () => {
      throw new Error('nothing to see');
    },
    add: () => 1,
  });
  for (const message of [null, 'text', 7, {}, { items: 'x' }]) there.receive(message);
  here.post('note', null);
  assert.equal(await here.ask('add', null), 1);
});

test('a link reports a process that gives no sign of life in time, and none that has ended', async () => {
  let isStuck = false;
  const { here, clock } = connect({ alive: () => (isStuck ? new Promise(() => {}) : null) });
  let silences = 0;
  for (const name of ['alive', 'missing'])
    here.watch(name, { everyMs: 10_000, silentMs: 30_000 }, () => (silences += 1));
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    for (let n = 0; n < 5; n += 1) await turn();
  };
  for (let n = 0; n < 5; n += 1) await pass(10_000);
  isStuck = true;
  await pass(10_000);
  await pass(29_999);
  assert.equal(silences, 0);
  await pass(1);
  assert.equal(silences, 1, 'an unknown question has a reply, too');
  here.watch('alive', { everyMs: 10_000, silentMs: 30_000 }, () => (silences += 1));
  await pass(10_000);
  here.close();
  await pass(60_000);
  assert.equal(silences, 1);
});

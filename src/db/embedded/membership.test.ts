/** The launcher's life with several processes on one data directory. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ask,
  familyOf,
  Member,
  makeFolder,
  postmasterPid,
  removeFolder,
  survivors,
} from '../../../test/support/embedded.ts';
import { claimServer, joinEmbedded } from './index.ts';
import { isAlive } from './process.ts';

const folder = await makeFolder();
after(() => removeFolder(folder));

test('two first starts at the same moment make one database', async () => {
  const dataDir = join(folder, 'first');
  const members = [new Member({ dataDir, durable: false }), new Member({ dataDir, durable: false })];
  const [one, two] = await Promise.all(members.map((member) => member.answer()));
  assert.equal(one?.url, two?.url);
  assert.deepEqual([one?.adopted, two?.adopted].sort(), [false, true]);
  const family = familyOf(await postmasterPid(one?.directory ?? ''));
  await Promise.all(members.map((member) => member.tell('leave')));
  assert.deepEqual(survivors(family), []);
});

test('a first start that is killed in the middle does not hinder the next', async () => {
  const dataDir = join(folder, 'killed');
  const killed = new Member({ dataDir, durable: false });
  const halfMade = () =>
    readdirSync(folder).includes('killed') && readdirSync(dataDir).some((name) => name.includes('.part-'));
  while (!halfMade()) await sleep(10);
  await killed.kill();
  const next = await joinEmbedded({ dataDir, durable: false });
  assert.equal(await ask(next.url, 'select 1'), 1);
  await next.leave();
  assert.deepEqual(readdirSync(dataDir).sort(), ['postgres', 'postgres.log']);
});

test('the postmaster outlives a killed member, and who joins next adopts it and stops it', async () => {
  const dataDir = join(folder, 'first');
  const killed = new Member({ dataDir, durable: false });
  const { directory, url } = await killed.answer();
  await ask(url, 'create table kept as select 5 as value');
  const pid = await postmasterPid(directory);
  await killed.kill();
  assert.ok(isAlive(pid));

  const next = await joinEmbedded({ dataDir, durable: false });
  assert.equal(next.adopted, true);
  assert.equal(next.url, url);
  assert.equal(await postmasterPid(directory), pid);
  assert.equal(await ask(next.url, 'select value from kept'), 5);
  const family = familyOf(pid);
  await next.leave();
  assert.deepEqual(survivors(family), []);
});

test('the first to leave does not stop it under the second', async () => {
  const dataDir = join(folder, 'first');
  const first = new Member({ dataDir, durable: false });
  const { directory } = await first.answer();
  const second = await joinEmbedded({ dataDir, durable: false });
  const third = await joinEmbedded({ dataDir, durable: false });
  const pid = await postmasterPid(directory);
  await first.tell('leave');
  assert.equal(await ask(second.url, 'select 1'), 1);
  await third.leave();
  assert.equal(await ask(second.url, 'select 1'), 1);
  assert.equal(await postmasterPid(directory), pid);
  await second.leave();
  assert.ok(!isAlive(pid));
});

test('joining while the last one leaves always ends with a running database', async () => {
  const dataDir = join(folder, 'first');
  let current = await joinEmbedded({ dataDir, durable: false });
  for (let round = 0; round < 5; round++) {
    const [next] = await Promise.all([joinEmbedded({ dataDir, durable: false }), current.leave()]);
    assert.equal(await ask(next.url, 'select 1'), 1);
    current = next;
  }
  await current.leave();
});

test('a second server is told who the first is, and gets the role when the first has gone', async () => {
  const dataDir = join(folder, 'first');
  const embedded = await joinEmbedded({ dataDir, durable: false });
  const server = new Member({ dataDir, durable: false });
  await server.answer();
  assert.deepEqual(await server.tell('claim'), { claimed: true });
  assert.deepEqual(await claimServer(embedded.url), { takenBy: server.process.pid });
  await server.kill();

  const mine = await claimServer(embedded.url);
  assert.ok('release' in mine);
  assert.deepEqual(await claimServer(embedded.url), { takenBy: process.pid });
  await mine.release();
  await mine.release();
  const again = await claimServer(embedded.url);
  assert.ok('release' in again);
  await again.release();
  await embedded.leave();
});

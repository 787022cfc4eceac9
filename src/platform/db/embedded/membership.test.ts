// set: sweeps; a new PostgreSQL for each case
/** Several processes on one data directory. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  createFolder,
  dataFiles,
  familyOf,
  Member,
  postmasterPid,
  queryValue,
  removeFolder,
  survivors,
} from '../../../../test/support/embedded.ts';
import { until } from '../../../../test/support/wait.ts';
import { isProcessAlive } from '../../../core/index.ts';
import { claimServer, joinEmbedded } from './index.ts';

/** The folder that initdb fills, or the one that it has filled. */
const INITDB = /^postgres(?:\.part-.*)?$/;

const folder = await createFolder();
after(() => removeFolder(folder));

test('joinEmbedded() creates one database when two processes start at once', async () => {
  const dataDir = join(folder, 'first');
  const members = [new Member({ dataDir, durable: false }), new Member({ dataDir, durable: false })];
  const [one, two] = await Promise.all(members.map((member) => member.read()));
  assert.equal(one?.url, two?.url);
  assert.deepEqual([one?.adopted, two?.adopted].sort(), [false, true]);
  const family = familyOf(await postmasterPid(one?.directory ?? ''));
  await Promise.all(members.map((member) => member.command('leave')));
  assert.deepEqual(survivors(family), []);
});

test('joinEmbedded() succeeds after a first start that was killed during initdb', async () => {
  const dataDir = join(folder, 'killed');
  const killed = new Member({ dataDir, durable: false });
  const hasBegun = () =>
    readdirSync(folder).includes('killed') && readdirSync(dataDir).some((name) => INITDB.test(name));
  await until('initdb', hasBegun);
  await killed.kill();
  const next = await joinEmbedded({ dataDir, durable: false });
  assert.equal(await queryValue(next.url, 'select 1'), 1);
  await next.leave();
  assert.deepEqual(dataFiles(dataDir), ['postgres', 'postgres.log']);
});

test('the postmaster survives a killed member, and the next member adopts and stops it', async () => {
  const dataDir = join(folder, 'first');
  const killed = new Member({ dataDir, durable: false });
  const { directory, url } = await killed.read();
  await queryValue(url, 'create table kept as select 5 as value');
  const pid = await postmasterPid(directory);
  await killed.kill();
  assert.ok(isProcessAlive(pid));

  const next = await joinEmbedded({ dataDir, durable: false });
  assert.equal(next.adopted, true);
  assert.equal(next.url, url);
  assert.equal(await postmasterPid(directory), pid);
  assert.equal(await queryValue(next.url, 'select value from kept'), 5);
  const family = familyOf(pid);
  await next.leave();
  assert.deepEqual(survivors(family), []);
});

test('leave() does not stop the postmaster while another member uses it', async () => {
  const dataDir = join(folder, 'first');
  const first = new Member({ dataDir, durable: false });
  const { directory } = await first.read();
  const second = await joinEmbedded({ dataDir, durable: false });
  const third = await joinEmbedded({ dataDir, durable: false });
  const pid = await postmasterPid(directory);
  await first.command('leave');
  assert.equal(await queryValue(second.url, 'select 1'), 1);
  await third.leave();
  assert.equal(await queryValue(second.url, 'select 1'), 1);
  assert.equal(await postmasterPid(directory), pid);
  await second.leave();
  assert.ok(!isProcessAlive(pid));
});

test('joinEmbedded() succeeds while the last member leaves', async () => {
  const dataDir = join(folder, 'first');
  let current = await joinEmbedded({ dataDir, durable: false });
  for (let round = 0; round < 5; round++) {
    const [next] = await Promise.all([joinEmbedded({ dataDir, durable: false }), current.leave()]);
    assert.equal(await queryValue(next.url, 'select 1'), 1);
    current = next;
  }
  await current.leave();
});

test('claimServer() returns the process that has the role, and succeeds when that process is gone', async () => {
  const dataDir = join(folder, 'first');
  const embedded = await joinEmbedded({ dataDir, durable: false });
  const server = new Member({ dataDir, durable: false });
  await server.read();
  assert.deepEqual(await server.command('claim'), { claimed: true });
  assert.deepEqual(await claimServer(embedded.url), { takenBy: server.process.pid });
  await server.kill();

  const own = await claimServer(embedded.url);
  assert.ok('release' in own);
  assert.deepEqual(await claimServer(embedded.url), { takenBy: process.pid });
  await own.release();
  await own.release();
  const again = await claimServer(embedded.url);
  assert.ok('release' in again);
  await again.release();
  await embedded.leave();
});

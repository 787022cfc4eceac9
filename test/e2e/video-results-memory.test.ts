// set: load; memory of large results
/** Memory of a gateway process while a hundred slow clients read one large result, from the provider and from the mirror. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sim, startSim } from '../../sim/index.ts';
import { RESULT_READS } from '../../src/rules/index.ts';
import { Command } from '../support/command.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { callVideo, KEYS, TASKS, taskBody, textItem, videoSetup } from '../support/video.ts';
import { contentPath } from '../support/video-results.ts';
import { until } from '../support/wait.ts';

const MB = 2 ** 20;
const FILE_BYTES = 96 * MB;
const READERS = 100;
const MASTER_KEY = `k1:${'test-master-key-'.repeat(3)}`;
/** Buffers of a hundred sockets and files. One copy of the file would exceed it. */
const GROWTH = 64 * MB;

let sim: Sim;
let database: TestDatabase;
const dataDir = mkdtempSync(join(tmpdir(), 'dragoman-result-memory-'));
const commands: Command[] = [];

before(async () => {
  sim = await startSim({ video: { rateLimits: false, queuedMs: 10, runningMs: 10 } });
  database = await testDatabase();
});
after(async () => {
  for (const command of commands) await command.stop();
  await sim?.close();
  await database?.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(name: string, env: Record<string, string>): Promise<string> {
  const home = join(dataDir, name);
  mkdirSync(home);
  const config = join(home, 'setup.json');
  writeFileSync(config, JSON.stringify(videoSetup(sim.video.url)));
  const command = new Command(['serve', '--config', config], {
    env: { DATABASE_URL: database.url, DATA_DIR: home, MASTER_KEY, LOG_LEVEL: 'error', ...env },
  });
  commands.push(command);
  return command.ready();
}

async function createResult(url: string): Promise<string> {
  const body = taskBody('EP', { content: [textItem(`[sim:file_bytes=${FILE_BYTES}]`)] });
  const created = await callVideo(url, TASKS, { body });
  const id = String(created.body.id);
  await until('the success', async () => (await callVideo(url, `${TASKS}/${id}`)).body.status === 'succeeded');
  return id;
}

/** Reads some bytes of the response and then nothing more. */
async function slowReader(url: string, id: string, from: number): Promise<{ socket: Socket; status: string }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(
    `GET ${contentPath(id)} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEYS.ana}\r\nrange: bytes=${from}-\r\n\r\n`,
  );
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  return { socket, status: first.toString('latin1', 9, 12) };
}

async function memory(url: string): Promise<number> {
  let min = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 5; n += 1) {
    const text = await (await fetch(`${url}/metrics`)).text();
    min = Math.min(min, Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]));
    await pause(50);
  }
  return min;
}

for (const kind of ['provider', 'mirror'] as const)
  test(`memory stays flat while ${READERS} slow clients read a large result from the ${kind}`, async () => {
    const folder = join(dataDir, 'results');
    if (kind === 'mirror') mkdirSync(folder);
    const url = await start(kind, kind === 'mirror' ? { RESULT_MIRROR_DIR: folder } : {});
    const id = await createResult(url);
    const sockets: Socket[] = [];
    const statuses: string[] = [];
    const before = await memory(url);
    const downloads = sim.video.journal.requests.filter(({ operation }) => operation === 'download').length;
    await Promise.all(
      Array.from({ length: READERS }, async (_, n) => {
        const { socket, status } = await slowReader(url, id, n * 1_000);
        sockets.push(socket);
        statuses.push(status);
      }),
    );
    const grown = (await memory(url)) - before;
    for (const socket of sockets) socket.destroy();
    assert.ok(grown < GROWTH, `grown by ${Math.round(grown / MB)} MB`);
    const served = statuses.filter((status) => status === '206').length;
    const made = sim.video.journal.requests.filter(({ operation }) => operation === 'download').length - downloads;
    assert.equal(served, kind === 'mirror' ? READERS : RESULT_READS.connections);
    assert.equal(statuses.filter((status) => status === '503').length, READERS - served);
    assert.equal(made, kind === 'mirror' ? 1 : RESULT_READS.connections);
  });

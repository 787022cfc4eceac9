// set: load; memory of many images
/** Memory of a gateway in its own process while large pictures pass through it, in both directions. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { basicSetup } from '../support/gateway.ts';
import { type LaunchedProcess, launch } from '../support/process.ts';

const KEY = 'test-key-of-the-memory-test';
const MIB = 2 ** 20;
/** `npm run bench -- images` runs all 20. Fewer are enough to see that bodies are held: each has 20 or 40 MiB. */
const PARALLEL = Number(process.env.IMAGE_CALLS ?? 8);
const LIMIT = 200 * MIB;

let sim: Sim;
let database: TestDatabase;
let gateway: LaunchedProcess;
let url = '';
const folder = mkdtempSync(join(tmpdir(), 'dragoman-memory-'));

before(async () => {
  sim = await startSim();
  database = await testDatabase();
  const file = join(folder, 'setup.json');
  const models = [{ id: 'demo-*', groups: ['openai'], free: true }];
  const keys = [{ user: 'ana', group: 'openai', key: KEY }];
  writeFileSync(file, JSON.stringify({ ...basicSetup(sim.url), models, keys }));
  gateway = launch(['serve', '--config', file], {
    PORT: '0',
    DEMO: 'off',
    DATABASE_URL: database.url,
    DATA_DIR: join(folder, 'data'),
    MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}`,
  });
  url = (await gateway.until(/ready at (http:\S+)/))[1] ?? '';
});
after(async () => {
  await gateway.stop();
  await sim.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Resident memory of the gateway now, and the largest since the last reset, in bytes. */
const memory = (field: 'VmRSS' | 'VmHWM'): number => {
  const status = readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
};
const resetPeak = (): void => writeFileSync(`/proc/${gateway.child.pid}/clear_refs`, '5');

/** The growth of the gateway's memory while the calls run at the same time, after one that warms it up. */
async function growthOf(call: () => Promise<void>): Promise<number> {
  await call();
  resetPeak();
  const start = memory('VmRSS');
  await Promise.all(Array.from({ length: PARALLEL }, call));
  return memory('VmHWM') - start;
}

async function read(response: Response): Promise<number> {
  assert.equal(response.status, 200, response.status === 200 ? '' : await response.text());
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += chunk.length;
  return bytes;
}

const LINUX_ONLY = { skip: process.platform !== 'linux' && 'reads /proc' };

test('parallel 4K generations of 15 MB do not fill the memory', LINUX_ONLY, async (context) => {
  const growth = await growthOf(async () => {
    const response = await fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: `demo-image@imagebytes=${15 * MIB}`, prompt: 'a lamp', size: '3840x2160' }),
    });
    assert.ok((await read(response)) > 20 * MIB * 0.95);
  });
  assert.ok(growth < LIMIT, `${Math.round(growth / MIB)} MiB`);
  context.diagnostic(`${PARALLEL} calls: ${Math.round(growth / MIB)} MiB`);
});

test('a response of 50 MB of base64 is relayed whole', LINUX_ONLY, async () => {
  const response = await fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: `demo-image@imagebytes=${(50 * MIB * 3) / 4}`, prompt: 'a lamp' }),
  });
  const { data } = (await response.json()) as { data: { b64_json: string }[] };
  assert.ok((data[0]?.b64_json.length ?? 0) >= 50 * MIB);
});

test('parallel edits of 40 MB do not fill the memory', LINUX_ONLY, async (context) => {
  const image = new Blob([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(40 * MIB)], { type: 'image/png' });
  const growth = await growthOf(async () => {
    const form = new FormData();
    form.set('model', 'demo-image');
    form.set('prompt', 'brighter');
    form.set('image', image, 'lamp.png');
    const response = await fetch(`${url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
      body: form,
    });
    await read(response);
  });
  assert.ok(growth < LIMIT, `${Math.round(growth / MIB)} MiB`);
  context.diagnostic(`${PARALLEL} calls: ${Math.round(growth / MIB)} MiB`);
  assert.equal(sim.journal.requests.at(-1)?.form?.find(({ name }) => name === 'image')?.length, 40 * MIB + 8);
});

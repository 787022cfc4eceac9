/** Thousands of converted streams through a process of its own, some of them left in the middle: nothing of them stays. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sim, startSim } from '../../sim/index.ts';
import { Command } from '../support/command.ts';
import { bodyOf, nameOf, PAIRS, type Pair, post, roomsSetup } from '../support/conversion-harness.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { until } from '../support/wait.ts';

const STREAMS = process.env.SOAK === '1' ? 10_000 : 2_000;
/** Until then code is compiled, buffers are made and caches filled. */
const WARM = 500;
const AT_ONCE = 16;
const LEFT_EVERY = 10;
/** A prompt of 40 kB is copied some five times on its way; kept, they would be far more than may be gained. */
const PROMPT = 'word '.repeat(8_000);
const MB = 2 ** 20;
/** The heap still finds its size after the warm-up; streams that were kept would be some 300 MB, with SOAK 2 GB. */
const GROWTH = 128 * MB;
/** With SOAK the last third, in which nothing should change any more; one copy of each prompt would be 120 MB. */
const LATE_GROWTH = 48 * MB;

let sim: Sim;
let database: TestDatabase;
let command: Command;
let url: string;
const dataDir = mkdtempSync(join(tmpdir(), 'dragoman-memory-'));
const keys: Record<string, string> = {};

const GROUPS = [...new Map(PAIRS.map(({ group, upstream }) => [group, upstream]))];

before(async () => {
  sim = await startSim();
  database = await testDatabase();
  const rooms = GROUPS.map(([id, upstream]) => ({ id, upstream, accounts: [{ max_concurrency: 1_000 }] }));
  const file = join(dataDir, 'setup.json');
  writeFileSync(file, JSON.stringify(roomsSetup(rooms, sim.url)));
  command = new Command(['serve', '--config', file], {
    env: {
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      LOG_LEVEL: 'error',
      // A small young generation shows what is kept sooner.
      NODE_OPTIONS: '--max-semi-space-size=4',
    },
  });
  url = await command.ready();
  const tokens = await until('the keys', () => {
    const found: string[] = command.stdout.match(/dg-\w{49}/g) ?? [];
    return found.length === GROUPS.length ? found : undefined;
  });
  for (const [n, [group]] of GROUPS.entries()) keys[group] = tokens[n] ?? '';
});
after(async () => {
  await command?.stop();
  await sim?.close();
  await database?.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1] ?? assert.fail(text));
}

/** The least of a few looks: between two collections there is always something that is not needed any more. */
async function memory(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 5; n += 1) {
    least = Math.min(least, await metric('dragoman_memory_bytes'));
    await pause(50);
  }
  return least;
}

const TOOLS = [{ name: 'read_file', description: 'Gives a file.', schema: { type: 'object', properties: {} } }];

async function stream(n: number): Promise<void> {
  const pair = PAIRS[n % PAIRS.length] ?? assert.fail();
  const isLeft = n % LEFT_EVERY === 3;
  const body = bodyOf(pair.client, {
    model: isLeft ? 'demo-text@events=100000;gap=1' : 'demo-text',
    text: `${PROMPT} ${n % 3 === 0 ? 'Use read_file.' : 'hello'}`,
    stream: true,
    thinks: true,
    tools: TOOLS,
    more: pair.client === 'responses' ? { store: false } : {},
  });
  const leaving = new AbortController();
  const ask = () => post(url, pair.client, keys[pair.group] ?? '', body, leaving.signal);
  // A connection that had been idle for long may close just as it is taken; a server that is gone refuses the second try.
  const answer = await ask().catch(ask);
  assert.equal(answer.status, 200, `${nameOf(pair)}: ${answer.ok ? '' : await answer.text()}`);
  if (!isLeft) return assertWhole(pair, await answer.text());
  const reader = answer.body?.getReader() ?? assert.fail('no body');
  await reader.read();
  await reader.read();
  leaving.abort();
  await reader.read().catch(() => {});
}

const END: Readonly<Record<Pair['client'], RegExp>> = {
  messages: /event: message_stop/,
  chat: /\[DONE\]/,
  responses: /event: response\.completed/,
};

const assertWhole = ({ client }: Pair, text: string): void => assert.match(text.slice(-20_000), END[client]);

async function run(from: number, to: number): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) {
      const n = next;
      next += 1;
      await stream(n);
      if (n % 100 === 0) sim.journal.clear();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const title = `${STREAMS} streams leave no trace in memory, though every tenth caller leaves in the middle`;
test(title, { timeout: STREAMS * 100 }, async (t) => {
  await run(0, WARM);
  const warm = await memory();
  const sizes = [warm];
  const step = Math.ceil((STREAMS - WARM) / 3);
  for (let from = WARM; from < STREAMS; from += step) {
    await run(from, from + step);
    sizes.push(await memory());
  }
  await until('every call to be over', async () => (await metric('dragoman_open_requests')) <= 1);
  await until('every account to be free', () => sim.journal.requests.every((one) => one.finished || one.aborted));
  t.diagnostic(`${sizes.map((size) => Math.round(size / MB)).join(', ')} MB`);
  const grown = (await memory()) - warm;
  assert.ok(grown < GROWTH, `${grown} bytes`);
  const [before = 0, end = 0] = sizes.slice(-2);
  if (STREAMS > 2_000) assert.ok(end - before < LATE_GROWTH, `${end - before} bytes in the last third`);
});

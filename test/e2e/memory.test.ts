// set: load; resident memory over many calls
/** Memory of a gateway process that serves thousands of converted streams, some of them abandoned by the client. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sim, startSim } from '../../sim/index.ts';
import { Command } from '../support/command.ts';
import { groupsSetup, PAIRS, type Pair, pairName, post, requestBody } from '../support/conversion-harness.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { until } from '../support/wait.ts';

const STREAMS = process.env.SOAK === '1' ? 10_000 : 1_000;
/** Warm-up: code is compiled, buffers are allocated and caches filled. */
const WARM = 500;
const AT_ONCE = 16;
const ABANDON_EVERY = 10;
/** A prompt of 40 kB is copied about five times on its way; prompts that are kept would exceed the allowed growth. */
const PROMPT = 'word '.repeat(8_000);
const MB = 2 ** 20;
/** The heap still adjusts its size after the warm-up. Streams that are kept would be some 300 MB, with SOAK 2 GB. */
const GROWTH = 128 * MB;
/** Allowed growth in the last third with SOAK, when nothing should change any more. One copy of each prompt is 120 MB. */
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
  const groups = GROUPS.map(([id, upstream]) => ({ id, upstream, accounts: [{ max_concurrency: 1_000 }] }));
  const file = join(dataDir, 'setup.json');
  writeFileSync(file, JSON.stringify(groupsSetup(groups, sim.url)));
  command = new Command(['serve', '--config', file], {
    env: {
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      LOG_LEVEL: 'error',
      // A small young generation shows retained objects sooner.
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

/** The smallest of five samples: between two collections there is always garbage. */
async function memory(): Promise<number> {
  let min = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 5; n += 1) {
    min = Math.min(min, await metric('process_resident_memory_bytes'));
    await pause(50);
  }
  return min;
}

const TOOLS = [{ name: 'read_file', description: 'Reads a file.', schema: { type: 'object', properties: {} } }];

async function stream(n: number): Promise<void> {
  const pair = PAIRS[n % PAIRS.length] ?? assert.fail();
  const isAbandoned = n % ABANDON_EVERY === 3;
  const body = requestBody(pair.client, {
    model: isAbandoned ? 'demo-text@events=100000;gap=1' : 'demo-text',
    text: `${PROMPT} ${n % 3 === 0 ? 'Use read_file.' : 'hello'}`,
    stream: true,
    thinks: true,
    tools: TOOLS,
    more: pair.client === 'responses' ? { store: false } : {},
  });
  const controller = new AbortController();
  const send = () => post(url, pair.client, keys[pair.group] ?? '', body, controller.signal);
  // An idle connection may close just as it is reused, so one retry is allowed. A dead server refuses that as well.
  const response = await send().catch(send);
  assert.equal(response.status, 200, `${pairName(pair)}: ${response.ok ? '' : await response.text()}`);
  if (!isAbandoned) return assertComplete(pair, await response.text());
  const reader = response.body?.getReader() ?? assert.fail('no body');
  await reader.read();
  await reader.read();
  controller.abort();
  await reader.read().catch(() => {});
}

const END: Readonly<Record<Pair['client'], RegExp>> = {
  messages: /event: message_stop/,
  chat: /\[DONE\]/,
  responses: /event: response\.completed/,
};

const assertComplete = ({ client }: Pair, text: string): void => assert.match(text.slice(-20_000), END[client]);

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

const title = `memory does not grow over ${STREAMS} converted streams with a client disconnect in every tenth`;
test(title, { timeout: STREAMS * 100 }, async (t) => {
  await run(0, WARM);
  const warm = await memory();
  const sizes = [warm];
  const step = Math.ceil((STREAMS - WARM) / 3);
  for (let from = WARM; from < STREAMS; from += step) {
    await run(from, from + step);
    sizes.push(await memory());
  }
  await until('all requests to end', async () => (await metric('dragoman_open_requests')) <= 1);
  await until('all provider requests to end', () => sim.journal.requests.every((one) => one.finished || one.aborted));
  t.diagnostic(`${sizes.map((size) => Math.round(size / MB)).join(', ')} MB`);
  const grown = (await memory()) - warm;
  assert.ok(grown < GROWTH, `${grown} bytes`);
  const [before = 0, end = 0] = sizes.slice(-2);
  if (STREAMS > 1_000) assert.ok(end - before < LATE_GROWTH, `${end - before} bytes in the last third`);
});

// set: sweeps; four servers with slow turns; server.test.ts closes sockets in such turns
/** The stop and the reload of real processes whose event loop is slow, under load. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sim, startSim } from '../../sim/index.ts';
import { type Canned, startCanned } from '../support/canned.ts';
import { Command, run } from '../support/command.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { until } from '../support/wait.ts';

const KEY = 'slow-stop-test-key-of-ann';
const OPEN_STREAMS = 40;
const HELD = 'held';
const event = (data: { readonly type: string; readonly [member: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: HELD, content: [], stop_reason: null };
const BEGIN =
  event({ type: 'message_start', message: { ...MESSAGE, usage: { input_tokens: 1, output_tokens: 1 } } }) +
  event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } });
const END =
  event({ type: 'content_block_stop', index: 0 }) +
  event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }) +
  event({ type: 'message_stop' });
const SHORT = 'demo-messages@events=5;gap=20';
/** Between two new connections. */
const PAUSE_MS = 20;

let sim: Sim;
/** Its streams end when the test says so, however long a machine takes to stop. */
let provider: Canned;
const held: (() => void)[] = [];
let database: TestDatabase;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dragoman-slow-stop-'));
  [sim, provider, database] = await Promise.all([startSim(), startCanned(), testDatabase()]);
  provider.respondWith((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(BEGIN);
    held.push(() => response.end(END));
  });
});
after(async () => {
  await database?.drop();
  await provider?.close();
  await sim?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface SlowServer {
  readonly command: Command;
  readonly origin: string;
  readonly env: Readonly<Record<string, string>>;
}

async function startSlow(t: TestContext, turnMs: number, workers: number): Promise<SlowServer> {
  const own = mkdtempSync(join(folder, 'server-'));
  const setup = {
    groups: ['claude', HELD].map((id) => ({ id, style: 'messages' })),
    accounts: [
      { id: 'cl1', group: 'claude', base_url: sim.url, api_key: 'sk-upstream' },
      { id: 'he1', group: HELD, base_url: provider.url, api_key: 'sk-upstream' },
    ],
    models: [
      { id: 'demo-*', groups: ['claude'], free: true },
      { id: HELD, groups: [HELD], free: true },
    ],
    users: [{ id: 'ann', balance: '1' }],
    keys: ['claude', HELD].map((group) => ({ user: 'ann', group, key: `${KEY}-${group}` })),
  };
  writeFileSync(join(own, 'setup.json'), JSON.stringify(setup));
  const env = {
    DATABASE_URL: database.url,
    DATA_DIR: join(own, 'data'),
    MASTER_KEY: `k1:${'slow-stop-master-key-'.repeat(2)}`,
    WORKERS: String(workers),
    DRAIN_MS: '120000',
    LOG_LEVEL: 'info',
    // Slow turns look like an overload.
    SHEDDING: 'off',
    SLOW_TURN_MS: String(turnMs),
    NODE_OPTIONS: `--import=${new URL('../support/slow-loop.ts', import.meta.url).href}`,
  };
  const command = new Command(['serve', '--config', join(own, 'setup.json')], { env });
  t.after(() => command.process.kill('SIGKILL'));
  return { command, origin: await command.ready(), env };
}

type Outcome = 'complete' | 'refused' | 'reset' | 'unavailable' | 'cut';

/** One call on a connection of its own. */
async function call(origin: string, model: string, onOpen: () => void = () => {}): Promise<Outcome> {
  const body = JSON.stringify({ model, max_tokens: 200, stream: true, messages: [{ role: 'user', content: 'x' }] });
  const headers = { 'x-api-key': `${KEY}-${model === HELD ? HELD : 'claude'}`, 'content-type': 'application/json' };
  const sent = request(`${origin}/v1/messages`, { method: 'POST', agent: new Agent(), headers }).end(body);
  const [response, error] = await once(sent, 'response').then(
    ([value]) => [value],
    (failure: NodeJS.ErrnoException) => [undefined, failure],
  );
  if (!response) return error?.code === 'ECONNREFUSED' ? 'refused' : 'reset';
  onOpen();
  let text = '';
  try {
    for await (const chunk of response) text += String(chunk);
  } catch {
    return 'cut';
  }
  if (text.includes('shutting_down')) return 'unavailable';
  return text.includes('event: message_stop') ? 'complete' : 'cut';
}

/** New connections, one after the other, until `end`. */
async function load(origin: string): Promise<{ end(): Promise<Record<Outcome, number>>; takenAfterClose(): number }> {
  const counts = { complete: 0, refused: 0, reset: 0, unavailable: 0, cut: 0 };
  let [isOver, taken] = [false, 0];
  const open = new Set<Promise<void>>();
  const count = async (isLate: boolean): Promise<void> => {
    const outcome = await call(origin, SHORT);
    counts[outcome] += 1;
    if (isLate && outcome !== 'refused') taken += 1;
  };
  const loop = (async () => {
    while (!isOver) {
      const one: Promise<void> = count(counts.refused > 0).finally(() => open.delete(one));
      open.add(one);
      await pause(PAUSE_MS);
    }
    await Promise.all(open);
  })();
  return {
    takenAfterClose: () => taken,
    async end() {
      isOver = true;
      await loop;
      return counts;
    },
  };
}

/** The sockets on which a process listens for calls. */
function listeningSockets(pid: number, origin: string): number {
  const port = Number(new URL(origin).port).toString(16).toUpperCase().padStart(4, '0');
  const listening = new Set(
    readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((columns) => columns[1]?.endsWith(`:${port}`) && columns[3] === '0A')
      .map((columns) => `socket:[${columns[9]}]`),
  );
  const linkOf = (fd: string): string => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  };
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => listening.has(linkOf(fd))).length;
}

/** Streams that are open while a process stops. */
async function openStreams(
  origin: string,
): Promise<{ readonly ended: () => number; readonly all: Promise<Outcome[]> }> {
  let [begun, ended] = [0, 0];
  const onOpen = (): void => {
    begun += 1;
  };
  const streams = Array.from({ length: OPEN_STREAMS }, () =>
    call(origin, HELD, onOpen).finally(() => {
      ended += 1;
    }),
  );
  await until('the streams', () => begun === OPEN_STREAMS);
  return { ended: () => ended, all: Promise.all(streams) };
}

function release(): void {
  for (const end of held.splice(0)) end();
}

const skip = process.platform !== 'linux' && 'reads /proc';

for (const turnMs of [25, 100]) {
  test(`a server stops to listen before its streams end when turns take ${turnMs} ms`, { skip }, async (t) => {
    const { command, origin } = await startSlow(t, turnMs, 1);
    const pid = command.process.pid ?? 0;
    const calls = await load(origin);
    t.after(() => calls.end());
    const streams = await openStreams(origin);
    assert.ok(listeningSockets(pid, origin) > 1);
    command.process.kill('SIGUSR2');
    const begun = performance.now();
    command.process.kill('SIGTERM');
    await until('closed sockets', () => listeningSockets(pid, origin) === 0);
    t.diagnostic(`no socket listens ${Math.round(performance.now() - begun)} ms after SIGTERM`);
    assert.equal(streams.ended(), 0);
    release();
    const outcomes = await streams.all;
    const counts = await calls.end();
    t.diagnostic(`${JSON.stringify(counts)}, ${calls.takenAfterClose()} taken after the close`);
    assert.deepEqual(new Set(outcomes), new Set(['complete']));
    assert.deepEqual([counts.cut, counts.unavailable], [0, 0]);
    assert.equal(calls.takenAfterClose(), 0);
    assert.equal((await command.ended).code, 0, command.stderr);
  });

  test(`a reload loses no call when turns of the old workers take ${turnMs} ms`, { skip }, async (t) => {
    const { command, origin, env } = await startSlow(t, turnMs, 2);
    const workers = (): number[] =>
      [...command.stdout.matchAll(/"pid":(\d+),"msg":"worker\.ready"/g)].map(([, pid]) => Number(pid));
    await until('the workers', () => workers().length === 2);
    const old = workers();
    const calls = await load(origin);
    t.after(() => calls.end());
    const streams = await openStreams(origin);
    for (const pid of old) process.kill(pid, 'SIGUSR2');
    const reloaded = run(['reload'], { env });
    const first = old[0] ?? 0;
    await until('closed sockets', () => listeningSockets(first, origin) === 0);
    assert.equal(streams.ended(), 0);
    release();
    const result = await reloaded;
    assert.equal(result.code, 0, result.stderr);
    const counts = await calls.end();
    t.diagnostic(JSON.stringify(counts));
    assert.deepEqual(new Set(await streams.all), new Set(['complete']));
    assert.deepEqual({ ...counts, complete: 0 }, { complete: 0, refused: 0, reset: 0, unavailable: 0, cut: 0 });
    assert.equal((await command.stop()).code, 0, command.stderr);
  });
}

/**
 * `npm run soak -- memory`: hostile requests to a server with a memory limit, while small requests are served. With `--cgroup DIR`, a folder of the
 * memory controller in which this process may make another, the kernel ends the server above the limit; otherwise this script fails when the
 * resident memory of its processes exceeds it. `--count 10000`, `--limit-mb 2048`, `--workers 2`.
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startCostServer, TARGETS } from '../support/cost-server.ts';
import { largestBody, SHAPES } from '../support/request-shapes.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10000' },
    'limit-mb': { type: 'string', default: '2048' },
    workers: { type: 'string', default: '2' },
    'at-once': { type: 'string', default: '48' },
    cgroup: { type: 'string' },
  },
});
const MIB = 2 ** 20;
const count = Number(values.count);
const limit = Number(values['limit-mb']) * MIB;
const folder = values.cgroup === undefined ? undefined : join(values.cgroup, `dragoman-soak-${process.pid}`);

const server = await startCostServer({
  env: {
    WORKERS: values.workers,
    ...(folder === undefined && { BODY_MEMORY_BYTES: String(Math.floor(limit * 0.3)) }),
  },
});
if (folder !== undefined) limitMemory(folder, processesOf(server.pid));
process.stdout.write(
  `${count} requests to ${values.workers} workers with ${values['limit-mb']} MB, ${folder === undefined ? 'watched by this script' : 'limited by the kernel'}\n`,
);

let sent = 0;
let served = 0;
let unserved = 0;
let mostBytes = 0;
let isDone = false;
const statuses = new Map<number, number>();
const bodies = SHAPES.map((shape) => ({ shape, body: largestBody(shape) }));

try {
  await Promise.all([
    watch(),
    serveOthers(),
    Promise.all(Array.from({ length: Number(values['at-once']) }, attack)).then(() => {
      isDone = true;
    }),
  ]);
} finally {
  await server.stop();
}
if (folder !== undefined) rmdirSync(folder);
const shown = [...statuses].sort(([a], [b]) => a - b).map(([status, times]) => `${times} x ${status}`);
process.stdout.write(
  `hostile: ${shown.join(', ')}\nothers: ${served} served, ${unserved} not\nmemory: at most ${Math.round(mostBytes / MIB)} MB\n`,
);
const isGood = mostBytes <= limit && !statuses.has(0) && unserved <= served / 100;
process.exit(isGood ? 0 : 1);

async function attack(): Promise<void> {
  while (sent < count) {
    const { shape, body } = bodies[sent % bodies.length] ?? { shape: SHAPES[0], body: Buffer.alloc(0) };
    sent += 1;
    if (!shape) return;
    const groups = TARGETS[shape.client];
    const group = groups[sent % groups.length] ?? 'claude';
    const { status } = await server.send(shape.client, group, body).catch(() => ({ status: 0 }));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
}

/** Small requests of a person, which have to be served meanwhile. */
async function serveOthers(): Promise<void> {
  const body = '{"model":"demo-text","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}';
  while (!isDone) {
    const { status } = await server.send('messages', 'claude', body).catch(() => ({ status: 0 }));
    if (status === 200) served += 1;
    else unserved += 1;
    await pause(50);
  }
}

async function watch(): Promise<void> {
  while (!isDone) {
    const pids = processesOf(server.pid);
    mostBytes = Math.max(
      mostBytes,
      pids.map(residentBytes).reduce((sum, bytes) => sum + bytes, 0),
    );
    await pause(100);
  }
}

/** The process and everything that it started. */
function processesOf(root: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name): [number, number][] => {
      const parent = /^\d+ \(.*\) \S (\d+)/s.exec(readOr(`/proc/${name}/stat`))?.[1];
      return parent === undefined ? [] : [[Number(name), Number(parent)]];
    });
  const found = [root];
  for (const pid of found) found.push(...parents.filter(([, parent]) => parent === pid).map(([child]) => child));
  return found;
}

/** Its own memory. Pages that processes share, as those of PostgreSQL do, would count several times. */
function residentBytes(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(readOr(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
}

/** A process may end at any time. */
function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Version 1 and 2 of cgroups have different names for the limit. */
function limitMemory(cgroup: string, pids: readonly number[]): void {
  mkdirSync(cgroup);
  const file = readdirSync(cgroup).includes('memory.max') ? 'memory.max' : 'memory.limit_in_bytes';
  writeFileSync(join(cgroup, file), String(limit));
  for (const pid of pids) writeFileSync(join(cgroup, 'cgroup.procs'), String(pid));
}

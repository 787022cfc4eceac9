/**
 * `npm run bench -- quick`: what a call, an event of a stream and a second without calls cost, in CPU time of all
 * processes of the gateway, PostgreSQL included. Node's plain proxy and nginx are measured within the same seconds, so
 * ratios vary less than times do. Prints them beside those of docs/performance.md; `--write` puts the new ones there,
 * `--repeats 9` takes longer and varies less. Never fails because of a figure.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { benchRequest } from './bodies.ts';
import type { StartedProcess } from './child.ts';
import { cpuOfTree, describeMachine, usageNow, WATCHED_CORES } from './machine.ts';
import { median } from './quantile.ts';
import { type CostRow, readReference, renderCosts, summarizeCosts, writeReference } from './quick-table.ts';
import { type Cell, type Measurement, measure } from './round.ts';
import { NATIVE, OPEN_LOOP_RATE, SCENARIOS, type ScenarioName } from './scenarios.ts';
import { progress, Session } from './session.ts';
import { commitOf, ROOT } from './target.ts';
import { quickTargets } from './targets.ts';

const { values: options } = parseArgs({
  options: { write: { type: 'boolean', default: false }, repeats: { type: 'string', default: '3' } },
});
const REPEATS = Number(options.repeats);
/** Runs of the same commit differ by this much. */
const NOISE = '15 %';
/** Above this part of the cores, runs differ by more. */
const MAX_OTHERS = 0.25;
/**
 * Work that follows a start or calls ends before other things are measured: records on their way to the database, jobs,
 * and vacuum.
 */
const SETTLED = { share: 0.02, forMs: 5_000, withinMs: 60_000 } as const;
const IDLE_MS = 20_000;
const OPEN_MS = 3_000;
/** No further repeat starts after this time of measuring: a busy machine makes fewer repeats. */
const MAX_MS = 15_000 * REPEATS;
/** Bounds a measurement on a busy machine. */
const MAX_CELL_MS = 2_000;

/**
 * Requests of a measurement: numbers and not times, because a busy machine would measure compilers that have not
 * finished.
 */
const REQUESTS: Readonly<Partial<Record<ScenarioName, number>>> = {
  'unary-64': 4_000,
  burst: 600,
  paced: 32,
  long: 100,
  'long-stream': 60,
};
/** Compilers of a gateway finish after 40,000 calls: before, they take up to half of the time of a call. */
const WARM_UP = 8;

const KINDS = [
  ['unary-64', 'call'],
  ['burst', 'event at full speed'],
  ['paced', 'event every 4 ms'],
  ['long', 'call of 400 KB'],
  ['long-stream', 'stream of 400 KB'],
] as const satisfies readonly (readonly [ScenarioName, string])[];

const startedAt = performance.now();
const session = new Session();
try {
  await quick();
} finally {
  await session.stop();
}

async function quick(): Promise<void> {
  const before = usageNow();
  const load = await session.start(quickTargets());
  const idle = await idleShare();
  const found = await session.findCells(
    load,
    /dragoman|nginx|Node/,
    SCENARIOS.filter(({ name }) => name in REQUESTS || name === 'open'),
  );
  const cells = found.filter(({ scenario }) => scenario.name !== 'open');
  progress('Warming up ...');
  for (const cell of cells) if (!cell.scenario.isWarm) await measureCell(cell, load, WARM_UP);
  await settle();
  const warmAt = performance.now();
  for (let n = 1; n <= REPEATS && (n === 1 || performance.now() - warmAt < MAX_MS); n += 1) {
    progress(`Measuring, ${n} of ${REPEATS} ...`);
    for (const cell of cells) session.add(cell, await measureCell(cell, load));
  }
  await settle();
  progress(`Measuring ${OPEN_LOOP_RATE} calls a second ...`);
  const open = found.filter(({ scenario, line: { route } }) => scenario.name === 'open' && route.from === route.to);
  for (const cell of open) session.add(cell, await measure(cell, load, OPEN_MS));
  const after = usageNow();
  const seconds = (performance.now() - startedAt) / 1_000;
  const others = (after.busy - before.busy - (after.own - before.own)) / seconds / WATCHED_CORES;
  const rows = [...callRows(cells), ...openRows(open), { name: 'idle', share: idle }];
  console.log(`
CPU time of one call or event, all processes and PostgreSQL included, and how many times that of a plain proxy it is.
The last two columns compare the ratio to Node's proxy with that of docs/performance.md.

${renderCosts(rows, readReference())}

${OPEN_LOOP_RATE} calls a second take longer than at the upstream itself by
${open.map(({ line: { label }, results: [one] }) => `${label}: ${one?.p50.toFixed(2)} ms at p50, ${one?.p99.toFixed(2)} ms at p99`).join('\n')}
Reading and writing the 400 KB as JSON takes ${Math.round(jsonRound())} us.
${describeMachine()}; ${Math.round(seconds)} s.
${others > MAX_OTHERS ? `Other programs used ${Math.round(others * 100)} % of the cores: repeat this when they are idle.` : `Changes below ${NOISE} are noise.`}
For the commit message: ${commitOf(ROOT)}: ${summarizeCosts(rows)}`);
  if (options.write) writeReference(rows, { commit: commitOf(ROOT), machine: describeMachine() });
}

/** The part of a core that a gateway without calls uses. */
async function idleShare(): Promise<number> {
  await settle();
  progress(`Measuring an idle gateway for ${IDLE_MS / 1_000} s ...`);
  return shareFor(IDLE_MS);
}

async function settle(): Promise<void> {
  progress('Waiting until the gateway has no work ...');
  for (const until = performance.now() + SETTLED.withinMs; (await shareFor(SETTLED.forMs)) > SETTLED.share; )
    if (performance.now() > until) return session.note('the gateway still had work; shares of a core are too high.');
}

/** The part of a core that the gateway uses for so long. */
async function shareFor(ms: number): Promise<number> {
  const pid = [...session.targets].find(([{ kind }]) => kind === 'gateway')?.[1].pid;
  if (pid === undefined) throw new Error(`The gateway did not start. ${session.notes.join(' ')}`);
  const before = cpuOfTree(pid);
  const begun = performance.now();
  await pause(ms);
  const after = cpuOfTree(pid);
  return (after.own + after.database - before.own - before.database) / ((performance.now() - begun) / 1_000);
}

function measureCell(cell: Cell, load: StartedProcess, factor = 1): Promise<Measurement> {
  return measure(cell, load, MAX_CELL_MS * factor, (REQUESTS[cell.scenario.name] ?? 0) * factor);
}

function callRows(cells: readonly Cell[]): CostRow[] {
  return KINDS.flatMap(([scenario, kind]) => {
    const own = cells.filter((cell) => cell.scenario.name === scenario);
    const peer = (name: string): readonly number[] => microsOf(own.find(({ line }) => line.target === name));
    return own
      .filter(({ line }) => line.kind === 'gateway')
      .map((cell): CostRow => {
        const { from, to } = cell.line.route;
        const micros = microsOf(cell);
        return {
          name: `${from === to ? 'native' : 'converted'} ${kind}`,
          micros: median(micros),
          node: ratio(micros, peer('node')),
          nginx: ratio(micros, peer('nginx')),
        };
      });
  });
}

/**
 * CPU us from the bytes of the long request to text, values, text and bytes, as the least that a parsing proxy does.
 */
function jsonRound(): number {
  const bytes = Buffer.from(benchRequest(NATIVE.from, 'bench-burst', false, true).body);
  const costs = Array.from({ length: 40 }, () => {
    const before = process.cpuUsage();
    Buffer.from(JSON.stringify(JSON.parse(bytes.toString())));
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return median(costs.slice(20));
}

/** At a fixed rate, as a part of a core: between two calls the processes sleep, and the caches forget them. */
function openRows(cells: readonly Cell[]): CostRow[] {
  const peer = (name: string): readonly number[] => microsOf(cells.find(({ line }) => line.target === name));
  return cells
    .filter(({ line }) => line.kind === 'gateway')
    .map((cell) => ({
      name: `${OPEN_LOOP_RATE} native calls a second`,
      share: (median(microsOf(cell)) / 1e6) * OPEN_LOOP_RATE,
      node: ratio(microsOf(cell), peer('node')),
      nginx: ratio(microsOf(cell), peer('nginx')),
    }));
}

/** Microseconds of a call or an event in each repeat. */
function microsOf(cell: Cell | undefined): readonly number[] {
  return (cell?.results ?? []).map(({ allMicros }) => allMicros);
}

/** Of the same repeat: a slow phase of the machine affects both. NaN without the peer. */
function ratio(own: readonly number[], peer: readonly number[]): number {
  return median(own.flatMap((micros, n) => (peer[n] === undefined ? [] : [micros / peer[n]])));
}

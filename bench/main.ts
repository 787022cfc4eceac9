/**
 * `npm run bench`: compares the gateway with the bare upstream and with other gateways in one interleaved run.
 *
 * Everything runs on this machine. A mock upstream returns canned bytes (upstream.ts) and a load generator repeats one request
 * (load.ts); both share one core. The target has another core, and its CPU time is read from /proc. All cells (a line of
 * targets.ts and a scenario of scenarios.ts) are measured in turn, then all again, so that a slow phase of the machine affects all
 * targets; the report shows medians. A result during which other processes used more than a tenth of the two cores is measured
 * again, at most twice. Absolute numbers depend on the machine: compare the ratios.
 *
 * `--repeats 9` measures more often, `--quick` once and briefly, `--only 'nginx|native'` only matching lines, `--scenario open` only
 * matching scenarios. `--base ../other` also measures the gateway of another source tree. `--peer 'name=command {port} {upstream}'`
 * adds a target; `name:chat=` for one that serves another dialect than messages. `--profile folder` writes a CPU profile of the
 * gateway. nginx must be installed; npm fetches Portkey, and pip LiteLLM. The tables are printed; all results are in
 * bench/results/latest.json.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DIALECTS } from './bodies.ts';
import { nextMessage, pause, type StartedProcess, sendOrder, startHelper } from './child.ts';
import { readPeer } from './command.ts';
import { parseAndStringify } from './control.ts';
import type { ProbeReport } from './load.ts';
import { CORES, describeMachine, rssMb } from './machine.ts';
import { reportJson, reportText } from './report.ts';
import { type Cell, MAX_OTHER_LOAD, measure, measureQuietly, NoResponse } from './round.ts';
import { failureOf, requestOf, SCENARIOS } from './scenarios.ts';
import { type OpenStreams, openStreams } from './streams.ts';
import { type Target, TargetUnavailable } from './target.ts';
import { type TargetRow, targetsOf } from './targets.ts';

const { values: options } = parseArgs({
  options: {
    repeats: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    scenario: { type: 'string', default: '' },
    profile: { type: 'string' },
    base: { type: 'string' },
    peer: { type: 'string', multiple: true, default: [] },
  },
});

const RESULTS = fileURLToPath(new URL('results/', import.meta.url));
const PACE = options.quick
  ? { repeats: 1, measureMs: 200, warmMs: 200, retries: 0, budgetMs: 60_000 }
  : { repeats: 5, measureMs: 1_000, warmMs: 8_000, retries: 2, budgetMs: 600_000 };
const repeats = Number(options.repeats ?? PACE.repeats);
/** More repeats than the default get proportionally more time. */
const budgetMs = PACE.budgetMs * Math.max(1, repeats / PACE.repeats);

const startedAt = Date.now();
const notes: string[] = [];
const only = new RegExp(options.only);
const scenarios = new RegExp(options.scenario);
/** Only targets with a line that is measured are started. The bare upstream is always there: the open loop compares with it. */
const rows = targetsOf({
  profileFolder: options.profile,
  base: options.base,
  peers: options.peer.map(readPeer),
}).filter(({ kind, lines }) => kind === 'direct' || lines.some(({ label }) => only.test(label)));
const targets = new Map<TargetRow, Target>();
const helpers: StartedProcess[] = [];
const dropped = new Set<Cell>();

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stopAll().then(() => process.exit(1)));
try {
  await bench();
} finally {
  await stopAll();
}

async function bench(): Promise<void> {
  if (!existsSync('/proc/self/stat')) throw new Error('The benchmark reads /proc and runs on Linux only.');
  if (!CORES) note('no second core or no taskset: targets share their cores with the load, so times are less exact.');
  const load = await startTargets();

  const streams: OpenStreams[] = [];
  for (const [row, target] of targets) {
    if (target.pid !== undefined) progress(`Opening streams through ${row.name} ...`);
    const found = await openStreams(row, target, load);
    if (found) streams.push(found);
  }

  const cells = await checkCells(load);
  progress(`Warming up ${cells.length} cells ...`);
  for (const cell of cells)
    if (!cell.scenario.isWarm) await unlessDropped(cell, () => measure(cell, load, PACE.warmMs));
  // The other scenarios still warm up.
  const done = await repeat(
    cells.filter(({ scenario }) => scenarios.test(scenario.name)),
    load,
  );

  const memory = [...targets].flatMap(([{ name }, { pid }]) => {
    const idleMb = streams.find(({ target }) => target === name)?.idleMb;
    return pid === undefined || idleMb === undefined ? [] : [{ target: name, idleMb, endMb: rssMb(pid) }];
  });
  const control = DIALECTS.map((dialect) => ({ dialect, us: parseAndStringify(dialect) }));
  const disturbed = cells
    .flatMap(({ results }) => results)
    .filter(({ otherLoad }) => otherLoad > MAX_OTHER_LOAD).length;
  if (disturbed > 0)
    note(`${disturbed} results are disturbed by other processes; they count only in cells without an undisturbed one.`);
  const results = {
    machine: describeMachine(),
    repeats: done,
    lines: rows.flatMap(({ lines }) => lines),
    cells,
    memory,
    streams,
    control,
    notes,
  };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(`${RESULTS}latest.json`, `${JSON.stringify(reportJson(results), null, 2)}\n`);
  progress(
    `Done after ${Math.round((Date.now() - startedAt) / 1000)} s; all results are in bench/results/latest.json.\n`,
  );
  console.log(reportText(results));
}

/** Returns the load generator; adds the targets to `targets`. */
async function startTargets(): Promise<StartedProcess> {
  progress('Starting the mock upstream, the load and the targets ...');
  const upstream = startHelper('upstream.ts', CORES?.load);
  helpers.push(upstream);
  const { port } = await nextMessage<{ port: number }>(upstream);
  const load = startHelper('load.ts', CORES?.load);
  helpers.push(load);
  for (const row of rows) {
    try {
      targets.set(row, await row.start(port));
    } catch (error) {
      if (!(error instanceof TargetUnavailable)) throw error;
      note(`${error.message}; skipped.`);
    }
  }
  // Wait for work that the targets do after they listen.
  await pause(1_000);
  return load;
}

/** The cells that work, found by one request each. */
async function checkCells(load: StartedProcess): Promise<Cell[]> {
  const cells: Cell[] = [];
  const upstream = [...targets].find(([{ kind }]) => kind === 'direct')?.[1];
  if (!upstream) throw new Error('The table of targets lacks the bare upstream.');
  for (const [row, target] of targets) {
    for (const line of row.lines.filter(({ label }) => only.test(label))) {
      for (const stream of [false, true]) {
        const request = requestOf(target, line.route, 'bench-burst', stream);
        const { status, text } = await sendOrder<ProbeReport>(load, { probe: true, port: target.port, request });
        const failure = failureOf(line.route, stream, status, text);
        if (failure !== undefined) note(`${line.label}, ${stream ? 'streams' : 'unary'}: ${failure}; skipped.`);
        else if (target.pid !== undefined || !stream)
          for (const scenario of SCENARIOS)
            if (scenario.stream === stream) cells.push({ line, scenario, target, upstream, results: [] });
      }
    }
  }
  // All lines of a scenario in a row, so that compared results are measured within seconds.
  return SCENARIOS.flatMap(({ name }) => cells.filter((cell) => cell.scenario.name === name));
}

/** Measures all cells `repeats` times, or as often as the time allows; returns how often. */
async function repeat(cells: readonly Cell[], load: StartedProcess): Promise<number> {
  const startedRepeats = Date.now();
  for (let n = 0; n < repeats; n += 1) {
    const now = Date.now();
    if (n > 0 && now - startedAt + (now - startedRepeats) / n > budgetMs) {
      note(`time ran out after ${n} of ${repeats} repeats.`);
      return n;
    }
    progress(`Measuring, ${n + 1} of ${repeats} ...`);
    for (const cell of cells) {
      const result = await unlessDropped(cell, () => measureQuietly(cell, load, PACE.measureMs, PACE.retries));
      if (!result) continue;
      if (result.failures > 0) note(`${cell.line.label}, ${cell.scenario.about}: ${result.failures} requests failed.`);
      cell.results.push(result);
    }
  }
  return repeats;
}

/** A peer that stops responding loses its cell, and the others are still measured. */
async function unlessDropped<T>(cell: Cell, task: () => Promise<T>): Promise<T | undefined> {
  if (dropped.has(cell)) return undefined;
  try {
    return await task();
  } catch (error) {
    if (cell.line.kind !== 'peer' || !(error instanceof NoResponse)) throw error;
    dropped.add(cell);
    note(`${error.message} Skipped from here on.`);
    return undefined;
  }
}

async function stopAll(): Promise<void> {
  for (const target of targets.values()) await target.stop();
  targets.clear();
  for (const helper of helpers.splice(0)) await helper.stop();
}

function note(text: string): void {
  notes.push(text);
  progress(`Note: ${text}`);
}

function progress(text: string): void {
  console.error(text);
}

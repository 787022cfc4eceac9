/**
 * `npm run bench`: compares the gateway with the bare upstream, nginx and Portkey in one interleaved run.
 *
 * Everything runs on this machine. A mock upstream returns canned bytes (upstream.ts) and a load generator repeats one request
 * (load.ts); both share one core. The target has another core, and its CPU time is read from /proc. All cells (target and
 * scenario, scenarios.ts) are measured in turn, then all again, so that a slow phase of the machine affects all targets; the
 * report shows medians. A result during which other processes used more than a tenth of the two cores is measured again, at
 * most twice. Absolute numbers depend on the machine: compare the ratios.
 *
 * `--repeats 9` measures more often, `--quick` once and briefly (under a minute), `--only 'nginx|native'` only matching lines,
 * `--profile folder` writes a CPU profile of the gateway. nginx must be installed; Portkey is fetched with npm. The tables are
 * printed; all results are in bench/results/latest.json.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Dialect } from './bodies.ts';
import { nextMessage, pause, type StartedProcess, sendOrder, startHelper } from './child.ts';
import { parseAndStringify } from './control.ts';
import type { ProbeReport } from './load.ts';
import { CORES, describeMachine, rssMb } from './machine.ts';
import { reportJson, reportText } from './report.ts';
import { type Cell, MAX_OTHER_LOAD, measure, measureQuietly } from './round.ts';
import { failureOf, LINES, requestOf, SCENARIOS } from './scenarios.ts';
import { type OpenStreams, openStreams } from './streams.ts';
import { direct, startDragoman, startNginx, startPortkey, type Target, TargetUnavailable } from './targets.ts';

const { values: options } = parseArgs({
  options: {
    repeats: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    profile: { type: 'string' },
  },
});

const RESULTS = fileURLToPath(new URL('results/', import.meta.url));
const PACE = options.quick
  ? { repeats: 1, measureMs: 200, warmMs: 200, retries: 0, budgetMs: 50_000 }
  : { repeats: 5, measureMs: 1_000, warmMs: 8_000, retries: 2, budgetMs: 480_000 };
const repeats = Number(options.repeats ?? PACE.repeats);
/** More repeats than the default get proportionally more time. */
const budgetMs = PACE.budgetMs * Math.max(1, repeats / PACE.repeats);

const startedAt = Date.now();
const notes: string[] = [];
const targets: Target[] = [];
const helpers: StartedProcess[] = [];

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
  for (const target of targets) {
    if (target.pid !== undefined) progress(`Opening streams through ${target.name} ...`);
    const found = await openStreams(target, load);
    if (found) streams.push(found);
  }

  const cells = await checkCells(load);
  progress(`Warming up ${cells.length} cells ...`);
  for (const cell of cells) if (!cell.scenario.isWarm) await measure(cell, load, PACE.warmMs);
  const done = await repeat(cells, load);

  const memory = targets.flatMap(({ name, pid }) => {
    const idleMb = streams.find(({ target }) => target === name)?.idleMb;
    return pid === undefined || idleMb === undefined ? [] : [{ target: name, idleMb, endMb: rssMb(pid) }];
  });
  const control = (['messages', 'chat', 'responses', 'generate'] satisfies Dialect[]).map((dialect) => ({
    dialect,
    us: parseAndStringify(dialect),
  }));
  const disturbed = cells
    .flatMap(({ results }) => results)
    .filter(({ otherLoad }) => otherLoad > MAX_OTHER_LOAD).length;
  if (disturbed > 0)
    note(`${disturbed} results are disturbed by other processes; they count only in cells without an undisturbed one.`);
  const results = { machine: describeMachine(), repeats: done, cells, memory, streams, control, notes };
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
  targets.push(direct(port));
  const starts = [
    startNginx,
    (at: number) => startDragoman('dragoman', at, options.profile),
    startPortkey,
    (at: number) => startDragoman('converter', at, options.profile),
  ];
  for (const start of starts) {
    try {
      targets.push(await start(port));
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
  for (const line of LINES.filter(({ label }) => new RegExp(options.only).test(label))) {
    const target = targets.find(({ name }) => name === line.target);
    if (!target) continue;
    for (const stream of [false, true]) {
      const request = requestOf(target, line.route, 'bench-burst', stream);
      const { status, text } = await sendOrder<ProbeReport>(load, { probe: true, port: target.port, request });
      const failure = failureOf(line.route, stream, status, text);
      if (failure !== undefined) note(`${line.label}, ${stream ? 'streams' : 'unary'}: ${failure}; skipped.`);
      else if (target.pid !== undefined || !stream)
        for (const scenario of SCENARIOS)
          if (scenario.stream === stream) cells.push({ line, scenario: scenario, target, results: [] });
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
      const result = await measureQuietly(cell, load, PACE.measureMs, PACE.retries);
      if (result.failures > 0) note(`${cell.line.label}, ${cell.scenario.about}: ${result.failures} requests failed.`);
      cell.results.push(result);
    }
  }
  return repeats;
}

async function stopAll(): Promise<void> {
  for (const target of targets.splice(0)) await target.stop();
  for (const helper of helpers.splice(0)) await helper.stop();
}

function note(text: string): void {
  notes.push(text);
  progress(`Note: ${text}`);
}

function progress(text: string): void {
  console.error(text);
}

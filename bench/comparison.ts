/**
 * `npm run bench -- compare`: compares the gateway with the bare upstream and with other gateways in one interleaved
 * run.
 *
 * Everything runs on this machine. A mock upstream returns canned bytes (upstream.ts) and a load generator repeats one
 * request (load.ts); both share one core. The target has another core, and its CPU time is read from /proc. All cells
 * (a line of targets.ts and a scenario of scenarios.ts) are measured in turn, then all again, so that a slow phase of
 * the machine affects all targets; the report shows medians of the results during which other processes used less than
 * a tenth of the cores. Absolute numbers depend on the machine: compare the ratios.
 *
 * `--repeats 9` measures more often, `--smoke` once and briefly, `--only 'nginx|native'` only matching lines,
 * `--scenario open` only matching scenarios. `--peer 'name=command {port} {upstream}'` adds a target; `name:chat=` for
 * one that serves another dialect than messages. `--profile folder` writes a CPU profile of the gateway. nginx must be installed; npm fetches Portkey, and
 * pip LiteLLM. The tables are printed; all results are in bench/results/latest.json.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { StartedProcess } from './child.ts';
import { readPeer } from './command.ts';
import { describeMachine, rssMb } from './machine.ts';
import { MAX_OTHER_LOAD, type Results, reportText } from './report.ts';
import { type Cell, measure, NoResponse } from './round.ts';
import { SCENARIOS } from './scenarios.ts';
import { progress, Session } from './session.ts';
import { type OpenStreams, openStreams } from './streams.ts';
import { targetsOf } from './targets.ts';

const { values: options } = parseArgs({
  options: {
    repeats: { type: 'string' },
    smoke: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    scenario: { type: 'string', default: '' },
    profile: { type: 'string' },
    peer: { type: 'string', multiple: true, default: [] },
  },
});

const RESULTS = fileURLToPath(new URL('results/', import.meta.url));
const PACE = options.smoke
  ? { repeats: 1, measureMs: 200, warmMs: 200, budgetMs: 60_000 }
  : { repeats: 5, measureMs: 1_000, warmMs: 8_000, budgetMs: 600_000 };
const repeats = Number(options.repeats ?? PACE.repeats);
/** More repeats than the default get proportionally more time. */
const budgetMs = PACE.budgetMs * Math.max(1, repeats / PACE.repeats);

const startedAt = Date.now();
const only = new RegExp(options.only);
const scenarios = new RegExp(options.scenario);
/**
 * Only targets with a line that is measured are started. The bare upstream is always there: the open loop compares with
 * it.
 */
const rows = targetsOf({
  profileFolder: options.profile,
  peers: options.peer.map(readPeer),
}).filter(({ kind, lines }) => kind === 'direct' || lines.some(({ label }) => only.test(label)));
const dropped = new Set<Cell>();

const session = new Session();
try {
  const results = await compare();
  mkdirSync(RESULTS, { recursive: true });
  const latest = results.cells.map(({ line, scenario, results }) => ({ ...line, scenario: scenario.name, results }));
  writeFileSync(`${RESULTS}latest.json`, `${JSON.stringify(latest, null, 2)}\n`);
  progress(
    `Done after ${Math.round((Date.now() - startedAt) / 1000)} s; all results are in bench/results/latest.json.\n`,
  );
  console.log(reportText(results));
} finally {
  await session.stop();
}

async function compare(): Promise<Results> {
  const load = await session.start(rows);
  const streams: OpenStreams[] = [];
  for (const [row, target] of session.targets) {
    if (target.pid !== undefined) progress(`Opening streams through ${row.name} ...`);
    const found = await openStreams(row, target, load);
    if (found) streams.push(found);
  }
  const cells = await session.findCells(load, only, SCENARIOS);
  progress(`Warming up ${cells.length} cells ...`);
  for (const cell of cells)
    if (!cell.scenario.isWarm) await unlessDropped(cell, () => measure(cell, load, PACE.warmMs));
  // The other scenarios still warm up.
  const done = await repeat(
    cells.filter(({ scenario }) => scenarios.test(scenario.name)),
    load,
  );
  const disturbed = cells.flatMap(({ results }) => results).filter(({ otherLoad }) => otherLoad > MAX_OTHER_LOAD);
  if (disturbed.length > 0)
    session.note(
      `${disturbed.length} results are disturbed by other processes; they count only in cells without an undisturbed one.`,
    );
  const pids = new Map([...session.targets].map(([{ name }, { pid = 0 }]) => [name, pid]));
  return {
    machine: describeMachine(),
    repeats: done,
    lines: rows.flatMap(({ lines }) => lines),
    cells,
    memory: new Map(streams.map((one) => [one.target, { ...one, endMb: rssMb(pids.get(one.target) ?? 0) }])),
    notes: session.notes,
  };
}

/** Measures all cells `repeats` times, or as often as the time allows; returns how often. */
async function repeat(cells: readonly Cell[], load: StartedProcess): Promise<number> {
  const startedRepeats = Date.now();
  for (let n = 0; n < repeats; n += 1) {
    const now = Date.now();
    if (n > 0 && now - startedAt + (now - startedRepeats) / n > budgetMs) {
      session.note(`time ran out after ${n} of ${repeats} repeats.`);
      return n;
    }
    progress(`Measuring, ${n + 1} of ${repeats} ...`);
    for (const cell of cells)
      await unlessDropped(cell, async () => session.add(cell, await measure(cell, load, PACE.measureMs)));
  }
  return repeats;
}

/** A peer that stops responding loses its cell, and the others are still measured. */
async function unlessDropped(cell: Cell, task: () => Promise<unknown>): Promise<void> {
  if (dropped.has(cell)) return;
  try {
    await task();
  } catch (error) {
    if (cell.line.kind !== 'peer' || !(error instanceof NoResponse)) throw error;
    dropped.add(cell);
    session.note(`${error.message} Skipped from here on.`);
  }
}

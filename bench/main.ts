/**
 * `npm run bench`: what this gateway costs, beside the bare upstream, nginx and Portkey, in one interleaved run.
 *
 * Everything runs on this machine. A mock upstream answers canned bytes (upstream.ts); a load process sends the same request
 * again and again (load.ts); both share one core. Whatever is measured has another core to itself, and its CPU time is read
 * from /proc. All cells (who is asked what, scenes.ts) are measured in turn, then all again, so that a slow minute of the
 * machine hits everybody alike; medians count. A result during which other processes took more than a tenth of the two cores
 * is measured again, at most twice. Absolute numbers depend on the machine: compare the ratios.
 *
 * `--repeats 9` measures more often, `--quick` once and briefly (under a minute), `--only 'nginx|native'` only lines whose
 * name matches, `--profile folder` writes a CPU profile of the gateway. nginx takes part when it is installed, Portkey when npm can
 * fetch it. The tables are printed, everything measured is in bench/results/latest.json.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Dialect } from './bodies.ts';
import { ask, nextMessage, pause, type Started, startHelper } from './child.ts';
import { parseAndWrite } from './control.ts';
import type { ProbeReport } from './load.ts';
import { CORES, describeMachine, rssMb } from './machine.ts';
import { reportJson, reportText } from './report.ts';
import { type Cell, measure, measureQuietly, NOISY } from './round.ts';
import { faultOf, LINES, requestOf, SCENES } from './scenes.ts';
import { type OpenStreams, openStreams } from './streams.ts';
import { Absent, direct, startDragoman, startNginx, startPortkey, type Target } from './targets.ts';

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
/** More repeats than usual may take longer than usual. */
const budgetMs = PACE.budgetMs * Math.max(1, repeats / PACE.repeats);

const startedAt = Date.now();
const notes: string[] = [];
const targets: Target[] = [];
const helpers: Started[] = [];

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void tidy().then(() => process.exit(1)));
try {
  await bench();
} finally {
  await tidy();
}

async function bench(): Promise<void> {
  if (!existsSync('/proc/self/stat')) throw new Error('The benchmark reads /proc and runs on Linux only.');
  if (!CORES) note('no second core or no taskset: targets share their cores with the load, which blurs the times.');
  const load = await startTargets();

  const streams: OpenStreams[] = [];
  for (const target of targets) {
    if (target.pid !== undefined) say(`Opening streams through ${target.name} and leaving them open ...`);
    const found = await openStreams(target, load);
    if (found) streams.push(found);
  }

  const cells = await checkCells(load);
  say(`Warming up ${cells.length} cells ...`);
  for (const cell of cells) if (!cell.scene.isWarm) await measure(cell, load, PACE.warmMs);
  const done = await repeat(cells, load);

  const memory = targets.flatMap(({ name, pid }) => {
    const idleMb = streams.find(({ target }) => target === name)?.idleMb;
    return pid === undefined || idleMb === undefined ? [] : [{ target: name, idleMb, endMb: rssMb(pid) }];
  });
  const control = (['messages', 'chat', 'responses', 'generate'] satisfies Dialect[]).map((dialect) => ({
    dialect,
    us: parseAndWrite(dialect),
  }));
  const noisy = cells.flatMap(({ results }) => results).filter(({ foreign }) => foreign > NOISY).length;
  if (noisy > 0) note(`${noisy} results stayed noisy; they count only where a cell has no quiet one.`);
  const findings = { machine: describeMachine(), repeats: done, cells, memory, streams, control, notes };
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(`${RESULTS}latest.json`, `${JSON.stringify(reportJson(findings), null, 2)}\n`);
  say(`Done after ${Math.round((Date.now() - startedAt) / 1000)} s; everything is in bench/results/latest.json.\n`);
  console.log(reportText(findings));
}

/** The load's process is answered; the targets are in `targets`. */
async function startTargets(): Promise<Started> {
  say('Starting the mock upstream, the load and the targets ...');
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
      if (!(error instanceof Absent)) throw error;
      note(`${error.message}; left out.`);
    }
  }
  // What they do after they listen is over too.
  await pause(1_000);
  return load;
}

/** Every cell that works: one request each, read to its end. */
async function checkCells(load: Started): Promise<Cell[]> {
  const cells: Cell[] = [];
  for (const line of LINES.filter(({ label }) => new RegExp(options.only).test(label))) {
    const target = targets.find(({ name }) => name === line.target);
    if (!target) continue;
    for (const stream of [false, true]) {
      const request = requestOf(target, line.route, 'bench-burst', stream);
      const { status, text } = await ask<ProbeReport>(load, { probe: true, port: target.port, request });
      const fault = faultOf(line.route, stream, status, text);
      if (fault !== undefined) note(`${line.label}, ${stream ? 'streams' : 'unary'}: ${fault}; left out.`);
      else if (target.pid !== undefined || !stream)
        for (const scene of SCENES) if (scene.stream === stream) cells.push({ line, scene, target, results: [] });
    }
  }
  // All lines of a scene in a row: what is compared is measured within seconds.
  return SCENES.flatMap(({ name }) => cells.filter((cell) => cell.scene.name === name));
}

/** As often as asked, or as time allows; says how often it was. */
async function repeat(cells: readonly Cell[], load: Started): Promise<number> {
  const begun = Date.now();
  for (let n = 0; n < repeats; n += 1) {
    const now = Date.now();
    if (n > 0 && now - startedAt + (now - begun) / n > budgetMs) {
      note(`time ran out after ${n} of ${repeats} repeats.`);
      return n;
    }
    say(`Measuring, ${n + 1} of ${repeats} ...`);
    for (const cell of cells) {
      const result = await measureQuietly(cell, load, PACE.measureMs, PACE.retries);
      if (result.failures > 0) note(`${cell.line.label}, ${cell.scene.about}: ${result.failures} requests failed.`);
      cell.results.push(result);
    }
  }
  return repeats;
}

async function tidy(): Promise<void> {
  for (const target of targets.splice(0)) await target.stop();
  for (const helper of helpers.splice(0)) await helper.stop();
}

function note(sentence: string): void {
  notes.push(sentence);
  say(`Note: ${sentence}`);
}

function say(sentence: string): void {
  console.error(sentence);
}

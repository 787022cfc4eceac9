/**
 * One interleaved run of `npm run bench -- keep` and `-- base`: gateways beside nginx and Node's plain proxy, in slices
 * of a tenth of a second. It is bounded in time, and says what it could not measure.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { StartedProcess } from './child.ts';
import { cpuOfTree, rssMb, usageNow, WATCHED_CORES } from './machine.ts';
import { median } from './quantile.ts';
import { progress, Session } from './session.ts';
import { type Cell, cellOf, costOf, KINDS, takeSlice, unitsIn, warmUp, whenServing } from './slices.ts';
import type { Target } from './target.ts';
import { contestTargets } from './targets.ts';

export interface ContestOptions {
  /** Source trees, by the names under which they are shown. */
  readonly trees: Readonly<Record<string, string>>;
  /** Of all slices; a busy machine makes fewer. */
  readonly measureMs: number;
}

/** One figure of a gateway, and the times that it is of each peer; NaN where none was measured, or has it. */
export interface Figure {
  readonly name: string;
  readonly own: number;
  /** CPU time, memory, or bytes that the main thread allocates, which are the same on every machine. */
  readonly unit: 'us' | 'MB' | 'bytes';
  readonly node: number;
  readonly nginx: number;
}

export interface Contest {
  /** By the name of the tree. */
  readonly figures: ReadonlyMap<string, readonly Figure[]>;
  readonly notes: readonly string[];
  readonly slices: number;
  /** Part of the cores that other programs used. */
  readonly others: number;
  readonly seconds: number;
}

const PEERS = ['node', 'nginx'] as const;
const SLICES = { least: 8, most: 40 } as const;
const IDLE_MS = 8_000;
/** Work that a start, or calls, leave behind. */
const SETTLE_MS = 2_500;
/** Calls whose records are written together, a fifth of a second after the first of them; and how often. */
const BATCH = 600;
const BATCHES = 3;
/** Of allocations, for each kind. */
const COUNTS = 3;
/** Bounds the warm-up of one kind on a busy machine. */
const WARM_UP_MS = 7_000;

export async function contest({ trees, measureMs }: ContestOptions): Promise<Contest> {
  const [begunAt, begun] = [performance.now(), usageNow()];
  const session = new Session();
  try {
    const load = await session.start(contestTargets(trees));
    const targets = new Map([...session.targets].map(([{ name }, target]) => [name, target]));
    const gateways = Object.keys(trees).map((name) => new Gateway(name, targetIn(targets, name)));
    const cells = cellsOf(targets);
    for (const cell of cells) await whenServing(load, cell);
    for (const gateway of gateways) gateway.measureFresh();
    for (const cell of cells) {
      progress(`Warming up: ${cell.kind.name} through ${cell.name} ...`);
      await warmUp(load, cell, WARM_UP_MS);
    }
    const slices = await measure(load, cells, measureMs);
    for (const gateway of gateways) gateway.measureLoaded();
    progress(`Measuring ${IDLE_MS / 1_000} s without calls, and what follows calls ...`);
    await pause(SETTLE_MS);
    await Promise.all(gateways.map((gateway) => gateway.measureIdle()));
    for (let n = 0; n < BATCHES; n += 1) for (const gateway of gateways) await gateway.measureRecords(load, cells);
    progress('Counting allocated bytes ...');
    for (const gateway of gateways) await gateway.countAllocations(load, cells);
    const isMeasured = slices >= SLICES.least;
    if (!isMeasured) session.note(`CPU time was not measured: the time was enough for ${slices} slices of each only.`);
    for (const { name, kind, failures } of cells)
      if (failures > 0) session.note(`${name}: ${failures} requests failed, ${kind.name}.`);
    const after = usageNow();
    const seconds = (performance.now() - begunAt) / 1_000;
    return {
      figures: new Map(
        gateways.map((gateway) => [
          gateway.name,
          gateway.figures(cells).filter(({ unit }) => isMeasured || unit === 'bytes'),
        ]),
      ),
      notes: session.notes,
      slices,
      others: (after.busy - begun.busy - (after.own - begun.own)) / seconds / WATCHED_CORES,
      seconds,
    };
  } finally {
    await session.stop();
  }
}

function targetIn(targets: ReadonlyMap<string, Target>, name: string): Target {
  const target = targets.get(name);
  if (!target) throw new Error(`The gateway "${name}" did not start.`);
  return target;
}

/** All targets of a kind in a row, so that compared slices are of the same second. */
const cellsOf = (targets: ReadonlyMap<string, Target>): Cell[] =>
  KINDS.flatMap((kind) =>
    [...targets]
      .filter(([name, { pid }]) => pid !== undefined && !(kind.isConverted && isPeer(name)))
      .map(([name, target]) => cellOf(kind, name, target)),
  );

const isPeer = (name: string): boolean => PEERS.some((peer) => peer === name);

/** Returns how many slices each cell has. */
async function measure(load: StartedProcess, cells: readonly Cell[], ms: number): Promise<number> {
  const until = performance.now() + ms;
  for (let n = 0; n < SLICES.most; n += 1) {
    if (n > 0 && performance.now() > until) return n;
    if (n % 5 === 0) progress(`Measuring, ${n + 1} of at most ${SLICES.most} slices of each ...`);
    for (const cell of n % 2 === 0 ? cells : cells.toReversed()) await takeSlice(load, cell);
  }
  return SLICES.most;
}

/** What is measured of a gateway beside its slices. */
class Gateway {
  readonly name: string;
  readonly #target: Target;
  /** CPU us of a second without calls. */
  #idle = Number.NaN;
  #freshMb = Number.NaN;
  #loadedMb = Number.NaN;
  readonly #records: number[] = [];
  /** Bytes of a call or an event by kind. */
  readonly #allocated = new Map<string, number>();

  constructor(name: string, target: Target) {
    this.name = name;
    this.#target = target;
  }

  /** CPU us of the gateway and of PostgreSQL. */
  get #micros(): number {
    const { own, database } = cpuOfTree(this.#target.pid ?? 0);
    return (own + database) * 1e6;
  }

  async measureIdle(): Promise<void> {
    const before = this.#micros;
    const begunAt = performance.now();
    await pause(IDLE_MS);
    this.#idle = ((this.#micros - before) * 1e3) / (performance.now() - begunAt);
  }

  measureFresh(): void {
    this.#freshMb = rssMb(this.#target.pid ?? 0);
  }

  measureLoaded(): void {
    this.#loadedMb = rssMb(this.#target.pid ?? 0);
  }

  /** What a batch of calls costs once they have their responses, in this process and in PostgreSQL. */
  async measureRecords(load: StartedProcess, cells: readonly Cell[]): Promise<void> {
    const [call] = cells.filter(({ name }) => name === this.name);
    if (!call) return;
    await pause(SETTLE_MS);
    const requests = await takeSlice(load, { ...call, kind: { ...call.kind, requests: BATCH }, micros: [] });
    const before = this.#micros;
    const begunAt = performance.now();
    await pause(SETTLE_MS);
    const idle = (this.#idle * (performance.now() - begunAt)) / 1e3;
    this.#records.push((this.#micros - before - idle) / requests);
  }

  /** With the records of the calls, which are written within the time that work is given to settle. */
  async countAllocations(load: StartedProcess, cells: readonly Cell[]): Promise<void> {
    const { allocatedBytes } = this.#target;
    if (!allocatedBytes) return;
    for (const cell of cells.filter(({ name }) => name === this.name)) {
      // Records are a part of what a short call allocates, and nearly nothing of the others.
      const settleMs = cell.kind.stream || cell.kind.isLong ? SETTLE_MS / 10 : SETTLE_MS / 2;
      const counts: number[] = [];
      for (let n = 0; n < COUNTS; n += 1) {
        await pause(settleMs);
        const before = await allocatedBytes();
        const requests = await takeSlice(load, { ...cell, micros: [] });
        await pause(settleMs);
        counts.push(((await allocatedBytes()) - before) / requests / unitsIn(cell));
      }
      this.#allocated.set(cell.kind.name, median(counts));
    }
  }

  figures(cells: readonly Cell[]): Figure[] {
    const peer = (name: string, kind: string): number => {
      const cell = cells.find((one) => one.name === name && one.kind.name === kind);
      return cell ? costOf(cell) : Number.NaN;
    };
    const against = (name: string, own: number, like: string): Figure => ({
      name,
      own,
      unit: 'us',
      node: own / peer('node', like),
      nginx: own / peer('nginx', like),
    });
    const alone = (name: string, own: number, unit: Figure['unit']): Figure => ({
      name,
      own,
      unit,
      node: Number.NaN,
      nginx: Number.NaN,
    });
    const call = KINDS[0]?.name ?? '';
    return [
      ...cells
        .filter(({ name }) => name === this.name)
        .map((cell) => against(cell.kind.name, costOf(cell), cell.kind.like)),
      against('records of a call', median(this.#records), call),
      against('a second without calls', this.#idle, call),
      alone('memory, before the load', this.#freshMb, 'MB'),
      alone('memory, after the load', this.#loadedMb, 'MB'),
      ...[...this.#allocated].map(([name, bytes]) => alone(`allocated by a ${name}`, bytes, 'bytes')),
    ];
  }
}

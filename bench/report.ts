/** The report: medians, latency added to the bare upstream, and ratios, as text and as JSON. */
import { median } from './quantile.ts';
import { type Cell, MAX_OTHER_LOAD, type Measurement } from './round.ts';
import { eventsOf, OPEN_LOOP_RATE, type ScenarioName } from './scenarios.ts';
import { type OpenStreams, STREAMS } from './streams.ts';
import type { Line } from './targets.ts';

export interface Results {
  readonly machine: string;
  readonly repeats: number;
  readonly lines: readonly Line[];
  readonly cells: readonly Cell[];
  readonly memory: readonly { target: string; idleMb: number; endMb: number }[];
  readonly streams: readonly OpenStreams[];
  readonly notes: readonly string[];
}

export function reportText(results: Results): string {
  return [
    `Machine: ${results.machine}. Medians of ${results.repeats}.`,
    'Unary: 1.5 KB request, 1 KB response',
    unaryTable(results),
    `Open loop: ${OPEN_LOOP_RATE} requests a second, and as many to the upstream itself in between`,
    openLoopTable(results),
    'Streams: about 200 events each; CPU microseconds per event of the upstream',
    streamTable(results),
    'Ratios of CPU time',
    ratioTable(results),
    `Memory with ${STREAMS} open, silent streams`,
    memoryTable(results),
    ...results.notes.map((note) => `Note: ${note}`),
  ].join('\n\n');
}

// ---------------------------------------------------------------- tables

function unaryTable({ lines, cells, memory }: Results): string {
  const [bare] = lines.filter(({ kind }) => kind === 'direct');
  const rows = lines.flatMap((line) => {
    const many = medians(cells, line, 'unary-64');
    const one = medians(cells, line, 'unary-1');
    if (!many || !one) return [];
    const cpu = many.cpuUsPerRequest;
    const { idleMb, endMb } = memory.find(({ target }) => target === line.target) ?? {};
    return [
      [
        line.label,
        cpu === undefined ? '-' : String(Math.round(1e6 / cpu)),
        fixed(cpu, 0),
        addedLatency(cells, line, bare, 'unary-1'),
        addedLatency(cells, line, bare, 'unary-64'),
        idleMb === undefined ? '-' : `${fixed(idleMb, 0)} -> ${fixed(endMb, 0)}`,
      ],
    ];
  });
  return table(
    [
      '',
      'requests/s per core',
      'CPU us/request',
      'p50 / p99 ms, 1 conn.',
      'p50 / p99 ms, 64 conn.',
      'RSS MB idle -> end',
    ],
    rows,
  );
}

/** Latency of the bare upstream, or the latency that another target adds to it. */
function addedLatency(cells: readonly Cell[], line: Line, direct: Line | undefined, scenario: ScenarioName): string {
  const own = medians(cells, line, scenario);
  if (!own) return '-';
  const bare = direct && direct !== line ? medians(cells, direct, scenario) : undefined;
  return bare
    ? `${signed(own.p50 - bare.p50)} / ${signed(own.p99 - bare.p99)}`
    : `${fixed(own.p50, 2)} / ${fixed(own.p99, 2)}`;
}

function openLoopTable({ lines, cells }: Results): string {
  const rows = lines.flatMap((line) => {
    const own = medians(cells, line, 'open');
    if (!own) return [];
    const isBare = line.kind === 'direct';
    return [
      [
        line.label,
        percent(own.share),
        percent(own.shareWithDatabase),
        isBare ? fixed(own.p50, 2) : signed(own.addedP50),
        isBare ? fixed(own.p99, 2) : signed(own.addedP99),
      ],
    ];
  });
  return table(['', 'share of a core', 'with PostgreSQL', 'p50 ms', 'p99 ms'], rows);
}

function streamTable({ lines, cells }: Results): string {
  const rows = lines.flatMap((line) => {
    const burst = medians(cells, line, 'burst');
    const paced = medians(cells, line, 'paced');
    if (!burst || !paced || line.kind === 'direct') return [];
    return [
      [
        line.label,
        fixed(burst.cpuUsPerEvent, 2),
        fixed(burst.cpuUsPerRequest, 0),
        String(Math.round(burst.perSecond * eventsOf(line.route))),
        fixed(paced.cpuUsPerEvent, 1),
        percent(paced.share),
      ],
    ];
  });
  return table(
    ['', 'us/event, full speed', 'us/stream, full speed', 'events/s', 'us/event, paced', 'share of a core, paced'],
    rows,
  );
}

/** CPU time of each line of the gateway against the peers and against native calls. */
function ratioTable({ lines, cells }: Results): string {
  const scenarios = ['unary-64', 'open', 'burst', 'paced'] as const;
  const isMeasured = (line: Line): boolean => cells.some((cell) => cell.line === line);
  const peers = lines.filter((line) => line.kind === 'peer' && isMeasured(line));
  const native = lines.find(({ target }) => target === 'dragoman');
  const ratio = (over: Line, under: Line, scenario: ScenarioName): string => {
    const value = pairedRatio(cells, over, under, scenario);
    return value === undefined ? '-' : `${fixed(value, 2)} x`;
  };
  const rows = lines
    .filter(({ kind }) => kind === 'gateway')
    .flatMap((line) =>
      scenarios
        .filter((scenario) => medians(cells, line, scenario) !== undefined)
        .map((scenario) => [
          `${line.label}, ${scenario}`,
          ...peers.map((peer) => ratio(peer, line, scenario)),
          native && native !== line ? ratio(line, native, scenario) : '-',
        ]),
    );
  return table(['', ...peers.map(({ label }) => `${label} is`), 'against native'], rows);
}

function memoryTable({ streams }: Results): string {
  return table(
    ['', 'open', 'RSS MB before', 'with them', 'KB per stream'],
    streams.map(({ target, open, idleMb, withMb }) => [
      target,
      String(open),
      fixed(idleMb, 0),
      fixed(withMb, 0),
      fixed(((withMb - idleMb) * 1024) / Math.max(1, open), 0),
    ]),
  );
}

/** A Markdown table, padded for terminals. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, n) => Math.max(name.length, 3, ...rows.map((row) => (row[n] ?? '').length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, n) => (n === 0 ? text.padEnd(widths[n] ?? 0) : text.padStart(widths[n] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, n) => (n === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

// ---------------------------------------------------------------- numbers

interface Medians
  extends Pick<
    Measurement,
    'perSecond' | 'cpuUsPerRequest' | 'cpuUsPerEvent' | 'share' | 'shareWithDatabase' | 'p50' | 'p99'
  > {
  readonly addedP50: number | undefined;
  readonly addedP99: number | undefined;
}

function medians(cells: readonly Cell[], line: Line, scenario: ScenarioName): Medians | undefined {
  const all = cells.find((cell) => cell.line === line && cell.scenario.name === scenario)?.results ?? [];
  if (all.length === 0) return undefined;
  const results = undisturbed(all);
  return {
    perSecond: medianOf(results.map((result) => result.perSecond)) ?? Number.NaN,
    cpuUsPerRequest: medianOf(results.map((result) => result.cpuUsPerRequest)),
    cpuUsPerEvent: medianOf(results.map((result) => result.cpuUsPerEvent)),
    p50: medianOf(results.map((result) => result.p50)) ?? Number.NaN,
    p99: medianOf(results.map((result) => result.p99)) ?? Number.NaN,
    share: medianOf(results.map((result) => result.share)),
    shareWithDatabase: medianOf(results.map((result) => result.shareWithDatabase)),
    addedP50: medianOf(results.map((result) => result.added?.p50)),
    addedP99: medianOf(results.map((result) => result.added?.p99)),
  };
}

/**
 * The ratio of CPU time of two lines: the median of the ratios of each repeat, in which both were measured within seconds. A slow
 * phase of the machine affects both sides of a pair; a ratio of two medians could compare a slow phase with a fast one.
 */
function pairedRatio(cells: readonly Cell[], over: Line, under: Line, scenario: ScenarioName): number | undefined {
  const resultsOf = (line: Line): readonly Measurement[] =>
    cells.find((cell) => cell.line === line && cell.scenario.name === scenario)?.results ?? [];
  const bases = resultsOf(under);
  const pairs = resultsOf(over).flatMap((own, n) => {
    const base = bases[n];
    const [above, below] = [own, base].map((result) => result && cpuOf(result, scenario));
    if (!base || above === undefined || below === undefined) return [];
    return [{ ratio: above / below, otherLoad: Math.max(own.otherLoad, base.otherLoad) }];
  });
  return medianOf(undisturbed(pairs).map(({ ratio }) => ratio));
}

/** The rate of the open loop is fixed, so its shares compare as times per request do. They include PostgreSQL. */
const cpuOf = (result: Measurement, scenario: ScenarioName): number | undefined =>
  scenario === 'open' ? (result.shareWithDatabase ?? result.share) : result.cpuUsPerRequest;

/** The undisturbed results, or all if there are none. */
function undisturbed<R extends { readonly otherLoad: number }>(results: readonly R[]): readonly R[] {
  const kept = results.filter(({ otherLoad }) => otherLoad <= MAX_OTHER_LOAD);
  return kept.length > 0 ? kept : results;
}

function medianOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : median(known);
}

const fixed = (value: number | undefined, digits: number): string =>
  value === undefined || Number.isNaN(value) ? '-' : value.toFixed(digits);

const signed = (ms: number | undefined): string =>
  ms === undefined || Number.isNaN(ms) ? '-' : `${ms < 0 ? '' : '+'}${ms.toFixed(2)}`;

const percent = (fraction: number | undefined): string =>
  fraction === undefined ? '-' : `${(fraction * 100).toFixed(1)} %`;

// ---------------------------------------------------------------- JSON

export function reportJson(results: Results): object {
  const { cells, lines: _lines, ...rest } = results;
  return {
    ...rest,
    cells: cells.map(({ line, scenario, results }) => ({
      line: line.label,
      target: line.target,
      route: line.route,
      scenario: scenario.name,
      median: medians(cells, line, scenario.name),
      disturbed: results.filter(({ otherLoad }) => otherLoad > MAX_OTHER_LOAD).length,
      results,
    })),
  };
}

/** From cells to tables: medians, what a target adds to the bare upstream, ratios; as text for people and as JSON for programs. */
import type { Dialect } from './bodies.ts';
import { type Cell, type Measured, NOISY } from './round.ts';
import { eventsOf, LINES, type Line, type SceneName } from './scenes.ts';
import { type OpenStreams, STREAMS } from './streams.ts';
import type { TargetName } from './targets.ts';

export interface Findings {
  readonly machine: string;
  readonly repeats: number;
  readonly cells: readonly Cell[];
  readonly memory: readonly { target: TargetName; idleMb: number; endMb: number }[];
  readonly streams: readonly OpenStreams[];
  readonly control: readonly { dialect: Dialect; us: number }[];
  readonly notes: readonly string[];
}

export function reportText(findings: Findings): string {
  return [
    `Machine: ${findings.machine}. Medians of ${findings.repeats}.`,
    'Unary: 1.5 KB there, 1 KB back',
    unaryTable(findings),
    'Streams: about 200 events each; CPU microseconds per event of the upstream',
    streamTable(findings),
    'Ratios of CPU time',
    ratioTable(findings),
    `Memory with ${STREAMS} open, silent streams`,
    memoryTable(findings),
    'Control: JSON.parse and JSON.stringify of one event, nothing else',
    table(
      ['dialect', 'us per event'],
      findings.control.map(({ dialect, us }) => [dialect, fixed(us, 2)]),
    ),
    ...findings.notes.map((note) => `Note: ${note}`),
  ].join('\n\n');
}

// ---------------------------------------------------------------- tables

function unaryTable({ cells, memory }: Findings): string {
  const rows = LINES.flatMap((line) => {
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
        added(cells, line, 'unary-1'),
        added(cells, line, 'unary-64'),
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

/** The bare upstream's times as they are, everybody else's less those. */
function added(cells: readonly Cell[], line: Line, scene: SceneName): string {
  const own = medians(cells, line, scene);
  if (!own) return '-';
  const [base] = line.target === 'direct' ? [] : LINES;
  const bare = base && medians(cells, base, scene);
  const shown = (ms: number, less: number | undefined): string =>
    less === undefined ? fixed(ms, 2) : `${ms < less ? '' : '+'}${fixed(ms - less, 2)}`;
  return `${shown(own.p50, bare?.p50)} / ${shown(own.p99, bare?.p99)}`;
}

function streamTable({ cells }: Findings): string {
  const rows = LINES.flatMap((line) => {
    const burst = medians(cells, line, 'burst');
    const paced = medians(cells, line, 'paced');
    if (!burst || !paced || line.target === 'direct') return [];
    return [
      [
        line.label,
        fixed(burst.cpuUsPerEvent, 2),
        fixed(burst.cpuUsPerRequest, 0),
        String(Math.round(burst.perSecond * eventsOf(line.route))),
        fixed(paced.cpuUsPerEvent, 1),
      ],
    ];
  });
  return table(['', 'us/event, full speed', 'us/stream, full speed', 'events/s', 'us/event, one per 4 ms'], rows);
}

function ratioTable({ cells }: Findings): string {
  const find = (target: TargetName): Line | undefined => LINES.find((line) => line.target === target);
  const ratio = (over: Line | undefined, under: Line | undefined, scene: SceneName): string => {
    const value = over && under && pairedRatio(cells, over, under, scene);
    return value === undefined ? '-' : `${fixed(value, 1)} x`;
  };
  const rows = LINES.filter(({ target }) => target === 'dragoman' || target === 'converter').flatMap((line) =>
    (['unary-64', 'burst', 'paced'] as const).flatMap((scene) =>
      medians(cells, line, scene) === undefined
        ? []
        : [
            [
              `${line.label}, ${scene}`,
              ratio(line, find('nginx'), scene),
              ratio(find('portkey'), line, scene),
              line.target === 'dragoman' ? '-' : ratio(line, find('dragoman'), scene),
            ],
          ],
    ),
  );
  return table(['', 'dearer than nginx', 'cheaper than Portkey', 'dearer than native'], rows);
}

function memoryTable({ streams }: Findings): string {
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

/** Markdown, padded so that it also reads well in a terminal. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, n) => Math.max(name.length, 3, ...rows.map((row) => (row[n] ?? '').length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((text, n) => (n === 0 ? text.padEnd(widths[n] ?? 0) : text.padStart(widths[n] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, n) => (n === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

// ---------------------------------------------------------------- numbers

type Medians = Pick<Measured, 'perSecond' | 'cpuUsPerRequest' | 'cpuUsPerEvent' | 'p50' | 'p99'>;

function medians(cells: readonly Cell[], line: Line, scene: SceneName): Medians | undefined {
  const all = cells.find((cell) => cell.line === line && cell.scene.name === scene)?.results ?? [];
  if (all.length === 0) return undefined;
  const results = quietOf(all);
  return {
    perSecond: median(results.map((result) => result.perSecond)) ?? Number.NaN,
    cpuUsPerRequest: median(results.map((result) => result.cpuUsPerRequest)),
    cpuUsPerEvent: median(results.map((result) => result.cpuUsPerEvent)),
    p50: median(results.map((result) => result.p50)) ?? Number.NaN,
    p99: median(results.map((result) => result.p99)) ?? Number.NaN,
  };
}

/**
 * How much dearer one line is than another: of each repeat, in which the two were measured within seconds, and the median of those. A
 * slow minute of the machine hits both sides of a pair; medians of each side for itself would compare one's slow minute with the other's good one.
 */
function pairedRatio(cells: readonly Cell[], over: Line, under: Line, scene: SceneName): number | undefined {
  const resultsOf = (line: Line): readonly Measured[] =>
    cells.find((cell) => cell.line === line && cell.scene.name === scene)?.results ?? [];
  const bases = resultsOf(under);
  const pairs = resultsOf(over).flatMap((own, n) => {
    const base = bases[n];
    if (base?.cpuUsPerRequest === undefined || own.cpuUsPerRequest === undefined) return [];
    return [{ ratio: own.cpuUsPerRequest / base.cpuUsPerRequest, foreign: Math.max(own.foreign, base.foreign) }];
  });
  return median(quietOf(pairs).map(({ ratio }) => ratio));
}

/** Quiet ones only, as long as there are any. */
function quietOf<R extends { readonly foreign: number }>(results: readonly R[]): readonly R[] {
  const quiet = results.filter(({ foreign }) => foreign <= NOISY);
  return quiet.length > 0 ? quiet : results;
}

function median(values: readonly (number | undefined)[]): number | undefined {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low, high] = [sorted[sorted.length % 2 === 1 ? middle : middle - 1], sorted[middle]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}

const fixed = (value: number | undefined, digits: number): string =>
  value === undefined || Number.isNaN(value) ? '-' : value.toFixed(digits);

// ---------------------------------------------------------------- for programs

export function reportJson(findings: Findings): object {
  const { cells, ...rest } = findings;
  return {
    ...rest,
    cells: cells.map(({ line, scene, results }) => ({
      line: line.label,
      target: line.target,
      route: line.route,
      scene: scene.name,
      median: medians(cells, line, scene.name),
      noisy: results.filter(({ foreign }) => foreign > NOISY).length,
      results,
    })),
  };
}

/** The report of a comparison: medians, latency added to the bare upstream, and ratios to a plain proxy. */
import { median } from './quantile.ts';
import type { Cell, Measurement } from './round.ts';
import { OPEN_LOOP_RATE, type ScenarioName } from './scenarios.ts';
import { type OpenStreams, STREAMS } from './streams.ts';
import { table } from './table.ts';
import type { Line } from './targets.ts';

export interface Results {
  readonly machine: string;
  readonly repeats: number;
  readonly lines: readonly Line[];
  readonly cells: readonly Cell[];
  readonly memory: ReadonlyMap<string, OpenStreams & { readonly endMb: number }>;
  readonly notes: readonly string[];
}

/** Above this fraction a result is disturbed by other processes. */
export const MAX_OTHER_LOAD = 0.1;

export function reportText(results: Results): string {
  const { machine, repeats, lines, cells, notes } = results;
  const measured = lines.filter((line) => cells.some((cell) => cell.line === line));
  const plain = ['nginx', 'node'].flatMap((name) => measured.filter(({ target }) => target === name))[0];
  return [
    `Machine: ${machine}. Medians of ${repeats}.`,
    `CPU time without PostgreSQL, in the last column with it${plain ? `; in brackets, times ${plain.label}` : ''}`,
    table(
      ['', 'us/request', 'us/event, full speed', 'us/event, paced', `share of a core, ${OPEN_LOOP_RATE}/s`],
      measured
        .filter(({ kind }) => kind !== 'direct')
        .map((line) => [line.label, ...COSTS.map((name) => costText(cells, line, plain, name))]),
    ),
    `Latency: of the bare upstream, and what the others add to it. Memory: also with ${STREAMS} open, silent streams`,
    table(
      [
        ...['', 'p50 / p99 ms, 1 conn.', 'p50 / p99 ms, 64 conn.', `p50 / p99 ms, ${OPEN_LOOP_RATE}/s`],
        ...['requests/s, 64 conn.', 'MB idle -> end', 'MB with streams'],
      ],
      measured.map((line) => [
        line.label,
        ...(['unary-1', 'unary-64', 'open'] as const).map((name) => latencyText(cells, line, lines, name)),
        fixed(
          medianOf(cells, line, 'unary-64', ({ perSecond }) => perSecond),
          0,
        ),
        ...memoryTexts(results, line),
      ]),
    ),
    ...notes.map((note) => `Note: ${note}`),
  ].join('\n\n');
}

const COSTS = ['unary-64', 'burst', 'paced', 'open'] as const satisfies readonly ScenarioName[];

function costText(cells: readonly Cell[], line: Line, plain: Line | undefined, name: ScenarioName): string {
  const costOf = ({ micros, allMicros }: Measurement): number => (name === 'open' ? allMicros : micros);
  const own = medianOf(cells, line, name, costOf);
  const bases = plain ? resultsOf(cells, plain, name) : [];
  const ratio = medianOf(cells, line, name, (result, n) => costOf(result) / (bases[n] ? costOf(bases[n]) : Number.NaN));
  if (Number.isNaN(own)) return '-';
  const text = name === 'open' ? `${fixed((own * OPEN_LOOP_RATE) / 1e4, 1)} %` : fixed(own, name === 'burst' ? 2 : 1);
  return Number.isNaN(ratio) ? text : `${text} (${ratio.toFixed(2)})`;
}

function latencyText(cells: readonly Cell[], line: Line, lines: readonly Line[], name: ScenarioName): string {
  const direct = lines.find(({ kind }) => kind === 'direct');
  // The open loop has compared within its own seconds.
  const base = direct === line || name === 'open' ? undefined : direct;
  const texts = (['p50', 'p99'] as const).map((quantile) => {
    const ms = medianOf(cells, line, name, (result) => result[quantile]);
    const bare = base ? medianOf(cells, base, name, (result) => result[quantile]) : 0;
    return `${direct === line || ms < bare ? '' : '+'}${fixed(ms - bare, 2)}`;
  });
  return resultsOf(cells, line, name).length === 0 ? '-' : texts.join(' / ');
}

function memoryTexts({ memory }: Results, { target }: Line): readonly string[] {
  const { idleMb, endMb, withMb, open } = memory.get(target) ?? {};
  if (idleMb === undefined || endMb === undefined || withMb === undefined) return ['-', '-'];
  const each = ((withMb - idleMb) * 1024) / Math.max(1, open ?? 0);
  return [`${fixed(idleMb, 0)} -> ${fixed(endMb, 0)}`, `${fixed(withMb, 0)}, ${fixed(each, 0)} KB each`];
}

const resultsOf = (cells: readonly Cell[], line: Line, name: ScenarioName): readonly Measurement[] =>
  cells.find((cell) => cell.line === line && cell.scenario.name === name)?.results ?? [];

/** Of the undisturbed results, or of all if there are none; NaN without results. */
function medianOf(
  cells: readonly Cell[],
  line: Line,
  name: ScenarioName,
  read: (result: Measurement, repeat: number) => number,
): number {
  const results = resultsOf(cells, line, name);
  const values = results.map((result, n) => ({ value: read(result, n), isQuiet: result.otherLoad <= MAX_OTHER_LOAD }));
  const quiet = values.filter(({ isQuiet }) => isQuiet);
  return median((quiet.length > 0 ? quiet : values).map(({ value }) => value));
}

const fixed = (value: number | undefined, digits: number): string =>
  value === undefined || Number.isNaN(value) ? '-' : value.toFixed(digits);

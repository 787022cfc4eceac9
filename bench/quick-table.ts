/** The table of `npm run bench -- quick`: as it is printed, and as docs/performance.md holds it for comparison. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from './table.ts';
import { ROOT } from './target.ts';

/**
 * CPU time of a call or an event and its ratio to that of the peers, NaN where one is missing; or the part of a core at
 * few calls or none.
 */
export type CostRow =
  | { readonly name: string; readonly micros: number; readonly node: number; readonly nginx: number }
  | { readonly name: string; readonly share: number; readonly node?: number; readonly nginx?: number };

export interface Reference {
  readonly commit: string;
  /** The figures of each row that later runs compare with: its own, and the ratio to Node's proxy. */
  readonly figures: ReadonlyMap<string, { readonly own: number; readonly node: number }>;
}

const PAGE = join(ROOT, 'docs/performance.md');
const BLOCK = /(<!-- quick: .*-->\n)[\s\S]*?(<!-- end of quick -->)/;

export function renderCosts(rows: readonly CostRow[], reference: Reference): string {
  const changes = rows.map((row) => {
    const { own, node } = reference.figures.get(row.name) ?? { own: Number.NaN, node: Number.NaN };
    const before = row.node === undefined ? own : node;
    return [figureText(row, before), changeText(figureOf(row) / before - 1)];
  });
  return table(
    [...HEAD, `at ${reference.commit}`, 'change'],
    rows.map((row, n) => [...cellsOf(row), ...(changes[n] ?? [])]),
  );
}

/** One line for a commit message. */
export const summarizeCosts = (rows: readonly CostRow[]): string =>
  rows
    .map((row) => ('share' in row ? `${row.name} ${percent(row.share)}` : `${row.name} ${ratioText(row.node)} x Node`))
    .join(', ');

export function readReference(): Reference {
  const [block = ''] = BLOCK.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const cells = /^\| (?<name>[\w ]+?) +\| +(?<node>[\d.]+|-) \| +[\d.-]+ \| +(?<own>[\d.]+|-)/gm;
  const figures = [...block.matchAll(cells)].map(
    ({ groups: { name = '', own = '', node = '' } = {} }) => [name, { own: Number(own), node: Number(node) }] as const,
  );
  return { commit: /at commit `(?<commit>\w+)/.exec(block)?.groups?.commit ?? 'no commit', figures: new Map(figures) };
}

export function writeReference(
  rows: readonly CostRow[],
  { commit, machine }: { commit: string; machine: string },
): void {
  const day = new Date().toISOString().slice(0, 10);
  const text = `Measured at commit \`${commit}\` on ${day}, ${machine}:\n\n${table(PAGE_HEAD, rows.map(pageCellsOf))}\n`;
  writeFileSync(
    PAGE,
    readFileSync(PAGE, 'utf8').replace(BLOCK, (_, begin: string, end: string) => begin + text + end),
  );
}

const HEAD = ['CPU time', 'Dragoman', "x Node's proxy", 'x nginx'] as const;
/** Without times, which depend on the machine. */
const PAGE_HEAD = ['CPU time', "x Node's proxy", 'x nginx', 'of a core'] as const;

const cellsOf = (row: CostRow): string[] =>
  'share' in row
    ? [row.name, percent(row.share), ratioText(row.node ?? Number.NaN), ratioText(row.nginx ?? Number.NaN)]
    : [
        row.name,
        `${row.micros < 100 ? row.micros.toPrecision(3) : Math.round(row.micros)} us`,
        ratioText(row.node),
        ratioText(row.nginx),
      ];

function pageCellsOf(row: CostRow): string[] {
  const [name = '', own = '', node = '', nginx = ''] = cellsOf(row);
  return [name, node, nginx, 'share' in row ? own : '-'];
}

/** What is compared: the ratio to Node's proxy, which every machine has. */
const figureOf = (row: CostRow): number => row.node ?? ('share' in row ? row.share * 100 : Number.NaN);

const figureText = ({ node }: CostRow, figure: number): string => {
  if (Number.isNaN(figure)) return '-';
  return node === undefined ? percent(figure / 100) : `${ratioText(figure)} x`;
};

const changeText = (change: number): string =>
  Number.isNaN(change) ? '-' : `${change < 0 ? '' : '+'}${Math.round(change * 100)} %`;

const ratioText = (value: number): string => (Number.isNaN(value) ? '-' : value.toFixed(value < 10 ? 2 : 1));

const percent = (share: number): string => `${(share * 100).toFixed(1)} % of a core`;

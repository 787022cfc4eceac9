/** Draws answers of Prometheus as an SVG, laid out as Grafana lays out the dashboard. */

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [at: number, value: number])[];
}

export interface ShownPanel {
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  /** As Grafana names it; undefined for the title of a row. */
  readonly unit: string | undefined;
  /** Series are drawn on top of each other, as areas. */
  readonly isStacked: boolean;
  readonly series: readonly Series[];
}

/** The first and the last second, and the seconds between two points. */
export interface Range {
  readonly begin: number;
  readonly end: number;
  readonly step: number;
}

/** Pixels of a cell of the grid. */
const [CELL_WIDTH, CELL_HEIGHT, GRID_COLUMNS] = [50, 26, 24];
const PLOT = { left: 52, right: 14, top: 28, bottom: 22 };
const LEGEND = { height: 13, characters: 58, lines: 3 };
const COLORS = '#3274d9 #e0752d #37872d #c4162a #8f3bb8 #b8860b #00838f #d64f9c #5d4037 #607d8b'.split(' ');
const STYLE =
  'text{font:10.5px sans-serif;fill:#555}.t{font-weight:bold;font-size:12px;fill:#222}.r{font-size:14px}.p{fill:#fff;stroke:#ddd}.g{stroke:#eee}path{fill:none;stroke-width:1.3}';

export function drawDashboard(panels: readonly ShownPanel[], range: Range): string {
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) * CELL_HEIGHT;
  const parts = panels.map((panel) => {
    const { gridPos, title, unit } = panel;
    const place = `translate(${gridPos.x * CELL_WIDTH},${gridPos.y * CELL_HEIGHT})`;
    const content =
      unit === undefined ? `<text class="t r" x="6" y="18">${title}</text>` : drawPanel(panel, unit, range);
    return `<g transform="${place}">${content}</g>\n`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${GRID_COLUMNS * CELL_WIDTH} ${height}"><title>Dashboard</title><style>${STYLE}</style>
<rect width="100%" height="100%" fill="#f7f8fa"/>\n${parts.join('')}</svg>\n`;
}

function drawPanel(panel: ShownPanel, unit: string, { begin, end, step }: Range): string {
  const series = panel.isStacked ? stacked(panel.series) : panel.series;
  const legend = legendLines(series.map(({ name }) => name));
  const [width, height] = [panel.gridPos.w * CELL_WIDTH, panel.gridPos.h * CELL_HEIGHT];
  const [right, bottom] = [width - PLOT.right, height - PLOT.bottom - legend.length * LEGEND.height];
  const values = series.flatMap(({ points }) => points.map(([, value]) => value).filter(Number.isFinite));
  const ticks = ticksTo(Math.max(...values, 0), unit);
  const top = ticks.at(-1) ?? 1;
  const x = (at: number): number => Math.round(PLOT.left + ((at - begin) / (end - begin)) * (right - PLOT.left));
  const y = (value: number): number => Math.round(bottom - (value / top) * (bottom - PLOT.top));
  const parts = [
    `<rect class="p" x="3" y="2" width="${width - 6}" height="${height - 4}" rx="3"/><text class="t" x="10" y="18">${panel.title}</text>`,
    ...ticks.map(
      (tick) =>
        `<path class="g" d="M${PLOT.left} ${y(tick)}H${right}"/><text x="${PLOT.left - 5}" y="${y(tick) + 3}" text-anchor="end">${format(tick, unit, top)}</text>`,
    ),
    ...Array.from({ length: Math.floor((end - begin) / 60) + 1 }, (_none, minute) => minute).map(
      (minute) => `<text x="${x(begin + minute * 60)}" y="${bottom + 13}" text-anchor="middle">${minute}:00</text>`,
    ),
  ];
  // The highest area first: those below cover it.
  for (const [n, { points }] of [...series.entries()].toReversed())
    for (const run of runs(points, step)) {
      const line = `M${run.map(([at, value]) => `${x(at)} ${y(value)}`).join('L')}`;
      const area = `${line}V${bottom}H${x(run[0]?.[0] ?? 0)}Z`;
      if (panel.isStacked)
        parts.push(
          `<path style="fill:#fff" d="${area}"/><path fill-opacity=".35" style="fill:${color(n)}" d="${area}"/>`,
        );
      parts.push(`<path stroke="${color(n)}" d="${line}h1"/>`);
    }
  for (const [n, names] of legend.entries())
    parts.push(`<text x="10" y="${bottom + 27 + n * LEGEND.height}" xml:space="preserve">${names}</text>`);
  return parts.join('');
}

const color = (n: number): string => COLORS[n % COLORS.length] ?? '';

/** Each series on top of those before it. */
function stacked(series: readonly Series[]): Series[] {
  const sums = new Map<number, number>();
  return series.map(({ name, points }) => ({
    name,
    points: points.map(([at, value]) => {
      sums.set(at, (sums.get(at) ?? 0) + value);
      return [at, sums.get(at) ?? 0] as const;
    }),
  }));
}

/** Points without a gap between them. */
function runs(points: Series['points'], step: number): Series['points'][] {
  const all: (readonly [number, number])[][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const point of points.filter(([, value]) => Number.isFinite(value))) {
    if (point[0] - last > step * 1.5) all.push([]);
    all.at(-1)?.push(point);
    last = point[0];
  }
  return all;
}

function legendLines(names: readonly string[]): string[] {
  const lines = [{ text: '', length: 0 }];
  for (const [n, name] of names.entries()) {
    let line = lines.at(-1);
    if (!line || (line.length > 0 && line.length + name.length > LEGEND.characters)) {
      if (lines.length === LEGEND.lines)
        return lines.map(({ text }) => text).with(-1, `${line?.text}and ${names.length - n} more`);
      line = { text: '', length: 0 };
      lines.push(line);
    }
    line.text += `<tspan fill="${color(n)}">■</tspan> ${name}   `;
    line.length += name.length + 4;
  }
  return lines.map(({ text }) => text);
}

/** From zero to a round number that is not below the highest value, in at most four steps. */
function ticksTo(max: number, unit: string): number[] {
  if (max <= 0) return [0, 1];
  const [base, factors] = unit === 'bytes' ? [2, [1, 2]] : [10, [1, 2, 5, 10]];
  const power = base ** Math.floor(Math.log(max / 4) / Math.log(base));
  const step = power * (factors.find((factor) => max / (power * factor) <= 4) ?? 1);
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_none, n) => n * step);
}

/** As Grafana writes its units. */
function format(value: number, unit: string, top: number): string {
  if (value === 0) return '0';
  const written = (divisor: number, suffix: string): string => `${Number((value / divisor).toPrecision(3))}${suffix}`;
  if (unit === 'percentunit') return written(0.01, ' %');
  if (unit === 's') return top < 1 ? written(0.001, ' ms') : written(1, ' s');
  if (unit === 'bytes') return written(2 ** 20, ' MiB');
  if (unit === 'currencyUSD') return `$${written(1, '')}`;
  const perSecond = unit === 'reqps' || unit === 'cps' ? '/s' : '';
  return top < 1_000 ? written(1, perSecond) : written(1_000, `K${perSecond}`);
}

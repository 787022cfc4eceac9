/** uPlot inside React. Colours come from the tokens; the plot is drawn again when the theme or the width changes. */
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { ChartProps, Series } from './series.ts';

const HEIGHT = 220;
const DASH = [5, 4];

export const Plot = ({ title, times, series, format, isGapTinted }: ChartProps) => {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const host = box.current;
    if (!host) return;
    let plot: uPlot | undefined;
    const draw = (): void => {
      plot?.destroy();
      const data = [
        times.map((time) => new Date(time).getTime() / 1000),
        ...series.map(({ values }) => values.map((value) => value ?? null)),
      ] as uPlot.AlignedData;
      plot = new uPlot(
        optionsOf(host, {
          series,
          format,
          isGapTinted: isGapTinted === true,
          isDaily: times.every((time) => time.endsWith('T00:00:00.000Z')),
        }),
        data,
        host,
      );
    };
    draw();
    const resize = new ResizeObserver(() => plot?.setSize({ width: host.clientWidth, height: HEIGHT }));
    resize.observe(host);
    const theme = new MutationObserver(draw);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      resize.disconnect();
      theme.disconnect();
      plot?.destroy();
    };
  }, [times, series, format, isGapTinted]);
  return <div ref={box} className="chart" role="img" aria-label={title} />;
};

type Drawn = Pick<ChartProps, 'series' | 'format'> & {
  readonly isGapTinted: boolean;
  /** One point for each UTC day. */
  readonly isDaily: boolean;
};

function optionsOf(host: HTMLElement, { series, format, isGapTinted, isDaily }: Drawn): uPlot.Options {
  const style = getComputedStyle(host);
  const token = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: token('--muted'), grid: { stroke: token('--line'), width: 1 }, ticks: { show: false } };
  return {
    width: host.clientWidth,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'UTC'),
    legend: { show: false },
    padding: [12, 24, 0, 0],
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_plot, low, high) => [Math.min(0, low), high <= 0 ? 1 : high * 1.08] } },
    axes: [
      {
        ...axis,
        font: FONT,
        size: 32,
        values: (_plot, seconds, _axis, _space, step) =>
          seconds.map((at) => (isDaily && at % DAY_S !== 0 ? '' : timeLabel(at, step))),
      },
      { ...axis, font: FONT, size: 64, values: (_plot, values) => values.map((value) => format(value)) },
    ],
    series: [
      {},
      ...series.map(({ label, color, dash, values }) => ({
        label,
        stroke: token(`--series-${color}`),
        width: 2,
        // A point without neighbours has no line: it is a dot that is seen from afar. Others are on their line.
        points: {
          size: 8,
          width: 0,
          fill: token(`--series-${color}`),
          show: () => true,
          filter: () => lonely(values),
        },
        ...(dash && { dash: DASH }),
      })),
    ],
    // Where a line is broken, uPlot would tint up to the edge of the plot.
    ...(isGapTinted &&
      series.every(({ values }) => !values.includes(undefined)) && {
        bands: [
          { series: [1, 2] as [number, number], fill: tinted(token('--series-1')), dir: -1 as const },
          { series: [1, 2] as [number, number], fill: () => hatched(token('--bad')), dir: 1 as const },
        ],
      }),
    plugins: [hover(series, format)],
  };
}

const lonely = (values: Series['values']): number[] =>
  values.flatMap((value, n) =>
    value !== undefined && values[n - 1] === undefined && values[n + 1] === undefined ? [n] : [],
  );

const DAY_S = 86_400;

/** Midnight shows its day, other times their hour; in UTC. */
function timeLabel(seconds: number, step: number): string {
  const text = new Date(seconds * 1000).toISOString();
  return step >= DAY_S || seconds % DAY_S === 0 ? text.slice(5, 10) : text.slice(11, 16);
}

const FONT = '12px system-ui, sans-serif';

/** The hexadecimal token with an alpha of one sixth. */
const tinted = (color: string): string => `${color}2a`;

function hatched(color: string): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = 8;
  tile.height = 8;
  const context = tile.getContext('2d');
  if (!context) return tinted(color);
  context.strokeStyle = color;
  context.beginPath();
  context.moveTo(0, 8);
  context.lineTo(8, 0);
  context.stroke();
  return context.createPattern(tile, 'repeat') ?? tinted(color);
}

/** The values under the pointer, as text above the plot. */
function hover(series: ChartProps['series'], format: ChartProps['format']): uPlot.Plugin {
  const note = document.createElement('div');
  note.className = 'chart-note';
  return {
    hooks: {
      init: (plot) => {
        plot.over.append(note);
      },
      setCursor: (plot) => {
        const index = plot.cursor.idx;
        const time = index === null || index === undefined ? undefined : plot.data[0][index];
        note.hidden = time === undefined || (plot.cursor.left ?? -1) < 0;
        if (time === undefined || index === null || index === undefined) return;
        const at = new Date(time * 1000).toISOString().slice(0, 16).replace('T', ' ');
        const lines = series.map(({ label, values }) => {
          const value = values[index];
          return `${label}: ${value === undefined ? '–' : format(value)}`;
        });
        note.textContent = [`${at} UTC`, ...lines].join('\n');
        const isRight = (plot.cursor.left ?? 0) > plot.over.clientWidth / 2;
        note.style.left = isRight ? '8px' : 'auto';
        note.style.right = isRight ? 'auto' : '8px';
      },
    },
  };
}

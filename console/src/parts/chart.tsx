/** A line chart with a table for readers who need the numbers. uPlot is loaded when the first chart is shown. */
import { lazy, Suspense, useState } from 'react';
import { absoluteTime } from '../format/time.ts';
import { t } from '../language.ts';
import type { ChartProps } from './series.ts';
import '../styles/charts.css';

const Plot = lazy(() => import('./plot.tsx').then(({ Plot }) => ({ default: Plot })));

export const Chart = (props: ChartProps) => {
  const [isTable, setTable] = useState(false);
  return (
    <figure>
      {isTable ? (
        <ChartTable {...props} />
      ) : (
        <Suspense fallback={<div className="chart" aria-busy="true" />}>
          <Plot {...props} />
        </Suspense>
      )}
      <figcaption className="row">
        <ul className="legend">
          {props.series.map(({ label, color, dash }) => (
            <li key={label}>
              <svg aria-hidden="true" viewBox="0 0 22 8">
                <line
                  x1="0"
                  y1="4"
                  x2="22"
                  y2="4"
                  stroke={`var(--series-${color})`}
                  strokeWidth="2"
                  strokeDasharray={dash ? '4 3' : undefined}
                />
              </svg>
              {label}
            </li>
          ))}
        </ul>
        <button type="button" className="quiet" onClick={() => setTable(!isTable)} aria-pressed={isTable}>
          {isTable ? t('Chart') : t('Table')}
        </button>
      </figcaption>
    </figure>
  );
};

const ChartTable = ({ title, times, series, format }: ChartProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs the keyboard
  <section className="code tall" tabIndex={0} aria-label={title}>
    <table>
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">{t('Time')}</th>
          {series.map(({ label }) => (
            <th key={label} scope="col" className="num">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {times.map((time, n) => (
          <tr key={time}>
            <td>{absoluteTime(time)}</td>
            {series.map(({ label, values }) => {
              const value = values[n];
              return (
                <td key={label} className="num">
                  {value === undefined ? '–' : format(value)}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

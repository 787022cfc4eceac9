/**
 * The metrics of all workers as one page in the Prometheus text format.
 * Counters of ended workers are kept: no total decreases.
 */
import { entryOf } from '../../core/index.ts';
import { METRICS, type MetricName, type MetricRow, metricRow } from '../../rules/index.ts';

type MetricType = MetricRow['type'];

interface Metric {
  readonly help: string;
  readonly type: MetricType;
  /** Value by series: a name with its labels. */
  readonly series: Map<string, number>;
}

type Page = Map<string, Metric>;

const add = (a: number, b: number): number => a + b;
const MERGES = { max: Math.max, min: Math.min } as const;

/** How the values of several workers become one. */
function mergeOf(name: string, type: MetricType): (a: number, b: number) => number {
  const merge = type === 'gauge' && name in METRICS ? metricRow(name as MetricName).merge : undefined;
  return merge ? MERGES[merge] : add;
}

export class MetricsBook {
  readonly #ended: Page = new Map();
  /** The last page of each worker that runs. */
  readonly #latest = new Map<number, Page>();

  /** `worker` identifies a process; it is not used again. */
  update(worker: number, text: string): void {
    this.#latest.set(worker, parsePage(text));
  }

  /** Keeps the totals of a worker that has ended. */
  end(worker: number): void {
    const page = this.#latest.get(worker);
    this.#latest.delete(worker);
    if (page) mergeInto(this.#ended, page, ({ type }) => type !== 'gauge');
  }

  text(): string {
    const merged: Page = new Map();
    for (const page of [this.#ended, ...this.#latest.values()]) mergeInto(merged, page, () => true);
    return [...merged].map(([name, metric]) => renderMetric(name, metric)).join('');
  }
}

function parsePage(text: string): Page {
  const page: Page = new Map();
  let help = '';
  let metric: Metric | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith('# HELP ')) help = line;
    else if (line.startsWith('# TYPE ')) {
      const [, , name = '', type] = line.split(' ');
      metric = { help, type: type as MetricType, series: new Map() };
      page.set(name, metric);
    } else if (line !== '') {
      // A label may contain spaces, the value cannot.
      const end = line.lastIndexOf(' ');
      metric?.series.set(line.slice(0, end), Number(line.slice(end + 1)));
    }
  }
  return page;
}

function mergeInto(target: Page, page: Page, isWanted: (metric: Metric) => boolean): void {
  for (const [name, metric] of page) {
    if (!isWanted(metric)) continue;
    const merged = entryOf(target, name, () => ({ ...metric, series: new Map<string, number>() }));
    const merge = mergeOf(name, metric.type);
    for (const [series, value] of metric.series) {
      const before = merged.series.get(series);
      merged.series.set(series, before === undefined ? value : merge(before, value));
    }
  }
}

const renderMetric = (name: string, { help, type, series }: Metric): string =>
  `${help}\n# TYPE ${name} ${type}\n${[...series].map(([labels, value]) => `${labels} ${value}\n`).join('')}`;

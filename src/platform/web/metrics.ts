/**
 * Prometheus metrics of the process and of every request,
 * with labels of our own tables only (docs/adr/0009-metrics-by-hand.md).
 */
import { entryOf, type MaybePromise } from '../../core/index.ts';
import { type MetricName, metricRow } from '../../rules/index.ts';
import { version } from '../version.ts';
import { LoopDelay } from './loop-delay.ts';
import type { Sampler } from './wakefulness.ts';

export type Metrics = ReturnType<typeof createMetrics>;

interface Sample {
  readonly value: number;
  readonly labels?: Labels;
}
type Labels = Readonly<Record<string, string>>;

interface MeasuredRequest {
  readonly operation: string;
  readonly status: number;
  readonly ms: number;
  readonly outcome: string;
}

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** From a rejected request (1 ms) to a 4K image (5 minutes). */
const BUCKETS_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export function createMetrics() {
  const openRequests = { value: 0 };
  /** 1 while replicas share their limits in Redis, 0 while Redis is down, undefined without `REDIS_URL`. */
  const limitsShared: { value: number | undefined } = { value: undefined };
  const durations = new BucketCounts('dragoman_request_duration_seconds', BUCKETS_SECONDS);
  const delay = new LoopDelay();
  const renderers: (() => Promise<string>)[] = [];
  const metrics = {
    openRequests,
    eventLoop: delay as Sampler,
    limitsShared,
    /**
     * A gauge, or a counter that never decreases. `read` runs at every scrape.
     * When it fails, the scrape omits this metric.
     */
    register: (name: MetricName, read: () => MaybePromise<readonly Sample[]>): void => {
      renderers.push(async () => {
        const samples = await Promise.resolve()
          .then(read)
          .catch(() => []);
        return block(
          name,
          samples.map(({ value, labels = {} }) => line(name, labels, value)),
        );
      });
    },
    /** `bounds` are the upper bounds of the buckets, ascending. */
    histogram(name: MetricName, bounds: readonly number[]): BucketCounts {
      const histogram = new BucketCounts(name, bounds);
      renderers.push(async () => histogram.text());
      return histogram;
    },
    recordRequest({ operation, status, ms, outcome }: MeasuredRequest): void {
      const labels = { operation, status: String(status), outcome };
      durations.record(ms / 1_000, `${operation} ${status} ${outcome}`, labels);
    },
    /** All metrics in the Prometheus text format. */
    text: async (): Promise<string> =>
      durations.text() + (await Promise.all(renderers.map((render) => render()))).join(''),
  };
  metrics.register('dragoman_build_info', () => [{ value: 1, labels: { version, node: process.version } }]);
  metrics.register('dragoman_open_requests', () => [{ value: openRequests.value }]);
  metrics.register('dragoman_limits_shared', () =>
    limitsShared.value === undefined ? [] : [{ value: limitsShared.value }],
  );
  registerProcessMetrics(metrics, delay);
  return metrics;
}

/** Names and units of the Prometheus client libraries, so that standard dashboards work. */
function registerProcessMetrics({ register }: Pick<Metrics, 'register'>, delay: LoopDelay): void {
  register('process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage();
    return [{ value: (user + system) / 1e6 }];
  });
  register('process_start_time_seconds', () => [{ value: performance.timeOrigin / 1_000 }]);
  register('process_resident_memory_bytes', () => [{ value: process.memoryUsage.rss() }]);
  // A scrape reads in the order of registration, and reading begins the next period.
  let p99 = 0;
  register('nodejs_eventloop_lag_p50_seconds', () => {
    const [median = 0, high = 0] = delay.read();
    p99 = high;
    return [{ value: median }];
  });
  register('nodejs_eventloop_lag_p99_seconds', () => [{ value: p99 }]);
}

interface Series {
  readonly labels: Labels;
  /** One per bucket, and one for values above the last bound. */
  readonly counts: number[];
  sum: number;
}

/** Counts values in buckets. Every request records some, so that costs one lookup and three additions. */
class BucketCounts {
  readonly #name: MetricName;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor(name: MetricName, bounds: readonly number[]) {
    this.#name = name;
    this.#bounds = bounds;
  }

  /** `id` identifies the labels; the labels of its first value hold. */
  record(value: number, id: string, labels: Labels): void {
    const series = entryOf(this.#series, id, () => ({
      labels,
      counts: Array(this.#bounds.length + 1).fill(0),
      sum: 0,
    }));
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
  }

  text(): string {
    return block(
      this.#name,
      [...this.#series.values()].flatMap((series) => this.#lines(series)),
    );
  }

  /** Buckets are cumulative: each one includes the buckets below it. */
  #lines({ labels, counts, sum }: Series): string[] {
    let total = 0;
    const buckets = counts.map((count, n) => {
      total += count;
      return line(`${this.#name}_bucket`, { ...labels, le: String(this.#bounds[n] ?? '+Inf') }, total);
    });
    return [...buckets, line(`${this.#name}_sum`, labels, sum), line(`${this.#name}_count`, labels, total)];
  }
}

function block(name: MetricName, lines: readonly string[]): string {
  const { help, type } = metricRow(name);
  return lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

const escapeLabel = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');

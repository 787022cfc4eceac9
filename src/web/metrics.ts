/**
 * Prometheus metrics of the process and of every request. Labels come only from our own tables, so their number is bounded.
 * Reasons: docs/adr/0009-metrics-by-hand.md
 */
import type { MaybePromise } from '../core/index.ts';
import { LoopDelay, QUANTILES } from './loop-delay.ts';
import type { Sampler } from './wakefulness.ts';

export interface Metrics {
  recordRequest(request: { operation: string; status: number; ms: number; outcome: string }): void;
  readonly openRequests: { value: number };
  /** The samples of the delay of the event loop. */
  readonly eventLoop: Sampler;
  /** 1 while replicas share their limits in Redis, 0 while Redis is down, undefined without `REDIS_URL`. */
  readonly limitsShared: { value: number | undefined };
  /** `read` runs at every scrape. When it fails, the scrape omits this metric. */
  gauge(name: string, description: string, read: ReadSamples): void;
  /** Like `gauge`, for a total that never decreases; its name ends in `_total`. */
  counter(name: string, description: string, read: ReadSamples): void;
  /** `bounds` are the upper bounds of the buckets, ascending. */
  histogram(name: string, description: string, bounds: readonly number[]): Histogram;
  /** All metrics in the Prometheus text format. */
  text(): Promise<string>;
}

export type ReadSamples = () => MaybePromise<readonly Sample[]>;

export interface Sample {
  readonly value: number;
  readonly labels?: Labels;
}
type Labels = Readonly<Record<string, string>>;

export interface Histogram {
  /** `id` identifies the labels; the labels of its first value hold. */
  record(value: number, id: string, labels: Labels): void;
}

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** From a rejected request (1 ms) to a 4K image (5 minutes). */
const BUCKETS_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export function createMetrics(): Metrics {
  const openRequests = { value: 0 };
  const limitsShared: Metrics['limitsShared'] = { value: undefined };
  const durations = new BucketCounts(
    'dragoman_request_duration_seconds',
    'Time from the request line to the end of the response',
    BUCKETS_SECONDS,
  );
  const delay = new LoopDelay();
  const renderers: (() => Promise<string>)[] = [];
  const register =
    (type: 'gauge' | 'counter'): Metrics['gauge'] =>
    (name, description, read) => {
      renderers.push(async () => {
        const samples = await Promise.resolve()
          .then(read)
          .catch(() => []);
        return block(
          name,
          description,
          type,
          samples.map(({ value, labels = {} }) => line(name, labels, value)),
        );
      });
    };
  const metrics: Metrics = {
    openRequests,
    eventLoop: delay,
    limitsShared,
    gauge: register('gauge'),
    counter: register('counter'),
    histogram(name, description, bounds) {
      const histogram = new BucketCounts(name, description, bounds);
      renderers.push(async () => histogram.text());
      return histogram;
    },
    recordRequest: ({ operation, status, ms, outcome }) =>
      durations.record(ms / 1_000, `${operation} ${status} ${outcome}`, { operation, status: String(status), outcome }),
    text: async () => durations.text() + (await Promise.all(renderers.map((render) => render()))).join(''),
  };
  metrics.gauge('dragoman_open_requests', 'Requests in progress', () => [{ value: openRequests.value }]);
  metrics.gauge('dragoman_limits_shared', '1 while limits are counted in Redis, 0 while it is down', () =>
    limitsShared.value === undefined ? [] : [{ value: limitsShared.value }],
  );
  registerProcessMetrics(metrics, delay);
  return metrics;
}

/** Names and units of the Prometheus client libraries, so that standard dashboards work. */
function registerProcessMetrics({ gauge, counter }: Metrics, delay: LoopDelay): void {
  counter('process_cpu_seconds_total', 'User and system CPU time of the process', () => {
    const { user, system } = process.cpuUsage();
    return [{ value: (user + system) / 1e6 }];
  });
  gauge('process_start_time_seconds', 'Start of the process, as Unix time', () => [
    { value: performance.timeOrigin / 1_000 },
  ]);
  gauge('process_resident_memory_bytes', 'Resident memory of the process', () => [
    { value: process.memoryUsage.rss() },
  ]);
  gauge('nodejs_eventloop_lag_seconds', 'Delay of the event loop since the last scrape', () =>
    delay.read().map((value, n) => ({ value, labels: { quantile: String(QUANTILES[n]) } })),
  );
}

interface Series {
  readonly labels: Labels;
  /** One per bucket, and one for values above the last bound. */
  readonly counts: number[];
  sum: number;
}

/** Counts values in buckets. Every request records some, so that costs one lookup and three additions. */
class BucketCounts implements Histogram {
  readonly #name: string;
  readonly #description: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor(name: string, description: string, bounds: readonly number[]) {
    this.#name = name;
    this.#description = description;
    this.#bounds = bounds;
  }

  record(value: number, id: string, labels: Labels): void {
    let series = this.#series.get(id);
    if (!series) {
      series = { labels, counts: Array(this.#bounds.length + 1).fill(0), sum: 0 };
      this.#series.set(id, series);
    }
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
  }

  text(): string {
    return block(
      this.#name,
      this.#description,
      'histogram',
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

const block = (name: string, description: string, type: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : `# HELP ${name} ${escapeHelp(description)}\n# TYPE ${name} ${type}\n${lines.join('')}`;

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');

/** Prometheus metrics of the process and of every call. Labels come from our own tables only, so their number is bounded. */

export interface Metrics {
  callDone(call: { operation: string; status: number; ms: number; outcome: string }): void;
  readonly openCalls: { value: number };
  /** 1 while replicas count limits together, 0 while each counts for itself though they should; nothing when they need not. */
  readonly limitsShared: { value: number | undefined };
  /** Read when somebody looks; one that fails is left out of that look. */
  gauge(name: string, description: string, read: () => readonly Reading[] | Promise<readonly Reading[]>): void;
  /** Everything, in the text format that Prometheus reads. */
  text(): Promise<string>;
}

export interface Reading {
  readonly value: number;
  readonly labels?: Labels;
}
type Labels = Readonly<Record<string, string>>;

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** From a refusal (a millisecond) to a 4K image (five minutes). */
const BUCKETS_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export function createMetrics(): Metrics {
  const openCalls = { value: 0 };
  const limitsShared: Metrics['limitsShared'] = { value: undefined };
  const durations = new Histogram(
    'dragoman_request_duration_seconds',
    'Time from the request line to the end of the answer',
    BUCKETS_SECONDS,
  );
  const gauges: (() => Promise<string>)[] = [];
  const gauge: Metrics['gauge'] = (name, description, read) => {
    gauges.push(async () => {
      const readings = await Promise.resolve()
        .then(read)
        .catch(() => []);
      return block(
        name,
        description,
        'gauge',
        readings.map(({ value, labels = {} }) => line(name, labels, value)),
      );
    });
  };
  gauge('dragoman_open_requests', 'Calls being answered', () => [{ value: openCalls.value }]);
  gauge('dragoman_memory_bytes', 'Resident memory of the process', () => [{ value: process.memoryUsage.rss() }]);
  gauge('dragoman_limits_shared', '1 while limits are counted in Redis, 0 while it is down', () =>
    limitsShared.value === undefined ? [] : [{ value: limitsShared.value }],
  );
  return {
    openCalls,
    limitsShared,
    gauge,
    callDone: ({ operation, status, ms, outcome }) => durations.record(ms / 1_000, operation, String(status), outcome),
    text: async () => durations.text() + (await Promise.all(gauges.map((told) => told()))).join(''),
  };
}

interface Series {
  readonly labels: Labels;
  /** Per bucket, and one more for what is beyond the last. */
  readonly counts: number[];
  sum: number;
}

/** How long calls took, by operation, status and outcome. Recording is on the way of every call: one look and three additions. */
class Histogram {
  readonly #name: string;
  readonly #description: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor(name: string, description: string, bounds: readonly number[]) {
    this.#name = name;
    this.#description = description;
    this.#bounds = bounds;
  }

  record(value: number, operation: string, status: string, outcome: string): void {
    const id = `${operation} ${status} ${outcome}`;
    let series = this.#series.get(id);
    if (!series) {
      series = { labels: { operation, status, outcome }, counts: Array(this.#bounds.length + 1).fill(0), sum: 0 };
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

  /** Buckets hold all that is not above them, so each counts those before it too. */
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
  lines.length === 0 ? '' : `# HELP ${name} ${description}\n# TYPE ${name} ${type}\n${lines.join('')}`;

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`;
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

/** Prometheus metrics of the process and of every call. Labels come from our own tables only, so their number is bounded. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { AggregationType, MeterProvider } from '@opentelemetry/sdk-metrics';

export interface Metrics {
  callDone(call: { operation: string; status: number; ms: number; end: string }): void;
  readonly openCalls: { value: number };
  /** 1 while replicas count limits together, 0 while each counts for itself though they should; nothing when they need not. */
  readonly limitsShared: { value: number | undefined };
  /** Read when somebody looks; one that fails is left out of that look. */
  gauge(name: string, description: string, read: () => readonly Reading[] | Promise<readonly Reading[]>): void;
  handle(request: IncomingMessage, response: ServerResponse): void;
}

export interface Reading {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** From a refusal (a millisecond) to a 4K image (five minutes). */
const BUCKETS_MS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000];

export function createMetrics(): Metrics {
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutTargetInfo: true,
    withoutScopeInfo: true,
  });
  const provider = new MeterProvider({
    readers: [exporter],
    views: [
      {
        instrumentName: 'dragoman_call_duration_ms',
        aggregation: { type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM, options: { boundaries: BUCKETS_MS } },
      },
    ],
  });
  const meter = provider.getMeter('dragoman');
  const duration = meter.createHistogram('dragoman_call_duration_ms', {
    description: 'Time from the request line to the end of the answer',
  });
  const openCalls = { value: 0 };
  meter
    .createObservableGauge('dragoman_open_calls', { description: 'Calls being answered' })
    .addCallback((gauge) => gauge.observe(openCalls.value));
  meter
    .createObservableGauge('dragoman_memory_bytes', { description: 'Resident memory of the process' })
    .addCallback((gauge) => gauge.observe(process.memoryUsage.rss()));
  const limitsShared: Metrics['limitsShared'] = { value: undefined };
  meter
    .createObservableGauge('dragoman_limits_shared', {
      description: '1 while limits are counted in Redis, 0 while it is down',
    })
    .addCallback((gauge) => {
      if (limitsShared.value !== undefined) gauge.observe(limitsShared.value);
    });
  return {
    openCalls,
    limitsShared,
    gauge: (name, description, read) =>
      meter.createObservableGauge(name, { description }).addCallback(async (gauge) => {
        const readings = await Promise.resolve()
          .then(read)
          .catch(() => []);
        for (const { value, labels = {} } of readings) gauge.observe(value, labels);
      }),
    callDone: ({ operation, status, ms, end }) => duration.record(ms, { operation, status: String(status), end }),
    handle: (request, response) => exporter.getMetricsRequestHandler(request, response),
  };
}

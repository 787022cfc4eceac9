/** What operators learn of every call: its line in the request log, metrics by account, and a trace. */
import type { Catalog } from '../../catalog/index.ts';
import {
  isOfNobody,
  openSpans,
  Refusals,
  RequestLog,
  RequestMetrics,
  RequestWriter,
  requestEntry,
  type SpanRecorder,
} from '../../observe/request-log/index.ts';
import type { CompletedCall, Metrics } from '../../platform/web/index.ts';
import type { AppContext, Closer } from './context.ts';
import { splitList } from './settings.ts';

export interface CallRecorder {
  record(completed: CompletedCall): void;
  /** Calls that are missing in the request log. */
  readonly dropped: number;
}

export async function openCallRecorder(
  context: AppContext,
  { metrics, catalog }: { readonly metrics: Metrics; readonly catalog: () => Catalog },
  closers: Closer[],
): Promise<CallRecorder> {
  const requestMetrics = new RequestMetrics(metrics, catalog);
  const requestLog = openRequestLog(context, requestMetrics);
  if (requestLog) closers.push(() => requestLog.stop());
  const refusals = new Refusals(context.clock);
  const spans = await openTraces(context, catalog);
  if (spans) closers.push(() => spans.stop());
  return {
    record: (completed) => {
      const entry = requestEntry(completed);
      if (!entry) return;
      if (isOfNobody(entry)) {
        if (refusals.take(completed.call.address)) requestLog?.add(entry);
        return;
      }
      requestMetrics.record(entry);
      requestLog?.add(entry);
      spans?.record(completed, entry);
    },
    get dropped() {
      return requestLog?.dropped ?? 0;
    },
  };
}

/** Undefined without days to keep it. */
function openRequestLog(
  { config, database: { db }, clock, log }: AppContext,
  metrics: RequestMetrics,
): RequestLog | undefined {
  if (config.REQUEST_LOG_DAYS === 0) return undefined;
  return new RequestLog({
    writer: new RequestWriter({ db, log }),
    clock,
    log,
    flushMs: config.USAGE_FLUSH_MS,
    onWritten: (_entries, costs) => metrics.recordCosts(costs),
  });
}

async function openTraces(
  { config, clock, log }: AppContext,
  catalog: () => Catalog,
): Promise<SpanRecorder | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers = '' } = config;
  if (endpoint === undefined) return undefined;
  const pairs = splitList(headers).map((pair) => [
    pair.slice(0, pair.indexOf('=')),
    decodeURIComponent(pair.slice(pair.indexOf('=') + 1)),
  ]);
  const serviceName = config.OTEL_SERVICE_NAME;
  return openSpans({ endpoint, headers: Object.fromEntries(pairs), serviceName, catalog, clock, log });
}

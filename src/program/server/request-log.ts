/** What operators learn of every call: its line in the request log, metrics by account, and a trace. */
import type { Catalog } from '../../catalog/index.ts';
import * as observe from '../../observe/request-log/index.ts';
import type { CompletedCall, Metrics } from '../../platform/web/index.ts';
import type { AppContext, Scope } from './context.ts';
import { splitList } from './settings.ts';

export async function openCallRecorder(
  scope: Scope,
  { metrics, catalog }: { readonly metrics: Metrics; readonly catalog: () => Catalog },
) {
  const { closers, clock } = scope;
  const requestMetrics = new observe.RequestMetrics(metrics, catalog);
  const requestLog = openRequestLog(scope, requestMetrics);
  if (requestLog) closers.push(() => requestLog.stop());
  const refusals = new observe.Refusals(clock);
  const spans = await openTraces(scope, catalog);
  if (spans) closers.push(() => spans.stop());
  return {
    record: (completed: CompletedCall): void => {
      const entry = observe.requestEntry(completed);
      if (!entry) return;
      if (observe.isOfNobody(entry)) {
        if (refusals.take(completed.call.address)) requestLog?.add(entry);
        return;
      }
      requestMetrics.record(entry);
      requestLog?.add(entry);
      spans?.record(completed, entry);
    },
    /** Calls that are missing in the request log. */
    get dropped() {
      return requestLog?.dropped ?? 0;
    },
  };
}

/** Undefined without days to keep it. */
function openRequestLog(context: AppContext, metrics: observe.RequestMetrics): observe.RequestLog | undefined {
  const { config, database, clock, log } = context;
  if (config.REQUEST_LOG_DAYS === 0) return undefined;
  return new observe.RequestLog({
    writer: new observe.RequestWriter({ db: database.db, log }),
    clock,
    log,
    flushMs: config.USAGE_FLUSH_MS,
    onWritten: (_entries, costs) => metrics.recordCosts(costs),
  });
}

async function openTraces({ config, clock, log }: AppContext, catalog: () => Catalog) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers = '' } = config;
  if (endpoint === undefined) return undefined;
  const pairs = splitList(headers).map((pair) => [
    pair.slice(0, pair.indexOf('=')),
    decodeURIComponent(pair.slice(pair.indexOf('=') + 1)),
  ]);
  const serviceName = config.OTEL_SERVICE_NAME;
  return observe.openSpans({ endpoint, headers: Object.fromEntries(pairs), serviceName, catalog, clock, log });
}

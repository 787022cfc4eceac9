/**
 * OpenTelemetry traces, made when a call has ended. Only client spans have `gen_ai.*`, so that sums count a call once.
 * Never text of a request.
 */
import type { Attributes, Context } from '@opentelemetry/api';
import type { Catalog } from '../../catalog/index.ts';
import { type Clock, defined, type Log, within } from '../../core/index.ts';
import { version } from '../../platform/version.ts';
import { type AttemptTrace, type Call, type CompletedCall, ROUTES } from '../../platform/web/index.ts';
import { type Style, telemetryProvider } from '../../rules/index.ts';
import { isFault, type RequestEntry } from './request-entry.ts';

export interface SpanOptions {
  /** Base URL of an OTLP/HTTP receiver; spans go to `/v1/traces` below it. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly catalog: () => Catalog;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SpanRecorder {
  record(completed: CompletedCall, entry: RequestEntry): void;
  /** Sends what waits, within a time limit. */
  stop(): Promise<void>;
}

const STOP_MS = 3_000;
const EXPORT_MS = 10_000;
/** Further spans are dropped while the receiver is slow or away. */
const MAX_WAITING = 8_192;

/** Loads the SDK, which a server without an endpoint never does. */
export async function openSpans(options: SpanOptions): Promise<SpanRecorder> {
  const { endpoint, headers, serviceName, catalog, clock, log } = options;
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: { ...headers },
    timeoutMillis: EXPORT_MS,
  });
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, maxQueueSize: MAX_WAITING })],
  });
  const tracer = provider.getTracer('dragoman', version);
  const parentOf = (traceparent: string | undefined): Context => {
    const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? [];
    if (traceId === undefined || spanId === undefined) return api.ROOT_CONTEXT;
    const parent = { traceId, spanId, traceFlags: Number.parseInt(flags ?? '00', 16), isRemote: true };
    return api.trace.setSpanContext(api.ROOT_CONTEXT, parent);
  };
  return {
    record({ call }, entry) {
      const at = (ms: number): number => entry.at + ms;
      const span = tracer.startSpan(
        `${call.request.method} ${routeOf(entry)}`,
        { kind: api.SpanKind.SERVER, startTime: at(0), attributes: callAttributes(call, entry) },
        parentOf(call.header('traceparent')),
      );
      if (entry.error && entry.error !== 'caller') span.setStatus({ code: api.SpanStatusCode.ERROR });
      const context = api.trace.setSpan(api.ROOT_CONTEXT, span);
      for (const attempt of entry.trace.attempts) {
        const server = providerOf(catalog(), attempt.groupId ?? entry.groupId, attempt.accountId);
        const attributes = attemptAttributes(attempt, entry, server);
        const name = `${operationName(entry)} ${attempt.model ?? ''}`.trim();
        const startTime = at(attempt.startMs);
        const child = tracer.startSpan(name, { kind: api.SpanKind.CLIENT, startTime, attributes }, context);
        if (isFault(attempt.outcome)) child.setStatus({ code: api.SpanStatusCode.ERROR });
        child.end(at(attempt.lastByteMs ?? attempt.endMs ?? entry.totalMs));
      }
      span.end(at(entry.totalMs));
    },
    stop: () =>
      within(
        provider.shutdown().catch((error: unknown) => log.warn('spans.flush_failed', { detail: String(error) })),
        { clock, ms: STOP_MS, late: () => log.warn('spans.flush_failed', { detail: 'time limit' }) },
      ),
  };
}

/** Version 00 of W3C Trace Context. An id of zeros is invalid. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

const ROUTE_PATHS = new Map<string, string>(ROUTES.toReversed().map(({ operation, path }) => [operation, path]));
const routeOf = ({ operation }: RequestEntry): string => ROUTE_PATHS.get(operation) ?? operation;

function providerOf(catalog: Catalog, groupId: string, accountId: string) {
  const account = catalog.account(accountId, groupId);
  const style = catalog.group(groupId)?.style;
  if (!account || !style || style === 'video') return undefined;
  const { hostname, port, protocol } = new URL(account.baseUrl);
  return {
    name: telemetryProvider(style satisfies Style, account.baseUrl, account.preset),
    address: hostname,
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
  };
}

function operationName({ operation, trace }: RequestEntry): string {
  if (/embed/i.test(operation)) return 'embeddings';
  return trace.target === 'generate' || operation.startsWith('images.') ? 'generate_content' : 'chat';
}

function callAttributes(call: Call, entry: RequestEntry): Attributes {
  const { trace, model, status, error, code, addedMs } = entry;
  return defined({
    'http.request.method': call.request.method,
    'http.route': routeOf(entry),
    'url.path': call.path,
    'http.response.status_code': status,
    'error.type': error && (code ?? String(status)),
    'dragoman.model': model,
    'dragoman.stream': entry.stream,
    'dragoman.request_id': entry.id,
    'dragoman.operation': entry.operation,
    'dragoman.user': entry.userId,
    'dragoman.key': entry.keyId,
    'dragoman.group': entry.groupId,
    'dragoman.outcome': entry.outcome,
    'dragoman.client_dialect': trace.client,
    'dragoman.target_dialect': trace.target,
    'dragoman.added_ms': addedMs,
  });
}

type Provider = ReturnType<typeof providerOf>;

function attemptAttributes(attempt: AttemptTrace, entry: RequestEntry, provider: Provider): Attributes {
  const { target } = entry.trace;
  const isStream = entry.stream === true && attempt.firstByteMs !== undefined;
  const reply = isFault(attempt.outcome) || !target ? undefined : attempt.sample?.read(target);
  return defined({
    'gen_ai.operation.name': operationName(entry),
    'gen_ai.provider.name': provider?.name,
    'gen_ai.request.model': attempt.model,
    'gen_ai.request.stream': entry.stream || undefined,
    'gen_ai.response.id': reply?.id,
    'gen_ai.response.model': reply?.model,
    'gen_ai.response.finish_reasons': reply && reply.finishReasons.length > 0 ? [...reply.finishReasons] : undefined,
    'gen_ai.response.time_to_first_chunk': isStream
      ? ((attempt.firstByteMs ?? 0) - attempt.startMs) / 1_000
      : undefined,
    ...(attempt === entry.trace.attempts.at(-1) && usageAttributes(entry)),
    'server.address': provider?.address,
    'server.port': provider?.port,
    'http.response.status_code': attempt.status,
    'error.type': errorType(attempt),
    'dragoman.account': attempt.accountId,
    'dragoman.fallback_group': attempt.groupId,
    'dragoman.outcome': attempt.outcome,
  });
}

/** What was charged, which is the report of the provider, or an estimate in its absence. */
function usageAttributes({ charge }: RequestEntry) {
  const usage = charge?.usage;
  return {
    'gen_ai.usage.input_tokens': usage?.input,
    'gen_ai.usage.cache_read.input_tokens': usage?.cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWrite,
    'gen_ai.usage.audio.input_tokens': usage?.inputAudio,
    'gen_ai.usage.image.input_tokens': usage?.inputImage,
    'gen_ai.usage.video.input_tokens': usage?.inputVideo,
    'gen_ai.usage.output_tokens': usage?.output,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoning,
    'gen_ai.usage.audio.output_tokens': usage?.outputAudio,
    'dragoman.usage_estimated': charge?.estimated || undefined,
  };
}

/** The kind of the fault. `failed` says nothing, so the status does, where there is one. */
function errorType({ outcome, status }: AttemptTrace): string | undefined {
  if (!isFault(outcome)) return undefined;
  return outcome === 'failed' ? (status !== undefined && status >= 400 ? String(status) : '_OTHER') : outcome;
}

/**
 * OpenTelemetry traces: every call as a server span, its attempts as client spans below it, by the GenAI semantic conventions. Spans are
 * made when the call has ended, so a call in progress pays nothing. Holds names and numbers only, never text of a request.
 */
import type { Attributes, Context } from '@opentelemetry/api';
import { type Clock, type Log, within } from '../core/index.ts';
import type { Dialect } from '../rules/index.ts';
import { version } from '../version.ts';
import type { AttemptTrace, CompletedCall } from '../web/index.ts';
import { isFault, type RequestEntry } from './request-entry.ts';

export interface SpanOptions {
  /** Base URL of an OTLP/HTTP receiver; spans go to `/v1/traces` below it. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
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
export async function openSpans({ endpoint, headers, serviceName, clock, log }: SpanOptions): Promise<SpanRecorder> {
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
        `${call.request.method} ${entry.operation}`,
        { kind: api.SpanKind.SERVER, startTime: at(0), attributes: callAttributes(call.request.method, entry) },
        parentOf(call.header('traceparent')),
      );
      if (entry.error && entry.error !== 'caller') span.setStatus({ code: api.SpanStatusCode.ERROR });
      const context = api.trace.setSpan(api.ROOT_CONTEXT, span);
      for (const attempt of entry.trace.attempts) {
        const attributes = attemptAttributes(attempt, entry);
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

/** Names of the GenAI conventions. */
const PROVIDERS: Readonly<Record<Dialect, string>> = {
  responses: 'openai',
  chat: 'openai',
  messages: 'anthropic',
  generate: 'gcp.gemini',
};

function operationName({ operation, trace }: RequestEntry): string {
  if (/embed/i.test(operation)) return 'embeddings';
  return trace.target === 'generate' || operation.startsWith('images.') ? 'generate_content' : 'chat';
}

function callAttributes(method: string, entry: RequestEntry): Attributes {
  const { trace, charge, model, status, error, code, firstByteMs, addedMs } = entry;
  return defined({
    'http.request.method': method,
    'http.response.status_code': status,
    'error.type': error && (code ?? String(status)),
    'gen_ai.operation.name': model === undefined ? undefined : operationName(entry),
    'gen_ai.provider.name': trace.target && PROVIDERS[trace.target],
    'gen_ai.request.model': model,
    'gen_ai.request.stream': entry.stream,
    'gen_ai.response.time_to_first_chunk': firstByteMs === undefined ? undefined : firstByteMs / 1_000,
    'gen_ai.usage.input_tokens': charge?.usage.input,
    'gen_ai.usage.cache_read.input_tokens': charge?.usage.cacheRead,
    'gen_ai.usage.output_tokens': charge?.usage.output,
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

function attemptAttributes(attempt: AttemptTrace, entry: RequestEntry): Attributes {
  const { target } = entry.trace;
  const first = attempt.firstByteMs === undefined ? undefined : (attempt.firstByteMs - attempt.startMs) / 1_000;
  return defined({
    'gen_ai.operation.name': operationName(entry),
    'gen_ai.provider.name': target && PROVIDERS[target],
    'gen_ai.request.model': attempt.model,
    'gen_ai.response.time_to_first_chunk': first,
    'http.response.status_code': attempt.status,
    'error.type': isFault(attempt.outcome) ? attempt.outcome : undefined,
    'dragoman.account': attempt.accountId,
    'dragoman.outcome': attempt.outcome,
  });
}

const defined = (attributes: Readonly<Record<string, string | number | boolean | undefined>>): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined)) as Attributes;

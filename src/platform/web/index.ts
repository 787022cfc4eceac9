export { type CallOutcome, type CompletedCall, createWeb, type Web } from './api-server.ts';
export { expectJson, mediaType, readBody } from './body.ts';
export { BodyBudget, type BodyReservation, SMALL_BODY_BYTES, type SpareMemory } from './body-budget.ts';
export { BodyTap, type TappedBody } from './body-tap.ts';
export { type AnyOperation, Call, type Handler, type ResponseWriter } from './call.ts';
export { type AttemptEnd, type AttemptTrace, CallTrace, type ChargeTrace, endAttempt } from './call-trace.ts';
export { Certificate, CertificateError, readCertificate } from './certificate.ts';
export { type ClientStream, type ClientStreamLimits, ClientStreams } from './client-stream.ts';
export { connectionLimits } from './connection-limits.ts';
export { Cors } from './cors.ts';
export { boundaryOf, type FormPart, FormScanner } from './form-scanner.ts';
export { createMetrics, METRICS_TYPE, type Metrics } from './metrics.ts';
export { MetricsBook } from './metrics-book.ts';
export { ReplySample } from './reply-sample.ts';
export { ResponseSink } from './response-sink.ts';
export { methodsOf, ROUTES } from './routes.ts';
export {
  idHeaders,
  type RenderError,
  type RenderedError,
  STREAM_HEADERS,
  sendError,
  sendJson,
  sendJsonText,
  sendNoContent,
  UNBUFFERED,
} from './send.ts';
export { Shedder } from './shedder.ts';
export { Spool, type SpooledBody } from './spool.ts';
export { type WebSocketConnection, WebSocketServer } from './websocket.ts';

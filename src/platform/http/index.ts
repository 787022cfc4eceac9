export { type Bound, CHUNK_BOUNDS, CLIENT_BOUNDS, SERVER_BOUNDS } from './bounds.ts';
export type {
  Exchange,
  HttpClient,
  HttpRequest,
  RequestTimeouts,
  ResponseListener,
  StreamedBody,
  TransportError,
} from './client.ts';
export { type HttpHeaders, HttpParseError } from './headers.ts';
export { HealthListener } from './health-listener.ts';
export { HttpServer } from './listener.ts';
export { type BoundPort, bindPort, type ListeningSocket } from './listening-sockets.ts';
export { MIN_TLS_VERSION, type OpenSocket, openTcpOrTls, targetOf } from './open-socket.ts';
export { isUpgrade, rejectionFor } from './request-checks.ts';
export type {
  BodyReader,
  ConnectionLimits,
  IncomingRequest,
  OutgoingResponse,
  ProtocolViolation,
  ServerHost,
  Upgradable,
} from './server.ts';
export { createHttpClient } from './stack.ts';
export { type WholeResponse, wholeResponse } from './whole-response.ts';
export { openTunnel } from './wire/proxy-tunnel.ts';

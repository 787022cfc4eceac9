export { expectJson, mediaType, readBody } from './body.ts';
export { type Answer, type AnyOperation, Call, type Handler } from './call.ts';
export type { Incoming } from './incoming.ts';
export { createMetrics, METRICS_TYPE, type Metrics } from './metrics.ts';
export { idHeaders, type RenderError, type RenderedError, sendError, sendJson } from './reply.ts';
export { methodsOf, ROUTES } from './routes.ts';
export { createWeb, type Web, type WebOptions } from './server.ts';
export { type Socket, Sockets } from './socket.ts';

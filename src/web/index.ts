export { expectJson, mediaType, readBody } from './body.ts';
export { type Answer, type AnyOperation, Call, type Handler } from './call.ts';
export { createMetrics, METRICS_TYPE, type Metrics } from './metrics.ts';
export type { Incoming } from './request.ts';
export { methodsOf, ROUTES } from './routes.ts';
export { idHeaders, type RenderError, type RenderedError, sendError, sendJson } from './send.ts';
export { createWeb, type Web, type WebOptions } from './server.ts';
export { type Socket, Sockets } from './websocket.ts';

export { expectJson, mediaType, readBody } from './body.ts';
export { BodyBudget } from './body-budget.ts';
export { type AnyOperation, Call, type Handler, type ResponseWriter } from './call.ts';
export { createMetrics, METRICS_TYPE, type Metrics } from './metrics.ts';
export type { IncomingRequest } from './request.ts';
export { methodsOf, ROUTES } from './routes.ts';
export { idHeaders, type RenderError, type RenderedError, sendError, sendJson, sendNoContent } from './send.ts';
export { createWeb, type Web, type WebOptions } from './server.ts';
export { type WebSocketConnection, WebSocketServer } from './websocket.ts';

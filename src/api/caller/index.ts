export { Auth, credentialsOf } from './auth.ts';
export { lineHost } from './batch-lines.ts';
export { renderError } from './errors.ts';
export { createHandlers } from './handlers.ts';
export { type MetricsAccess, metricsHandler } from './health.ts';
export { type StaticFile, sendStaticFile, staticFile } from './static-file.ts';

export { Auth, type AuthServices, credentialsOf } from './auth.ts';
export { renderError } from './errors.ts';
export { type ApiServices, createHandlers } from './handlers.ts';
export { type MetricsAccess, metricsHandler } from './health.ts';

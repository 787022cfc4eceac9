export { Auth, type AuthParts, credentialsOf } from './auth.ts';
export { renderError } from './errors.ts';
export { type ApiParts, createHandlers } from './handlers.ts';
export { openApi } from './openapi.ts';

export { Auth, type AuthParts, type Caller, credentialsOf } from './auth.ts';
export { renderError } from './errors.ts';
export { type ApiParts, createHandlers } from './handlers.ts';
export { openApi } from './openapi.ts';

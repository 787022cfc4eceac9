export { AdminAuth } from './auth.ts';
export { createAdminHandlers } from './handlers.ts';

export { AdminAuth } from './auth.ts';
export type { AdminSchemas } from './handler.ts';
export { ADMIN_SCHEMAS, createAdminHandlers } from './handlers.ts';

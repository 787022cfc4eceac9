export { AdminAuth } from './auth.ts';
export { type AdminSchemas, notFound } from './handler.ts';
export { ADMIN_SCHEMAS, createAdminHandlers, withReportErrors } from './handlers.ts';
export { changeKey, KeyChange, NewKey, newKeyInput, rotateKey, sendKeys } from './keys.ts';
export { CURSOR_EXPECTED, pageParams, rowKey, sendPage } from './pagination.ts';
export { listOf, param, readQuery } from './query-params.ts';
export { line, readJson } from './request-body.ts';
export { StatementParams, sendStatement } from './statement.ts';
export { isRowKey, sendUsage } from './usage.ts';

export { type DocumentOptions, openApi } from './document.ts';
export { queryParameters } from './zod.ts';

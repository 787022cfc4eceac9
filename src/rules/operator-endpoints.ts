/** Endpoints of operators and providers: they take no caller's key and belong to no group. */
import type { OperatorRow } from './endpoint-rows.ts';

export const OPERATOR_ENDPOINTS = {
  'operator.alive': { method: 'GET', path: '/healthz', head: true, about: 'The process is alive' },
  'operator.ready': {
    method: 'GET',
    path: '/readyz',
    head: true,
    about: 'Database reachable, migrations done, not draining',
  },
  'operator.metrics': { method: 'GET', path: '/metrics', head: true, about: 'Prometheus metrics' },
  'operator.openapi': { method: 'GET', path: '/openapi.json', head: true, about: 'This API as OpenAPI' },
  'characters.preview': {
    method: 'GET',
    path: '/public/characters/{character_id}/preview',
    head: true,
    about: 'Picture of a public character',
  },
  'results.link': {
    method: 'GET',
    path: '/public/videos/{task_id}/{file}',
    head: true,
    about: 'A result by its signed link: `content` or `last-frame`',
  },
  'files.link': {
    method: 'GET',
    path: '/public/files/{file_id}',
    head: true,
    about: 'A file by the signed link that the provider of a video task or asset gets',
  },
  'files.piece': {
    method: 'POST',
    path: '/public/uploads/{file_id}',
    about: 'A piece of an upload, at the signed link that its beginning gave',
  },
  'sessions.return': {
    method: 'GET',
    path: '/return/real-person/{secret}',
    about: 'Page to which the browser returns after a real-person authorization; the secret path names the session',
  },
  'provider.report': {
    method: 'POST',
    path: '/upstream/callbacks/{secret}',
    about: 'State of a video task, sent by its provider; the secret path names the task',
  },
} as const satisfies Record<string, OperatorRow>;
export type OperatorOperation = keyof typeof OPERATOR_ENDPOINTS;
export const OPERATOR_OPERATIONS = Object.keys(OPERATOR_ENDPOINTS) as OperatorOperation[];
export const operatorRow = (operation: OperatorOperation): OperatorRow => OPERATOR_ENDPOINTS[operation];

/** The admin API: one row for each operation of operators. Routes, the check of queries, OpenAPI and docs/endpoints.md are derived from it. */
import type { Method } from './endpoints.ts';

/** Parameters of queries; each means the same wherever it is taken. */
export const ADMIN_QUERY = {
  limit: 'lines of a page, 1 to 1000; 100 by default',
  cursor: '`next_cursor` of the page before',
  format: '`json` (default) or `csv`; a CSV holds every line, not a page',
  by: 'comma-separated, in the order to sort by: user, key, model, group, account, operation, day; `day` by default',
  start_date: 'first UTC day, such as 2030-01-31; 30 days up to the last by default',
  end_date: 'last UTC day; today by default. At most 366 days',
  start: 'from this time on, such as 2030-01-31T00:00:00Z or 2030-01-31',
  end: 'before this time',
  user: 'of this user',
  key: 'of this key (`key_...`)',
  model: 'of this model',
  group: 'of this group',
  account: 'of this upstream account',
  operation: 'of this operation, such as messages.create',
  request_id: 'of this request (`req_...`)',
  below: 'with less than this amount available',
  state: '`open` (default), `charged` or `dismissed`',
  actor: 'by `token`, `cli` or `file`',
  action: 'of this kind, such as credit.booked',
  subject: 'of this object, such as user:ana',
  dry_run: '`true` says what would change and changes nothing',
  prune: '`true` also removes what the document does not name',
} as const;
export type AdminParameter = keyof typeof ADMIN_QUERY;

export interface AdminRow {
  readonly method: Method;
  readonly path: string;
  readonly about: string;
  readonly body?: 'json';
  readonly query?: readonly AdminParameter[];
}

const BASE = '/admin/v1';
const page = ['limit', 'cursor'] as const;
const period = ['start', 'end'] as const;

export const ADMIN_ENDPOINTS = {
  'admin.balances': {
    method: 'GET',
    path: `${BASE}/balances`,
    about: 'Balances of all users',
    query: ['user', 'below', ...page],
  },
  'admin.balance': { method: 'GET', path: `${BASE}/users/{user}/balance`, about: 'The balance of a user' },
  'admin.credit': {
    method: 'POST',
    path: `${BASE}/credits`,
    about: 'Book a payment, a refund or an adjustment, once by its reference',
    body: 'json',
  },
  'admin.statement': {
    method: 'GET',
    path: `${BASE}/users/{user}/statement`,
    about: 'Every movement of a wallet with the balance after it, newest first',
    query: [...period, ...page, 'format'],
  },
  'admin.usage': {
    method: 'GET',
    path: `${BASE}/usage`,
    about: 'Requests, tokens, revenue, cost and margin by any combination of dimensions',
    query: ['by', 'start_date', 'end_date', 'user', 'key', 'model', 'group', 'account', 'operation', ...page, 'format'],
  },
  'admin.records': {
    method: 'GET',
    path: `${BASE}/records`,
    about: 'Single metered calls, newest first; those of the last 30 days unless a request or a start is named',
    query: ['user', 'key', 'model', 'request_id', ...period, ...page],
  },
  'admin.quarantine': {
    method: 'GET',
    path: `${BASE}/quarantine`,
    about: 'Records that were set aside and never charged, newest first',
    query: ['state', ...page],
  },
  'admin.resolveRecord': {
    method: 'POST',
    path: `${BASE}/quarantine/{record}/resolve`,
    about: 'Charge what a record that was set aside should have cost',
    body: 'json',
  },
  'admin.dismissRecord': {
    method: 'POST',
    path: `${BASE}/quarantine/{record}/dismiss`,
    about: 'Close a record that was set aside without a charge',
    body: 'json',
  },
  'admin.alarms': {
    method: 'GET',
    path: `${BASE}/alarms`,
    about: 'What needs an operator, as the worker saw it last, and what to do about it',
  },
  'admin.audit': {
    method: 'GET',
    path: `${BASE}/audit`,
    about: 'Who changed what, newest first',
    query: ['actor', 'action', 'subject', ...period, ...page],
  },
  'admin.groups': { method: 'GET', path: `${BASE}/groups`, about: 'Provider groups', query: page },
  'admin.accounts': {
    method: 'GET',
    path: `${BASE}/accounts`,
    about: 'Upstream accounts, without their credentials',
    query: ['group', ...page],
  },
  'admin.models': {
    method: 'GET',
    path: `${BASE}/models`,
    about: 'Models with the prices and costs in force',
    query: ['group', ...page],
  },
  'admin.prices': {
    method: 'GET',
    path: `${BASE}/prices`,
    about: 'Prices and costs with their history, newest first',
    query: ['group', 'model', ...page],
  },
  'admin.characters': {
    method: 'GET',
    path: `${BASE}/characters`,
    about: 'Public characters',
    query: ['group', ...page],
  },
  'admin.users': { method: 'GET', path: `${BASE}/users`, about: 'Users', query: ['user', ...page] },
  'admin.createUser': { method: 'POST', path: `${BASE}/users`, about: 'Make a user', body: 'json' },
  'admin.changeUser': { method: 'PATCH', path: `${BASE}/users/{user}`, about: 'Change a user', body: 'json' },
  'admin.keys': {
    method: 'GET',
    path: `${BASE}/keys`,
    about: 'API keys, without their values',
    query: ['user', 'group', ...page],
  },
  'admin.createKey': {
    method: 'POST',
    path: `${BASE}/keys`,
    about: 'Make an API key; its value is in this answer and nowhere else',
    body: 'json',
  },
  'admin.changeKey': {
    method: 'PATCH',
    path: `${BASE}/keys/{key}`,
    about: 'Change limits, expiry and what a key may do',
    body: 'json',
  },
  'admin.revokeKey': {
    method: 'POST',
    path: `${BASE}/keys/{key}/revoke`,
    about: 'Refuse a key from now on',
    body: 'json',
  },
  'admin.rotateKey': {
    method: 'POST',
    path: `${BASE}/keys/{key}/rotate`,
    about: 'Make a key in the place of this one, which works a little longer',
    body: 'json',
  },
  'admin.applyConfig': {
    method: 'PUT',
    path: `${BASE}/config`,
    about: 'Apply a configuration, the same document as `dragoman apply`',
    body: 'json',
    query: ['dry_run', 'prune'],
  },
} as const satisfies Record<string, AdminRow>;

export type AdminOperation = keyof typeof ADMIN_ENDPOINTS;
export const ADMIN_OPERATIONS = Object.keys(ADMIN_ENDPOINTS) as AdminOperation[];
export const adminRow = (operation: AdminOperation): AdminRow => ADMIN_ENDPOINTS[operation];

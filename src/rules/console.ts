/** The API of the console: one row per operation. Routes and docs/endpoints.md are derived from it; src/console holds the handlers. */
import type { Deprecation } from './deprecation.ts';
import type { Method } from './endpoints.ts';

/**
 * `open`: without a session. `session`: any signed-in person. `own`: the person of a user; an operator may read with `?user=`.
 * Requests other than GET need the CSRF token, unless they are open.
 */
export type ConsoleAccess = 'open' | 'session' | 'own';

export interface ConsoleRow {
  readonly method: Method;
  readonly path: string;
  readonly about: string;
  readonly access: ConsoleAccess;
  readonly deprecated?: Deprecation;
  /** The row of `CONSOLE_REQUESTS_PER_MINUTE`; `read` by default. */
  readonly rate?: 'report' | 'send';
  /** Responds to HEAD as well, which players send. */
  readonly head?: true;
}

/**
 * Of one person and operation. A page reads every five seconds, and a player many parts of a video; a report reads many rows, and a test
 * sends to another machine.
 */
export const CONSOLE_REQUESTS_PER_MINUTE = { read: 300, report: 60, send: 6 } as const;

const BASE = '/console/v1';

export const CONSOLE_ENDPOINTS = {
  'console.files': {
    method: 'GET',
    path: '/console/{file*}',
    about: 'The built files of the console',
    access: 'open',
    head: true,
  },
  'console.reference': {
    method: 'GET',
    path: '/docs',
    about: 'The API reference, made from /openapi.json',
    access: 'open',
    head: true,
  },
  'console.referenceFile': {
    method: 'GET',
    path: '/docs/{file*}',
    about: 'A page, script or style of the API reference',
    access: 'open',
    head: true,
  },
  'console.session': {
    method: 'GET',
    path: `${BASE}/session`,
    about: 'The signed-in person and the CSRF token',
    access: 'open',
  },
  'console.signIn': { method: 'POST', path: `${BASE}/session`, about: 'Sign in with a password', access: 'open' },
  'console.signOut': {
    method: 'DELETE',
    path: `${BASE}/session`,
    about: 'Sign out; with `everywhere=true` on every device',
    access: 'session',
  },
  'console.readLink': {
    method: 'POST',
    path: `${BASE}/link/read`,
    about: 'What a one-time link is for; changes nothing',
    access: 'open',
  },
  'console.useLink': {
    method: 'POST',
    path: `${BASE}/link`,
    about: 'Set a password with a one-time link, and sign in',
    access: 'open',
  },
  'console.password': {
    method: 'POST',
    path: `${BASE}/password`,
    about: "Change one's own password; other sessions end",
    access: 'session',
  },
  'console.oidcStart': {
    method: 'GET',
    path: `${BASE}/oidc/start`,
    about: 'Sign in with OpenID Connect',
    access: 'open',
  },
  'console.oidcCallback': {
    method: 'GET',
    path: `${BASE}/oidc/callback`,
    about: 'Return from the OpenID provider',
    access: 'open',
  },
  'console.me': { method: 'GET', path: `${BASE}/me`, about: 'Balance, limits and groups of the user', access: 'own' },
  'console.models': {
    method: 'GET',
    path: `${BASE}/models`,
    about: 'Models that a key of the user can call, with the prices of the user',
    access: 'own',
  },
  'console.keys': { method: 'GET', path: `${BASE}/keys`, about: 'API keys of the user', access: 'own' },
  'console.key': { method: 'GET', path: `${BASE}/keys/{key}`, about: 'An API key of the user', access: 'own' },
  'console.createKey': {
    method: 'POST',
    path: `${BASE}/keys`,
    about: 'Create an API key; only this response contains its value',
    access: 'own',
  },
  'console.changeKey': {
    method: 'PATCH',
    path: `${BASE}/keys/{key}`,
    about: 'Change a key that was created in the console',
    access: 'own',
  },
  'console.rotateKey': { method: 'POST', path: `${BASE}/keys/{key}/rotate`, about: 'Replace a key', access: 'own' },
  'console.revokeKey': { method: 'POST', path: `${BASE}/keys/{key}/revoke`, about: 'Revoke a key', access: 'own' },
  'console.captureKey': {
    method: 'POST',
    path: `${BASE}/keys/{key}/capture`,
    about: 'Keep the bodies of the calls of a key, encrypted, for up to 24 hours from now, or end it',
    access: 'own',
  },
  'console.usage': {
    method: 'GET',
    path: `${BASE}/usage`,
    about: 'Requests, tokens and charges by day, model, key and group',
    access: 'own',
    rate: 'report',
  },
  'console.charges': {
    method: 'GET',
    path: `${BASE}/charges`,
    about: 'Movements of the wallet, newest first',
    access: 'own',
    rate: 'report',
  },
  'console.search': {
    method: 'GET',
    path: `${BASE}/search`,
    about: 'Keys by a part of their id or name; requests and tasks by their id',
    access: 'own',
  },
  'console.requests': {
    method: 'GET',
    path: `${BASE}/requests`,
    about: 'The request log, newest first',
    access: 'own',
    rate: 'report',
  },
  'console.request': {
    method: 'GET',
    path: `${BASE}/requests/{request}`,
    about: 'A request of the log',
    access: 'own',
  },
  'console.capture': {
    method: 'GET',
    path: `${BASE}/requests/{request}/capture`,
    about: 'The captured bodies of a call; every look is in the audit log',
    access: 'own',
  },
  'console.tasks': { method: 'GET', path: `${BASE}/tasks`, about: 'Video tasks, newest first', access: 'own' },
  'console.task': { method: 'GET', path: `${BASE}/tasks/{task}`, about: 'A video task', access: 'own' },
  'console.taskVideo': {
    method: 'GET',
    path: `${BASE}/tasks/{task}/content`,
    about: 'The video of a task, whole or in part',
    access: 'own',
    head: true,
  },
  'console.taskLastFrame': {
    method: 'GET',
    path: `${BASE}/tasks/{task}/last-frame`,
    about: 'The last frame of a task',
    access: 'own',
    head: true,
  },
  'console.taskEstimate': {
    method: 'POST',
    path: `${BASE}/task-estimate`,
    about: 'The maximum cost of a video task, which its creation would hold; creates nothing',
    access: 'own',
  },
  'console.assets': { method: 'GET', path: `${BASE}/assets`, about: 'Private assets, newest first', access: 'own' },
  'console.assetGroups': {
    method: 'GET',
    path: `${BASE}/asset-groups`,
    about: 'Asset groups, newest first',
    access: 'own',
  },
  'console.authorizations': {
    method: 'GET',
    path: `${BASE}/authorizations`,
    about: 'Real-person authorization sessions, newest first',
    access: 'own',
  },
  'console.warnings': { method: 'GET', path: `${BASE}/warnings`, about: 'Warnings of the user', access: 'own' },
  'console.createWarning': {
    method: 'POST',
    path: `${BASE}/warnings`,
    about: 'Create a warning about the wallet or keys of the user',
    access: 'own',
  },
  'console.changeWarning': {
    method: 'PATCH',
    path: `${BASE}/warnings/{warning}`,
    about: 'Change the threshold of a warning, or pause it',
    access: 'own',
  },
  'console.deleteWarning': {
    method: 'DELETE',
    path: `${BASE}/warnings/{warning}`,
    about: 'Delete a warning; its notices stay in the list',
    access: 'own',
  },
  'console.destinations': {
    method: 'GET',
    path: `${BASE}/warning-destinations`,
    about: 'Where notices of the user go, without URLs and secrets',
    access: 'own',
  },
  'console.createDestination': {
    method: 'POST',
    path: `${BASE}/warning-destinations`,
    about: 'Create a destination; only this response contains the secret of a webhook',
    access: 'own',
  },
  'console.changeDestination': {
    method: 'PATCH',
    path: `${BASE}/warning-destinations/{destination}`,
    about: 'Change the name, the addresses or the quiet hours of a destination',
    access: 'own',
  },
  'console.deleteDestination': {
    method: 'DELETE',
    path: `${BASE}/warning-destinations/{destination}`,
    about: 'Delete a destination with the notices that wait for it',
    access: 'own',
  },
  'console.testDestination': {
    method: 'POST',
    path: `${BASE}/warning-destinations/{destination}/test`,
    about: 'Send a test notice at once, and wait for the outcome',
    access: 'own',
    rate: 'send',
  },
  'console.notices': {
    method: 'GET',
    path: `${BASE}/notices`,
    about: 'Notices of the user with the state of each delivery, newest first',
    access: 'own',
  },
} as const satisfies Record<string, ConsoleRow>;

export type ConsoleOperation = keyof typeof CONSOLE_ENDPOINTS;
export const CONSOLE_OPERATIONS = Object.keys(CONSOLE_ENDPOINTS) as ConsoleOperation[];
export const consoleRow = (operation: ConsoleOperation): ConsoleRow => CONSOLE_ENDPOINTS[operation];

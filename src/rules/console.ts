/** The API of the console: one row per operation. Routes and docs/endpoints.md are derived from it; src/api/console holds the handlers. */
import type { Method, OperatorRow } from './endpoints.ts';

/**
 * `open`: without a session. `session`: any signed-in person. `own`: the person of a user; an operator may read with `?user=`.
 * Requests other than GET need the CSRF token, unless they are open.
 */
export type ConsoleAccess = 'open' | 'session' | 'own';

export interface ConsoleRow extends OperatorRow {
  readonly access: ConsoleAccess;
  /** The row of `CONSOLE_REQUESTS_PER_MINUTE`; `read` by default. */
  readonly rate?: 'report' | 'send';
}

/**
 * Of one person and operation. A page reads every five seconds, and a player many parts of a video; a report reads many rows, and a test
 * sends to another machine.
 */
export const CONSOLE_REQUESTS_PER_MINUTE = { read: 300, report: 60, send: 6 } as const;

const rowsOf =
  <A extends ConsoleAccess>(access: A) =>
  <M extends Method>(method: M, path: string, about: string) =>
    ({ method, path: `/console/v1${path}`, about, access }) as const;
const open = rowsOf('open');
const session = rowsOf('session');
const own = rowsOf('own');

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
  'console.session': open('GET', '/session', 'The signed-in person and the CSRF token'),
  'console.signIn': open('POST', '/session', 'Sign in with a password'),
  'console.signOut': session('DELETE', '/session', 'Sign out; with `everywhere=true` on every device'),
  'console.readLink': open('POST', '/link/read', 'What a one-time link is for; changes nothing'),
  'console.useLink': open('POST', '/link', 'Set a password with a one-time link, and sign in'),
  'console.password': session('POST', '/password', "Change one's own password; other sessions end"),
  'console.oidcStart': open('GET', '/oidc/start', 'Sign in with OpenID Connect'),
  'console.oidcCallback': open('GET', '/oidc/callback', 'Return from the OpenID provider'),
  'console.me': own('GET', '/me', 'Balance, limits and groups of the user'),
  'console.models': own('GET', '/models', 'Models that a key of the user can call, with the prices of the user'),
  'console.keys': own('GET', '/keys', 'API keys of the user'),
  'console.key': own('GET', '/keys/{key}', 'An API key of the user'),
  'console.createKey': own('POST', '/keys', 'Create an API key; only this response contains its value'),
  'console.changeKey': own('PATCH', '/keys/{key}', 'Change a key that was created in the console'),
  'console.rotateKey': own('POST', '/keys/{key}/rotate', 'Replace a key'),
  'console.revokeKey': own('POST', '/keys/{key}/revoke', 'Revoke a key'),
  'console.captureKey': own(
    'POST',
    '/keys/{key}/capture',
    'Keep the bodies of the calls of a key, encrypted, for up to 24 hours from now, or end it',
  ),
  'console.usage': {
    ...own('GET', '/usage', 'Requests, tokens and charges by day, model, key and group'),
    rate: 'report',
  },
  'console.charges': { ...own('GET', '/charges', 'Movements of the wallet, newest first'), rate: 'report' },
  'console.search': own('GET', '/search', 'Keys by a part of their id or name; requests and tasks by their id'),
  'console.requests': { ...own('GET', '/requests', 'The request log, newest first'), rate: 'report' },
  'console.request': own('GET', '/requests/{request}', 'A request of the log'),
  'console.capture': own(
    'GET',
    '/requests/{request}/capture',
    'The captured bodies of a call; every look is in the audit log',
  ),
  'console.tasks': own('GET', '/tasks', 'Video tasks, newest first'),
  'console.task': own('GET', '/tasks/{task}', 'A video task'),
  'console.taskVideo': { ...own('GET', '/tasks/{task}/content', 'The video of a task, whole or in part'), head: true },
  'console.taskLastFrame': { ...own('GET', '/tasks/{task}/last-frame', 'The last frame of a task'), head: true },
  'console.taskEstimate': own(
    'POST',
    '/task-estimate',
    'The maximum cost of a video task, which its creation would hold; creates nothing',
  ),
  'console.assets': own('GET', '/assets', 'Private assets, newest first'),
  'console.assetGroups': own('GET', '/asset-groups', 'Asset groups, newest first'),
  'console.authorizations': own('GET', '/authorizations', 'Real-person authorization sessions, newest first'),
  'console.warnings': own('GET', '/warnings', 'Warnings of the user'),
  'console.createWarning': own('POST', '/warnings', 'Create a warning about the wallet or keys of the user'),
  'console.changeWarning': own('PATCH', '/warnings/{warning}', 'Change the threshold of a warning, or pause it'),
  'console.deleteWarning': own('DELETE', '/warnings/{warning}', 'Delete a warning; its notices stay in the list'),
  'console.destinations': own('GET', '/warning-destinations', 'Where notices of the user go, without URLs and secrets'),
  'console.createDestination': own(
    'POST',
    '/warning-destinations',
    'Create a destination; only this response contains the secret of a webhook',
  ),
  'console.changeDestination': own(
    'PATCH',
    '/warning-destinations/{destination}',
    'Change the name, the addresses or the quiet hours of a destination',
  ),
  'console.deleteDestination': own(
    'DELETE',
    '/warning-destinations/{destination}',
    'Delete a destination with the notices that wait for it',
  ),
  'console.testDestination': {
    ...own('POST', '/warning-destinations/{destination}/test', 'Send a test notice at once, and wait for the outcome'),
    rate: 'send',
  },
  'console.notices': own('GET', '/notices', 'Notices of the user with the state of each delivery, newest first'),
} as const satisfies Record<string, ConsoleRow>;

export type ConsoleOperation = keyof typeof CONSOLE_ENDPOINTS;
export const CONSOLE_OPERATIONS = Object.keys(CONSOLE_ENDPOINTS) as ConsoleOperation[];
export const consoleRow = (operation: ConsoleOperation): ConsoleRow => CONSOLE_ENDPOINTS[operation];

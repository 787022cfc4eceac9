/** The API of the console: one row per operation. Routes and docs/endpoints.md are derived from it; src/api/console holds the handlers. */
import { type OperatorRow, rowsAt } from './endpoints.ts';

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

const CONSOLE = '/console/v1';
const open = rowsAt(CONSOLE, { access: 'open' });
const session = rowsAt(CONSOLE, { access: 'session' });
const file = (path: string, about: string) =>
  ({ ...rowsAt('', { access: 'open' }).get(path, about), head: true }) as const;
const own = rowsAt(CONSOLE, { access: 'own' });

export const CONSOLE_ENDPOINTS = {
  'console.files': file('/console/{file*}', 'The built files of the console'),
  'console.reference': file('/docs', 'The API reference, made from /openapi.json'),
  'console.referenceFile': file('/docs/{file*}', 'A page, script or style of the API reference'),
  'console.session': open.get('/session', 'The signed-in person and the CSRF token'),
  'console.signIn': open.post('/session', 'Sign in with a password'),
  'console.signOut': session.delete('/session', 'Sign out; with `everywhere=true` on every device'),
  'console.readLink': open.post('/link/read', 'What a one-time link is for; changes nothing'),
  'console.useLink': open.post('/link', 'Set a password with a one-time link, and sign in'),
  'console.password': session.post('/password', "Change one's own password; other sessions end"),
  'console.oidcStart': open.get('/oidc/start', 'Sign in with OpenID Connect'),
  'console.oidcCallback': open.get('/oidc/callback', 'Return from the OpenID provider'),
  'console.me': own.get('/me', 'Balance, limits and groups of the user'),
  'console.models': own.get('/models', 'Models that a key of the user can call, with the prices of the user'),
  'console.keys': own.get('/keys', 'API keys of the user'),
  'console.key': own.get('/keys/{key}', 'An API key of the user'),
  'console.createKey': own.post('/keys', 'Create an API key; only this response contains its value'),
  'console.changeKey': own.patch('/keys/{key}', 'Change a key that was created in the console'),
  'console.rotateKey': own.post('/keys/{key}/rotate', 'Replace a key'),
  'console.revokeKey': own.post('/keys/{key}/revoke', 'Revoke a key'),
  'console.captureKey': own.post(
    '/keys/{key}/capture',
    'Keep the bodies of the calls of a key, encrypted, for up to 24 hours from now, or end it',
  ),
  'console.usage': {
    ...own.get('/usage', 'Requests, tokens and charges by day, model, key and group'),
    rate: 'report',
  },
  'console.charges': { ...own.get('/charges', 'Movements of the wallet, newest first'), rate: 'report' },
  'console.search': own.get('/search', 'Keys by a part of their id or name; requests and tasks by their id'),
  'console.requests': { ...own.get('/requests', 'The request log, newest first'), rate: 'report' },
  'console.request': own.get('/requests/{request}', 'A request of the log'),
  'console.capture': own.get(
    '/requests/{request}/capture',
    'The captured bodies of a call; every look is in the audit log',
  ),
  'console.tasks': own.get('/tasks', 'Video tasks, newest first'),
  'console.task': own.get('/tasks/{task}', 'A video task'),
  'console.taskVideo': { ...own.get('/tasks/{task}/content', 'The video of a task, whole or in part'), head: true },
  'console.taskLastFrame': { ...own.get('/tasks/{task}/last-frame', 'The last frame of a task'), head: true },
  'console.taskEstimate': own.post(
    '/task-estimate',
    'The maximum cost of a video task, which its creation would hold; creates nothing',
  ),
  'console.assets': own.get('/assets', 'Private assets, newest first'),
  'console.assetGroups': own.get('/asset-groups', 'Asset groups, newest first'),
  'console.authorizations': own.get('/authorizations', 'Real-person authorization sessions, newest first'),
  'console.warnings': own.get('/warnings', 'Warnings of the user'),
  'console.createWarning': own.post('/warnings', 'Create a warning about the wallet or keys of the user'),
  'console.changeWarning': own.patch('/warnings/{warning}', 'Change the threshold of a warning, or pause it'),
  'console.deleteWarning': own.delete('/warnings/{warning}', 'Delete a warning; its notices stay in the list'),
  'console.destinations': own.get('/warning-destinations', 'Where notices of the user go, without URLs and secrets'),
  'console.createDestination': own.post(
    '/warning-destinations',
    'Create a destination; only this response contains the secret of a webhook',
  ),
  'console.changeDestination': own.patch(
    '/warning-destinations/{destination}',
    'Change the name, the addresses or the quiet hours of a destination',
  ),
  'console.deleteDestination': own.delete(
    '/warning-destinations/{destination}',
    'Delete a destination with the notices that wait for it',
  ),
  'console.testDestination': {
    ...own.post('/warning-destinations/{destination}/test', 'Send a test notice at once, and wait for the outcome'),
    rate: 'send',
  },
  'console.notices': own.get('/notices', 'Notices of the user with the state of each delivery, newest first'),
} as const satisfies Record<string, ConsoleRow>;

export type ConsoleOperation = keyof typeof CONSOLE_ENDPOINTS;
export const CONSOLE_OPERATIONS = Object.keys(CONSOLE_ENDPOINTS) as ConsoleOperation[];
export const consoleRow = (operation: ConsoleOperation): ConsoleRow => CONSOLE_ENDPOINTS[operation];

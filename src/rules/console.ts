/**
 * The API of the console: one row per operation. Routes and docs/endpoints.md are derived from it; src/api/console
 * holds the handlers.
 */
import type { OperatorRow } from './endpoints.ts';

/**
 * `open`: without a session. `session`: any person. `own`: of a user; operators read with `?user=`. All but GET need
 * the CSRF token.
 */
export type ConsoleAccess = 'open' | 'session' | 'own';

export interface ConsoleRow extends OperatorRow {
  readonly access: ConsoleAccess;
  /** The row of `CONSOLE_REQUESTS_PER_MINUTE`; `read` by default. */
  readonly rate?: 'report' | 'send';
}

/**
 * Of one person and operation. Pages read every five seconds, players many parts of a video; tests send to another
 * machine.
 */
export const CONSOLE_REQUESTS_PER_MINUTE = { read: 300, report: 60, send: 6 } as const;

const CONSOLE = '/console/v1';

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
    about: 'The API reference with examples, errors, limits and guides',
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
    path: `${CONSOLE}/session`,
    about: 'The signed-in person and the CSRF token',
    access: 'open',
  },
  'console.signIn': { method: 'POST', path: `${CONSOLE}/session`, about: 'Sign in with a password', access: 'open' },
  'console.readLink': {
    method: 'POST',
    path: `${CONSOLE}/link/read`,
    about: 'What a one-time link is for; changes nothing',
    access: 'open',
  },
  'console.useLink': {
    method: 'POST',
    path: `${CONSOLE}/link`,
    about: 'Set a password with a one-time link, and sign in',
    access: 'open',
  },
  'console.oidcStart': {
    method: 'GET',
    path: `${CONSOLE}/oidc/start`,
    about: 'Sign in with OpenID Connect',
    access: 'open',
  },
  'console.oidcCallback': {
    method: 'GET',
    path: `${CONSOLE}/oidc/callback`,
    about: 'Return from the OpenID provider',
    access: 'open',
  },
  'console.signOut': {
    method: 'DELETE',
    path: `${CONSOLE}/session`,
    about: 'Sign out; with `everywhere=true` on every device',
    access: 'session',
  },
  'console.password': {
    method: 'POST',
    path: `${CONSOLE}/password`,
    about: "Change one's own password; other sessions end",
    access: 'session',
  },
  'console.me': {
    method: 'GET',
    path: `${CONSOLE}/me`,
    about: 'Balance, limits and groups of the user',
    access: 'own',
  },
  'console.models': {
    method: 'GET',
    path: `${CONSOLE}/models`,
    about: 'Models that a key of the user can call, with the prices of the user',
    access: 'own',
  },
  'console.keys': { method: 'GET', path: `${CONSOLE}/keys`, about: 'API keys of the user', access: 'own' },
  'console.key': { method: 'GET', path: `${CONSOLE}/keys/{key}`, about: 'An API key of the user', access: 'own' },
  'console.createKey': {
    method: 'POST',
    path: `${CONSOLE}/keys`,
    about: 'Create an API key; only this response contains its value',
    access: 'own',
  },
  'console.changeKey': {
    method: 'PATCH',
    path: `${CONSOLE}/keys/{key}`,
    about: 'Change a key that was created in the console',
    access: 'own',
  },
  'console.rotateKey': { method: 'POST', path: `${CONSOLE}/keys/{key}/rotate`, about: 'Replace a key', access: 'own' },
  'console.revokeKey': { method: 'POST', path: `${CONSOLE}/keys/{key}/revoke`, about: 'Revoke a key', access: 'own' },
  'console.captureKey': {
    method: 'POST',
    path: `${CONSOLE}/keys/{key}/capture`,
    about: 'Keep the bodies of the calls of a key, encrypted, for up to 24 hours from now, or end it',
    access: 'own',
  },
  'console.search': {
    method: 'GET',
    path: `${CONSOLE}/search`,
    about: 'Keys by a part of their id or name; requests and tasks by their id',
    access: 'own',
  },
  'console.request': {
    method: 'GET',
    path: `${CONSOLE}/requests/{request}`,
    about: 'A request of the log',
    access: 'own',
  },
  'console.capture': {
    method: 'GET',
    path: `${CONSOLE}/requests/{request}/capture`,
    about: 'The captured bodies of a call; every look is in the audit log',
    access: 'own',
  },
  'console.tasks': { method: 'GET', path: `${CONSOLE}/tasks`, about: 'Video tasks, newest first', access: 'own' },
  'console.task': { method: 'GET', path: `${CONSOLE}/tasks/{task}`, about: 'A video task', access: 'own' },
  'console.assets': { method: 'GET', path: `${CONSOLE}/assets`, about: 'Private assets, newest first', access: 'own' },
  'console.assetGroups': {
    method: 'GET',
    path: `${CONSOLE}/asset-groups`,
    about: 'Asset groups, newest first',
    access: 'own',
  },
  'console.authorizations': {
    method: 'GET',
    path: `${CONSOLE}/authorizations`,
    about: 'Real-person authorization sessions, newest first',
    access: 'own',
  },
  'console.objects': {
    method: 'GET',
    path: `${CONSOLE}/objects`,
    about: 'Files, batches, conversations, cached contents and containers, newest first',
    access: 'own',
  },
  'console.deleteObject': {
    method: 'DELETE',
    path: `${CONSOLE}/objects/{object}`,
    about: 'Delete one of them; a batch that is running ends',
    access: 'own',
  },
  'console.warnings': { method: 'GET', path: `${CONSOLE}/warnings`, about: 'Warnings of the user', access: 'own' },
  'console.createWarning': {
    method: 'POST',
    path: `${CONSOLE}/warnings`,
    about: 'Create a warning about the wallet or keys of the user',
    access: 'own',
  },
  'console.changeWarning': {
    method: 'PATCH',
    path: `${CONSOLE}/warnings/{warning}`,
    about: 'Change the threshold of a warning, or pause it',
    access: 'own',
  },
  'console.deleteWarning': {
    method: 'DELETE',
    path: `${CONSOLE}/warnings/{warning}`,
    about: 'Delete a warning; its notices stay in the list',
    access: 'own',
  },
  'console.destinations': {
    method: 'GET',
    path: `${CONSOLE}/warning-destinations`,
    about: 'Where notices of the user go, without URLs and secrets',
    access: 'own',
  },
  'console.createDestination': {
    method: 'POST',
    path: `${CONSOLE}/warning-destinations`,
    about: 'Create a destination; only this response contains the secret of a webhook',
    access: 'own',
  },
  'console.changeDestination': {
    method: 'PATCH',
    path: `${CONSOLE}/warning-destinations/{destination}`,
    about: 'Change the name, the addresses or the quiet hours of a destination',
    access: 'own',
  },
  'console.deleteDestination': {
    method: 'DELETE',
    path: `${CONSOLE}/warning-destinations/{destination}`,
    about: 'Delete a destination with the notices that wait for it',
    access: 'own',
  },
  'console.notices': {
    method: 'GET',
    path: `${CONSOLE}/notices`,
    about: 'Notices of the user with the state of each delivery, newest first',
    access: 'own',
  },
  'console.taskVideo': {
    method: 'GET',
    path: `${CONSOLE}/tasks/{task}/content`,
    about: 'The video of a task, whole or in part',
    access: 'own',
    head: true,
  },
  'console.taskLastFrame': {
    method: 'GET',
    path: `${CONSOLE}/tasks/{task}/last-frame`,
    about: 'The last frame of a task',
    access: 'own',
    head: true,
  },
  'console.usage': {
    method: 'GET',
    path: `${CONSOLE}/usage`,
    about: 'Requests, tokens and charges by day, model, key and group',
    access: 'own',
    rate: 'report',
  },
  'console.charges': {
    method: 'GET',
    path: `${CONSOLE}/charges`,
    about: 'Movements of the wallet, newest first',
    access: 'own',
    rate: 'report',
  },
  'console.requests': {
    method: 'GET',
    path: `${CONSOLE}/requests`,
    about: 'The request log, newest first',
    access: 'own',
    rate: 'report',
  },
  'console.export': {
    method: 'GET',
    path: `${CONSOLE}/export`,
    about: 'Everything that is stored of the user, one JSON object per line',
    access: 'own',
    rate: 'send',
  },
  'console.testDestination': {
    method: 'POST',
    path: `${CONSOLE}/warning-destinations/{destination}/test`,
    about: 'Send a test notice at once, and wait for the outcome',
    access: 'own',
    rate: 'send',
  },
} as const satisfies Record<string, ConsoleRow>;

export type ConsoleOperation = keyof typeof CONSOLE_ENDPOINTS;
export const CONSOLE_OPERATIONS = Object.keys(CONSOLE_ENDPOINTS) as ConsoleOperation[];
export const consoleRow = (operation: ConsoleOperation): ConsoleRow => CONSOLE_ENDPOINTS[operation];

/** The API of the console: one row per operation. Routes and docs/endpoints.md are derived from it; src/api/console holds the handlers. */
import { type OperatorRow, rowsBelow } from './endpoints.ts';

/** `open`: without a session. `session`: any person. `own`: of a user; operators read with `?user=`. All but GET need the CSRF token. */
export type ConsoleAccess = 'open' | 'session' | 'own';

export interface ConsoleRow extends OperatorRow {
  readonly access: ConsoleAccess;
  /** The row of `CONSOLE_REQUESTS_PER_MINUTE`; `read` by default. */
  readonly rate?: 'report' | 'send';
}

/** Of one person and operation. Pages read every five seconds, players many parts of a video; tests send to another machine. */
export const CONSOLE_REQUESTS_PER_MINUTE = { read: 300, report: 60, send: 6 } as const;

const CONSOLE = '/console/v1';

export const CONSOLE_ENDPOINTS = {
  ...rowsBelow(
    '',
    { access: 'open', head: true },
    `
console.files GET /console/{file*} | The built files of the console
console.reference GET /docs | The API reference with examples, errors, limits and guides
console.referenceFile GET /docs/{file*} | A page, script or style of the API reference
`,
  ),
  ...rowsBelow(
    CONSOLE,
    { access: 'open' },
    `
console.session GET /session | The signed-in person and the CSRF token
console.signIn POST /session | Sign in with a password
console.readLink POST /link/read | What a one-time link is for; changes nothing
console.useLink POST /link | Set a password with a one-time link, and sign in
console.oidcStart GET /oidc/start | Sign in with OpenID Connect
console.oidcCallback GET /oidc/callback | Return from the OpenID provider
`,
  ),
  ...rowsBelow(
    CONSOLE,
    { access: 'session' },
    `
console.signOut DELETE /session | Sign out; with 'everywhere=true' on every device
console.password POST /password | Change one's own password; other sessions end
`,
  ),
  ...rowsBelow(
    CONSOLE,
    { access: 'own' },
    `
console.me GET /me | Balance, limits and groups of the user
console.models GET /models | Models that a key of the user can call, with the prices of the user
console.keys GET /keys | API keys of the user
console.key GET /keys/{key} | An API key of the user
console.createKey POST /keys | Create an API key; only this response contains its value
console.changeKey PATCH /keys/{key} | Change a key that was created in the console
console.rotateKey POST /keys/{key}/rotate | Replace a key
console.revokeKey POST /keys/{key}/revoke | Revoke a key
console.captureKey POST /keys/{key}/capture | Keep the bodies of the calls of a key, encrypted, for up to 24 hours from now, or end it
console.search GET /search | Keys by a part of their id or name; requests and tasks by their id
console.request GET /requests/{request} | A request of the log
console.capture GET /requests/{request}/capture | The captured bodies of a call; every look is in the audit log
console.tasks GET /tasks | Video tasks, newest first
console.task GET /tasks/{task} | A video task
console.assets GET /assets | Private assets, newest first
console.assetGroups GET /asset-groups | Asset groups, newest first
console.authorizations GET /authorizations | Real-person authorization sessions, newest first
console.objects GET /objects | Files, batches, conversations, cached contents and containers, newest first
console.deleteObject DELETE /objects/{object} | Delete one of them; a batch that is running ends
console.warnings GET /warnings | Warnings of the user
console.createWarning POST /warnings | Create a warning about the wallet or keys of the user
console.changeWarning PATCH /warnings/{warning} | Change the threshold of a warning, or pause it
console.deleteWarning DELETE /warnings/{warning} | Delete a warning; its notices stay in the list
console.destinations GET /warning-destinations | Where notices of the user go, without URLs and secrets
console.createDestination POST /warning-destinations | Create a destination; only this response contains the secret of a webhook
console.changeDestination PATCH /warning-destinations/{destination} | Change the name, the addresses or the quiet hours of a destination
console.deleteDestination DELETE /warning-destinations/{destination} | Delete a destination with the notices that wait for it
console.notices GET /notices | Notices of the user with the state of each delivery, newest first
`,
  ),
  ...rowsBelow(
    CONSOLE,
    { access: 'own', head: true },
    `
console.taskVideo GET /tasks/{task}/content | The video of a task, whole or in part
console.taskLastFrame GET /tasks/{task}/last-frame | The last frame of a task
`,
  ),
  ...rowsBelow(
    CONSOLE,
    { access: 'own', rate: 'report' },
    `
console.usage GET /usage | Requests, tokens and charges by day, model, key and group
console.charges GET /charges | Movements of the wallet, newest first
console.requests GET /requests | The request log, newest first
`,
  ),
  ...rowsBelow(
    CONSOLE,
    { access: 'own', rate: 'send' },
    `
console.export GET /export | Everything that is stored of the user, one JSON object per line
console.testDestination POST /warning-destinations/{destination}/test | Send a test notice at once, and wait for the outcome
`,
  ),
} as const satisfies Record<string, ConsoleRow>;

export type ConsoleOperation = keyof typeof CONSOLE_ENDPOINTS;
export const CONSOLE_OPERATIONS = Object.keys(CONSOLE_ENDPOINTS) as ConsoleOperation[];
export const consoleRow = (operation: ConsoleOperation): ConsoleRow => CONSOLE_ENDPOINTS[operation];

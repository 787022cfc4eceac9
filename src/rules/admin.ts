/** The admin API: one row per operation. Routes, OpenAPI and docs/endpoints.md are derived from it; src/api/admin holds the schemas. */
import type { Method, OperatorRow } from './endpoints.ts';

const row = <M extends Method>(method: M, path: string, about: string) =>
  ({ method, path: `/admin/v1${path}`, about }) as const;

export const ADMIN_ENDPOINTS = {
  'admin.balances': row('GET', '/balances', 'Balances of all users'),
  'admin.balance': row('GET', '/users/{user}/balance', 'Balance of a user'),
  'admin.credit': row('POST', '/credits', 'Book a payment, a refund or an adjustment, once by its reference'),
  'admin.statement': row(
    'GET',
    '/users/{user}/statement',
    'Movements of a wallet with the balance after each, newest first',
  ),
  'admin.usage': row('GET', '/usage', 'Requests, tokens, revenue, cost and margin by any combination of dimensions'),
  'admin.records': row(
    'GET',
    '/records',
    'Single usage records, newest first; of the last 30 days unless `request_id` or `start` is given',
  ),
  'admin.search': row('GET', '/search', 'Objects by a part of their id or name; requests and tasks by their id'),
  'admin.requests': row(
    'GET',
    '/requests',
    'The request log: every call with a known key, and some of those without one, newest first',
  ),
  'admin.request': row(
    'GET',
    '/requests/{request}',
    'A call with its attempts, and the arithmetic of its charge and cost',
  ),
  'admin.capture': row(
    'GET',
    '/requests/{request}/capture',
    'The captured bodies of a call; every look is in the audit log',
  ),
  'admin.stats': row(
    'GET',
    '/stats',
    'Time series by hour or day: requests, errors, tokens, money and latency percentiles',
  ),
  'admin.accountStats': row(
    'GET',
    '/stats/accounts',
    'Statistics per account: calls, failed attempts by fault, latency, cache hits, cost, and the last error message of its provider',
  ),
  'admin.quarantine': row('GET', '/quarantine', 'Records with invalid usage that were not charged, newest first'),
  'admin.resolveRecord': row('POST', '/quarantine/{record}/resolve', 'Charge a record in quarantine'),
  'admin.dismissRecord': row('POST', '/quarantine/{record}/dismiss', 'Close a record in quarantine without a charge'),
  'admin.reviews': row(
    'GET',
    '/reviews',
    'Video tasks that succeeded without usage or without a price, oldest first; their amounts are held',
  ),
  'admin.settleReview': row(
    'POST',
    '/reviews/{task}/settle',
    'Charge a video task in review for the tokens that the provider billed, at the price in force',
  ),
  'admin.releaseReview': row(
    'POST',
    '/reviews/{task}/release',
    'Release the amount held for a video task in review, without a charge',
  ),
  'admin.submissions': row(
    'GET',
    '/submissions',
    "Video tasks that were sent and may be any of several tasks at the provider, oldest first, with the provider's tasks side by side",
  ),
  'admin.assignTask': row(
    'POST',
    '/submissions/{task}/assign',
    "Bind a video task to the provider's task that is its own; it is followed and charged from then on",
  ),
  'admin.dismissTask': row(
    'POST',
    '/submissions/{task}/dismiss',
    'Decide that the provider has no task for a video task: it fails, and its amount is released',
  ),
  'admin.tasks': row(
    'GET',
    '/tasks',
    'Video tasks of all users with their holds, newest first; of the last 30 days unless `start` is given',
  ),
  'admin.task': row('GET', '/tasks/{task}', 'A video task with its route and its hold'),
  'admin.assets': row('GET', '/assets', 'Private assets of all users, newest first'),
  'admin.authorizations': row(
    'GET',
    '/authorizations',
    'Real-person authorization sessions of all users, newest first; never their links',
  ),
  'admin.alarms': row('GET', '/alarms', 'Conditions that need an operator, as of the last check, with advice'),
  'admin.audit': row('GET', '/audit', 'The audit log, newest first'),
  'admin.callbacks': row(
    'GET',
    '/callbacks',
    'Callbacks of video tasks with the state of their delivery, newest first',
  ),
  'admin.callback': row('GET', '/callbacks/{event}', 'A callback with its URL, body and attempts'),
  'admin.redeliverCallback': row(
    'POST',
    '/callbacks/{event}/redeliver',
    'Deliver a delivered or dead callback again, with the same id and body, or a waiting one at once',
  ),
  'admin.testCallback': row('POST', '/callbacks/test', 'Send a signed test event to the callback URL of a task, once'),
  'admin.groups': row('GET', '/groups', 'Provider groups'),
  'admin.accounts': row(
    'GET',
    '/accounts',
    'Upstream accounts with their state on all servers, without their credentials',
  ),
  'admin.account': row(
    'GET',
    '/accounts/{account}',
    'An upstream account with its state on all servers, without its credential',
  ),
  'admin.changeAccount': row(
    'PATCH',
    '/accounts/{account}',
    'Change an account, or take it out of use; its stored credential stays unless `api_key` is given',
  ),
  'admin.parkAccount': row('POST', '/accounts/{account}/park', 'Take an account out of use; requests in flight finish'),
  'admin.drainAccount': row(
    'POST',
    '/accounts/{account}/drain',
    'Give an account no new conversations; those that only it can serve continue',
  ),
  'admin.resumeAccount': row(
    'POST',
    '/accounts/{account}/resume',
    'Take an account back into use on all servers, and end its cooldowns',
  ),
  'admin.testAccount': row(
    'POST',
    '/accounts/{account}/test',
    'Send one small request with an account, whatever its state; a success ends its cooldowns',
  ),
  'admin.models': row('GET', '/models', 'Models with the prices and costs in force'),
  'admin.prices': row('GET', '/prices', 'Prices and costs with their history, newest first'),
  'admin.importPrices': row(
    'POST',
    '/prices/import',
    'Import prices and costs of models from the public list, as previewed with `dry_run=true`',
  ),
  'admin.quote': row(
    'GET',
    '/quote',
    'What a call would be charged and would cost at current prices; for videos the maximum',
  ),
  'admin.explain': row(
    'POST',
    '/explain',
    'The plan of a call that is not sent: ways, accounts with their state, price, maximum cost, and the error of the caller',
  ),
  'admin.characters': row('GET', '/characters', 'Public characters'),
  'admin.createCharacter': row('POST', '/characters', 'Create a public character; callers see it once it is published'),
  'admin.changeCharacter': row('PATCH', '/characters/{character}', 'Change a public character'),
  'admin.publishCharacter': row('POST', '/characters/{character}/publish', 'Show a character to callers'),
  'admin.unpublishCharacter': row('POST', '/characters/{character}/unpublish', 'Hide a character from callers'),
  'admin.uploadPreview': row(
    'PUT',
    '/characters/{character}/preview',
    'Upload the picture of a character, which then replaces its `preview_url`',
  ),
  'admin.deletePreview': row('DELETE', '/characters/{character}/preview', 'Delete the uploaded picture of a character'),
  'admin.deleteCharacter': row('DELETE', '/characters/{character}', 'Delete a public character'),
  'admin.users': row('GET', '/users', 'Users'),
  'admin.createUser': row('POST', '/users', 'Create a user'),
  'admin.changeUser': row('PATCH', '/users/{user}', 'Change a user'),
  'admin.people': row('GET', '/people', 'People who sign in to the console'),
  'admin.invitePerson': row('POST', '/people', 'Invite a person; only this response contains the one-time link'),
  'admin.changePerson': row('PATCH', '/people/{person}', 'Change the name, role or user of a person, or disable them'),
  'admin.resetPerson': row('POST', '/people/{person}/reset', 'Create a new one-time link, which sets a new password'),
  'admin.signOutPerson': row('POST', '/people/{person}/sign-out', 'End all sessions of a person'),
  'admin.keys': row('GET', '/keys', 'API keys, without their values'),
  'admin.key': row('GET', '/keys/{key}', 'An API key, without its value'),
  'admin.createKey': row('POST', '/keys', 'Create an API key; only this response contains its value'),
  'admin.changeKey': row('PATCH', '/keys/{key}', 'Change the limits, expiry and permissions of a key'),
  'admin.revokeKey': row('POST', '/keys/{key}/revoke', 'Revoke a key'),
  'admin.captureKey': row(
    'POST',
    '/keys/{key}/capture',
    'Keep the bodies of the calls of a key, encrypted, for up to 24 hours from now, or end it',
  ),
  'admin.rotateKey': row('POST', '/keys/{key}/rotate', 'Replace a key; the old one works until the overlap ends'),
  'admin.warnings': row('GET', '/warnings', 'Warnings of the operators: rules with a threshold'),
  'admin.createWarning': row('POST', '/warnings', 'Create a warning; each crossing of its threshold is one notice'),
  'admin.changeWarning': row('PATCH', '/warnings/{warning}', 'Change the threshold of a warning, or pause it'),
  'admin.deleteWarning': row('DELETE', '/warnings/{warning}', 'Delete a warning; its notices stay in the list'),
  'admin.destinations': row(
    'GET',
    '/warning-destinations',
    'Where notices of the operators go, without URLs and secrets',
  ),
  'admin.createDestination': row(
    'POST',
    '/warning-destinations',
    'Create a destination; only this response contains the secret of a webhook',
  ),
  'admin.changeDestination': row(
    'PATCH',
    '/warning-destinations/{destination}',
    'Change the name, the addresses or the quiet hours of a destination',
  ),
  'admin.deleteDestination': row(
    'DELETE',
    '/warning-destinations/{destination}',
    'Delete a destination with the notices that wait for it',
  ),
  'admin.testDestination': row(
    'POST',
    '/warning-destinations/{destination}/test',
    'Send a test notice at once, also in quiet hours, and wait for the outcome',
  ),
  'admin.notices': row('GET', '/notices', 'Notices of the operators with the state of each delivery, newest first'),
  'admin.settings': row(
    'GET',
    '/settings',
    'The settings of this server and where each value comes from; secrets are not shown',
  ),
  'admin.applyConfig': row('PUT', '/config', 'Apply a configuration, in the format of `dragoman apply`'),
} as const satisfies Record<string, OperatorRow>;

export type AdminOperation = keyof typeof ADMIN_ENDPOINTS;
export const ADMIN_OPERATIONS = Object.keys(ADMIN_ENDPOINTS) as AdminOperation[];
export const adminRow = (operation: AdminOperation): OperatorRow => ADMIN_ENDPOINTS[operation];

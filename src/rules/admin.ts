/** The admin API: one row per operation. Routes, OpenAPI and docs/endpoints.md are derived from it; src/api/admin holds the schemas. */
import { type OperatorRow, rowsAt } from './endpoints.ts';

const admin = rowsAt('/admin/v1', {});

/** JSON of the values that the changed members had when the caller read them: another value now is a conflict. */
export const UNCHANGED_HEADER = 'x-if-unchanged';

export const ADMIN_ENDPOINTS = {
  'admin.balances': admin.get('/balances', 'Balances of all users'),
  'admin.balance': admin.get('/users/{user}/balance', 'Balance of a user'),
  'admin.credit': admin.post('/credits', 'Book a payment, a refund or an adjustment, once by its reference'),
  'admin.statement': admin.get(
    '/users/{user}/statement',
    'Movements of a wallet with the balance after each, newest first',
  ),
  'admin.usage': admin.get('/usage', 'Requests, tokens, revenue, cost and margin by any combination of dimensions'),
  'admin.records': admin.get(
    '/records',
    'Single usage records, newest first; of the last 30 days unless `request_id` or `start` is given',
  ),
  'admin.search': admin.get('/search', 'Objects by a part of their id or name; requests and tasks by their id'),
  'admin.requests': admin.get(
    '/requests',
    'The request log: every call with a known key, and some of those without one, newest first',
  ),
  'admin.request': admin.get(
    '/requests/{request}',
    'A call with its attempts, and the arithmetic of its charge and cost',
  ),
  'admin.capture': admin.get(
    '/requests/{request}/capture',
    'The captured bodies of a call; every look is in the audit log',
  ),
  'admin.stats': admin.get(
    '/stats',
    'Time series by hour or day: requests, errors, tokens, money and latency percentiles',
  ),
  'admin.accountStats': admin.get(
    '/stats/accounts',
    'Statistics per account: calls, failed attempts by fault, latency, cache hits, cost, and the last error message of its provider',
  ),
  'admin.quarantine': admin.get('/quarantine', 'Records with invalid usage that were not charged, newest first'),
  'admin.resolveRecord': admin.post('/quarantine/{record}/resolve', 'Charge a record in quarantine'),
  'admin.dismissRecord': admin.post('/quarantine/{record}/dismiss', 'Close a record in quarantine without a charge'),
  'admin.reviews': admin.get(
    '/reviews',
    'Video tasks that succeeded without usage or without a price, oldest first; their amounts are held',
  ),
  'admin.settleReview': admin.post(
    '/reviews/{task}/settle',
    'Charge a video task in review for the tokens that the provider billed, at the price in force',
  ),
  'admin.releaseReview': admin.post(
    '/reviews/{task}/release',
    'Release the amount held for a video task in review, without a charge',
  ),
  'admin.submissions': admin.get(
    '/submissions',
    "Video tasks that were sent and may be any of several tasks at the provider, oldest first, with the provider's tasks side by side",
  ),
  'admin.assignTask': admin.post(
    '/submissions/{task}/assign',
    "Bind a video task to the provider's task that is its own; it is followed and charged from then on",
  ),
  'admin.dismissTask': admin.post(
    '/submissions/{task}/dismiss',
    'Decide that the provider has no task for a video task: it fails, and its amount is released',
  ),
  'admin.tasks': admin.get(
    '/tasks',
    'Video tasks of all users with their holds, newest first; of the last 30 days unless `start` is given',
  ),
  'admin.task': admin.get('/tasks/{task}', 'A video task with its route and its hold'),
  'admin.assets': admin.get('/assets', 'Private assets of all users, newest first'),
  'admin.authorizations': admin.get(
    '/authorizations',
    'Real-person authorization sessions of all users, newest first; never their links',
  ),
  'admin.alarms': admin.get('/alarms', 'Conditions that need an operator, as of the last check, with advice'),
  'admin.audit': admin.get('/audit', 'The audit log, newest first'),
  'admin.callbacks': admin.get('/callbacks', 'Callbacks of video tasks with the state of their delivery, newest first'),
  'admin.callback': admin.get('/callbacks/{event}', 'A callback with its URL, body and attempts'),
  'admin.redeliverCallback': admin.post(
    '/callbacks/{event}/redeliver',
    'Deliver a delivered or dead callback again, with the same id and body, or a waiting one at once',
  ),
  'admin.testCallback': admin.post('/callbacks/test', 'Send a signed test event to the callback URL of a task, once'),
  'admin.groups': admin.get('/groups', 'Provider groups'),
  'admin.accounts': admin.get(
    '/accounts',
    'Upstream accounts with their state on all servers, without their credentials',
  ),
  'admin.account': admin.get(
    '/accounts/{account}',
    'An upstream account with its state on all servers, without its credential',
  ),
  'admin.changeAccount': admin.patch(
    '/accounts/{account}',
    'Change an account, or take it out of use; its stored credential stays unless `api_key` is given',
  ),
  'admin.parkAccount': admin.post('/accounts/{account}/park', 'Take an account out of use; requests in flight finish'),
  'admin.drainAccount': admin.post(
    '/accounts/{account}/drain',
    'Give an account no new conversations; those that only it can serve continue',
  ),
  'admin.resumeAccount': admin.post(
    '/accounts/{account}/resume',
    'Take an account back into use on all servers, and end its cooldowns',
  ),
  'admin.testAccount': admin.post(
    '/accounts/{account}/test',
    'Send one small request with an account, whatever its state; a success ends its cooldowns',
  ),
  'admin.models': admin.get('/models', 'Models with the prices and costs in force'),
  'admin.prices': admin.get('/prices', 'Prices and costs with their history, newest first'),
  'admin.importPrices': admin.post(
    '/prices/import',
    'Import prices and costs of models from the public list, as previewed with `dry_run=true`',
  ),
  'admin.quote': admin.get(
    '/quote',
    'What a call would be charged and would cost at current prices; for videos the maximum',
  ),
  'admin.explain': admin.post(
    '/explain',
    'The plan of a call that is not sent: ways, accounts with their state, price, maximum cost, and the error of the caller',
  ),
  'admin.characters': admin.get('/characters', 'Public characters'),
  'admin.createCharacter': admin.post('/characters', 'Create a public character; callers see it once it is published'),
  'admin.changeCharacter': admin.patch('/characters/{character}', 'Change a public character'),
  'admin.publishCharacter': admin.post('/characters/{character}/publish', 'Show a character to callers'),
  'admin.unpublishCharacter': admin.post('/characters/{character}/unpublish', 'Hide a character from callers'),
  'admin.uploadPreview': admin.put(
    '/characters/{character}/preview',
    'Upload the picture of a character, which then replaces its `preview_url`',
  ),
  'admin.deletePreview': admin.delete('/characters/{character}/preview', 'Delete the uploaded picture of a character'),
  'admin.deleteCharacter': admin.delete('/characters/{character}', 'Delete a public character'),
  'admin.users': admin.get('/users', 'Users'),
  'admin.createUser': admin.post('/users', 'Create a user'),
  'admin.changeUser': admin.patch('/users/{user}', 'Change a user'),
  'admin.people': admin.get('/people', 'People who sign in to the console'),
  'admin.invitePerson': admin.post('/people', 'Invite a person; only this response contains the one-time link'),
  'admin.changePerson': admin.patch('/people/{person}', 'Change the name, role or user of a person, or disable them'),
  'admin.resetPerson': admin.post('/people/{person}/reset', 'Create a new one-time link, which sets a new password'),
  'admin.signOutPerson': admin.post('/people/{person}/sign-out', 'End all sessions of a person'),
  'admin.keys': admin.get('/keys', 'API keys, without their values'),
  'admin.key': admin.get('/keys/{key}', 'An API key, without its value'),
  'admin.createKey': admin.post('/keys', 'Create an API key; only this response contains its value'),
  'admin.changeKey': admin.patch('/keys/{key}', 'Change the limits, expiry and permissions of a key'),
  'admin.revokeKey': admin.post('/keys/{key}/revoke', 'Revoke a key'),
  'admin.captureKey': admin.post(
    '/keys/{key}/capture',
    'Keep the bodies of the calls of a key, encrypted, for up to 24 hours from now, or end it',
  ),
  'admin.rotateKey': admin.post('/keys/{key}/rotate', 'Replace a key; the old one works until the overlap ends'),
  'admin.warnings': admin.get('/warnings', 'Warnings of the operators: rules with a threshold'),
  'admin.createWarning': admin.post('/warnings', 'Create a warning; each crossing of its threshold is one notice'),
  'admin.changeWarning': admin.patch('/warnings/{warning}', 'Change the threshold of a warning, or pause it'),
  'admin.deleteWarning': admin.delete('/warnings/{warning}', 'Delete a warning; its notices stay in the list'),
  'admin.destinations': admin.get(
    '/warning-destinations',
    'Where notices of the operators go, without URLs and secrets',
  ),
  'admin.createDestination': admin.post(
    '/warning-destinations',
    'Create a destination; only this response contains the secret of a webhook',
  ),
  'admin.changeDestination': admin.patch(
    '/warning-destinations/{destination}',
    'Change the name, the addresses or the quiet hours of a destination',
  ),
  'admin.deleteDestination': admin.delete(
    '/warning-destinations/{destination}',
    'Delete a destination with the notices that wait for it',
  ),
  'admin.testDestination': admin.post(
    '/warning-destinations/{destination}/test',
    'Send a test notice at once, also in quiet hours, and wait for the outcome',
  ),
  'admin.notices': admin.get('/notices', 'Notices of the operators with the state of each delivery, newest first'),
  'admin.settings': admin.get(
    '/settings',
    'The settings of this server and where each value comes from; secrets are not shown',
  ),
  'admin.applyConfig': admin.put('/config', 'Apply a configuration, in the format of `dragoman apply`'),
} as const satisfies Record<string, OperatorRow>;

export type AdminOperation = keyof typeof ADMIN_ENDPOINTS;
export const ADMIN_OPERATIONS = Object.keys(ADMIN_ENDPOINTS) as AdminOperation[];
export const adminRow = (operation: AdminOperation): OperatorRow => ADMIN_ENDPOINTS[operation];

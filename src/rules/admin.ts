/**
 * The admin API: one row per operation. Routes, OpenAPI and docs/endpoints.md are derived from it; src/api/admin holds
 * the schemas.
 */
import type { OperatorRow } from './endpoints.ts';

/** JSON of the values that the changed members had when the caller read them: another value now is a conflict. */
export const UNCHANGED_HEADER = 'x-if-unchanged';

const ADMIN = '/admin/v1';

export const ADMIN_ENDPOINTS = {
  'admin.balances': { method: 'GET', path: `${ADMIN}/balances`, about: 'Balances of all users' },
  'admin.balance': { method: 'GET', path: `${ADMIN}/users/{user}/balance`, about: 'Balance of a user' },
  'admin.credit': {
    method: 'POST',
    path: `${ADMIN}/credits`,
    about: 'Book a payment, a refund or an adjustment, once by its reference',
  },
  'admin.statement': {
    method: 'GET',
    path: `${ADMIN}/users/{user}/statement`,
    about: 'Movements of a wallet with the balance after each, newest first',
  },
  'admin.usage': {
    method: 'GET',
    path: `${ADMIN}/usage`,
    about: 'Requests, tokens, revenue, cost and margin by any combination of dimensions',
  },
  'admin.records': {
    method: 'GET',
    path: `${ADMIN}/records`,
    about: 'Single usage records, newest first; of the last 30 days unless `request_id` or `start` is given',
  },
  'admin.search': {
    method: 'GET',
    path: `${ADMIN}/search`,
    about: 'Objects by a part of their id or name; requests and tasks by their id',
  },
  'admin.requests': {
    method: 'GET',
    path: `${ADMIN}/requests`,
    about: 'The request log: every call with a known key, and some of those without one, newest first',
  },
  'admin.request': {
    method: 'GET',
    path: `${ADMIN}/requests/{request}`,
    about: 'A call with its attempts, and the arithmetic of its charge and cost',
  },
  'admin.capture': {
    method: 'GET',
    path: `${ADMIN}/requests/{request}/capture`,
    about: 'The captured bodies of a call; every look is in the audit log',
  },
  'admin.stats': {
    method: 'GET',
    path: `${ADMIN}/stats`,
    about: 'Time series by hour or day: requests, errors, tokens, money and latency percentiles',
  },
  'admin.accountStats': {
    method: 'GET',
    path: `${ADMIN}/stats/accounts`,
    about:
      'Statistics per account: calls, failed attempts by fault, latency, cache hits, cost, and the last error message of its provider',
  },
  'admin.quarantine': {
    method: 'GET',
    path: `${ADMIN}/quarantine`,
    about: 'Records with invalid usage that were not charged, newest first',
  },
  'admin.resolveRecord': {
    method: 'POST',
    path: `${ADMIN}/quarantine/{record}/resolve`,
    about: 'Charge a record in quarantine',
  },
  'admin.dismissRecord': {
    method: 'POST',
    path: `${ADMIN}/quarantine/{record}/dismiss`,
    about: 'Close a record in quarantine without a charge',
  },
  'admin.reviews': {
    method: 'GET',
    path: `${ADMIN}/reviews`,
    about: 'Video tasks that succeeded without usage or without a price, oldest first; their amounts are held',
  },
  'admin.settleReview': {
    method: 'POST',
    path: `${ADMIN}/reviews/{task}/settle`,
    about: 'Charge a video task in review for the tokens that the provider billed, at the price in force',
  },
  'admin.releaseReview': {
    method: 'POST',
    path: `${ADMIN}/reviews/{task}/release`,
    about: 'Release the amount held for a video task in review, without a charge',
  },
  'admin.submissions': {
    method: 'GET',
    path: `${ADMIN}/submissions`,
    about:
      "Video tasks that were sent and may be any of several tasks at the provider, oldest first, with the provider's tasks side by side",
  },
  'admin.assignTask': {
    method: 'POST',
    path: `${ADMIN}/submissions/{task}/assign`,
    about: "Bind a video task to the provider's task that is its own; it is followed and charged from then on",
  },
  'admin.dismissTask': {
    method: 'POST',
    path: `${ADMIN}/submissions/{task}/dismiss`,
    about: 'Decide that the provider has no task for a video task: it fails, and its amount is released',
  },
  'admin.tasks': {
    method: 'GET',
    path: `${ADMIN}/tasks`,
    about: 'Video tasks of all users with their holds, newest first; of the last 30 days unless `start` is given',
  },
  'admin.task': { method: 'GET', path: `${ADMIN}/tasks/{task}`, about: 'A video task with its route and its hold' },
  'admin.assets': { method: 'GET', path: `${ADMIN}/assets`, about: 'Private assets of all users, newest first' },
  'admin.authorizations': {
    method: 'GET',
    path: `${ADMIN}/authorizations`,
    about: 'Real-person authorization sessions of all users, newest first; never their links',
  },
  'admin.objects': {
    method: 'GET',
    path: `${ADMIN}/objects`,
    about: 'Files, batches, conversations, cached contents and containers of all users, newest first',
  },
  'admin.deleteObject': {
    method: 'DELETE',
    path: `${ADMIN}/users/{user}/objects/{object}`,
    about: 'Delete an object of a user; a batch that is running ends',
  },
  'admin.alarms': {
    method: 'GET',
    path: `${ADMIN}/alarms`,
    about: 'Conditions that need an operator, as of the last check, with advice',
  },
  'admin.audit': { method: 'GET', path: `${ADMIN}/audit`, about: 'The audit log, newest first' },
  'admin.callbacks': {
    method: 'GET',
    path: `${ADMIN}/callbacks`,
    about: 'Callbacks of video tasks with the state of their delivery, newest first',
  },
  'admin.callback': {
    method: 'GET',
    path: `${ADMIN}/callbacks/{event}`,
    about: 'A callback with its URL, body and attempts',
  },
  'admin.redeliverCallback': {
    method: 'POST',
    path: `${ADMIN}/callbacks/{event}/redeliver`,
    about: 'Deliver a delivered or dead callback again, with the same id and body, or a waiting one at once',
  },
  'admin.testCallback': {
    method: 'POST',
    path: `${ADMIN}/callbacks/test`,
    about: 'Send a signed test event to the callback URL of a task, once',
  },
  'admin.groups': { method: 'GET', path: `${ADMIN}/groups`, about: 'Provider groups' },
  'admin.accounts': {
    method: 'GET',
    path: `${ADMIN}/accounts`,
    about: 'Upstream accounts with their state on all servers, without their credentials',
  },
  'admin.account': {
    method: 'GET',
    path: `${ADMIN}/accounts/{account}`,
    about: 'An upstream account with its state on all servers, without its credential',
  },
  'admin.changeAccount': {
    method: 'PATCH',
    path: `${ADMIN}/accounts/{account}`,
    about: 'Change an account, or take it out of use; its stored credential stays unless `api_key` is given',
  },
  'admin.parkAccount': {
    method: 'POST',
    path: `${ADMIN}/accounts/{account}/park`,
    about: 'Take an account out of use; requests in flight finish',
  },
  'admin.drainAccount': {
    method: 'POST',
    path: `${ADMIN}/accounts/{account}/drain`,
    about: 'Give an account no new conversations; those that only it can serve continue',
  },
  'admin.resumeAccount': {
    method: 'POST',
    path: `${ADMIN}/accounts/{account}/resume`,
    about: 'Take an account back into use on all servers, and end its cooldowns',
  },
  'admin.testAccount': {
    method: 'POST',
    path: `${ADMIN}/accounts/{account}/test`,
    about: 'Send one small request with an account, whatever its state; a success ends its cooldowns',
  },
  'admin.models': { method: 'GET', path: `${ADMIN}/models`, about: 'Models with the prices and costs in force' },
  'admin.prices': {
    method: 'GET',
    path: `${ADMIN}/prices`,
    about: 'Prices and costs with their history, newest first',
  },
  'admin.importPrices': {
    method: 'POST',
    path: `${ADMIN}/prices/import`,
    about: 'Import prices and costs of models from the public list, as previewed with `dry_run=true`',
  },
  'admin.quote': {
    method: 'GET',
    path: `${ADMIN}/quote`,
    about: 'What a call would be charged and would cost at current prices; for videos the maximum',
  },
  'admin.explain': {
    method: 'POST',
    path: `${ADMIN}/explain`,
    about:
      'The plan of a call that is not sent: ways, accounts with their state, price, maximum cost, and the error of the caller',
  },
  'admin.characters': { method: 'GET', path: `${ADMIN}/characters`, about: 'Public characters' },
  'admin.createCharacter': {
    method: 'POST',
    path: `${ADMIN}/characters`,
    about: 'Create a public character; callers see it once it is published',
  },
  'admin.changeCharacter': {
    method: 'PATCH',
    path: `${ADMIN}/characters/{character}`,
    about: 'Change a public character',
  },
  'admin.publishCharacter': {
    method: 'POST',
    path: `${ADMIN}/characters/{character}/publish`,
    about: 'Show a character to callers',
  },
  'admin.unpublishCharacter': {
    method: 'POST',
    path: `${ADMIN}/characters/{character}/unpublish`,
    about: 'Hide a character from callers',
  },
  'admin.uploadPreview': {
    method: 'PUT',
    path: `${ADMIN}/characters/{character}/preview`,
    about: 'Upload the picture of a character, which then replaces its `preview_url`',
  },
  'admin.deletePreview': {
    method: 'DELETE',
    path: `${ADMIN}/characters/{character}/preview`,
    about: 'Delete the uploaded picture of a character',
  },
  'admin.deleteCharacter': {
    method: 'DELETE',
    path: `${ADMIN}/characters/{character}`,
    about: 'Delete a public character',
  },
  'admin.users': { method: 'GET', path: `${ADMIN}/users`, about: 'Users' },
  'admin.createUser': { method: 'POST', path: `${ADMIN}/users`, about: 'Create a user' },
  'admin.changeUser': { method: 'PATCH', path: `${ADMIN}/users/{user}`, about: 'Change a user' },
  'admin.eraseUser': {
    method: 'POST',
    path: `${ADMIN}/users/{user}/erase`,
    about: 'Count what the erasure of a user removes, or begin it; again: how far it is',
  },
  'admin.exportUser': {
    method: 'GET',
    path: `${ADMIN}/users/{user}/export`,
    about: 'Everything that is stored of a user, one JSON object per line',
  },
  'admin.people': { method: 'GET', path: `${ADMIN}/people`, about: 'People who sign in to the console' },
  'admin.invitePerson': {
    method: 'POST',
    path: `${ADMIN}/people`,
    about: 'Invite a person; only this response contains the one-time link',
  },
  'admin.changePerson': {
    method: 'PATCH',
    path: `${ADMIN}/people/{person}`,
    about: 'Change the name, role or user of a person, or disable them',
  },
  'admin.resetPerson': {
    method: 'POST',
    path: `${ADMIN}/people/{person}/reset`,
    about: 'Create a new one-time link, which sets a new password',
  },
  'admin.signOutPerson': {
    method: 'POST',
    path: `${ADMIN}/people/{person}/sign-out`,
    about: 'End all sessions of a person',
  },
  'admin.keys': { method: 'GET', path: `${ADMIN}/keys`, about: 'API keys, without their values' },
  'admin.key': { method: 'GET', path: `${ADMIN}/keys/{key}`, about: 'An API key, without its value' },
  'admin.createKey': {
    method: 'POST',
    path: `${ADMIN}/keys`,
    about: 'Create an API key; only this response contains its value',
  },
  'admin.changeKey': {
    method: 'PATCH',
    path: `${ADMIN}/keys/{key}`,
    about: 'Change the limits, expiry and permissions of a key',
  },
  'admin.revokeKey': { method: 'POST', path: `${ADMIN}/keys/{key}/revoke`, about: 'Revoke a key' },
  'admin.captureKey': {
    method: 'POST',
    path: `${ADMIN}/keys/{key}/capture`,
    about: 'Keep the bodies of the calls of a key, encrypted, for up to 24 hours from now, or end it',
  },
  'admin.rotateKey': {
    method: 'POST',
    path: `${ADMIN}/keys/{key}/rotate`,
    about: 'Replace a key; the old one works until the overlap ends',
  },
  'admin.warnings': {
    method: 'GET',
    path: `${ADMIN}/warnings`,
    about: 'Warnings of the operators: rules with a threshold',
  },
  'admin.createWarning': {
    method: 'POST',
    path: `${ADMIN}/warnings`,
    about: 'Create a warning; each crossing of its threshold is one notice',
  },
  'admin.changeWarning': {
    method: 'PATCH',
    path: `${ADMIN}/warnings/{warning}`,
    about: 'Change the threshold of a warning, or pause it',
  },
  'admin.deleteWarning': {
    method: 'DELETE',
    path: `${ADMIN}/warnings/{warning}`,
    about: 'Delete a warning; its notices stay in the list',
  },
  'admin.destinations': {
    method: 'GET',
    path: `${ADMIN}/warning-destinations`,
    about: 'Where notices of the operators go, without URLs and secrets',
  },
  'admin.createDestination': {
    method: 'POST',
    path: `${ADMIN}/warning-destinations`,
    about: 'Create a destination; only this response contains the secret of a webhook',
  },
  'admin.changeDestination': {
    method: 'PATCH',
    path: `${ADMIN}/warning-destinations/{destination}`,
    about: 'Change the name, the addresses or the quiet hours of a destination',
  },
  'admin.deleteDestination': {
    method: 'DELETE',
    path: `${ADMIN}/warning-destinations/{destination}`,
    about: 'Delete a destination with the notices that wait for it',
  },
  'admin.testDestination': {
    method: 'POST',
    path: `${ADMIN}/warning-destinations/{destination}/test`,
    about: 'Send a test notice at once, also in quiet hours, and wait for the outcome',
  },
  'admin.notices': {
    method: 'GET',
    path: `${ADMIN}/notices`,
    about: 'Notices of the operators with the state of each delivery, newest first',
  },
  'admin.settings': {
    method: 'GET',
    path: `${ADMIN}/settings`,
    about: 'The settings of this server and where each value comes from; secrets are not shown',
  },
  'admin.applyConfig': {
    method: 'PUT',
    path: `${ADMIN}/config`,
    about: 'Apply a configuration, in the format of `dragoman apply`',
  },
} as const satisfies Record<string, OperatorRow>;

export type AdminOperation = keyof typeof ADMIN_ENDPOINTS;
export const ADMIN_OPERATIONS = Object.keys(ADMIN_ENDPOINTS) as AdminOperation[];
export const adminRow = (operation: AdminOperation): OperatorRow => ADMIN_ENDPOINTS[operation];

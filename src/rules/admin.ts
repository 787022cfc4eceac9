/** The admin API: one row per operation. Routes, OpenAPI and docs/endpoints.md are derived from it; src/admin holds the schemas. */
import type { Deprecation } from './deprecation.ts';
import type { Method } from './endpoints.ts';

export interface AdminRow {
  readonly method: Method;
  readonly path: string;
  readonly about: string;
  readonly deprecated?: Deprecation;
}

const BASE = '/admin/v1';

export const ADMIN_ENDPOINTS = {
  'admin.balances': { method: 'GET', path: `${BASE}/balances`, about: 'Balances of all users' },
  'admin.balance': { method: 'GET', path: `${BASE}/users/{user}/balance`, about: 'Balance of a user' },
  'admin.credit': {
    method: 'POST',
    path: `${BASE}/credits`,
    about: 'Book a payment, a refund or an adjustment, once by its reference',
  },
  'admin.statement': {
    method: 'GET',
    path: `${BASE}/users/{user}/statement`,
    about: 'Movements of a wallet with the balance after each, newest first',
  },
  'admin.usage': {
    method: 'GET',
    path: `${BASE}/usage`,
    about: 'Requests, tokens, revenue, cost and margin by any combination of dimensions',
  },
  'admin.records': {
    method: 'GET',
    path: `${BASE}/records`,
    about: 'Single usage records, newest first; of the last 30 days unless `request_id` or `start` is given',
  },
  'admin.search': {
    method: 'GET',
    path: `${BASE}/search`,
    about: 'Objects by a part of their id or name; requests and tasks by their id',
  },
  'admin.requests': {
    method: 'GET',
    path: `${BASE}/requests`,
    about: 'The request log: every call with a known key, and some of those without one, newest first',
  },
  'admin.request': {
    method: 'GET',
    path: `${BASE}/requests/{request}`,
    about: 'A call with its attempts, and the arithmetic of its charge and cost',
  },
  'admin.capture': {
    method: 'GET',
    path: `${BASE}/requests/{request}/capture`,
    about: 'The captured bodies of a call; every look is in the audit log',
  },
  'admin.stats': {
    method: 'GET',
    path: `${BASE}/stats`,
    about: 'Time series by hour or day: requests, errors, tokens, money and latency percentiles',
  },
  'admin.accountStats': {
    method: 'GET',
    path: `${BASE}/stats/accounts`,
    about:
      'Statistics per account: calls, failed attempts by fault, latency, cache hits, cost, and the last error message of its provider',
  },
  'admin.quarantine': {
    method: 'GET',
    path: `${BASE}/quarantine`,
    about: 'Records with invalid usage that were not charged, newest first',
  },
  'admin.resolveRecord': {
    method: 'POST',
    path: `${BASE}/quarantine/{record}/resolve`,
    about: 'Charge a record in quarantine',
  },
  'admin.dismissRecord': {
    method: 'POST',
    path: `${BASE}/quarantine/{record}/dismiss`,
    about: 'Close a record in quarantine without a charge',
  },
  'admin.reviews': {
    method: 'GET',
    path: `${BASE}/reviews`,
    about: 'Video tasks that succeeded without usage or without a price, oldest first; their amounts are held',
  },
  'admin.settleReview': {
    method: 'POST',
    path: `${BASE}/reviews/{task}/settle`,
    about: 'Charge a video task in review for the tokens that the provider billed, at the price in force',
  },
  'admin.releaseReview': {
    method: 'POST',
    path: `${BASE}/reviews/{task}/release`,
    about: 'Release the amount held for a video task in review, without a charge',
  },
  'admin.submissions': {
    method: 'GET',
    path: `${BASE}/submissions`,
    about:
      "Video tasks that were sent and may be any of several tasks at the provider, oldest first, with the provider's tasks side by side",
  },
  'admin.assignTask': {
    method: 'POST',
    path: `${BASE}/submissions/{task}/assign`,
    about: "Bind a video task to the provider's task that is its own; it is followed and charged from then on",
  },
  'admin.dismissTask': {
    method: 'POST',
    path: `${BASE}/submissions/{task}/dismiss`,
    about: 'Decide that the provider has no task for a video task: it fails, and its amount is released',
  },
  'admin.tasks': {
    method: 'GET',
    path: `${BASE}/tasks`,
    about: 'Video tasks of all users with their holds, newest first; of the last 30 days unless `start` is given',
  },
  'admin.task': { method: 'GET', path: `${BASE}/tasks/{task}`, about: 'A video task with its route and its hold' },
  'admin.assets': { method: 'GET', path: `${BASE}/assets`, about: 'Private assets of all users, newest first' },
  'admin.authorizations': {
    method: 'GET',
    path: `${BASE}/authorizations`,
    about: 'Real-person authorization sessions of all users, newest first; never their links',
  },
  'admin.alarms': {
    method: 'GET',
    path: `${BASE}/alarms`,
    about: 'Conditions that need an operator, as of the last check, with advice',
  },
  'admin.audit': { method: 'GET', path: `${BASE}/audit`, about: 'The audit log, newest first' },
  'admin.callbacks': {
    method: 'GET',
    path: `${BASE}/callbacks`,
    about: 'Callbacks of video tasks with the state of their delivery, newest first',
  },
  'admin.callback': {
    method: 'GET',
    path: `${BASE}/callbacks/{event}`,
    about: 'A callback with its URL, body and attempts',
  },
  'admin.redeliverCallback': {
    method: 'POST',
    path: `${BASE}/callbacks/{event}/redeliver`,
    about: 'Deliver a delivered or dead callback again, with the same id and body, or a waiting one at once',
  },
  'admin.testCallback': {
    method: 'POST',
    path: `${BASE}/callbacks/test`,
    about: 'Send a signed test event to the callback URL of a task, once',
  },
  'admin.groups': { method: 'GET', path: `${BASE}/groups`, about: 'Provider groups' },
  'admin.accounts': {
    method: 'GET',
    path: `${BASE}/accounts`,
    about: 'Upstream accounts with their state on all servers, without their credentials',
  },
  'admin.account': {
    method: 'GET',
    path: `${BASE}/accounts/{account}`,
    about: 'An upstream account with its state on all servers, without its credential',
  },
  'admin.changeAccount': {
    method: 'PATCH',
    path: `${BASE}/accounts/{account}`,
    about: 'Change an account, or take it out of use; its stored credential stays unless `api_key` is given',
  },
  'admin.parkAccount': {
    method: 'POST',
    path: `${BASE}/accounts/{account}/park`,
    about: 'Take an account out of use; requests in flight finish',
  },
  'admin.drainAccount': {
    method: 'POST',
    path: `${BASE}/accounts/{account}/drain`,
    about: 'Give an account no new conversations; those that only it can serve continue',
  },
  'admin.resumeAccount': {
    method: 'POST',
    path: `${BASE}/accounts/{account}/resume`,
    about: 'Take an account back into use on all servers, and end its cooldowns',
  },
  'admin.testAccount': {
    method: 'POST',
    path: `${BASE}/accounts/{account}/test`,
    about: 'Send one small request with an account, whatever its state; a success ends its cooldowns',
  },
  'admin.models': { method: 'GET', path: `${BASE}/models`, about: 'Models with the prices and costs in force' },
  'admin.prices': { method: 'GET', path: `${BASE}/prices`, about: 'Prices and costs with their history, newest first' },
  'admin.importPrices': {
    method: 'POST',
    path: `${BASE}/prices/import`,
    about: 'Import prices and costs of models from the public list, as previewed with `dry_run=true`',
  },
  'admin.quote': {
    method: 'GET',
    path: `${BASE}/quote`,
    about: 'What a call would be charged and would cost at current prices; for videos the maximum',
  },
  'admin.characters': { method: 'GET', path: `${BASE}/characters`, about: 'Public characters' },
  'admin.createCharacter': {
    method: 'POST',
    path: `${BASE}/characters`,
    about: 'Create a public character; callers see it once it is published',
  },
  'admin.changeCharacter': {
    method: 'PATCH',
    path: `${BASE}/characters/{character}`,
    about: 'Change a public character',
  },
  'admin.publishCharacter': {
    method: 'POST',
    path: `${BASE}/characters/{character}/publish`,
    about: 'Show a character to callers',
  },
  'admin.unpublishCharacter': {
    method: 'POST',
    path: `${BASE}/characters/{character}/unpublish`,
    about: 'Hide a character from callers',
  },
  'admin.uploadPreview': {
    method: 'PUT',
    path: `${BASE}/characters/{character}/preview`,
    about: 'Upload the picture of a character, which then replaces its `preview_url`',
  },
  'admin.deletePreview': {
    method: 'DELETE',
    path: `${BASE}/characters/{character}/preview`,
    about: 'Delete the uploaded picture of a character',
  },
  'admin.deleteCharacter': {
    method: 'DELETE',
    path: `${BASE}/characters/{character}`,
    about: 'Delete a public character',
  },
  'admin.users': { method: 'GET', path: `${BASE}/users`, about: 'Users' },
  'admin.createUser': { method: 'POST', path: `${BASE}/users`, about: 'Create a user' },
  'admin.changeUser': { method: 'PATCH', path: `${BASE}/users/{user}`, about: 'Change a user' },
  'admin.people': { method: 'GET', path: `${BASE}/people`, about: 'People who sign in to the console' },
  'admin.invitePerson': {
    method: 'POST',
    path: `${BASE}/people`,
    about: 'Invite a person; only this response contains the one-time link',
  },
  'admin.changePerson': {
    method: 'PATCH',
    path: `${BASE}/people/{person}`,
    about: 'Change the name, role or user of a person, or disable them',
  },
  'admin.resetPerson': {
    method: 'POST',
    path: `${BASE}/people/{person}/reset`,
    about: 'Create a new one-time link, which sets a new password',
  },
  'admin.signOutPerson': {
    method: 'POST',
    path: `${BASE}/people/{person}/sign-out`,
    about: 'End all sessions of a person',
  },
  'admin.keys': { method: 'GET', path: `${BASE}/keys`, about: 'API keys, without their values' },
  'admin.key': { method: 'GET', path: `${BASE}/keys/{key}`, about: 'An API key, without its value' },
  'admin.createKey': {
    method: 'POST',
    path: `${BASE}/keys`,
    about: 'Create an API key; only this response contains its value',
  },
  'admin.changeKey': {
    method: 'PATCH',
    path: `${BASE}/keys/{key}`,
    about: 'Change the limits, expiry and permissions of a key',
  },
  'admin.revokeKey': { method: 'POST', path: `${BASE}/keys/{key}/revoke`, about: 'Revoke a key' },
  'admin.captureKey': {
    method: 'POST',
    path: `${BASE}/keys/{key}/capture`,
    about: 'Keep the bodies of the calls of a key, encrypted, for up to 24 hours from now, or end it',
  },
  'admin.rotateKey': {
    method: 'POST',
    path: `${BASE}/keys/{key}/rotate`,
    about: 'Replace a key; the old one works until the overlap ends',
  },
  'admin.warnings': {
    method: 'GET',
    path: `${BASE}/warnings`,
    about: 'Warnings of the operators: rules with a threshold',
  },
  'admin.createWarning': {
    method: 'POST',
    path: `${BASE}/warnings`,
    about: 'Create a warning; each crossing of its threshold is one notice',
  },
  'admin.changeWarning': {
    method: 'PATCH',
    path: `${BASE}/warnings/{warning}`,
    about: 'Change the threshold of a warning, or pause it',
  },
  'admin.deleteWarning': {
    method: 'DELETE',
    path: `${BASE}/warnings/{warning}`,
    about: 'Delete a warning; its notices stay in the list',
  },
  'admin.destinations': {
    method: 'GET',
    path: `${BASE}/warning-destinations`,
    about: 'Where notices of the operators go, without URLs and secrets',
  },
  'admin.createDestination': {
    method: 'POST',
    path: `${BASE}/warning-destinations`,
    about: 'Create a destination; only this response contains the secret of a webhook',
  },
  'admin.changeDestination': {
    method: 'PATCH',
    path: `${BASE}/warning-destinations/{destination}`,
    about: 'Change the name, the addresses or the quiet hours of a destination',
  },
  'admin.deleteDestination': {
    method: 'DELETE',
    path: `${BASE}/warning-destinations/{destination}`,
    about: 'Delete a destination with the notices that wait for it',
  },
  'admin.testDestination': {
    method: 'POST',
    path: `${BASE}/warning-destinations/{destination}/test`,
    about: 'Send a test notice at once, also in quiet hours, and wait for the outcome',
  },
  'admin.notices': {
    method: 'GET',
    path: `${BASE}/notices`,
    about: 'Notices of the operators with the state of each delivery, newest first',
  },
  'admin.settings': {
    method: 'GET',
    path: `${BASE}/settings`,
    about: 'The settings of this server and where each value comes from; secrets are not shown',
  },
  'admin.applyConfig': {
    method: 'PUT',
    path: `${BASE}/config`,
    about: 'Apply a configuration, in the format of `dragoman apply`',
  },
} as const satisfies Record<string, AdminRow>;

export type AdminOperation = keyof typeof ADMIN_ENDPOINTS;
export const ADMIN_OPERATIONS = Object.keys(ADMIN_ENDPOINTS) as AdminOperation[];
export const adminRow = (operation: AdminOperation): AdminRow => ADMIN_ENDPOINTS[operation];

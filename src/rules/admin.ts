/** The admin API: one row per operation. Routes, OpenAPI and docs/endpoints.md are derived from it; src/api/admin holds the schemas. */
import { type OperatorRow, rowsBelow } from './endpoints.ts';

/** JSON of the values that the changed members had when the caller read them: another value now is a conflict. */
export const UNCHANGED_HEADER = 'x-if-unchanged';

export const ADMIN_ENDPOINTS = rowsBelow(
  '/admin/v1',
  {},
  `
admin.balances GET /balances | Balances of all users
admin.balance GET /users/{user}/balance | Balance of a user
admin.credit POST /credits | Book a payment, a refund or an adjustment, once by its reference
admin.statement GET /users/{user}/statement | Movements of a wallet with the balance after each, newest first
admin.usage GET /usage | Requests, tokens, revenue, cost and margin by any combination of dimensions
admin.records GET /records | Single usage records, newest first; of the last 30 days unless 'request_id' or 'start' is given
admin.search GET /search | Objects by a part of their id or name; requests and tasks by their id
admin.requests GET /requests | The request log: every call with a known key, and some of those without one, newest first
admin.request GET /requests/{request} | A call with its attempts, and the arithmetic of its charge and cost
admin.capture GET /requests/{request}/capture | The captured bodies of a call; every look is in the audit log
admin.stats GET /stats | Time series by hour or day: requests, errors, tokens, money and latency percentiles
admin.accountStats GET /stats/accounts | Statistics per account: calls, failed attempts by fault, latency, cache hits, cost, and the last error message of its provider
admin.quarantine GET /quarantine | Records with invalid usage that were not charged, newest first
admin.resolveRecord POST /quarantine/{record}/resolve | Charge a record in quarantine
admin.dismissRecord POST /quarantine/{record}/dismiss | Close a record in quarantine without a charge
admin.reviews GET /reviews | Video tasks that succeeded without usage or without a price, oldest first; their amounts are held
admin.settleReview POST /reviews/{task}/settle | Charge a video task in review for the tokens that the provider billed, at the price in force
admin.releaseReview POST /reviews/{task}/release | Release the amount held for a video task in review, without a charge
admin.submissions GET /submissions | Video tasks that were sent and may be any of several tasks at the provider, oldest first, with the provider's tasks side by side
admin.assignTask POST /submissions/{task}/assign | Bind a video task to the provider's task that is its own; it is followed and charged from then on
admin.dismissTask POST /submissions/{task}/dismiss | Decide that the provider has no task for a video task: it fails, and its amount is released
admin.tasks GET /tasks | Video tasks of all users with their holds, newest first; of the last 30 days unless 'start' is given
admin.task GET /tasks/{task} | A video task with its route and its hold
admin.assets GET /assets | Private assets of all users, newest first
admin.authorizations GET /authorizations | Real-person authorization sessions of all users, newest first; never their links
admin.objects GET /objects | Files, batches, conversations, cached contents and containers of all users, newest first
admin.deleteObject DELETE /users/{user}/objects/{object} | Delete an object of a user; a batch that is running ends
admin.alarms GET /alarms | Conditions that need an operator, as of the last check, with advice
admin.audit GET /audit | The audit log, newest first
admin.callbacks GET /callbacks | Callbacks of video tasks with the state of their delivery, newest first
admin.callback GET /callbacks/{event} | A callback with its URL, body and attempts
admin.redeliverCallback POST /callbacks/{event}/redeliver | Deliver a delivered or dead callback again, with the same id and body, or a waiting one at once
admin.testCallback POST /callbacks/test | Send a signed test event to the callback URL of a task, once
admin.groups GET /groups | Provider groups
admin.accounts GET /accounts | Upstream accounts with their state on all servers, without their credentials
admin.account GET /accounts/{account} | An upstream account with its state on all servers, without its credential
admin.changeAccount PATCH /accounts/{account} | Change an account, or take it out of use; its stored credential stays unless 'api_key' is given
admin.parkAccount POST /accounts/{account}/park | Take an account out of use; requests in flight finish
admin.drainAccount POST /accounts/{account}/drain | Give an account no new conversations; those that only it can serve continue
admin.resumeAccount POST /accounts/{account}/resume | Take an account back into use on all servers, and end its cooldowns
admin.testAccount POST /accounts/{account}/test | Send one small request with an account, whatever its state; a success ends its cooldowns
admin.models GET /models | Models with the prices and costs in force
admin.prices GET /prices | Prices and costs with their history, newest first
admin.importPrices POST /prices/import | Import prices and costs of models from the public list, as previewed with 'dry_run=true'
admin.quote GET /quote | What a call would be charged and would cost at current prices; for videos the maximum
admin.explain POST /explain | The plan of a call that is not sent: ways, accounts with their state, price, maximum cost, and the error of the caller
admin.characters GET /characters | Public characters
admin.createCharacter POST /characters | Create a public character; callers see it once it is published
admin.changeCharacter PATCH /characters/{character} | Change a public character
admin.publishCharacter POST /characters/{character}/publish | Show a character to callers
admin.unpublishCharacter POST /characters/{character}/unpublish | Hide a character from callers
admin.uploadPreview PUT /characters/{character}/preview | Upload the picture of a character, which then replaces its 'preview_url'
admin.deletePreview DELETE /characters/{character}/preview | Delete the uploaded picture of a character
admin.deleteCharacter DELETE /characters/{character} | Delete a public character
admin.users GET /users | Users
admin.createUser POST /users | Create a user
admin.changeUser PATCH /users/{user} | Change a user
admin.eraseUser POST /users/{user}/erase | Count what the erasure of a user removes, or begin it; again: how far it is
admin.exportUser GET /users/{user}/export | Everything that is stored of a user, one JSON object per line
admin.people GET /people | People who sign in to the console
admin.invitePerson POST /people | Invite a person; only this response contains the one-time link
admin.changePerson PATCH /people/{person} | Change the name, role or user of a person, or disable them
admin.resetPerson POST /people/{person}/reset | Create a new one-time link, which sets a new password
admin.signOutPerson POST /people/{person}/sign-out | End all sessions of a person
admin.keys GET /keys | API keys, without their values
admin.key GET /keys/{key} | An API key, without its value
admin.createKey POST /keys | Create an API key; only this response contains its value
admin.changeKey PATCH /keys/{key} | Change the limits, expiry and permissions of a key
admin.revokeKey POST /keys/{key}/revoke | Revoke a key
admin.captureKey POST /keys/{key}/capture | Keep the bodies of the calls of a key, encrypted, for up to 24 hours from now, or end it
admin.rotateKey POST /keys/{key}/rotate | Replace a key; the old one works until the overlap ends
admin.warnings GET /warnings | Warnings of the operators: rules with a threshold
admin.createWarning POST /warnings | Create a warning; each crossing of its threshold is one notice
admin.changeWarning PATCH /warnings/{warning} | Change the threshold of a warning, or pause it
admin.deleteWarning DELETE /warnings/{warning} | Delete a warning; its notices stay in the list
admin.destinations GET /warning-destinations | Where notices of the operators go, without URLs and secrets
admin.createDestination POST /warning-destinations | Create a destination; only this response contains the secret of a webhook
admin.changeDestination PATCH /warning-destinations/{destination} | Change the name, the addresses or the quiet hours of a destination
admin.deleteDestination DELETE /warning-destinations/{destination} | Delete a destination with the notices that wait for it
admin.testDestination POST /warning-destinations/{destination}/test | Send a test notice at once, also in quiet hours, and wait for the outcome
admin.notices GET /notices | Notices of the operators with the state of each delivery, newest first
admin.settings GET /settings | The settings of this server and where each value comes from; secrets are not shown
admin.applyConfig PUT /config | Apply a configuration, in the format of 'dragoman apply'
`,
);

export type AdminOperation = keyof typeof ADMIN_ENDPOINTS;
export const ADMIN_OPERATIONS = Object.keys(ADMIN_ENDPOINTS) as AdminOperation[];
export const adminRow = (operation: AdminOperation): OperatorRow => ADMIN_ENDPOINTS[operation];

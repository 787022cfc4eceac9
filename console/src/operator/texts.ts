/**
 * Sentences that only pages of operators show. They are not among those of the console, because they load with these
 * pages.
 */
import { countText } from '../format/count.ts';
import { chinese } from '../language.ts';
import type { Widened } from '../texts.ts';

const english = {
  noDifference: 'No difference.',
  audit: {
    actors: { token: 'Admin token', cli: 'Command line', file: 'Configuration file' } as Readonly<
      Record<string, string>
    >,
    someone: 'A person who was removed',
    priceVersion: 'Price version',
    modelOf: (model: string, group: string) => `${model} of ${group}`,
  },
  erase: {
    things: 'the erasure',
    closed:
      'This user is erased: nothing of it can be changed, and no key can be created. Its balance can still be settled.',
    noKeys: 'The keys were erased.',
    lead: {
      preview:
        'Keys, sign-ins, names, addresses and content go. Entries of the ledger and sums of usage stay under the id. This cannot be undone.',
      running: 'Access has ended. Open tasks end and are charged first; objects at providers are deleted.',
      finished: 'Nothing that names a person is left. The ledger keeps its entries under the id.',
    },
    confirm: (user: string) => `Type ${user} to confirm.`,
    begun: 'The erasure has begun.',
    kinds: {
      keys: 'keys',
      people: 'people',
      warnings: 'warnings',
      destinations: 'destinations',
      tasks: 'video tasks',
      assets: 'assets',
      asset_groups: 'asset groups',
      authorizations: 'authorizations',
      responses: 'stored responses',
      captures: 'captured calls',
      callbacks: 'callbacks',
      calls: 'calls in the log',
      files: 'files',
      batches: 'batches',
      conversations: 'conversations',
      holds: 'held amounts',
    } as Readonly<Record<string, string>>,
  },
  account: {
    test: 'Sends one tiny streamed request like real traffic. The operator pays for it.',
    groups: 'All of its groups, the first one first. They share its credential, its health and its concurrency.',
    park: 'No new calls go to this account. Calls in flight end normally.',
    modelsOut: (models: readonly string[]) =>
      models.length === 1 ? `Not used for ${models[0]}` : `Not used for ${models.length} models`,
    assets: (count: string) =>
      `Private assets that live here: ${count}; calls that use them get asset_binding_unavailable until it is resumed.`,
    drain: 'No new conversations go to this account. Work that is bound to it, such as video tasks, is finished first.',
    resume: 'The account takes new calls at once, on every replica.',
    add: 'The credential is encrypted before it is stored and is never shown again.',
    edit: 'Only what you change is sent. A new address, proxy or credential ends the cooldowns of the account.',
    concurrency: 'Calls at once on one server. Empty: as many as the provider takes.',
    learned: 'Learned from refusals of the provider',
    keepCredential: 'Leave empty to keep the stored credential. It cannot be shown.',
    converse: "Separated by commas: messages and count for Anthropic's own API, converse for all models of Bedrock.",
    noCloud: 'None',
    holds: (secret: string) => `Enter ${secret}.`,
    noCredential: 'Enter "none" for a server that needs none.',
    presetFlags: 'What this server accepts, unless the account or the model overrides it',
    autoPreset: 'Detect from the host of the base URL',
    proxy: 'A proxy URL, none, or environment. Leave empty to keep the current value.',
    models: 'One line for each model that has another name at this account.',
    badMap: (line: string) => `“${line}” is not a line such as gpt-5 = my-deployment.`,
    capabilities: 'As JSON. They override the server and the model.',
    strip: 'One cell per hour, UTC',
    noResponse: 'No response',
    noReason: 'the provider gave no reason',
    works: (first: string, all: string) => `It works: first byte after ${first}, done after ${all}.`,
    testModel: 'Empty: the first model of the group whose name is not a pattern.',
    untested: 'Untested: no successful call in the last 24 hours, and no test.',
    testOk: 'It worked',
    testFailed: (words: string) => `It failed: ${words}`,
    tryNow: 'A test that succeeds ends the cooldown.',
    inputTokens: (count: string) => `${count} input tokens`,
    hour: (calls: string, failed: number) => `${calls}, ${failed} failed by the provider`,
    noCalls: 'no calls',
  },
  states: {
    healthy: 'Healthy',
    cooling: 'Cooling down',
    full: 'Full',
    limited: 'At its limit',
    parked: 'Parked',
    draining: 'Draining',
    refused_credential: 'Credential refused',
    refused_once: 'Refused once',
    model_cooling: 'A model cools down',
    test_failed: 'Test failed',
    tested: 'Tested',
    untested: 'Untested',
  },
  cooldowns: {
    out: 'Out for',
    in_use: 'In use, because others are out; ends in',
    half_open: 'The next call decides',
    avoided: 'Avoided for this model for',
  },
  group: {
    variant: 'Only for style video.',
    multiplier: 'Factor on every price of the group.',
    unknownMembers:
      'Of requests that have a member which the gateway does not know: reserve the most that the model can cost, or refuse them.',
    up: (up: number, all: number) => `${up} of ${all} up`,
  },
  credit: {
    amount: 'Negative to adjust down.',
    explain: 'The booking cannot be undone; a later adjustment corrects it. The same reference is booked only once.',
  },
  review: {
    holds: 'Holds in review',
    holdsLead: 'Video tasks that succeeded without usage or without a price. Decide with the bill of the provider.',
    noHolds: 'Nothing to decide.',
    submissions: 'Unknown submissions',
    submissionsLead:
      'The answer of the provider was lost, and several of its tasks may be the one that was created. Compare, then assign one or dismiss the task.',
    noSubmissions: 'Nothing to decide.',
    candidatesOf: 'Candidates of',
    requested: 'Requested',
    assignTask: 'The task becomes this one of the provider: it is followed to its end and charged.',
    dismissTask: 'The provider has no task for it: it fails, and the hold is released.',
    quarantine: 'Quarantined records',
    quarantineLead: 'Usage that cannot be right was not charged. Charge it by hand or dismiss it.',
    noQuarantine: 'Nothing to decide.',
    settle: 'The user is charged for these tokens at the price in force; the rest of the hold is released.',
    release: 'The hold is released and the user pays nothing.',
    resolve: 'The user of the record is charged this amount.',
    dismiss: 'The record is closed and the user pays nothing.',
  },
  callback: {
    again: {
      label: 'Redeliver',
      title: 'Redeliver callback',
      explain: 'The receiver gets the same id and body again.',
    },
    now: {
      label: 'Deliver now',
      title: 'Deliver callback now',
      explain: 'The next attempt is made at once instead of at its time. The same id and body are sent, once.',
    },
    noAttempt: 'No attempt yet.',
    testTitle: 'Send test callback',
    testAction: 'Send test',
    test: 'The callback URL of the task gets one signed test event, which receivers must not act on. It is not repeated.',
    testDone: (host: string, outcome: string, time: string) => `${host} accepted the test event: ${outcome}, ${time}.`,
    testFailed: (host: string, outcome: string) => `${host} did not accept the test event: ${outcome}.`,
  },
  character: {
    publish: 'Callers see the character and can use it in video tasks.',
    unpublish: 'Callers no longer see the character. Running tasks keep it.',
    remove: 'Callers can no longer use the character. Tasks that use it keep their results.',
    noPreview: 'No preview',
    uploaded: 'Shown once published',
    licence: 'For operators.',
    unreadable: 'The file could not be read.',
    picture: 'A PNG, JPEG or WebP file of at most 2 MB. It replaces the preview URL.',
  },
  people: {
    user: 'Whose wallet and keys the person sees. Empty for an operator without one.',
    invite:
      'Returns a link that works once. Send it to the person. A user that does not exist is made with the credit and limits below.',
    exists: (user: string) =>
      `${user} exists already, so the credit and the limits would not be applied. Empty them here, and set them on the page of the user.`,
    linkOnce: 'The link is shown only now. It works once.',
    reset: 'The person gets a new link. The old password works until the link is used.',
    disable: 'The person is signed out everywhere and cannot sign in.',
    enable: 'The person can sign in again.',
  },
  ledger: {
    ok: 'Every balance equals the sum of its entries.',
    faults: (count: string) =>
      `${count} differ from their entries. Back up the database and find the cause before you correct anything.`,
    unchecked: 'The worker has not checked the ledger yet.',
    checked: (age: string) => `Checked ${age} ago`,
  },
  overview: {
    simulated: 'Simulated providers: no request leaves this machine.',
    useReal: 'Use a real account',
    costUnknown: (count: string) => `Cost unknown for ${count}`,
    costGap: (count: string) =>
      `The line of the cost has gaps: the models of ${count} have no cost. Set it on their pages.`,
    attempts: 'By account and fault, including those where another account succeeded.',
    failover: 'Only calls that waited. A period without one has a gap.',
    noChart: 'No calls in this period.',
    byDay: 'By UTC day, from the ledger',
    utcDay: 'This UTC day',
    utcDays: 'UTC days, with today',
    byCallers: (count: number) => `${countText(count)} more by callers`,
    noFaults: 'No attempt failed in this period.',
  },
  setup: {
    lead: 'Four steps from an empty gateway to the first call.',
    account: 'Add an account',
    test: 'Test it',
    key: 'Create a key',
    call: 'Copy a command',
    waiting: 'Waiting for your call…',
    answered: 'Response in',
    accountDone: (count: string) => `${count} so far.`,
    firstModel: 'Callers name it. Prices are US dollars per million tokens; a model without them is refused.',
    keyUser: 'The user whose wallet pays. It is created if it does not exist.',
  },
} as const;

export type OperatorTexts = Widened<typeof english>;
export const operatorTexts: OperatorTexts = chinese?.operatorTexts ?? english;

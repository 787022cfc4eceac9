/**
 * Sentences and titles of the console in English; zh/texts.ts has the same in Chinese. Those of the pages of operators,
 * of warnings and of the playground are in files of their own, which load with these pages. A label that only names a
 * field of the API is next to that field, and is looked up in zh/labels.ts.
 */
import { countText, plural } from './format/count.ts';
import { chinese } from './language.ts';

const isOrAre = (count: number): string => (count === 1 ? 'is' : 'are');

export interface PageTexts {
  readonly title: string;
  /** As in "Could not load {things}." */
  readonly things: string;
  readonly empty: string;
  readonly lead?: string;
}

const englishPages = {
  overview: { title: 'Overview', things: 'the overview', empty: 'No calls in this period.' },
  requests: { title: 'Requests', things: 'requests', empty: 'No calls match. Copy a command from a key to make one.' },
  request: { title: 'Request', things: 'this request', empty: '' },
  tasks: { title: 'Video tasks', things: 'video tasks', empty: 'No tasks. Try one in the playground.' },
  task: { title: 'Video task', things: 'this task', empty: '' },
  callbacks: { title: 'Callbacks', things: 'callbacks', empty: 'Tasks with a callback_url appear here.' },
  callback: { title: 'Callback', things: 'this callback', empty: '' },
  groups: {
    title: 'Groups',
    things: 'groups',
    empty: 'Add a group first: every key belongs to one.',
    lead: 'Every key belongs to one group, and its requests go to the accounts of that group.',
  },
  accounts: {
    title: 'Accounts',
    things: 'accounts',
    empty: 'Add a provider account.',
    lead: 'Calls, times and cost are of the last 24 hours.',
  },
  account: { title: 'Account', things: 'this account', empty: '' },
  models: {
    title: 'Models',
    things: 'models',
    empty: 'Models without a price are refused. Add the first one.',
    lead: 'The first matching line of a group decides. Prices are US dollars per million tokens unless they name a piece.',
  },
  model: { title: 'Model', things: 'the prices of this model', empty: 'No price yet.' },
  characters: { title: 'Characters', things: 'characters', empty: 'Add a character, then publish it.' },
  users: { title: 'Users', things: 'users', empty: 'Create a user, then add credit.' },
  user: { title: 'User', things: 'this user', empty: '' },
  keys: { title: 'Keys', things: 'keys', empty: 'Create a key for each group that a user may use.' },
  key: { title: 'Key', things: 'this key', empty: '' },
  assets: { title: 'Assets', things: 'assets', empty: 'Assets are created through the API.' },
  objects: {
    title: 'Files and objects',
    things: 'objects',
    empty: 'Files, batches, conversations and cached contents are created through the API.',
  },
  authorizations: {
    title: 'Authorizations',
    things: 'authorizations',
    empty: 'Authorizations of real people to appear in videos. Callers start them through the API.',
  },
  ledger: { title: 'Ledger', things: 'the ledger', empty: 'The first credit appears here.' },
  review: { title: 'Review', things: 'open decisions', empty: 'Nothing to decide.' },
  warnings: {
    title: 'Warnings',
    things: 'warnings',
    empty: 'No warnings. Add one to hear of a low balance before calls are refused.',
    lead: 'A notice is sent once when a threshold is crossed, and again after the condition has ended.',
  },
  destinations: { title: 'Destinations', things: 'destinations', empty: 'Add a place that gets the notices.' },
  notices: { title: 'Sent', things: 'notices', empty: 'Nothing was sent yet. Notices are kept for 90 days.' },
  audit: { title: 'Audit', things: 'the audit log', empty: 'Changes appear here.' },
  people: {
    title: 'People',
    things: 'people',
    empty: 'Only you can sign in.',
    lead: 'People sign in to this console. A person of role user belongs to one user, whose wallet pays.',
  },
  settings: {
    title: 'Settings',
    things: 'settings',
    empty: 'No settings.',
    lead: 'Settings are environment variables, read when the gateway starts.',
  },
  setup: { title: 'First steps', things: 'the first steps', empty: '' },
  usage: { title: 'Usage', things: 'usage', empty: 'No charges yet.', lead: 'Days are UTC.' },
  charges: { title: 'Statement', things: 'the statement', empty: 'No charges yet.' },
  myModels: {
    title: 'Models',
    things: 'models',
    empty: 'This key can call no model. Ask your operator.',
    lead: 'What your keys can call. Prices are yours, in US dollars per million tokens unless they name a piece.',
  },
  playground: { title: 'Playground', things: 'the playground', empty: '' },
} as const satisfies Record<string, PageTexts>;

const englishTexts = {
  time: {
    now: 'now',
    ago: (age: string) => `${age} ago`,
    ahead: (age: string) => `in ${age}`,
    seconds: (count: number) => `${count} s`,
    minutes: (count: number) => `${count} min`,
    minutesAnd: (minutes: number, seconds: number) => `${minutes} min ${seconds} s`,
    hours: (count: number) => `${count} h`,
    days: (count: number) => `${count} days`,
  },
  counts: {
    calls: (count: number) => plural(count, 'call'),
    models: (count: number) => plural(count, 'model'),
    accounts: (count: number) => plural(count, 'account'),
    users: (count: number) => plural(count, 'user'),
    tokens: (count: string) => `${count} tokens`,
  },
  limits: {
    atOnce: (count: number) => `${count} at once`,
    day: (amount: string) => `${amount} a day`,
    month: (amount: string) => `${amount} a month`,
    total: (amount: string) => `${amount} in all`,
  },
  palette: {
    operator: 'A page, a name, or an id of a request or task',
    user: 'A page, a key, or an id of a request or task',
    none: 'Nothing has this name or id.',
  },
  picker: { matches: 'Matches', none: 'Nothing with this name.' },
  period: {
    any: 'Any time',
    own: 'From … to …',
    local: 'local time',
    start: (zone: string) => `From (${zone})`,
    end: (zone: string) => `Before (${zone})`,
  },
  moreFilters: (count: number) => `${count} more filters`,
  fewerFilters: 'Fewer filters',
  table: {
    sort: (head: string) => `Sort by ${head.toLowerCase()}`,
    columns: 'Columns',
    views: 'Views',
    reset: 'Reset',
    saveView: 'Save view',
    viewName: 'Name of the view',
    noViews: 'A view keeps filters, order and columns, in this browser only.',
    removeView: (name: string) => `Remove the view ${name}`,
    times: 'Times',
    searchedTo: (time: string) => `Searched back to ${time}.`,
    searchOn: 'Search further back',
    count: (count: string | null) => (count === null ? 'More than 10,000 rows.' : `${count} rows.`),
    firstOf: (shown: string, count: string) => `The first ${shown} of ${count}.`,
    sorted: (count: string) => `The largest of the newest ${count} calls of the period.`,
  },
  request: {
    told: 'Message to the caller:',
    noKey: 'none that is known',
    providerId: "Provider's id",
    costInVain: 'Failed, and cost',
    fallbackTo: (group: string) => `fallback to ${group}`,
    firstByte: (time: string) => `first byte ${time}`,
  },
  explain: {
    lead: 'How the call would be served now. Nothing is sent, and nothing is charged.',
    served: (way: number) => `Way ${way} would serve the call.`,
    ofGroups: (group: string, all: string) => `${group}, chosen by the model among ${all}`,
    refused: (error: string) => `The caller would get ${error}.`,
    things: 'the plan',
    minimal: 'a minimal one',
    given: 'as it would be sent',
    price: (rates: string, price: string, group: string, user: string) =>
      `${rates} · version ${price} · group × ${group}, user × ${user}`,
    opaque: { kept: 'kept', left_out: 'left out' },
    states: {
      healthy: 'Healthy',
      avoided: 'Used last',
      cooling: 'Cooling down',
      full: 'Full',
      limited: 'At its limit',
      parked: 'Parked',
      draining: 'Draining',
      refused_credential: 'Credential refused',
    },
    reasons: {
      matrix: 'Groups of this style do not serve the endpoint.',
      dialect: 'It speaks no dialect that serves the call.',
      feature: 'It lacks a feature that the request needs:',
      key_models: 'The key may not use the model.',
      no_line: 'The group has no line for the model.',
      no_price: 'The line has no price in force.',
      no_account: 'No account of the group speaks it.',
      bound_elsewhere: 'The request is bound to what another account holds.',
      request: 'The request has no form there.',
    },
  },
  or: ' or ',
  couldNotLoad: (things: string, reason: string) => `Could not load ${things}. ${reason}`,
  notHere: 'This page does not exist',
  goHome: 'Go to the first page',
  notOffered: 'This gateway does not offer this yet.',
  broken: 'This page failed. Load it again; if it fails once more, report what you did.',
  unreachable: 'The gateway did not respond. Check the connection, then retry.',
  /** By code of the API, where its message speaks of tokens and headers. */
  problems: {
    not_signed_in: 'You are signed out. Sign in, then send it again.',
    invalid_admin_token: 'You are signed out. Sign in, then send it again.',
    cross_site_request: 'You signed in again in another tab. Load this page again.',
  } as Readonly<Record<string, string>>,
  offline: 'You are offline. This was read',
  status: (status: number) => `The gateway responded with status ${status}.`,
  retry: 'Retry',
  copied: 'Copied.',
  copyFailed: 'The browser did not allow copying. Select the text instead.',
  skip: 'Skip to content',
  zone: 'UTC',
  older: 'Older',
  newer: 'Newer',
  newRows: (count: number) => `${count} new`,
  filters: 'Filters',
  noFilterHits: 'Nothing matches these filters.',
  clearFilters: 'Clear filters',
  estimated: 'Estimated',

  form: {
    reason: 'For the audit log.',
    list: 'Separated by commas.',
    notJson: (why: string) => `This is not JSON: ${why}`,
    missing: 'Enter a value.',
    expected: (what: string) => `Expected ${what}.`,
    changes: 'Changes',
    noChanges: 'Nothing is changed yet.',
    nothing: 'none',
    changed: 'changed',
  },
  done: {
    accountAdded: 'The account is added.',
    accountSaved: 'The account is saved.',
    accountParked: 'The account is parked.',
    accountDrained: 'The account is draining.',
    accountResumed: 'The account is in use again.',
    callbackSent: 'The callback is on its way.',
    characterAdded: 'The character is added. Publish it to show it to callers.',
    configApplied: 'The configuration is applied.',
    creditBooked: 'The credit is booked.',
    decided: 'Decided.',
    groupSaved: 'The group is saved.',
    keyRevoked: 'The key is revoked.',
    keySaved: 'The key is saved.',
    modelAdded: 'The model is added.',
    passwordChanged: 'The password is changed.',
    personSaved: 'The person is saved.',
    pictureUploaded: 'The picture is uploaded.',
    fallbackSaved: 'The fallback is saved.',
    capabilitiesSaved: 'The capabilities are saved.',
    priceSaved: 'The price is saved.',
    pricesImported: 'The prices are imported. Earlier charges stay as they are.',
    userSaved: 'The user is saved.',
    warningSaved: 'The warning is saved.',
    destinationSaved: 'The destination is saved.',
  },
  money: {
    arithmetic: 'The arithmetic of the charge',
    notCharged: 'This call was not charged.',
    costUnknown: 'The cost of this call is unknown.',
    multipliers: (group: string | null, user: string | null) => `group × ${group}, user × ${user}`,
    price: ({ price, tier, above }: { price: string | null; tier: string | null; above: number | null }) =>
      [
        `price ${price}`,
        ...(tier === null ? [] : [`tier ${tier}`]),
        ...(above === null ? [] : [`inputs above ${countText(above)} tokens`]),
      ].join(', '),
  },

  signIn: {
    title: 'Sign in',
    action: 'Sign in',
    again: 'Sign in again',
    againLead: 'Your session has ended. The page stays as it is, and what you sent is sent again.',
    oidcTab: 'Sign in with single sign-on in another tab',
    continue: 'I have signed in',
    oidc: 'Continue with single sign-on',
    firstRun:
      'This gateway has no administrator yet. Open the one-time link that was printed at startup, or run: npx dragoman admin link',
    errors: {
      oidc_failed: 'Single sign-on failed. Try again, or use a password.',
      oidc_not_invited: 'This account is not invited. Ask an operator for an invitation.',
      oidc_email_unverified: 'The e-mail address of this account is not verified at the identity provider.',
      person_disabled: 'This person is disabled. Ask an operator.',
    } as Readonly<Record<string, string>>,
  },
  link: {
    title: 'Set up your sign-in',
    things: 'this link',
    lead: {
      first: 'You become the first administrator. Choose what you will sign in with.',
      invite: 'You were invited. Choose a password to sign in with.',
      reset: 'Choose a new password. You are then signed out everywhere else.',
    },
    missing: 'This address has no token. Open the whole link that was printed or sent to you.',
    action: 'Save and sign in',
    passwordHint: 'At least 12 characters.',
  },
  once: { done: 'Done', saved: 'I have saved it' },
  key: {
    shownOnce: 'The value is shown only now. Copy it to a safe place.',
    rotate: 'A new value replaces this one. The old value works until the overlap ends.',
    revoke: 'Calls with this key are refused at once, on every replica. This cannot be undone.',
    needs: (style: string) => `Needs a key of a ${style} group.`,
    byOperator: 'Your operator creates keys for you; you may create none yourself.',
    noneByOperator: 'You have no key yet, and calls need one. Only your operator creates keys for you: ask for one.',
    mostReached: (count: number) =>
      `You have all ${count} keys that you may create. Revoke one, or ask your operator for more.`,
    makeFirst: 'Create a key first.',
    videoGroups: (names: string) => `Some of ${names}. Empty: all.`,
    models: 'Names or patterns, separated by commas. Empty: all.',
    addresses: 'IP addresses or networks. Empty: all.',
    autoCache:
      'Prompts of other dialects are cached at Anthropic: a long prompt costs a quarter more once, and a tenth after that.',
    oneGroup: 'Its requests go to the accounts of this group.',
    groups: 'In order, its group among them: the first that has the model serves a request. Empty: its group alone.',
    total: 'For the life of the key, with those that it replaces.',
    placeholder: '$DRAGOMAN_KEY',
  },
  capture: {
    start: (days: number) =>
      `Requests and responses of this key are kept encrypted for ${days} days, and shown on the page of each call. Whoever reads them is in the audit log.`,
    end: 'No further bodies are kept. Those that were kept stay until their days are over.',
    hours: (most: number) => `From now, at most ${most}.`,
    started: 'Capture is on.',
    ended: 'Capture has ended.',
    audited: 'Every look is in the audit log.',
    cut: 'only the beginning was kept',
    until: 'Bodies kept until',
    bytes: (count: string) => `${count} bytes`,
    base64: 'as Base64',
  },
  user: {
    used: 'Share of the limit',
    /** Before the amount of a limit. */
    of: 'of',
    usedDay: (percent: number, limit: string) => `${percent}% of ${limit} a day`,
    usedMonth: (percent: number, limit: string) => `${percent}% of ${limit} a month`,
    mostKeys: (count: number) => `at most ${count}`,
    usedShares: [
      ['0.5', '50 % or more'],
      ['0.8', '80 % or more'],
      ['1', 'Reached'],
    ] as const,
    multiplier: 'Factor on every price for this user.',
    ownKeys: 'Keys that people of the user may make themselves.',
    create: 'A user owns a wallet and keys. Credit the wallet before the first call.',
    limits: 'Limits of a user apply to all of its keys together. Leave a field empty for no limit.',
    leased: 'Part of Available that running servers may spend without asking the database.',
  },
  model: {
    unpriced: 'No price: calls are refused.',
    free: 'Free',
    noCost: 'Cost unknown',
    preview: 'Preview changes',
    apply: 'Apply changes',
    previewFirst: 'Shows what would change before anything is changed.',
    nothing: 'Nothing would change.',
    effects: (count: number) => `Model names whose line or price changes (${count})`,
    name: 'A name, or a pattern such as gpt-*.',
    upstream: 'If the provider uses another name.',
    validFromAlone: 'Change a price too: the one in force needs no other beginning.',
    validFrom: 'Empty: at once. Calls before that moment are charged by the price that is in force then.',
    history: 'Newest first. A charge keeps the price that it was made with.',
    fallback: 'In this order: group/model, or a group for the same name. Empty for none.',
    setCapabilities: 'Where the model differs from what its name is known for. Empty: by its name.',
    capabilities: 'As JSON, with the members of capabilities in the configuration file.',
    setFallback: 'While no account of the group can take a call, these lines do, at their own prices.',
    setPrice: 'Calls from now on use the new price. Earlier charges stay as they are.',
    rateLabel: (whose: string, rate: string) => `${whose} ${rate}`,
    moreRates: 'Steps by input length, tiers, audio, images, pieces, as in the configuration file.',
    moreRatesExample: '{"steps": [{"above": 200000, "input": "6", "output": "22.5"}], "per_search": "0.01"}',
    calculator: 'What would a request cost?',
    calculatorLead: 'At the price in force',
    quoteFree: 'This model is free: calls are not charged.',
    otherLine: (line: string) => `Calls of this name are charged by the earlier line ${line}.`,
    importLead:
      'Prices and provider costs from the public list of this version. Nothing is changed before you have seen the difference.',
    importMultiplier: 'Factor on the prices of the provider.',
    importProvider: 'Empty: derived from accounts and style.',
    importForce: 'Also apply the marked changes',
    importCounts: (changed: string, unchanged: string, skipped: string) =>
      `${changed} to change, ${unchanged} unchanged, ${skipped} skipped.`,
    suspicious: 'Changes by more than ten times or disappears',
    onlyCost: 'Only the cost of the provider changes.',
    above: (count: string) => `above ${count} tokens: `,
    importFrom: (group: string, source: string) => `of ${group}, from ${source}`,
  },
  needs: {
    title: (count: number) => (count === 1 ? 'One thing needs you' : `${count} things need you`),
    none: 'Nothing needs you.',
    worker: (age: string) => `The worker last checked ${age} ago. Alarms may be out of date; check that a worker runs.`,
    openAccount: 'Open account',
    what: 'What to do',
    accounts: {
      refused_credential: (id) =>
        `The provider refuses the credential of ${id}. It takes no calls until you replace it.`,
      refused_once: (id) => `The provider refused the credential of ${id} once. It is used after all others; test it.`,
      test_failed: (id) => `The last test of ${id} failed.`,
    } as Readonly<Record<string, (id: string) => string>>,
    alarms: {
      ledger_faults: {
        sentence: (count) => `${plural(count, 'balance')} ${count === 1 ? 'differs' : 'differ'} from the entries.`,
        action: 'Read the faults',
      },
      usage_quarantined: {
        sentence: (count) => `${plural(count, 'usage record')} cannot be right and ${isOrAre(count)} not charged.`,
        action: 'Charge or dismiss',
      },
      video_usage_missing: {
        sentence: (count) => `${plural(count, 'video task')} ended without usage or a price; the money is held.`,
        action: 'Settle or release',
      },
      video_submissions_unknown: {
        sentence: (count) =>
          `${plural(count, 'video task')} ${isOrAre(count)} not found at the provider; the money is held.`,
        action: 'Assign or dismiss',
      },
      callbacks_dead: {
        sentence: (count) => `${plural(count, 'callback')} of the last day ${isOrAre(count)} given up.`,
        action: 'Deliver again',
      },
      charges_above_reservation: {
        sentence: (count) => `Users were charged more than was reserved in the last hour (${plural(count, 'user')}).`,
        action: 'Check prices',
      },
      accounts_out: {
        sentence: (count) => `${plural(count, 'account')} ${isOrAre(count)} out until you act.`,
        action: 'Open accounts',
      },
      groups_without_account: {
        sentence: (count) => `No account of ${plural(count, 'group')} can serve; calls without a fallback are refused.`,
        action: 'Open groups',
      },
      replicas_stale: { sentence: (count) => `${plural(count, 'server')} died with usage that is not charged yet.` },
      journal_backlog: { sentence: (count) => `${plural(count, 'server')} cannot store usage; it waits on disk.` },
      checks_failing: { sentence: () => 'A check for alarms cannot run; its alarms are out of date.' },
      flusher_failing: { sentence: () => 'This server cannot store usage; it waits on disk.' },
    } as Readonly<Record<string, { sentence: (count: number) => string; action?: string }>>,
  },
  task: {
    unknown: 'Submission unconfirmed; it is never sent twice.',
    review: 'The amount is held until an operator decides.',
    noResult: 'The result is no longer available.',
    noHold: 'Nothing is held.',
    held: 'held',
    done: (percent: number) => `${percent}% done`,
    inReview: 'in review',
  },
  objects: {
    remove: {
      file: 'Requests and batches that name the file fail from then on.',
      batch:
        'A running batch ends: requests on their way are still charged, and results so far are lost. Files that were uploaded for it stay.',
      conversation: 'Its items go with it.',
      container: 'The provider deletes it too, with the files in it. Requests that name it fail from then on.',
      cache:
        'The provider deletes it too. Requests that name it fail from then on; time that was paid in advance is not paid back.',
    },
    removed: 'It is deleted.',
    room: (files: string, size: string, mostFiles: string, mostSize: string) =>
      `${files} of ${mostFiles} files, ${size} of ${mostSize}.`,
  },
  assetTabs: { assets: 'Assets', groups: 'Groups', authorizations: 'Authorizations' },
  help: {
    title: 'Keys',
    rows: [
      ['/', 'Go to the first filter'],
      ['j k', 'Next or previous row'],
      ['Enter', 'Open the row'],
      ['Esc', 'Back to the list'],
      ['c', 'Copy the id of the row'],
      ['⌘K', 'Go anywhere'],
      ['?', 'Show this list'],
    ],
  },
} as const;

/** The same members with any text; functions keep their parameters. */
export type Widened<T> = T extends string
  ? string
  : T extends (...values: infer V) => string
    ? (...values: V) => string
    : { readonly [K in keyof T]: Widened<T[K]> };

export type Pages = Widened<typeof englishPages>;
export type Texts = Widened<typeof englishTexts>;

export const pages: Pages = chinese?.pages ?? englishPages;
export const texts: Texts = chinese?.texts ?? englishTexts;

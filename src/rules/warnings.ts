/** Warnings: what thresholds can be about, where notices go, and the limits of both. */

/** `operator`: only operators see the figures. `user`: users may also set it for their own wallet and keys. */
export type WarningAudience = 'operator' | 'user';

export interface WarningKind {
  readonly about: string;
  readonly audience: WarningAudience;
  /** The threshold: dollars in `amount`, a share in `percent`, or none for a condition that holds or does not. */
  readonly unit: 'dollars' | 'percent' | 'state';
  /** The side of the threshold on which the warning holds. */
  readonly holds: 'below' | 'above';
  /** What the figure is of. A rule without a subject is about each of them; `all` has none. */
  readonly scopes: readonly WarningScope[];
  /** Days and months are of the calendar in UTC, and a new one is a new event. Windows end now. */
  readonly periods: readonly WarningPeriod[];
  readonly percent?: { readonly min: number; readonly max: number };
  /** The rule has a min number of calls, so that a few calls say nothing. */
  readonly hasMinCalls?: true;
}

export type WarningScope = 'all' | 'user' | 'key' | 'group' | 'account' | 'alarm';
export type WarningPeriod = 'day' | 'month' | 'last_hours' | 'last_day';

/** Whole hours of the roll-ups up to now, with the current one. */
export const WARNING_WINDOW_HOURS = { last_hours: 2, last_day: 24 } as const;

export const WARNING_KINDS = {
  balance: {
    about: 'the available balance of a user is below an amount',
    audience: 'user',
    unit: 'dollars',
    holds: 'below',
    scopes: ['user'],
    periods: [],
  },
  spend: {
    about: 'a user or a key has spent an amount in the day or month',
    audience: 'user',
    unit: 'dollars',
    holds: 'above',
    scopes: ['user', 'key'],
    periods: ['day', 'month'],
  },
  limit: {
    about: 'a user or a key has used a share of its spend limit of the day or month',
    audience: 'user',
    unit: 'percent',
    holds: 'above',
    scopes: ['user', 'key'],
    periods: ['day', 'month'],
    percent: { min: 1, max: 100 },
  },
  account: {
    about: 'an account is out of use, parked, draining, cooling down or at a limit of its own',
    audience: 'operator',
    unit: 'state',
    holds: 'above',
    scopes: ['account'],
    periods: [],
  },
  errors: {
    about: 'a share of the calls failed at providers or in the gateway',
    audience: 'operator',
    unit: 'percent',
    holds: 'above',
    scopes: ['all', 'group'],
    periods: ['last_hours', 'last_day'],
    percent: { min: 1, max: 100 },
    hasMinCalls: true,
  },
  margin: {
    about: 'the margin of text and image calls with a known cost is below a share of their charges',
    audience: 'operator',
    unit: 'percent',
    holds: 'below',
    scopes: ['all', 'group'],
    periods: ['last_hours', 'last_day'],
    percent: { min: -100, max: 100 },
    hasMinCalls: true,
  },
  alarm: {
    about: 'an alarm is raised: a condition that needs an operator',
    audience: 'operator',
    unit: 'state',
    holds: 'above',
    scopes: ['alarm'],
    periods: [],
  },
} as const satisfies Record<string, WarningKind>;

export type WarningKindName = keyof typeof WARNING_KINDS;
export const WARNING_KIND_NAMES = Object.keys(WARNING_KINDS) as WarningKindName[];
export const warningKind = (name: WarningKindName): WarningKind => WARNING_KINDS[name];

/**
 * How an account can be unusable, the worst first. `out`: its credential was refused or its quota is used up.
 * `limited`: at its own limit.
 */
export const ACCOUNT_TROUBLES = ['out', 'parked', 'draining', 'cooling', 'limited'] as const;

export const DESTINATION_KINDS = ['webhook', 'slack', 'teams', 'mail'] as const;
export type DestinationKind = (typeof DESTINATION_KINDS)[number];

/** `dropped`: too many notices waited for the destination. */
export const NOTICE_DELIVERY_STATES = ['pending', 'delivered', 'dead', 'dropped'] as const;

export const WARNING_LIMITS = {
  /** Of one owner: a user, or all operators together. */
  rules: { operator: 200, user: 20 },
  destinations: { operator: 50, user: 5 },
  addresses: 10,
  /** Of one rule at the same time; further ones are counted as not crossed. */
  subjects: 1_000,
  /** Named in one notice. */
  namedSubjects: 20,
  /** Deliveries that wait for one destination. */
  waiting: 100,
  retentionDays: 90,
} as const satisfies Record<string, number | Record<WarningAudience, number>>;

export const WARNING_CHECK_MS = 60_000;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Delivery of notices: 6 attempts over about six hours; a warning that is older helps nobody. */
export const NOTICE_RULES = {
  retryMs: [30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 5 * HOUR],
  jitter: 0.2,
  maxRetryAfterMs: HOUR,
  headMs: 10 * SECOND,
  timeoutMs: 15 * SECOND,
  responseBytes: 64 * 1024,
  /** Longer than an attempt; a crash delays the notice by it. */
  leaseMs: MINUTE,
  /** Attempts at the same time on one replica, and of one owner among them. */
  concurrency: 16,
  perOwner: 4,
} as const;

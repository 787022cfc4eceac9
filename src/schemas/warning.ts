/** Warnings: rules with a threshold, the destinations of their notices, and what was sent. */
import { z } from 'zod';
import {
  ACCOUNT_TROUBLES,
  DESTINATION_KINDS,
  NOTICE_DELIVERY_STATES,
  WARNING_KIND_NAMES,
  WARNING_KINDS,
  WARNING_LIMITS,
  type WarningPeriod,
  type WarningScope,
  warningKind,
} from '../rules/index.ts';
import {
  dollars,
  email,
  flag,
  httpUrl,
  integer,
  kind,
  line,
  list,
  moment,
  moneyText,
  named,
  someDollars,
  someInteger,
  someMoment,
  someText,
  text,
  texts,
} from './field.ts';

const scopes = [...new Set(WARNING_KIND_NAMES.flatMap((name): readonly WarningScope[] => WARNING_KINDS[name].scopes))];
const periods = [
  ...new Set(WARNING_KIND_NAMES.flatMap((name): readonly WarningPeriod[] => WARNING_KINDS[name].periods)),
];

const ruleKind = z
  .enum(WARNING_KIND_NAMES)
  .describe(WARNING_KIND_NAMES.map((name) => `\`${name}\`: ${WARNING_KINDS[name].about}`).join('; '));

const Thresholds = z
  .strictObject({
    name: line(100, 'how the rule is shown'),
    amount: moneyText.describe('dollars; of `balance` and `spend`'),
    percent: z.int().min(-100).max(100).describe('share in percent; of `limit`, `errors` and `margin`'),
    min_calls: z.int().min(1).max(1_000_000_000).describe('fewer calls say nothing; of `errors` and `margin`'),
    states: z
      .array(z.enum(ACCOUNT_TROUBLES))
      .min(1)
      .max(ACCOUNT_TROUBLES.length)
      .describe('of `account`: `out` for a refused credential or a used quota, `parked`, `draining`, `cooling`'),
    destinations: z
      .array(line(80, 'the id of a destination'))
      .max(WARNING_LIMITS.destinations.operator)
      .nullable()
      .describe('ids of destinations that get the notices; null: all'),
    paused: flag.describe('it is not checked'),
  })
  .partial();

const DEFAULT_MIN_CALLS = 20;
const DEFAULT_STATES = ['out', 'parked'] as const;

const Rule = z.strictObject({
  kind: ruleKind,
  scope: z.enum(scopes).describe('what the figure is of; the first that the kind has by default').optional(),
  subject: line(80, 'the id of the user, key, group, account or alarm; without it, each of them').optional(),
  period: z
    .enum(periods)
    .describe('`day` and `month` of the calendar in UTC; `last_hours` and `last_day` end now')
    .optional(),
  ...Thresholds.omit({ paused: true }).shape,
});
/** Fields that a kind does not have are rejected, so that a rule means what it says. */
export const NewWarning = Rule.superRefine((rule, context) => {
  for (const [field, problem] of problemsOf(rule))
    context.addIssue({ code: 'custom', path: [field], message: problem });
});
export type NewWarning = z.infer<typeof NewWarning>;

export const WarningChange = Thresholds;
export type WarningChange = z.infer<typeof WarningChange>;

type Checked = Pick<
  z.infer<typeof Rule>,
  'kind' | 'scope' | 'subject' | 'period' | 'amount' | 'percent' | 'min_calls'
> & {
  readonly states?: readonly string[] | undefined;
};

/** By field. Also of a changed rule, with what it had before. */
export function problemsOf(rule: Checked): [string, string][] {
  const { unit, percent, ...about } = warningKind(rule.kind);
  const problems: [string, string][] = [];
  const expect = (field: string, isRight: boolean, expected: string): void => {
    if (!isRight) problems.push([field, expected]);
  };
  const { scope = about.scopes[0], period = about.periods[0] } = rule;
  expect('amount', (rule.amount !== undefined) === (unit === 'dollars'), wanted(unit === 'dollars', rule.kind));
  expect('percent', (rule.percent !== undefined) === (unit === 'percent'), wanted(unit === 'percent', rule.kind));
  if (percent && rule.percent !== undefined)
    expect(
      'percent',
      rule.percent >= percent.min && rule.percent <= percent.max,
      `from ${percent.min} to ${percent.max}`,
    );
  expect('min_calls', rule.min_calls === undefined || about.hasMinCalls === true, wanted(false, rule.kind));
  expect('states', rule.states === undefined || rule.kind === 'account', wanted(false, rule.kind));
  expect('scope', scope !== undefined && about.scopes.includes(scope), `one of ${about.scopes.join(', ')}`);
  expect('subject', rule.subject === undefined || scope !== 'all', 'absent with the scope "all"');
  expect(
    'period',
    period === undefined || about.periods.includes(period),
    about.periods.length === 0 ? wanted(false, rule.kind) : `one of ${about.periods.join(', ')}`,
  );
  return problems;
}

const wanted = (isNeeded: boolean, name: string): string => `${isNeeded ? 'needed' : 'absent'} for the kind "${name}"`;

/** What a rule has without these fields. */
export const warningDefaults = ({ kind: name, scope, period }: NewWarning) => ({
  scope: scope ?? warningKind(name).scopes[0] ?? 'all',
  period: period ?? warningKind(name).periods[0],
  minCalls: warningKind(name).hasMinCalls ? DEFAULT_MIN_CALLS : undefined,
  states: name === 'account' ? DEFAULT_STATES : undefined,
});

export const ShownWarning = named('Warning', {
  ...kind('warning'),
  id: text,
  name: text,
  kind: ruleKind,
  scope: z.enum(scopes),
  subject: someText.describe('null: each of the scope'),
  subject_name: someText.describe('of a key'),
  period: z.enum(periods).nullable(),
  amount: someDollars,
  percent: someInteger,
  min_calls: someInteger,
  states: list(z.enum(ACCOUNT_TROUBLES)).nullable(),
  destinations: texts.nullable().describe('null: all'),
  paused: flag,
  holds_for: integer.describe('subjects for which the warning holds now'),
  created_at: moment,
});
export type ShownWarning = z.infer<typeof ShownWarning>;

// ---------------------------------------------------------------- destinations

const TIME_OF_DAY = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'a time of day such as 22:00');

export const QuietHours = z
  .strictObject({
    from: TIME_OF_DAY,
    to: TIME_OF_DAY,
    timezone: z.string().max(64).refine(isTimeZone, 'a time zone such as Europe/Berlin'),
  })
  .refine(({ from, to }) => from !== to, { path: ['to'], error: 'another time than `from`' })
  .describe('notices wait until the end of these hours');
export type QuietHours = z.infer<typeof QuietHours>;

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const destinationKind = z
  .enum(DESTINATION_KINDS)
  .describe(
    '`webhook`: signed JSON; `slack`: an incoming webhook of Slack; `teams`: a workflow webhook of Teams; `mail`: needs `SMTP_URL`',
  );
const addresses = z.array(email.max(254)).min(1).max(WARNING_LIMITS.addresses).describe('of `mail`');
const destinationName = line(100, 'how the destination is shown');
const MAX_URL = 2_048;

export const NewDestination = z
  .strictObject({
    kind: destinationKind,
    name: destinationName.optional(),
    url: httpUrl.max(MAX_URL).describe('of `webhook`, `slack` and `teams`; only its host is shown later').optional(),
    addresses: addresses.optional(),
    quiet: QuietHours.optional(),
  })
  .superRefine((given, context) => {
    const isMail = given.kind === 'mail';
    const problem = (field: string, isNeeded: boolean): void =>
      context.addIssue({ code: 'custom', path: [field], message: wanted(isNeeded, given.kind) });
    if ((given.url === undefined) !== isMail) problem('url', !isMail);
    if ((given.addresses !== undefined) !== isMail) problem('addresses', isMail);
  });
export type NewDestination = z.infer<typeof NewDestination>;

export const DestinationChange = z.strictObject({
  name: destinationName.optional(),
  addresses: addresses.optional(),
  quiet: QuietHours.nullable().optional(),
});
export type DestinationChange = z.infer<typeof DestinationChange>;

export const ShownDestination = named('WarningDestination', {
  ...kind('warning_destination'),
  id: text,
  name: text,
  kind: z.enum(DESTINATION_KINDS),
  host: someText,
  addresses: texts.nullable(),
  quiet: QuietHours.nullable(),
  created_at: moment,
  secret: text.describe('of a new webhook: verifies its signatures; it is in this response only').optional(),
});
export type ShownDestination = z.infer<typeof ShownDestination>;

export const DestinationTest = named('WarningDestinationTest', {
  object: z.literal('warning_destination_test'),
  id: text,
  delivered: flag,
  status: someInteger,
  error: someText,
  duration_ms: integer,
});
export type DestinationTest = z.infer<typeof DestinationTest>;

export const DeletedWarning = z.strictObject({
  object: z.enum(['warning', 'warning_destination']),
  id: text,
  deleted: z.literal(true),
});

/** `mail`: whether mail can be sent. */
export const MAIL = { mail: flag.describe('whether `SMTP_URL` is set') };

// ---------------------------------------------------------------- notices

export const NoticeContent = z.strictObject({
  rule: z.strictObject({
    id: text,
    name: text,
    kind: z.enum(WARNING_KIND_NAMES),
    scope: z.enum(scopes),
    period: z.enum(periods).nullable(),
    amount: dollars.nullable(),
    percent: someInteger,
    min_calls: someInteger,
  }),
  count: integer.describe('subjects that crossed the threshold'),
  subjects: list(
    z.strictObject({
      id: text,
      name: someText.describe('of a key'),
      value: text.describe('dollars, percent, the state of an account, or the detail of an alarm'),
    }),
  ).describe(`the first ${WARNING_LIMITS.namedSubjects} of them`),
});
export type NoticeContent = z.infer<typeof NoticeContent>;

export const ShownNotice = NoticeContent.extend({
  ...kind('notice'),
  id: text,
  title: text,
  created_at: moment,
  deliveries: list(
    z.strictObject({
      destination: text,
      name: someText.describe('null when the destination is deleted'),
      state: z.enum(NOTICE_DELIVERY_STATES),
      attempts: integer,
      last_status: someInteger,
      last_error: someText,
      next_attempt_at: someMoment,
      finished_at: someMoment,
    }),
  ),
}).meta({ id: 'Notice' });
export type ShownNotice = z.infer<typeof ShownNotice>;

/** Warnings: rules with a threshold, the destinations of their notices, and what was sent. */
import { z } from 'zod';
import * as rules from '../rules/index.ts';
import * as f from './field.ts';

const KINDS = rules.WARNING_KIND_NAMES.map(rules.warningKind);
const scopes = [...new Set(KINDS.flatMap((kind) => kind.scopes))];
const periods = [...new Set(KINDS.flatMap((kind) => kind.periods))];

const ruleKind = z
  .enum(rules.WARNING_KIND_NAMES)
  .describe(rules.WARNING_KIND_NAMES.map((name) => `\`${name}\`: ${rules.WARNING_KINDS[name].about}`).join('; '));

const Thresholds = z
  .strictObject({
    name: f.line(100, 'how the rule is shown'),
    amount: f.moneyText.describe('dollars; of `balance` and `spend`'),
    percent: z.int().min(-100).max(100).describe('share in percent; of `limit`, `errors` and `margin`'),
    min_calls: z.int().min(1).max(1_000_000_000).describe('fewer calls say nothing; of `errors` and `margin`'),
    states: z
      .array(z.enum(rules.ACCOUNT_TROUBLES))
      .min(1)
      .max(rules.ACCOUNT_TROUBLES.length)
      .describe('of `account`: `out` for a refused credential or a used quota, `parked`, `draining`, `cooling`'),
    destinations: z
      .array(f.line(80, 'the id of a destination'))
      .max(rules.WARNING_LIMITS.destinations.operator)
      .nullable()
      .describe('ids of destinations that get the notices; null: all'),
    paused: f.flag.describe('it is not checked'),
  })
  .partial();

const DEFAULT_MIN_CALLS = 20;
const DEFAULT_STATES = ['out', 'parked'] as const;

const Rule = z.strictObject({
  kind: ruleKind,
  scope: z.enum(scopes).describe('what the figure is of; the first that the kind has by default').optional(),
  subject: f.line(80, 'the id of the user, key, group, account or alarm; without it, each of them').optional(),
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
  const { unit, percent, ...about } = rules.warningKind(rule.kind);
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
  scope: scope ?? rules.warningKind(name).scopes[0] ?? 'all',
  period: period ?? rules.warningKind(name).periods[0],
  minCalls: rules.warningKind(name).hasMinCalls ? DEFAULT_MIN_CALLS : undefined,
  states: name === 'account' ? DEFAULT_STATES : undefined,
});

export const ShownWarning = f.named('Warning', {
  ...f.kind('warning'),
  id: f.text,
  name: f.text,
  kind: ruleKind,
  scope: z.enum(scopes),
  subject: f.someText.describe('null: each of the scope'),
  subject_name: f.someText.describe('of a key'),
  period: z.enum(periods).nullable(),
  amount: f.someDollars,
  percent: f.someInteger,
  min_calls: f.someInteger,
  states: f.list(z.enum(rules.ACCOUNT_TROUBLES)).nullable(),
  destinations: f.texts.nullable().describe('null: all'),
  paused: f.flag,
  holds_for: f.integer.describe('subjects for which the warning holds now'),
  created_at: f.moment,
});
export type ShownWarning = z.infer<typeof ShownWarning>;

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
  .enum(rules.DESTINATION_KINDS)
  .describe(
    '`webhook`: signed JSON; `slack`: an incoming webhook of Slack; ' +
      '`teams`: a workflow webhook of Teams; `mail`: needs `SMTP_URL`',
  );
const addresses = z.array(f.email.max(254)).min(1).max(rules.WARNING_LIMITS.addresses).describe('of `mail`');
const destinationName = f.line(100, 'how the destination is shown');
const MAX_URL = 2_048;

export const NewDestination = z
  .strictObject({
    kind: destinationKind,
    name: destinationName.optional(),
    url: f.httpUrl.max(MAX_URL).describe('of `webhook`, `slack` and `teams`; only its host is shown later').optional(),
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

export const ShownDestination = f.named('WarningDestination', {
  ...f.kind('warning_destination'),
  id: f.text,
  name: f.text,
  kind: z.enum(rules.DESTINATION_KINDS),
  host: f.someText,
  addresses: f.texts.nullable(),
  quiet: QuietHours.nullable(),
  created_at: f.moment,
  secret: f.text.describe('of a new webhook: verifies its signatures; it is in this response only').optional(),
});
export type ShownDestination = z.infer<typeof ShownDestination>;

export const DestinationTest = f.named('WarningDestinationTest', {
  object: z.literal('warning_destination_test'),
  id: f.text,
  delivered: f.flag,
  status: f.someInteger,
  error: f.someText,
  duration_ms: f.integer,
});
export type DestinationTest = z.infer<typeof DestinationTest>;

export const DeletedWarning = z.strictObject({
  object: z.enum(['warning', 'warning_destination']),
  id: f.text,
  deleted: z.literal(true),
});

/** `mail`: whether mail can be sent. */
export const MAIL = { mail: f.flag.describe('whether `SMTP_URL` is set') };

export const NoticeContent = z.strictObject({
  rule: z.strictObject({
    id: f.text,
    name: f.text,
    kind: z.enum(rules.WARNING_KIND_NAMES),
    scope: z.enum(scopes),
    period: z.enum(periods).nullable(),
    amount: f.dollars.nullable(),
    percent: f.someInteger,
    min_calls: f.someInteger,
  }),
  count: f.integer.describe('subjects that crossed the threshold'),
  subjects: f
    .list(
      z.strictObject({
        id: f.text,
        name: f.someText.describe('of a key'),
        value: f.text.describe('dollars, percent, the state of an account, or the detail of an alarm'),
      }),
    )
    .describe(`the first ${rules.WARNING_LIMITS.namedSubjects} of them`),
});
export type NoticeContent = z.infer<typeof NoticeContent>;

export const ShownNotice = NoticeContent.extend({
  ...f.kind('notice'),
  id: f.text,
  title: f.text,
  created_at: f.moment,
  deliveries: f.list(
    z.strictObject({
      destination: f.text,
      name: f.someText.describe('null when the destination is deleted'),
      state: z.enum(rules.NOTICE_DELIVERY_STATES),
      attempts: f.integer,
      last_status: f.someInteger,
      last_error: f.someText,
      next_attempt_at: f.someMoment,
      finished_at: f.someMoment,
    }),
  ),
}).meta({ id: 'Notice' });
export type ShownNotice = z.infer<typeof ShownNotice>;

/** Usage in numbers: of a caller's key, and by dimension for operators and users. */
import { z } from 'zod';
import * as f from './field.ts';
import { keySpentFields, OF_USER, spentFields } from './limits.ts';
import { pageOf } from './page.ts';
import { PricedCall } from './request.ts';

export const DIMENSIONS = ['user', 'key', 'model', 'group', 'account', 'operation', 'day'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

const counts = {
  requests: f.integer,
  input_tokens: f.integer,
  cached_input_tokens: f.integer,
  cache_write_tokens: f.integer,
  output_tokens: f.integer,
  reasoning_tokens: f.integer,
};

/** One group of counts in the response to GET /v1/usage (G 4.10). */
const UsageCount = z.strictObject({ ...counts, images: f.integer, video_tasks: f.integer, cost: f.dollars });
export type UsageCount = z.infer<typeof UsageCount>;

const Report = z.strictObject({
  ...f.DAYS,
  total: UsageCount,
  by_day: f.list(UsageCount.extend({ date: f.text })),
  by_model: f.list(UsageCount.extend({ model: f.text })),
});
export type UsageReport = z.infer<typeof Report>;
export type UsagePeriod = UsageReport['period'];

const BalanceReport = z.strictObject({ available: f.dollars, held: f.dollars });
export type BalanceReport = z.infer<typeof BalanceReport>;

/** What a caller learns of its key. */
export const CallerUsage = Report.extend({
  object: z.literal('usage'),
  ...f.USD,
  key: z.strictObject({
    id: f.text,
    name: f.text,
    group: f.text,
    groups: f.texts.describe('of a key with several').optional(),
  }),
  balance: BalanceReport,
  limits: z.strictObject({ ...keySpentFields, user: z.strictObject(spentFields(OF_USER)).optional() }),
}).meta({ id: 'Usage' });

/** What a call cost, for the key that made it. */
export const RequestUsage = f.named('RequestUsage', {
  object: z.literal('usage.request'),
  ...f.USD,
  id: f.text,
  status: z
    .enum(['charged', 'pending', 'not_charged', 'task'])
    .describe(
      '`pending`: its charge is not booked yet; `not_charged`: it cost nothing; ' +
        '`task`: it created a video task, which has its own charge',
    ),
  at: f.moment.describe('when it was charged; before that, when it began'),
  model: f.someText,
  operation: f.text,
  usage: z.record(f.text, f.integer).nullable().describe('tokens and pieces by kind'),
  estimated: f.flag.nullable(),
  charge: f.someDollars,
  pricing: PricedCall.nullable().describe('the price in force, and the amount of each kind'),
});
export type RequestUsage = z.infer<typeof RequestUsage>;

const usd = z.number().describe('US dollars');
export const BillingSubscription = f.named('BillingSubscription', {
  object: z.literal('billing_subscription'),
  has_payment_method: f.flag,
  soft_limit_usd: usd,
  hard_limit_usd: usd.describe('what the key has spent in this UTC month and may still spend'),
  system_hard_limit_usd: usd,
  access_until: f.seconds.describe('Unix time in seconds at which the key expires; 0 for never'),
});
export type BillingSubscription = z.infer<typeof BillingSubscription>;

const cents = z.number().describe('cents of a US dollar');
export const BillingUsage = f.named('BillingUsage', {
  object: z.literal('list'),
  total_usage: cents,
  daily_costs: f.list(
    z.strictObject({ timestamp: f.seconds, line_items: f.list(z.strictObject({ name: f.text, cost: cents })) }),
  ),
});
export type BillingUsage = z.infer<typeof BillingUsage>;

const Measured = z.strictObject({
  ...counts,
  audio_tokens: f.integer,
  image_tokens: f.integer,
  searches: f.integer,
  images: f.integer,
  estimated_requests: f.integer,
});
const By = z
  .strictObject({
    user: f.text,
    key: f.text,
    model: f.text,
    group: f.text,
    account: f.text,
    operation: f.text,
    day: f.text,
  } satisfies Record<Dimension, z.ZodType>)
  .partial();

const unknown = f.someDollars.describe('null when the cost of a request is unknown');
export const OperatorMeasures = Measured.extend({
  revenue: f.dollars.describe('charged to users'),
  cost: unknown,
  margin: unknown,
  known_cost: f.dollars,
  unknown_cost_requests: f.integer,
  failed_cost: f.dollars.describe('the part of `known_cost` that is of attempts that served no call'),
});
/** Users never see what providers cost. */
export const UserMeasures = Measured.extend({ charge: f.dollars });
export type OperatorMeasures = z.infer<typeof OperatorMeasures>;
export type UserMeasures = z.infer<typeof UserMeasures>;

export const OperatorUsage = OperatorMeasures.extend(By.shape).meta({ id: 'OperatorUsage' });
export type OperatorUsage = z.infer<typeof OperatorUsage>;
export const UserUsage = UserMeasures.extend(By.shape).meta({ id: 'UserUsage' });
export type UserUsage = z.infer<typeof UserUsage>;

const report = { ...f.USD, ...f.DAYS, by: f.list(z.enum(DIMENSIONS)) };
export const OperatorUsagePage = pageOf(OperatorUsage, { ...report, total: OperatorUsage });
export type OperatorUsagePage = z.infer<typeof OperatorUsagePage>;
export const UserUsagePage = pageOf(UserUsage, { ...report, total: UserUsage });
export type UserUsagePage = z.infer<typeof UserUsagePage>;

const priceId = f.someText.describe('the price that was in force');

export const ShownRecord = f.named('UsageRecord', {
  id: f.text,
  at: f.moment,
  user: f.text,
  key: f.text,
  group: f.text,
  account: f.text,
  model: f.text,
  operation: f.text,
  request_id: f.text,
  usage: f.anyObject.describe('tokens and pieces by kind'),
  images: f.integer,
  charge: f.dollars,
  cost: f.someDollars,
  price: priceId,
  estimated: f.flag,
  fault: f.someText.describe('of an attempt that served no call: how it failed; it is not charged'),
});

export const QuarantinedRecord = f.named('QuarantinedRecord', {
  ...f.kind('quarantined_record'),
  id: f.text,
  fault: f.text,
  record: f.anyObject.nullable().describe('as the journal held it'),
  created_at: f.moment,
  outcome: z.enum(['charged', 'dismissed']).nullable(),
  reason: f.someText,
  resolved_at: f.someMoment,
});
export type QuarantinedRecord = z.infer<typeof QuarantinedRecord>;

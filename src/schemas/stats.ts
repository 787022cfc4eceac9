/** Sums of calls for charts, and how each account does. */
import { z } from 'zod';
import * as f from './field.ts';

export const STATS_GROUPINGS = ['group', 'account', 'model'] as const;
export type StatsGrouping = (typeof STATS_GROUPINGS)[number];
export const STATS_BUCKETS = ['hour', 'day'] as const;
export type StatsBucket = (typeof STATS_BUCKETS)[number];

const some = z.number().nullable();
const Percentiles = z.strictObject({ p50: some, p95: some, p99: some });
export type Percentiles = z.infer<typeof Percentiles>;

const StatsSums = z.strictObject({
  requests: f.integer,
  errors: z.strictObject({ provider: f.integer, ours: f.integer, caller: f.integer }),
  client_closed: f.integer,
  tokens: z.strictObject({ input: f.integer, cached_input: f.integer, output: f.integer }),
  charge: f.dollars.describe('of calls in the log; the usage report also has video tasks and background responses'),
  cost: f.dollars,
  cost_unknown: f.integer.describe('charged calls whose cost is unknown'),
  first_byte_ms: Percentiles,
  total_ms: Percentiles,
  added_ms: Percentiles,
  failover_ms: Percentiles,
});
export type StatsSums = z.infer<typeof StatsSums>;

const StatsPoint = StatsSums.extend({
  time: f.moment,
  name: f.someText.describe('the group, account or model; empty for calls without one. Null without grouping'),
}).meta({ id: 'StatsPoint' });
export type StatsPoint = z.infer<typeof StatsPoint>;

export const Stats = z.strictObject({
  object: z.literal('stats'),
  ...f.USD,
  ...f.DAYS,
  bucket: z.enum(STATS_BUCKETS),
  by: z.enum(STATS_GROUPINGS).nullable(),
  total: StatsSums,
  data: f.list(StatsPoint),
});
export type Stats = z.infer<typeof Stats>;

const faults = z.record(f.text, f.integer).describe('failed attempts by fault');

export const AccountStats = StatsSums.extend({
  account: f.text,
  group: f.text,
  cache_hit_share: some.describe('share of input tokens that the provider read from its cache; null without input'),
  faults: faults.describe('failed attempts by fault, also those that another account made good'),
  models: f.list(z.strictObject({ model: f.text, requests: f.integer, errors: f.integer, faults })),
  served_hour: f.someMoment.describe('start of the last hour in which the provider answered a call'),
  last_fault: z
    .strictObject({ at: f.moment, request_id: f.text, fault: f.text, status: f.someInteger, message: f.someText })
    .nullable(),
}).meta({ id: 'AccountStats' });
export type AccountStats = z.infer<typeof AccountStats>;

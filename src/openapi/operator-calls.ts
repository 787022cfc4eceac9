/** What the admin API and the console return about calls: the request log, series for charts, the state of accounts. */
import { ERROR_SIDES, STATS_BUCKETS, STATS_GROUPINGS } from '../requests/index.ts';
import { DAYS, USD } from './operator-money.ts';
import {
  ANY_OBJECT,
  arrayOf,
  BOOLEAN,
  described,
  INTEGER,
  json,
  MONEY,
  mapOf,
  NUMBER,
  nullable,
  object,
  orNull,
  pageSchema,
  ref,
  type Schema,
  type SchemaMembers,
  TEXT,
  TIME,
  wordOf,
} from './schema.ts';

const MS = described('milliseconds', NUMBER);
const SOME_MS = described('milliseconds', nullable('number'));
const NAMES = arrayOf(TEXT);

/** Members that the caller could observe, which its user sees too. */
const OBSERVED: SchemaMembers = {
  id: TEXT,
  at: TIME,
  key: TEXT,
  group: TEXT,
  operation: TEXT,
  model: nullable('string'),
  dialect: nullable('string'),
  stream: nullable('boolean'),
  status: INTEGER,
  outcome: wordOf(['completed', 'client_closed', 'interrupted']),
  code: described('the code of the error', nullable('string')),
  error: described('on whose side the failure was', { enum: [...ERROR_SIDES, null] }),
  dropped: described('fields that did not reach the provider', NAMES),
  changed: described('fields that were converted to another form', NAMES),
  first_byte_ms: SOME_MS,
  total_ms: MS,
  added_ms: described('the part of the gateway, in milliseconds', nullable('number')),
  usage: described('tokens and pieces by kind', orNull(ANY_OBJECT)),
  estimated: nullable('boolean'),
  charge: orNull(MONEY),
};
const LOGGED: SchemaMembers = { object: { const: 'request' }, ...USD };

const ATTEMPT = object(
  { account: TEXT, start_ms: MS },
  {
    model: TEXT,
    outcome: TEXT,
    fault: TEXT,
    status: INTEGER,
    first_byte_ms: MS,
    end_ms: MS,
    words: described('of the provider about the failure', TEXT),
  },
);

const LINES = arrayOf(
  object({ part: TEXT, count: INTEGER, rate: MONEY, per: wordOf(['million_tokens', 'piece']), amount: MONEY }),
);
const CALL_PRICE: SchemaMembers = {
  charge: orNull(
    object({
      price: nullable('string'),
      lines: LINES,
      subtotal: MONEY,
      group_multiplier: nullable('string'),
      user_multiplier: nullable('string'),
      charge: MONEY,
    }),
  ),
  cost: orNull(
    object({
      lines: LINES,
      subtotal: MONEY,
      multiplier: nullable('string'),
      cost: MONEY,
      margin: MONEY,
      margin_percent: nullable('number'),
    }),
  ),
};

const PERCENTILES = object({ p50: nullable('number'), p95: nullable('number'), p99: nullable('number') });
const SUMS: SchemaMembers = {
  requests: INTEGER,
  errors: object({ provider: INTEGER, ours: INTEGER, caller: INTEGER }),
  client_closed: INTEGER,
  tokens: object({ input: INTEGER, cached_input: INTEGER, output: INTEGER }),
  charge: MONEY,
  cost: MONEY,
  cost_unknown: described('charged calls whose cost is unknown', INTEGER),
  first_byte_ms: PERCENTILES,
  total_ms: PERCENTILES,
  added_ms: PERCENTILES,
  failover_ms: PERCENTILES,
};
const FAULTS = described('failed attempts by fault', mapOf(INTEGER));

export const CALL_SCHEMAS: Readonly<Record<string, Schema>> = {
  OwnRequest: object(OBSERVED, LOGGED),
  LoggedRequest: object(
    {
      ...OBSERVED,
      user: TEXT,
      account: nullable('string'),
      upstream_model: nullable('string'),
      target_dialect: nullable('string'),
      converted: BOOLEAN,
      attempts: arrayOf(ATTEMPT),
      failover_ms: SOME_MS,
      cost: orNull(MONEY),
      price: nullable('string'),
      session: described('calls of one conversation have the same value', nullable('string')),
    },
    { ...LOGGED, pricing: object(CALL_PRICE) },
  ),
  Quote: object({
    object: { const: 'quote' },
    group: TEXT,
    model: TEXT,
    line: described('the line of the catalog that the name resolves to', TEXT),
    free: BOOLEAN,
    at_most: described('a video: the most that it can cost', BOOLEAN),
    ...CALL_PRICE,
  }),
  StatsPoint: object({ time: TIME, name: nullable('string'), ...SUMS }),
  AccountStats: object({
    account: TEXT,
    group: TEXT,
    ...SUMS,
    cache_hit_share: nullable('number'),
    faults: FAULTS,
    models: arrayOf(object({ model: TEXT, requests: INTEGER, errors: INTEGER, faults: FAULTS })),
    last_fault: orNull(
      object({ at: TIME, request_id: TEXT, fault: TEXT, status: nullable('integer'), words: nullable('string') }),
    ),
  }),
  Alarm: object({
    name: TEXT,
    count: INTEGER,
    detail: TEXT,
    about: TEXT,
    advice: TEXT,
    checked_seconds_ago: NUMBER,
  }),
  AuditLine: object({
    id: TEXT,
    at: TIME,
    actor: TEXT,
    action: TEXT,
    subject: TEXT,
    before: orNull(ANY_OBJECT),
    after: orNull(ANY_OBJECT),
    request_id: nullable('string'),
    address: nullable('string'),
  }),
};

export const CALL_RESPONSES = {
  'admin.requests': { 200: json('A page of calls, newest first', pageSchema('LoggedRequest', USD)) },
  'admin.request': { 200: json('The call', ref('LoggedRequest')) },
  'admin.quote': { 200: json('The charge and the cost; null where there is no price', ref('Quote')) },
  'admin.stats': {
    200: json(
      'The points in order of time, and their sum',
      object({
        object: { const: 'stats' },
        ...USD,
        ...DAYS,
        bucket: wordOf(STATS_BUCKETS),
        by: { enum: [...STATS_GROUPINGS, null] },
        total: object(SUMS),
        data: arrayOf(ref('StatsPoint')),
      }),
    ),
  },
  'admin.accountStats': {
    200: json('The accounts in the order of the configuration', pageSchema('AccountStats', { ...USD, ...DAYS })),
  },
  'admin.alarms': { 200: json('Every alarm; those with a count above zero need an operator', pageSchema('Alarm')) },
  'admin.audit': { 200: json('A page of lines, newest first', pageSchema('AuditLine')) },
} as const;

/** What the admin API returns about money: wallets, movements, usage, records, reviews and prices. */
import { DIMENSIONS, type UsageAudience, usageColumns } from '../ledger/index.ts';
import {
  ANY_OBJECT,
  arrayOf,
  BOOLEAN,
  described,
  INTEGER,
  json,
  MONEY,
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

export const USD = { currency: { const: 'USD' } } as const;
export const DAYS = {
  period: object({ start: TEXT, end: TEXT, timezone: TEXT }),
} as const;

const PRICE_ID = described('the price that was in force', nullable('string'));
const DECIMALS: ReadonlySet<string> = new Set(['revenue', 'cost', 'margin', 'known_cost', 'charge']);
const UNKNOWN: ReadonlySet<string> = new Set(['cost', 'margin']);
const measure = (name: string): Schema =>
  UNKNOWN.has(name)
    ? described('null when the cost of a request is unknown', orNull(MONEY))
    : DECIMALS.has(name)
      ? MONEY
      : INTEGER;

/** A line of usage as an operator or a user sees it, with the dimensions that `by` names. */
const usageLineSchema = (audience: UsageAudience): Schema =>
  object(
    Object.fromEntries(usageColumns([], audience).map((name) => [name, measure(name)])),
    Object.fromEntries(DIMENSIONS.map((name) => [name, TEXT])),
  );

export const MONEY_SCHEMAS: Readonly<Record<string, Schema>> = {
  Balance: object(
    {
      user: TEXT,
      credits: MONEY,
      debits: MONEY,
      held: described('set aside for video tasks', MONEY),
      available: MONEY,
      leased: described('reserved by servers for calls; part of `available`', MONEY),
      open_holds: INTEGER,
      open_leases: INTEGER,
    },
    { object: { const: 'balance' }, ...USD },
  ),
  Credit: object({
    object: { const: 'credit' },
    ...USD,
    entry: TEXT,
    user: TEXT,
    amount: MONEY,
    kind: TEXT,
    reason: TEXT,
    reference: TEXT,
    at: TIME,
  }),
  Movement: object({
    entry: TEXT,
    at: TIME,
    kind: TEXT,
    amount: MONEY,
    balance: described('after the movement', MONEY),
    reference: TEXT,
    reason: TEXT,
    price: PRICE_ID,
  }),
  OperatorUsage: usageLineSchema('operator'),
  UserUsage: usageLineSchema('user'),
  UsageRecord: object({
    id: TEXT,
    at: TIME,
    user: TEXT,
    key: TEXT,
    group: TEXT,
    account: TEXT,
    model: TEXT,
    operation: TEXT,
    request_id: TEXT,
    usage: described('tokens and pieces by kind', ANY_OBJECT),
    images: INTEGER,
    charge: MONEY,
    cost: orNull(MONEY),
    price: PRICE_ID,
    estimated: BOOLEAN,
  }),
  QuarantinedRecord: object(
    {
      id: TEXT,
      fault: TEXT,
      record: described('as the journal held it', orNull(ANY_OBJECT)),
      created_at: TIME,
      outcome: { enum: ['charged', 'dismissed', null] },
      reason: nullable('string'),
      resolved_at: orNull(TIME),
    },
    { object: { const: 'quarantined_record' } },
  ),
  Review: object({
    task: TEXT,
    user: TEXT,
    model: TEXT,
    account: TEXT,
    upstream_task: nullable('string'),
    held: MONEY,
    tokens: nullable('integer'),
    created_at: TIME,
    finished_at: orNull(TIME),
    asked_until: TIME,
  }),
  ResolvedReview: object(
    {
      object: { const: 'review' },
      ...USD,
      task: TEXT,
      user: TEXT,
      outcome: wordOf(['released', 'charged']),
      charge: MONEY,
    },
    { tokens: INTEGER },
  ),
  Price: object({
    id: TEXT,
    model: TEXT,
    group: TEXT,
    removed: described('the model no longer exists', BOOLEAN),
    valid_from: TIME,
    prices: described('rates in the form of the configuration file', orNull(ANY_OBJECT)),
    cost: orNull(ANY_OBJECT),
  }),
};

const RATE_CHANGE = object({
  rate: TEXT,
  before: nullable('string'),
  after: nullable('string'),
  suspicious: described('disappears, drops to zero, or changes by more than ten times', BOOLEAN),
});
const PRICE_IMPORT = object({
  object: { const: 'price_import' },
  dry_run: BOOLEAN,
  plan: described('names the plan; send it back to apply it', TEXT),
  changes: arrayOf(
    object({
      group: TEXT,
      model: TEXT,
      source: described('provider and model of the public list', TEXT),
      valid_from: nullable('string'),
      prices: ANY_OBJECT,
      cost: ANY_OBJECT,
      rates: arrayOf(RATE_CHANGE),
    }),
  ),
  unchanged: INTEGER,
  remarks: arrayOf(TEXT),
  skipped: described('models without an importable price, with the reason', arrayOf(TEXT)),
});

const CSV = { 'text/csv': { schema: TEXT } } as const;
/** A report that is also offered as a file. */
const withCsv = (description: string, schema: Schema): object => ({
  description,
  content: { 'application/json': { schema }, ...CSV },
});
const usagePage = (name: string): Schema =>
  pageSchema(name, { ...USD, ...DAYS, by: arrayOf(wordOf(DIMENSIONS)), total: ref(name) });
const statementPage = pageSchema('Movement', { ...USD, user: TEXT, held: MONEY } satisfies SchemaMembers);

export const STATEMENT = { 200: withCsv('A page of movements, newest first', statementPage) } as const;
export const USER_USAGE = { 200: withCsv('A page of usage', usagePage('UserUsage')) } as const;

export const MONEY_RESPONSES = {
  'admin.balances': { 200: json('A page of balances by user', pageSchema('Balance', USD)) },
  'admin.balance': { 200: json('The balance', ref('Balance')) },
  'admin.credit': {
    200: json('The reference is booked already, with the same content', ref('Credit')),
    201: json('The booking', ref('Credit')),
  },
  'admin.statement': STATEMENT,
  'admin.usage': { 200: withCsv('A page of usage', usagePage('OperatorUsage')) },
  'admin.records': { 200: json('A page of records, newest first', pageSchema('UsageRecord', USD)) },
  'admin.quarantine': { 200: json('A page of records, newest first', pageSchema('QuarantinedRecord')) },
  'admin.resolveRecord': { 200: json('The charged record', ref('QuarantinedRecord')) },
  'admin.dismissRecord': { 200: json('The dismissed record', ref('QuarantinedRecord')) },
  'admin.reviews': { 200: json('A page of video tasks, oldest first', pageSchema('Review', USD)) },
  'admin.settleReview': { 200: json('What was charged', ref('ResolvedReview')) },
  'admin.releaseReview': { 200: json('The hold is released', ref('ResolvedReview')) },
  'admin.importPrices': { 200: json('The plan, or what was applied', PRICE_IMPORT) },
  'admin.prices': { 200: json('A page of prices, newest first', pageSchema('Price')) },
} as const;

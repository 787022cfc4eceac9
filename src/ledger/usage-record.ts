/** The usage record of one call, the validation of its counts, and its text form in the journal. */
import { randomBytes } from 'node:crypto';
import { base62, type Nanos, type Usage } from '../core/index.ts';

/** The usage of a call and the number of images it generated, by "size/quality". */
export interface MeteredUsage extends Usage {
  readonly images?: Readonly<Record<string, number>>;
}

export interface UsageFields {
  /** Makes recording idempotent: a record that is read twice from a journal is recorded once. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly userId: string;
  readonly keyId: string;
  readonly groupId: string;
  readonly accountId: string;
  readonly model: string;
  readonly operation: string;
  readonly requestId: string;
  readonly usage: MeteredUsage;
  readonly images: number;
  readonly nanos: Nanos;
  /** The row of `prices` that was used; null for a model without prices. */
  readonly priceId: bigint | null;
  readonly estimated: boolean;
  /** Of an attempt that served no call: how it failed. It is charged to nobody, and the provider's cost is booked. */
  readonly fault?: string | undefined;
}

export interface UsageRecord extends UsageFields {
  /** What the wallet pays: `nanos`, or zero for an invalid record. */
  readonly charge: Nanos;
  readonly invalid: string | undefined;
}

/** The only place that validates: everything after it reads `charge` and `invalid`. */
export function createUsageRecord(fields: UsageFields): UsageRecord {
  const invalid = findInvalid(fields);
  return { ...fields, charge: invalid === undefined ? fields.nanos : 0n, invalid };
}

/** Ids of one process are ascending, so that inserts append to the index. */
const processPart = base62(randomBytes(12));
let counter = 0;
export const newRecordId = (): string => {
  counter += 1;
  return `use_${processPart}${counter.toString(36).padStart(9, '0')}`;
};

/** More than any request can use; a larger count comes from a faulty upstream. */
const MAX_COUNT = 1_000_000_000;
/** A million dollars for one call. */
export const MAX_COST: Nanos = 10n ** 15n;
/** A time outside of this range comes from a wrong clock, and would create a partition for its month. */
const EARLIEST = Date.UTC(2020, 0);
const LATEST = Date.UTC(2100, 0);

type NotCount = {
  [K in keyof MeteredUsage]-?: NonNullable<MeteredUsage[K]> extends number ? never : K;
}[keyof MeteredUsage];

/** Every other member is a count. */
const NOT_COUNTS = {
  tier: true,
  models: true,
  replyModel: true,
  estimated: true,
  invalid: true,
  images: true,
} as const satisfies Record<NotCount, true>;

/** On the path of every call: `for in` over the members that are present creates no arrays. */
function findInvalid({ usage, images, nanos, at }: UsageFields): string | undefined {
  if (usage.invalid !== undefined) return usage.invalid;
  for (const name in usage) {
    const fault = Object.hasOwn(NOT_COUNTS, name) ? undefined : countFault(usage[name as keyof MeteredUsage]);
    if (fault) return `${name} is ${fault}`;
  }
  for (const kind in usage.images) {
    const fault = countFault(usage.images[kind]);
    if (fault) return `images of ${kind} are ${fault}`;
  }
  const fault = countFault(images);
  if (fault) return `images are ${fault}`;
  if (nanos < 0n || nanos > MAX_COST) return 'the cost is out of bounds';
  if (!(at >= EARLIEST && at < LATEST)) return 'the time is out of bounds';
  return undefined;
}

function countFault(count: unknown): string | undefined {
  if (count === undefined) return undefined;
  if (typeof count !== 'number' || !Number.isInteger(count)) return 'not a whole number';
  if (count < 0) return 'negative';
  return count > MAX_COUNT ? 'beyond 10^9' : undefined;
}

export const isCount = (count: number | undefined): count is number => count !== undefined && !countFault(count);

/** Callers and upstreams choose some texts. One that PostgreSQL cannot store must not make a call free of charge. */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '');

/** One line of JSON. 64-bit integers are written as strings, because JSON numbers cannot hold them. */
export const encodeRecord = (record: UsageRecord): string =>
  JSON.stringify({
    id: record.id,
    at: record.at,
    userId: record.userId,
    keyId: record.keyId,
    groupId: record.groupId,
    accountId: record.accountId,
    model: record.model,
    operation: record.operation,
    usage: record.usage,
    images: record.images,
    nanos: String(record.nanos),
    priceId: record.priceId === null ? null : String(record.priceId),
    estimated: record.estimated,
    requestId: record.requestId,
    fault: record.fault,
  } satisfies Record<keyof UsageFields, unknown>);

export function decodeRecord(text: string): UsageRecord {
  const value = JSON.parse(text);
  const priceId = value.priceId === null ? null : BigInt(value.priceId);
  return createUsageRecord({ ...value, nanos: BigInt(value.nanos), priceId });
}

/** The counters of the daily roll-ups (table usage_daily). The writer adds to them; reports sum them. */
export const DAILY_SUMS = [
  'requests',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'audio_tokens',
  'image_tokens',
  'searches',
  'images',
  'nanos',
  'estimated',
  'cost_nanos',
  'cost_unknown',
  'failed_cost_nanos',
] as const;

/** What one call used and cost, and the line between a number that may be charged and one that only a fault can explain. */
import { randomBytes } from 'node:crypto';
import { base62, type Nanos, type Usage } from '../core/index.ts';

/** The usage of a call and the pictures it made, by "size/quality". */
export interface MeteredUsage extends Usage {
  readonly images?: Readonly<Record<string, number>>;
}

export interface UsageRecord {
  /** Makes recording happen once, however often a journal is read. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly userId: string;
  readonly keyId: string;
  readonly groupId: string;
  readonly accountId: string;
  readonly model: string;
  readonly operation: string;
  readonly usage: MeteredUsage;
  readonly images: number;
  readonly nanos: Nanos;
  /** The row of prices that was used; null for a model without prices. */
  readonly priceId: bigint | null;
  readonly estimated: boolean;
  readonly requestId: string;
}

/** Ids of one process rise, so that they fill an index from one side. */
const processPart = base62(randomBytes(12));
let counter = 0;
export const newRecordId = (): string => {
  counter += 1;
  return `use_${processPart}${counter.toString(36).padStart(9, '0')}`;
};

/** No request can use more; one that says so comes from a broken upstream. */
const MAX_COUNT = 1_000_000_000;
/** A million dollars for one call. */
export const MAX_COST: Nanos = 10n ** 15n;
/** Outside of these a clock was wrong; a month would be made for each such record. */
const EARLIEST = Date.UTC(2020, 0);
const LATEST = Date.UTC(2100, 0);

const COUNTS: ReadonlySet<string> = new Set([
  'input',
  'cacheRead',
  'cacheWrite',
  'cacheWriteLong',
  'toolPrompt',
  'inputAudio',
  'inputImage',
  'output',
  'reasoning',
  'outputAudio',
  'outputImage',
  'searches',
  'fetches',
] satisfies (keyof MeteredUsage)[]);

/** Why a record must not be charged, if it must not. Asked several times for every call: only what is there is looked at. */
export function invalidUsage(record: UsageRecord): string | undefined {
  const { usage, images, nanos, at } = record;
  if (usage.invalid !== undefined) return usage.invalid;
  for (const name in usage) {
    const fault = COUNTS.has(name) ? countFault(usage[name as keyof MeteredUsage]) : undefined;
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
  return count < 0 ? 'negative' : count > MAX_COUNT ? 'beyond 10^9' : undefined;
}

/** What the record costs its wallet. */
export const chargeOf = (record: UsageRecord): Nanos => (invalidUsage(record) === undefined ? record.nanos : 0n);

/** One line of text. JSON has no integers of 64 bits, so those travel as strings. */
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
  } satisfies Record<keyof UsageRecord, unknown>);

/** Reads what `encodeRecord` wrote; its checksum has been compared already. */
export function decodeRecord(text: string): UsageRecord {
  const value = JSON.parse(text);
  value.nanos = BigInt(value.nanos);
  if (value.priceId !== null) value.priceId = BigInt(value.priceId);
  return value;
}

/** What the roll-ups count of a day (table usage_daily): they grow by it, and reports add it up. */
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
] as const;

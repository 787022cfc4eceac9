/** Usage records as their rows hold them, and how those of a request are found. */
import { type RawBuilder, sql } from 'kysely';
import { requestIdTime } from '../../core/index.ts';
import { type Db, firstRow, type Row } from '../../platform/db/index.ts';
import { type MeteredUsage, storableText } from '../usage-record.ts';

/**
 * A quarter of the row and of the time to copy it: most calls report nothing but these four.
 * A record that lacks one of them is kept whole.
 */
export function packUsage(usage: MeteredUsage): string {
  const { input, cacheRead, cacheWrite, output, ...more } = usage;
  const isInColumns = input + output > 0 && cacheRead + cacheWrite >= 0;
  const packed = isInColumns ? more : usage;
  return JSON.stringify(packed.tier === undefined ? packed : { ...packed, tier: storableText(packed.tier) });
}

type UsageColumns = Pick<
  Row<'requests'>,
  'usage' | 'input_tokens' | 'cached_input_tokens' | 'cache_write_tokens' | 'output_tokens'
>;
export const USAGE_COLUMNS = [
  'usage',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
] as const satisfies readonly (keyof UsageColumns)[];

/** The usage as it was recorded or logged: a member that was not reported is absent. */
export function unpackUsage(row: UsageColumns): MeteredUsage {
  const packed = (row.usage ?? {}) as unknown as Partial<MeteredUsage>;
  const [input, output] = [Number(row.input_tokens), Number(row.output_tokens)];
  if (packed.input !== undefined || packed.output !== undefined || input + output === 0) return packed as MeteredUsage;
  const [cacheRead, cacheWrite] = [Number(row.cached_input_tokens), Number(row.cache_write_tokens)];
  return { input, cacheRead, cacheWrite, output, ...packed };
}

/** What `is_within_minute` accepts, which rounds to seconds. */
const NEAR_SECONDS = { before: 2, after: 62 };

export const isOfRequest = (id: string): RawBuilder<boolean> =>
  sql`request_id = ${id} and (not is_within_minute(at, request_id)
    or at between ${near(id, -NEAR_SECONDS.before)} and ${near(id, NEAR_SECONDS.after)})`;

const near = (id: string, seconds: number): RawBuilder<unknown> =>
  sql`to_timestamp(${(requestIdTime(id) ?? 0) / 1_000 + seconds}::float8)`;

/**
 * The record of a request of this key. One part for each index:
 * one condition would read a large user by the index of all times.
 */
export async function recordOfRequest(db: Db, call: Readonly<Record<'id' | 'userId' | 'keyId', string>>) {
  const { id, userId, keyId } = call;
  const own = sql`request_id = ${id} and user_id = ${userId} and key_id = ${keyId} and fault is null`;
  return firstRow(db)<Row<'usage_records'>>`
    (select * from usage_records
     where ${own} and at between ${near(id, -NEAR_SECONDS.before)} and ${near(id, NEAR_SECONDS.after)} limit 1)
    union all
    (select * from usage_records
     where ${own} and not is_within_minute(at, request_id) and at > ${near(id, NEAR_SECONDS.after)} limit 1)
    limit 1`;
}

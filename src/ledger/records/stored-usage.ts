/** The usage of a record or a line of the request log as its row holds it: the column `usage` has only what the columns of tokens do not say. */
import type { Row } from '../../platform/db/index.ts';
import { words } from '../../rules/index.ts';
import { type MeteredUsage, storableText } from '../usage-record.ts';

/** A quarter of the row and of the time to copy it: most calls report nothing but these four. A record that lacks one of them is kept whole. */
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
export const USAGE_COLUMNS = words(
  'usage input_tokens cached_input_tokens cache_write_tokens output_tokens',
) satisfies readonly (keyof UsageColumns)[];

/** The usage as it was recorded or logged: a member that was not reported is absent. */
export function unpackUsage(row: UsageColumns): MeteredUsage {
  const packed = (row.usage ?? {}) as unknown as Partial<MeteredUsage>;
  const [input, output] = [Number(row.input_tokens), Number(row.output_tokens)];
  if (packed.input !== undefined || packed.output !== undefined || input + output === 0) return packed as MeteredUsage;
  const [cacheRead, cacheWrite] = [Number(row.cached_input_tokens), Number(row.cache_write_tokens)];
  return { input, cacheRead, cacheWrite, output, ...packed };
}

/** Token counts. This dialect splits input into fresh, cache writes and cache reads; the hub has the total and its cached parts. */
import type { ModelUsage } from '../../core/index.ts';
import type { HubUsage, JsonObject } from '../hub/types.ts';
import { compact, isGiven, isObject, maybeCount, maybeList, maybeObject, maybeString, tableOf } from '../wire/read.ts';
import { invalidCount } from '../wire/usage.ts';

/** Member of a merged report that keeps the first invalid count, because a later report would hide it. */
const INVALID = 'invalid_count';

/** Merges a later usage report member by member. Neither zero nor an invalid value ever replaces a count. */
export function mergeUsage(before: JsonObject, later: unknown): JsonObject {
  if (!isObject(later)) return before;
  const merged: Record<string, unknown> = { ...before, [INVALID]: before[INVALID] ?? invalidCount(later) };
  for (const [name, value] of Object.entries(later)) {
    const isCount = maybeCount(value) !== undefined;
    if (!isGiven(value) || (!isCount && (typeof value === 'number' || typeof merged[name] === 'number'))) continue;
    if (value === 0 && Number(merged[name]) > 0) continue;
    merged[name] = value;
  }
  return merged;
}

/** `isFinal`: the upstream sent its closing counts. Otherwise the usage is marked as estimated. */
export function decodeUsage(usage: JsonObject, isFinal: boolean): HubUsage {
  const sum = totalOver(usage);
  const cacheRead = sum('cache_read_input_tokens');
  const cacheWrite = sum('cache_creation_input_tokens');
  const server = maybeObject(usage.server_tool_use);
  const output = sum('output_tokens');
  return compact({
    input: sum('input_tokens') + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite,
    longestPrompt: longestOf(usage),
    cacheWriteLong: maybeCount(maybeObject(usage.cache_creation).ephemeral_1h_input_tokens) || undefined,
    output,
    reasoning: maybeCount(maybeObject(usage.output_tokens_details).thinking_tokens),
    searches: maybeCount(server.web_search_requests) || undefined,
    fetches: maybeCount(server.web_fetch_requests) || undefined,
    tier: maybeString(usage.service_tier),
    models: modelsOf(usage),
    estimated: isFinal ? undefined : true,
    invalid: maybeString(usage[INVALID]) ?? invalidCount(usage),
  });
}

/** An object without counts is not a report. */
export const readUsage = (usage: unknown): HubUsage | undefined =>
  isObject(usage) && (isGiven(usage.input_tokens) || isGiven(usage.output_tokens) || isGiven(usage.iterations))
    ? decodeUsage(usage, true)
    : undefined;

/** Sums over sampling iterations: the top-level counts cover only the last one, but the provider bills all. */
function totalOver(usage: JsonObject): (name: string) => number {
  const iterations = maybeList(usage.iterations).filter(isObject);
  const rows = iterations.length > 0 ? iterations : [usage];
  return (name) => rows.reduce((sum, row) => sum + (maybeCount(row[name]) ?? 0), 0);
}

/** The iterations by the model that made each: an adviser, or a model that the request names as fallback. */
function modelsOf(usage: JsonObject): readonly ModelUsage[] | undefined {
  const rows = maybeList(usage.iterations)
    .filter(isObject)
    .slice(0, MAX_ITERATIONS)
    .flatMap((row): ModelUsage[] => {
      const model = maybeString(row.model);
      if (model === undefined) return [];
      const cacheRead = maybeCount(row.cache_read_input_tokens) ?? 0;
      const cacheWrite = maybeCount(row.cache_creation_input_tokens) ?? 0;
      const cacheWriteLong = maybeCount(maybeObject(row.cache_creation).ephemeral_1h_input_tokens) || undefined;
      const input = (maybeCount(row.input_tokens) ?? 0) + cacheRead + cacheWrite;
      const output = maybeCount(row.output_tokens) ?? 0;
      return [{ model, input, cacheRead, cacheWrite, output, ...(cacheWriteLong && { cacheWriteLong }) }];
    });
  return rows.length > 0 ? rows : undefined;
}
/** More than a request can have; each is kept in its record. */
const MAX_ITERATIONS = 100;

/** The longest input of several iterations, each of which the provider bills by its own length. */
function longestOf(usage: JsonObject): number | undefined {
  const iterations = maybeList(usage.iterations).filter(isObject);
  const names = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];
  const lengths = iterations.map((row) => names.reduce((sum, name) => sum + (maybeCount(row[name]) ?? 0), 0));
  return lengths.length > 1 ? lengths.reduce((longest, one) => Math.max(longest, one)) : undefined;
}

/** Writes every member, unknown ones as null, because newer clients require them. */
export function encodeUsage(usage: HubUsage, searches = 0): Record<string, unknown> {
  const { cacheRead, cacheWrite } = usage;
  const long = Math.min(usage.cacheWriteLong ?? 0, cacheWrite);
  const webSearches = usage.searches ?? searches;
  const webFetches = usage.fetches ?? 0;
  return {
    input_tokens: Math.max(0, usage.input - cacheRead - cacheWrite),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite - long, ephemeral_1h_input_tokens: long },
    output_tokens: usage.output,
    output_tokens_details: usage.reasoning === undefined ? null : { thinking_tokens: usage.reasoning },
    server_tool_use:
      webSearches + webFetches > 0 ? { web_search_requests: webSearches, web_fetch_requests: webFetches } : null,
    // Required in `message_start`, before other upstreams report their tier; without a report it is the standard tier.
    service_tier: TIERS.get(usage.tier ?? '') ?? 'standard',
    inference_geo: null,
    speed: null,
  };
}

const TIERS = tableOf<string>({ priority: 'priority', fast: 'priority', batch: 'batch' });

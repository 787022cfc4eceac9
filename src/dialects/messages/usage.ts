/**
 * Token counts both ways. This dialect counts input in three disjoint parts (fresh, written to cache, read from cache) where
 * the hub counts all input once and names the cached parts of it.
 */
import type { HubUsage, JsonObject } from '../hub/types.ts';
import { invalidCount } from '../wire/invalid-usage.ts';
import { compact, given, isObject, maybeCount, maybeList, maybeObject, maybeString } from '../wire/read.ts';

/** Later reports overwrite earlier ones, member by member; what is no count does not overwrite one. */
export function mergeUsage(before: JsonObject, later: unknown): JsonObject {
  if (!isObject(later)) return before;
  const merged: Record<string, unknown> = { ...before, odd: before.odd ?? invalidCount(later) };
  for (const [name, value] of Object.entries(later)) {
    const isCount = maybeCount(value) !== undefined;
    if (!given(value) || (!isCount && (typeof value === 'number' || typeof merged[name] === 'number'))) continue;
    merged[name] = value;
  }
  return merged;
}

/** `final` when the upstream gave its closing numbers; else they are the last ones seen. */
export function decodeUsage(usage: JsonObject, final: boolean): HubUsage {
  const sum = total(usage);
  const cacheRead = sum('cache_read_input_tokens');
  const cacheWrite = sum('cache_creation_input_tokens');
  const server = maybeObject(usage.server_tool_use);
  const output = sum('output_tokens');
  return compact({
    input: sum('input_tokens') + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite,
    cacheWriteLong: maybeCount(maybeObject(usage.cache_creation).ephemeral_1h_input_tokens) || undefined,
    output,
    reasoning: maybeCount(maybeObject(usage.output_tokens_details).thinking_tokens),
    searches: maybeCount(server.web_search_requests) || undefined,
    fetches: maybeCount(server.web_fetch_requests) || undefined,
    tier: maybeString(usage.service_tier),
    estimated: final ? undefined : true,
    odd: maybeString(usage.odd) ?? invalidCount(usage),
  });
}

export const readUsage = (usage: unknown): HubUsage | undefined =>
  isObject(usage) ? decodeUsage(usage, true) : undefined;

/** With several sampling iterations the top-level numbers tell only the last one, and the bill is for all. */
function total(usage: JsonObject): (name: string) => number {
  const iterations = maybeList(usage.iterations).filter(isObject);
  const rows = iterations.length > 0 ? iterations : [usage];
  return (name) => rows.reduce((sum, row) => sum + (maybeCount(row[name]) ?? 0), 0);
}

/** All members, unknown ones as null: newer clients require them to be there. */
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
    // A stream names it before an upstream of another dialect has said; what is not said is the usual one, here and there.
    service_tier: TIERS.get(usage.tier ?? '') ?? 'standard',
    inference_geo: null,
    speed: null,
  };
}

const TIERS: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({ priority: 'priority', fast: 'priority', batch: 'batch' }),
);

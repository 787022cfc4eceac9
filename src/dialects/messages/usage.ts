/**
 * Token counts. This dialect splits input into fresh, cache writes and
 * cache reads; the hub has the total and its cached parts.
 */
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
  const server = maybeObject(usage.server_tool_use);
  const iterations = maybeList(usage.iterations).filter(isObject);
  // The top-level counts cover only the last sampling iteration, but the provider bills all.
  const rows = (iterations.length > 0 ? iterations : [usage]).map(tokensIn);
  const sum = (name: 'input' | 'cacheRead' | 'cacheWrite' | 'output'): number =>
    rows.reduce((total, row) => total + row[name], 0);
  const models = iterations.slice(0, MAX_ITERATIONS).flatMap(modelUsage);
  return compact({
    input: sum('input'),
    cacheRead: sum('cacheRead'),
    cacheWrite: sum('cacheWrite'),
    // The provider bills each iteration by its own length.
    longestPrompt: rows.length > 1 ? rows.reduce((longest, { input }) => Math.max(longest, input), 0) : undefined,
    cacheWriteLong: longWrites(usage),
    output: sum('output'),
    reasoning: maybeCount(maybeObject(usage.output_tokens_details).thinking_tokens),
    searches: maybeCount(server.web_search_requests) || undefined,
    fetches: maybeCount(server.web_fetch_requests) || undefined,
    tier: maybeString(usage.service_tier),
    models: models.length > 0 ? models : undefined,
    estimated: isFinal ? undefined : true,
    invalid: maybeString(usage[INVALID]) ?? invalidCount(usage),
  });
}

function tokensIn(row: JsonObject): Pick<HubUsage, 'input' | 'cacheRead' | 'cacheWrite' | 'output'> {
  const cacheRead = maybeCount(row.cache_read_input_tokens) ?? 0;
  const cacheWrite = maybeCount(row.cache_creation_input_tokens) ?? 0;
  const input = (maybeCount(row.input_tokens) ?? 0) + cacheRead + cacheWrite;
  return { input, cacheRead, cacheWrite, output: maybeCount(row.output_tokens) ?? 0 };
}

const longWrites = ({ cache_creation: written }: JsonObject): number | undefined =>
  maybeCount(maybeObject(written).ephemeral_1h_input_tokens) || undefined;

/** An iteration by the model that made it: an adviser, or a model that the request names as fallback. */
function modelUsage(row: JsonObject): ModelUsage[] {
  const model = maybeString(row.model);
  return model === undefined ? [] : [compact({ model, ...tokensIn(row), cacheWriteLong: longWrites(row) })];
}
/** More than a request can have; each is kept in its record. */
const MAX_ITERATIONS = 100;

/** An object without counts is not a report. */
export const readUsage = (usage: unknown): HubUsage | undefined =>
  isObject(usage) && (isGiven(usage.input_tokens) || isGiven(usage.output_tokens) || isGiven(usage.iterations))
    ? decodeUsage(usage, true)
    : undefined;

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

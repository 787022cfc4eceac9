/**
 * What a native response reports in other forms than its usage:
 * searches, and the usage of interactions in the form of the responses dialect.
 */
import { elementsAt, membersAt, type Span, scanMembers, spanAt, valueAt } from '../../core/index.ts';
import * as dialects from '../../dialects/index.ts';
import { type Dialect, JSON_LIMITS } from '../../rules/index.ts';
import { withServiceTier } from '../billing/usage.ts';

/** In the web and in stored files; a price has a rate for each. */
export type Searches = Required<Pick<dialects.HubUsage, 'searches' | 'fileSearches'>>;
const NONE: Searches = { searches: 0, fileSearches: 0 };

/** Counts that the provider reported stay as they are. */
export const addSearches = (usage: dialects.HubUsage, { searches, fileSearches }: Searches): dialects.HubUsage => ({
  ...(searches > 0 && { searches }),
  ...(fileSearches > 0 && { fileSearches }),
  ...usage,
});

/** Of a response object of the responses dialect, or of an interaction. */
export function usageOfResponse(response: dialects.JsonObject | undefined): dialects.HubUsage | undefined {
  const { usage: reported, service_tier: tier, tool_usage: tools } = response ?? {};
  const report = withServiceTier(reportOf(reported), tier);
  const usage = dialects.codecOf('responses').upstream.readUsage(report, tools ?? groundingOf(reported));
  return usage && addSearches(usage, searchesIn('responses', response));
}

const MARKERS: Partial<Record<Dialect, Buffer>> = {
  responses: Buffer.from('_search_call"'),
  generate: Buffer.from('webSearchQueries'),
};

export const mayHaveSearches = (dialect: Dialect, bytes: Buffer): boolean => {
  const marker = MARKERS[dialect];
  return marker !== undefined && bytes.includes(marker);
};

/** In a response that is parsed: the response object, or a chunk with the grounding of its first candidate. */
export function searchesIn(dialect: Dialect, response: unknown): Searches {
  const { output, candidates, modelVersion } = dialects.maybeObject(response);
  if (dialect === 'responses')
    return countCalls(dialects.maybeList(output).map((item) => dialects.maybeObject(item).type));
  if (dialect !== 'generate') return NONE;
  const grounding = dialects.maybeObject(dialects.maybeObject(dialects.maybeList(candidates)[0]).groundingMetadata);
  return grounded(modelVersion, grounding);
}

const countCalls = (types: readonly unknown[]): Searches => ({
  searches: types.filter((type) => type === 'web_search_call').length,
  fileSearches: types.filter((type) => type === 'file_search_call').length,
});

const grounded = (modelVersion: unknown, grounding: dialects.JsonObject): Searches => ({
  ...NONE,
  searches: dialects.billedSearches(String(modelVersion ?? ''), dialects.maybeList(grounding.webSearchQueries).length),
});

/** Lists of searches in a request that is nothing else. What only opens or looks through pages counts as one. */
const SEARCHING = ['search_query', 'image_query'] as const;
export function searchesAskedIn(body: Buffer): number {
  const commands = scanMembers(body, new Set(['commands']), JSON_LIMITS).get('commands');
  const lists = membersAt(body, commands, new Set(SEARCHING));
  const asked = SEARCHING.flatMap((name) => elementsAt(body, lists.get(name)));
  return Math.max(1, asked.length);
}

/** In the bytes of a response, without parsing its content, which may hold images. */
export function searchesInBody(dialect: Dialect, body: Buffer, limits: Parameters<typeof scanMembers>[2]): Searches {
  if (!mayHaveSearches(dialect, body)) return NONE;
  const members = scanMembers(body, new Set(['output', 'candidates', 'modelVersion']), limits);
  if (dialect === 'responses')
    return countCalls(elementsAt(body, members.get('output')).map((item) => memberOf(body, item, 'type')));
  const [first] = elementsAt(body, members.get('candidates'));
  const grounding = dialects.maybeObject(memberOf(body, first, 'groundingMetadata'));
  return grounded(valueAt(body, members.get('modelVersion')), grounding);
}

const memberOf = (body: Buffer, at: Span | undefined, name: string): unknown => valueAt(body, spanAt(body, at, name));

export const hasMembers = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Its usage. Others stay as they are. */
export function reportOf(usage: unknown): unknown {
  if (!hasMembers(usage) || !('total_input_tokens' in usage)) return usage;
  const count = (name: string): number => Number((usage as Record<string, unknown>)[name] ?? 0);
  const input = count('total_input_tokens') + count('total_tool_use_tokens');
  const written = count('total_output_tokens') + count('total_thought_tokens');
  // A total says whether thoughts are a part of the output.
  const most = (count('total_tokens') || Infinity) - input;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: count('total_cached_tokens') },
    output_tokens: Math.max(count('total_output_tokens'), Math.min(written, most)),
    output_tokens_details: { reasoning_tokens: count('total_thought_tokens') },
  };
}

export function groundingOf(usage: unknown): unknown {
  const { grounding_tool_count: counts } = dialects.maybeObject(usage);
  if (!Array.isArray(counts)) return undefined;
  const searches = counts.reduce<number>((sum, one) => sum + (Number(one?.count) || 0), 0);
  return { web_search: { num_requests: searches } };
}

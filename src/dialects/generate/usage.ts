/**
 * Token counts. The provider reports thoughts and hosted-tool
 * results apart; the hub includes them in output and input.
 */
import type { HubUsage, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeCount, maybeList, maybeObject, maybeString, tableOf } from '../wire/read.ts';
import { cacheParts, invalidCount } from '../wire/usage.ts';

/** Members of a report that are counts. */
const COUNTS = {
  prompt: 'promptTokenCount',
  cached: 'cachedContentTokenCount',
  candidates: 'candidatesTokenCount',
  thoughts: 'thoughtsTokenCount',
  toolPrompt: 'toolUsePromptTokenCount',
} as const;
const COUNT_NAMES = Object.keys(COUNTS) as (keyof typeof COUNTS)[];
/** Lists of counts by modality, of which text is not needed. */
const MODALITIES = {
  promptTokensDetails: { AUDIO: 'inputAudio', IMAGE: 'inputImage', VIDEO: 'inputVideo' },
  cacheTokensDetails: { AUDIO: 'cacheReadAudio', IMAGE: 'cacheReadImage' },
  candidatesTokensDetails: { AUDIO: 'outputAudio', IMAGE: 'outputImage', VIDEO: 'outputVideo' },
} as const;
type Media = {
  [L in keyof typeof MODALITIES]: (typeof MODALITIES)[L][keyof (typeof MODALITIES)[L]];
}[keyof typeof MODALITIES];

/** Counts reported so far. They are cumulative, and a later chunk may omit some of them. */
export type UsageCounts = { [K in keyof typeof COUNTS | Media]?: number } & { tier?: string; invalid?: string };

export function mergeUsage(counts: UsageCounts, wire: JsonObject): void {
  for (const name of COUNT_NAMES) set(counts, name, maybeCount(wire[COUNTS[name]]));
  for (const [member, names] of Object.entries(MODALITIES)) {
    const rows = maybeList(wire[member]).map(maybeObject);
    for (const [modality, name] of Object.entries<Media>(names))
      set(counts, name, maybeCount(rows.find((row) => row.modality === modality)?.tokenCount));
  }
  const tier = TIERS.get(maybeString(wire.trafficType) ?? '') ?? maybeString(wire.serviceTier)?.toLowerCase();
  if (tier !== undefined && tier !== 'unspecified') counts.tier = tier;
}

/** Validates only the last report: every chunk carries one, and validation costs more than reading it. */
export function checkUsage(counts: UsageCounts, report: JsonObject | undefined): void {
  set(counts, 'invalid', invalidCount(report));
}

const TIERS = tableOf({
  ON_DEMAND: 'standard',
  ON_DEMAND_PRIORITY: 'priority',
  ON_DEMAND_FLEX: 'flex',
});

function set<K extends keyof UsageCounts>(counts: UsageCounts, name: K, value: UsageCounts[K] | undefined): void {
  // Zero never replaces a count.
  if (value !== undefined && !(value === 0 && counts[name])) counts[name] = value;
}

/** `hasOutput`: the reply has content, so a missing output count means that usage was not reported. */
export function decodeUsage(counts: UsageCounts, hasOutput: boolean, searches: number): HubUsage {
  const { prompt, cached, candidates, thoughts, ...others } = counts;
  const isReported = prompt !== undefined && (!hasOutput || (candidates ?? thoughts) !== undefined);
  const input = (prompt ?? 0) + (counts.toolPrompt ?? 0);
  return compact({
    input,
    ...cacheParts(input, cached),
    ...others,
    output: (candidates ?? 0) + (thoughts ?? 0),
    reasoning: thoughts,
    searches: searches > 0 ? searches : undefined,
    estimated: isReported ? undefined : true,
  });
}

/** Models before the third generation bill one search per reply, later ones each query. */
export const billedSearches = (model: string, queries: number): number =>
  /^gemini-[12]\b/.test(model) ? Math.min(1, queries) : queries;

/** Without a count of the output the usage is marked as estimated; it is complete where the reply is empty. */
export function readUsage(wire: unknown): HubUsage | undefined {
  if (!isObject(wire)) return undefined;
  const counts: UsageCounts = {};
  mergeUsage(counts, wire);
  checkUsage(counts, wire);
  return decodeUsage(counts, true, 0);
}

export function encodeUsage(usage: HubUsage): JsonObject {
  // Clamped, because other upstreams may report parts larger than their total.
  const toolPrompt = Math.min(usage.toolPrompt ?? 0, usage.input);
  const thoughts = Math.min(usage.reasoning ?? 0, usage.output);
  return compact({
    promptTokenCount: usage.input - toolPrompt,
    toolUsePromptTokenCount: positive(toolPrompt),
    cachedContentTokenCount: positive(usage.cacheRead),
    candidatesTokenCount: usage.output - thoughts,
    thoughtsTokenCount: positive(thoughts),
    totalTokenCount: usage.input + usage.output,
  });
}

const positive = (count: number): number | undefined => (count > 0 ? count : undefined);

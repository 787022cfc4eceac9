/** Token counts. The provider reports thoughts and hosted-tool results apart; the hub includes them in output and input. */
import type { HubUsage, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeCount, maybeList, maybeString } from '../wire/read.ts';
import { cacheParts, invalidCount } from '../wire/usage.ts';

/** Counts reported so far. They are cumulative, and a later chunk may omit some of them. */
export interface UsageCounts {
  prompt?: number;
  cached?: number;
  candidates?: number;
  thoughts?: number;
  toolPrompt?: number;
  cacheReadAudio?: number;
  cacheReadImage?: number;
  inputAudio?: number;
  inputImage?: number;
  inputVideo?: number;
  outputAudio?: number;
  outputImage?: number;
  outputVideo?: number;
  tier?: string;
  invalid?: string;
}

export function mergeUsage(counts: UsageCounts, wire: JsonObject): void {
  set(counts, 'prompt', maybeCount(wire.promptTokenCount));
  set(counts, 'cached', maybeCount(wire.cachedContentTokenCount));
  set(counts, 'candidates', maybeCount(wire.candidatesTokenCount));
  set(counts, 'thoughts', maybeCount(wire.thoughtsTokenCount));
  set(counts, 'toolPrompt', maybeCount(wire.toolUsePromptTokenCount));
  if (Array.isArray(wire.promptTokensDetails)) {
    set(counts, 'inputAudio', modality(wire.promptTokensDetails, 'AUDIO'));
    set(counts, 'inputImage', modality(wire.promptTokensDetails, 'IMAGE'));
    set(counts, 'inputVideo', modality(wire.promptTokensDetails, 'VIDEO'));
  }
  if (Array.isArray(wire.cacheTokensDetails)) {
    set(counts, 'cacheReadAudio', modality(wire.cacheTokensDetails, 'AUDIO'));
    set(counts, 'cacheReadImage', modality(wire.cacheTokensDetails, 'IMAGE'));
  }
  if (Array.isArray(wire.candidatesTokensDetails)) {
    set(counts, 'outputAudio', modality(wire.candidatesTokensDetails, 'AUDIO'));
    set(counts, 'outputImage', modality(wire.candidatesTokensDetails, 'IMAGE'));
    set(counts, 'outputVideo', modality(wire.candidatesTokensDetails, 'VIDEO'));
  }
  const tier = TIERS[maybeString(wire.trafficType) ?? ''] ?? maybeString(wire.serviceTier)?.toLowerCase();
  if (tier !== undefined && tier !== 'unspecified') counts.tier = tier;
}

/** Validates only the last report: every chunk carries one, and validation costs more than reading it. */
export function checkUsage(counts: UsageCounts, report: JsonObject | undefined): void {
  set(counts, 'invalid', invalidCount(report));
}

const TIERS: Readonly<Record<string, string>> = {
  ON_DEMAND: 'standard',
  ON_DEMAND_PRIORITY: 'priority',
  ON_DEMAND_FLEX: 'flex',
};

function set<K extends keyof UsageCounts>(counts: UsageCounts, name: K, value: UsageCounts[K] | undefined): void {
  // Zero never replaces a count.
  if (value !== undefined && !(value === 0 && counts[name])) counts[name] = value;
}

function modality(details: readonly unknown[], name: string): number | undefined {
  const row = maybeList(details).find((entry) => isObject(entry) && entry.modality === name);
  return isObject(row) ? maybeCount(row.tokenCount) : undefined;
}

/** `hasOutput`: the reply has content, so a missing output count means that usage was not reported. */
export function decodeUsage(counts: UsageCounts, hasOutput: boolean, searches: number): HubUsage {
  const isReported =
    counts.prompt !== undefined && (!hasOutput || (counts.candidates ?? counts.thoughts) !== undefined);
  const input = (counts.prompt ?? 0) + (counts.toolPrompt ?? 0);
  return compact({
    input,
    ...cacheParts(input, counts.cached),
    cacheReadAudio: counts.cacheReadAudio,
    cacheReadImage: counts.cacheReadImage,
    toolPrompt: counts.toolPrompt,
    inputAudio: counts.inputAudio,
    inputImage: counts.inputImage,
    inputVideo: counts.inputVideo,
    output: (counts.candidates ?? 0) + (counts.thoughts ?? 0),
    reasoning: counts.thoughts,
    outputAudio: counts.outputAudio,
    outputImage: counts.outputImage,
    outputVideo: counts.outputVideo,
    searches: searches > 0 ? searches : undefined,
    tier: counts.tier,
    estimated: isReported ? undefined : true,
    invalid: counts.invalid,
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

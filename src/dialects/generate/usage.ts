/**
 * Token counts both ways. The provider counts thoughts beside the candidates and results of its own tools beside the
 * prompt; the hub counts each inside its side. Cached tokens are inside the prompt in both.
 */
import type { HubUsage, JsonObject } from '../hub/types.ts';
import { invalidCount } from '../wire/invalid-usage.ts';
import { compact, isObject, maybeCount, maybeList, maybeString } from '../wire/read.ts';

/** What has been reported so far. Counts are cumulative; a later chunk may leave out what an earlier one said. */
export interface Counts {
  prompt?: number;
  cached?: number;
  candidates?: number;
  thoughts?: number;
  toolPrompt?: number;
  inputAudio?: number;
  inputImage?: number;
  outputAudio?: number;
  outputImage?: number;
  tier?: string;
  odd?: string;
}

export function countUsage(counts: Counts, wire: JsonObject): void {
  set(counts, 'prompt', maybeCount(wire.promptTokenCount));
  set(counts, 'cached', maybeCount(wire.cachedContentTokenCount));
  set(counts, 'candidates', maybeCount(wire.candidatesTokenCount));
  set(counts, 'thoughts', maybeCount(wire.thoughtsTokenCount));
  set(counts, 'toolPrompt', maybeCount(wire.toolUsePromptTokenCount));
  if (Array.isArray(wire.promptTokensDetails)) {
    set(counts, 'inputAudio', modality(wire.promptTokensDetails, 'AUDIO'));
    set(counts, 'inputImage', modality(wire.promptTokensDetails, 'IMAGE'));
  }
  if (Array.isArray(wire.candidatesTokensDetails)) {
    set(counts, 'outputAudio', modality(wire.candidatesTokensDetails, 'AUDIO'));
    set(counts, 'outputImage', modality(wire.candidatesTokensDetails, 'IMAGE'));
  }
  const tier = TIERS[maybeString(wire.trafficType) ?? ''] ?? maybeString(wire.serviceTier)?.toLowerCase();
  if (tier !== undefined && tier !== 'unspecified') counts.tier = tier;
}

/** Looks at the report that counts, which is the last: every chunk of a stream brings one, and looking costs more than reading it. */
export function doubt(counts: Counts, last: JsonObject | undefined): void {
  set(counts, 'odd', invalidCount(last));
}

const TIERS: Readonly<Record<string, string>> = {
  ON_DEMAND: 'standard',
  ON_DEMAND_PRIORITY: 'priority',
  ON_DEMAND_FLEX: 'flex',
};

function set<K extends keyof Counts>(counts: Counts, name: K, value: Counts[K] | undefined): void {
  if (value !== undefined) counts[name] = value;
}

function modality(details: readonly unknown[], name: string): number | undefined {
  const row = maybeList(details).find((entry) => isObject(entry) && entry.modality === name);
  return isObject(row) ? maybeCount(row.tokenCount) : undefined;
}

/** `wrote`: the answer has content, so that missing output counts mean "not reported" and not "nothing". */
export function decodeUsage(counts: Counts, wrote: boolean, searches: number): HubUsage {
  const known = counts.prompt !== undefined && (!wrote || (counts.candidates ?? counts.thoughts) !== undefined);
  return compact({
    input: (counts.prompt ?? 0) + (counts.toolPrompt ?? 0),
    cacheRead: counts.cached ?? 0,
    cacheWrite: 0,
    toolPrompt: counts.toolPrompt,
    inputAudio: counts.inputAudio,
    inputImage: counts.inputImage,
    output: (counts.candidates ?? 0) + (counts.thoughts ?? 0),
    reasoning: counts.thoughts,
    outputAudio: counts.outputAudio,
    outputImage: counts.outputImage,
    searches: searches > 0 ? searches : undefined,
    tier: counts.tier,
    estimated: known ? undefined : true,
    odd: counts.odd,
  });
}

export function readUsage(wire: unknown): HubUsage | undefined {
  if (!isObject(wire)) return undefined;
  const counts: Counts = {};
  countUsage(counts, wire);
  doubt(counts, wire);
  return decodeUsage(counts, false, 0);
}

export function encodeUsage(usage: HubUsage): JsonObject {
  // A part is never more than its whole, whatever an upstream reported.
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

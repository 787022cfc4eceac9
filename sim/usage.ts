/** Token counts, and their distortion by faults. */
import { createHash } from 'node:crypto';
import type { UsageDistortion } from './faults.ts';
import type { Json, JsonObject } from './json.ts';
import { type NeutralRequest, prefixText, promptText } from './neutral-request.ts';
import type { Reply } from './reply.ts';

/** `input` includes `cached` and `written`; `output` includes `reasoning`. */
export interface Usage {
  input: number;
  cached: number;
  written: number;
  output: number;
  reasoning: number;
}

const TOKENS_PER_MEDIUM = 85;
const KEEP_PREFIXES = 10_000;

export function tokensIn(text: string): number {
  return Math.ceil(text.length / 4);
}

/** Remembers prompt prefixes; a known prefix is reported as cached. */
export class PrefixCache {
  readonly #keys = new Set<string>();

  /** Adds the key; true if it was present before. */
  touch(key: string): boolean {
    const digest = createHash('sha256').update(key).digest('base64');
    if (this.#keys.has(digest)) return true;
    if (this.#keys.size >= KEEP_PREFIXES) this.#keys.clear();
    this.#keys.add(digest);
    return false;
  }
}

export function promptTokens(view: NeutralRequest): number {
  const media = view.turns.reduce((sum, entry) => sum + entry.media, 0);
  return tokensIn(promptText(view)) + media * TOKENS_PER_MEDIUM;
}

export function measure(view: NeutralRequest, reply: Reply, cache: PrefixCache): Usage {
  const prefix = prefixText(view);
  const seen = cache.touch(`${view.model}\n${prefix}`);
  const share = tokensIn(prefix);
  const calls = reply.calls.map((call) => call.tool.name + call.args).join('');
  const reasoning = tokensIn(reply.thoughts);
  return {
    input: promptTokens(view),
    cached: seen ? share : 0,
    written: !seen && view.cacheTtl !== 'none' ? share : 0,
    output: reasoning + tokensIn(reply.text) + tokensIn(reply.refusal ?? '') + tokensIn(calls),
    reasoning,
  };
}

/** Distorts every number of a usage object; undefined if the object is omitted. */
export function distortUsage(usage: JsonObject, distortion: UsageDistortion | undefined): JsonObject | undefined {
  if (distortion === undefined) return usage;
  if (distortion === 'missing') return undefined;
  return Object.fromEntries(Object.entries(usage).map(([key, value]) => [key, distortValue(value, distortion)]));
}

function distortValue(value: Json | undefined, distortion: UsageDistortion): Json | undefined {
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value)
      ? value.map((entry) => distortValue(entry, distortion) ?? null)
      : distortUsage(value, distortion);
  }
  if (typeof value !== 'number') return value;
  if (distortion === 'negative') return -1 - value;
  if (distortion === 'huge') return 1e18;
  if (distortion === 'text') return String(value);
  return distortion === 'fraction' ? value + 0.5 : 0;
}

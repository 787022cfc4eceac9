import { createHash } from 'node:crypto';
import type { UsageOddity } from './faults.ts';
import type { Json, JsonObject } from './json.ts';
import type { Reply } from './model.ts';
import { prefixText, promptText, type View } from './neutral-request.ts';

/** `input` includes `cached` and `written`; `output` includes `reasoning`. */
export type Usage = { input: number; cached: number; written: number; output: number; reasoning: number };

const TOKENS_PER_MEDIUM = 85;
const KEEP_PREFIXES = 10_000;

export function tokensIn(text: string): number {
  return Math.ceil(text.length / 4);
}

/** Prompts whose beginning this server has seen are reported as cached. */
export class PrefixCache {
  private readonly keys = new Set<string>();

  /** True when the key was there before; it is there afterwards in any case. */
  touch(key: string): boolean {
    const digest = createHash('sha256').update(key).digest('base64');
    if (this.keys.has(digest)) return true;
    if (this.keys.size >= KEEP_PREFIXES) this.keys.clear();
    this.keys.add(digest);
    return false;
  }
}

export function promptTokens(view: View): number {
  const media = view.turns.reduce((sum, entry) => sum + entry.media, 0);
  return tokensIn(promptText(view)) + media * TOKENS_PER_MEDIUM;
}

export function measure(view: View, answer: Reply, cache: PrefixCache): Usage {
  const prefix = prefixText(view);
  const seen = cache.touch(`${view.model}\n${prefix}`);
  const share = tokensIn(prefix);
  const calls = answer.calls.map((call) => call.tool.name + call.args).join('');
  const reasoning = tokensIn(answer.thoughts);
  return {
    input: promptTokens(view),
    cached: seen ? share : 0,
    written: !seen && view.cacheMark !== 'none' ? share : 0,
    output: reasoning + tokensIn(answer.text) + tokensIn(answer.refusal ?? '') + tokensIn(calls),
    reasoning,
  };
}

/** Bends every number of a usage object; undefined means that the object is left out. */
export function bend(usage: JsonObject, oddity: UsageOddity | undefined): JsonObject | undefined {
  if (oddity === undefined) return usage;
  if (oddity === 'missing') return undefined;
  return Object.fromEntries(Object.entries(usage).map(([key, value]) => [key, bendValue(value, oddity)]));
}

function bendValue(value: Json | undefined, oddity: UsageOddity): Json | undefined {
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? value.map((entry) => bendValue(entry, oddity) ?? null) : bend(value, oddity);
  }
  if (typeof value !== 'number') return value;
  if (oddity === 'negative') return -1 - value;
  if (oddity === 'huge') return 1e18;
  if (oddity === 'text') return String(value);
  return oddity === 'fraction' ? value + 0.5 : 0;
}

/**
 * What an attempt has used that failed: it serves no call and is charged to nobody, but its provider bills it.
 * Reports in a body that is not whole count here alone. A charge never rests on them, because a text of the model may contain one.
 */
import { valueOfJson } from '../../core/index.ts';
import type { HubUsage, UpstreamSide } from '../../dialects/index.ts';
import type { FaultKind } from '../../rules/index.ts';

/** `interrupted`: the server stopped, and the client got an error. */
export type AttemptFailure = FaultKind | 'interrupted';

const MEMBER = /(?<!\\)"usage(?:Metadata)?"\s*:\s*(?=\{)/g;
/** A report is some hundred bytes, and stands near the end of what arrived or in the first event. */
const MAX_REPORT_CHARS = 8 * 1_024;
const MAX_REPORTS = 8;

/** The last report in what arrived of a body or in an event. */
export function reportIn({ readUsage }: Pick<UpstreamSide, 'readUsage'>, text: string): HubUsage | undefined {
  const found = [...text.matchAll(MEMBER)].slice(-MAX_REPORTS).reverse();
  for (const {
    index,
    0: { length },
  } of found) {
    const object = objectAt(text, index + length);
    const usage = object === undefined ? undefined : readUsage(valueOfJson(object));
    if (hasTokens(usage)) return usage;
  }
  return undefined;
}

export const hasTokens = (usage: HubUsage | undefined): usage is HubUsage =>
  usage !== undefined &&
  usage.invalid === undefined &&
  usage.input + usage.output + usage.cacheRead + usage.cacheWrite > 0;

/** The object that begins there; undefined where its end has not arrived. */
function objectAt(text: string, start: number): string | undefined {
  let depth = 0;
  let isInText = false;
  for (let at = start; at < text.length && at - start < MAX_REPORT_CHARS; at += 1) {
    const char = text[at];
    if (char === '\\') at += 1;
    else if (char === '"') isInText = !isInText;
    else if (!isInText && char === '{') depth += 1;
    else if (!isInText && char === '}') {
      depth -= 1;
      if (depth === 0) return text.slice(start, at + 1);
    }
  }
  return undefined;
}

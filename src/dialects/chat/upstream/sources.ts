/**
 * Sources beside the reply, as servers with a search of their own list them (Perplexity):
 * the text cites them by number, `[1]`. They arrive with every chunk, so the last list counts.
 */
import type { HubAnnotation, JsonObject } from '../../hub/types.ts';
import { maybeList, maybeObject, maybeString } from '../../wire/read.ts';

export interface Source {
  readonly url: string;
  readonly title: string;
}

/** Of one reply; a server lists some dozens. */
const MAX_SOURCES = 1_000;
/** Of one text. */
const MAX_MARKS = 10_000;

/** Results have titles, `citations` the addresses only. Undefined when the chunk lists none; places stay, as marks count them. */
export function sourcesIn({ search_results: results, citations }: JsonObject): readonly Source[] | undefined {
  const found = maybeList(results).length > 0 ? maybeList(results) : maybeList(citations);
  return found.length === 0 ? undefined : found.slice(0, MAX_SOURCES).map(sourceOf);
}

function sourceOf(value: unknown): Source {
  if (typeof value === 'string') return { url: value, title: value };
  const { url, title } = maybeObject(value);
  return { url: maybeString(url) ?? '', title: maybeString(title) || (maybeString(url) ?? '') };
}

/** Citations where the text marks them. */
export function citationsOf(text: string, sources: readonly Source[]): HubAnnotation[] {
  const notes: HubAnnotation[] = [];
  for (const mark of text.matchAll(MARK)) {
    const source = sources[Number(mark[1]) - 1];
    if (source?.url) notes.push({ start: mark.index, end: mark.index + mark[0].length, ...source });
    if (notes.length === MAX_MARKS) break;
  }
  return notes;
}
const MARK = /\[(\d{1,4})\]/g;

/**
 * Grounding metadata: which spans of the text rest on which web pages, and what was searched. The provider counts UTF-8
 * bytes; annotations count UTF-16 units.
 */
import type { HubAnnotation, HubPart, HubServerCall, JsonObject } from '../../hub/types.ts';
import { compact, isObject, maybeCount, maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { ISSUER } from '../wire.ts';

interface Source {
  readonly url: string;
  readonly title: string;
}

/** Annotations for the parts of one message, each with the number of its part. */
export function annotationsOf(
  parts: readonly HubPart[],
  grounding: JsonObject,
): { readonly part: number; readonly annotation: HubAnnotation }[] {
  const chunks = maybeList(grounding.groundingChunks).map(sourceOf);
  return maybeList(grounding.groundingSupports).flatMap((support) => {
    if (!isObject(support)) return [];
    const place = locate(parts, maybeObject(support.segment));
    if (place === undefined) return [];
    const { part, ...span } = place;
    const sources = maybeList(support.groundingChunkIndices).map((index) => chunks[maybeCount(index) ?? -1]);
    return sources.flatMap((source) => (source ? [{ part, annotation: { ...span, ...source } }] : []));
  });
}

interface Place {
  readonly part: number;
  readonly start: number;
  readonly end: number;
  readonly cited?: string;
}

/**
 * The span a segment means. Its part number counts parts of the wire, which the hub joins or leaves out, so the cited text
 * decides; a segment without text is taken at its word.
 */
function locate(parts: readonly HubPart[], segment: JsonObject): Place | undefined {
  const cited = maybeString(segment.text);
  const from = maybeCount(segment.startIndex) ?? 0;
  const to = maybeCount(segment.endIndex);
  for (const [part, held] of parts.entries()) {
    if (held.kind !== 'text') continue;
    const { text } = held;
    const span = to === undefined ? undefined : fromBytes(text, from, to);
    if (span !== undefined && (cited === undefined || text.slice(span.start, span.end) === cited)) {
      return compact({ part, ...span, cited });
    }
    const start = cited ? text.indexOf(cited) : -1;
    if (cited && start >= 0) return { part, start, end: start + cited.length, cited };
  }
  return undefined;
}

/** UTF-16 span of a UTF-8 span; undefined when it lies outside the text. */
export function fromBytes(text: string, from: number, to: number): { start: number; end: number } | undefined {
  const bytes = Buffer.from(text, 'utf8');
  if (from > to || to > bytes.length) return undefined;
  const start = bytes.toString('utf8', 0, from).length;
  return { start, end: start + bytes.toString('utf8', from, to).length };
}

function sourceOf(chunk: unknown): Source | undefined {
  const { web, maps, retrievedContext } = maybeObject(chunk);
  const page = [web, maps, retrievedContext].find(isObject);
  const url = maybeString(page?.uri);
  return url === undefined ? undefined : { url, title: maybeString(page?.title) ?? '' };
}

export const queriesOf = (grounding: JsonObject): string[] =>
  maybeList(grounding.webSearchQueries).filter((query): query is string => typeof query === 'string' && query !== '');

/** The searches of the whole answer as one finished call; undefined when nothing was searched. */
export function searchCall(grounding: JsonObject, id: string): HubServerCall | undefined {
  const queries = queriesOf(grounding);
  const sources = maybeList(grounding.groundingChunks)
    .map((chunk) => (isObject(maybeObject(chunk).web) ? sourceOf(chunk) : undefined))
    .filter((source) => source !== undefined);
  if (queries.length === 0 && sources.length === 0) return undefined;
  return { kind: 'server_call', id, tool: 'web_search', issuer: ISSUER, status: 'completed', queries, sources };
}

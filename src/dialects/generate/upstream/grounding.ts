/** Decoder of grounding metadata. The provider counts UTF-8 bytes; hub annotations count UTF-16 units. */
import type { HubAnnotation, HubPart, HubServerCall, JsonObject } from '../../hub/types.ts';
import { compact, isObject, maybeCount, maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { ISSUER } from '../wire.ts';

/** Returns the annotations of one message, each with the index of its part. */
export function annotationsOf(
  parts: readonly HubPart[],
  grounding: JsonObject,
): { readonly part: number; readonly annotation: HubAnnotation }[] {
  const chunks = maybeList(grounding.groundingChunks).map(sourceOf);
  return maybeList(grounding.groundingSupports)
    .slice(0, maxLocated(parts))
    .flatMap((support) => {
      if (!isObject(support)) return [];
      const found = locate(parts, maybeObject(support.segment));
      if (found === undefined) return [];
      const { part, ...span } = found;
      const sources = maybeList(support.groundingChunkIndices).map((index) => chunks[maybeCount(index) ?? -1]);
      return sources.flatMap((source) => (source ? [{ part, annotation: { ...span, ...source } }] : []));
    });
}

/**
 * Sources that the text recites. Their offsets count bytes of the whole
 * text of the reply, so only the first part is located.
 */
export function recitationsOf(
  parts: readonly HubPart[],
  metadata: JsonObject,
): { readonly part: number; readonly annotation: HubAnnotation }[] {
  const part = parts.findIndex(({ kind }) => kind === 'text');
  const text = parts[part];
  if (text?.kind !== 'text') return [];
  const sources = [...maybeList(metadata.citationSources), ...maybeList(metadata.citations)];
  return sources.slice(0, maxLocated(parts)).flatMap((value) => {
    const { uri, title, startIndex, endIndex } = maybeObject(value);
    if (typeof uri !== 'string') return [];
    const to = maybeCount(endIndex);
    const span = to === undefined ? undefined : fromBytes(text.text, maybeCount(startIndex) ?? 0, to);
    return [{ part, annotation: { ...span, url: uri, title: maybeString(title) ?? '' } }];
  });
}

/** Pages that the provider read for the reply, as one completed call for each. */
export const fetchCalls = (metadata: JsonObject, idOf: (n: number) => string): HubServerCall[] =>
  maybeList(metadata.urlMetadata).flatMap((value, n) => {
    const { retrievedUrl: url, urlRetrievalStatus: status } = maybeObject(value);
    if (typeof url !== 'string') return [];
    const isRead = status === undefined || status === 'URL_RETRIEVAL_STATUS_SUCCESS';
    return [
      {
        kind: 'server_call',
        id: idOf(n),
        tool: 'web_fetch',
        issuer: ISSUER,
        status: isRead ? 'completed' : 'failed',
        sources: [{ url, title: '' }],
      },
    ];
  });

/** Each source is located by a pass through the text. Further ones of a very long text are left out. */
const LOCATED_CHARS = 32 * 2 ** 20;
const maxLocated = (parts: readonly HubPart[]): number =>
  Math.floor(
    LOCATED_CHARS / (1 + parts.reduce((sum, part) => sum + 1 + (part.kind === 'text' ? part.text.length : 0), 0)),
  );

interface PartSpan {
  readonly part: number;
  readonly start: number;
  readonly end: number;
  readonly cited?: string;
}

/**
 * The span of a segment, by its text: the part index counts wire parts,
 * which the hub joins or drops. Without text, by its offsets.
 */
function locate(parts: readonly HubPart[], segment: JsonObject): PartSpan | undefined {
  const cited = maybeString(segment.text);
  const from = maybeCount(segment.startIndex) ?? 0;
  const to = maybeCount(segment.endIndex);
  for (const [part, hubPart] of parts.entries()) {
    if (hubPart.kind !== 'text') continue;
    const { text } = hubPart;
    const span = to === undefined ? undefined : fromBytes(text, from, to);
    if (span !== undefined && (cited === undefined || text.slice(span.start, span.end) === cited)) {
      return compact({ part, ...span, cited });
    }
    const start = cited ? text.indexOf(cited) : -1;
    if (cited && start >= 0) return { part, start, end: start + cited.length, cited };
  }
  return undefined;
}

/** Converts a UTF-8 span to UTF-16; undefined if it lies outside the text. */
function fromBytes(text: string, from: number, to: number): { start: number; end: number } | undefined {
  const bytes = Buffer.from(text, 'utf8');
  if (from > to || to > bytes.length) return undefined;
  const start = bytes.toString('utf8', 0, from).length;
  return { start, end: start + bytes.toString('utf8', from, to).length };
}

function sourceOf(chunk: unknown) {
  const { web, maps, retrievedContext, image } = maybeObject(chunk);
  const page = [web, maps, retrievedContext, image].find(isObject);
  const url = maybeString(page?.uri) ?? maybeString(page?.sourceUri);
  return url === undefined ? undefined : { url, title: maybeString(page?.title) ?? '' };
}

export const queriesOf = (grounding: JsonObject): string[] =>
  maybeList(grounding.webSearchQueries).filter((query): query is string => typeof query === 'string' && query !== '');

/** Returns all searches of the reply as one completed call, or undefined without searches. */
export function searchCall(grounding: JsonObject, id: string): HubServerCall | undefined {
  const queries = queriesOf(grounding);
  const sources = maybeList(grounding.groundingChunks)
    .map((chunk) => (isObject(maybeObject(chunk).web) ? sourceOf(chunk) : undefined))
    .filter((source) => source !== undefined);
  if (queries.length === 0 && sources.length === 0) return undefined;
  return { kind: 'server_call', id, tool: 'web_search', issuer: ISSUER, status: 'completed', queries, sources };
}

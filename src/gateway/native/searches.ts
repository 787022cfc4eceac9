/** Searches that a provider made for a native response, where its usage does not count them. */
import { elementsAt, membersAt, type Span, scanMembers, valueAt } from '../../core/index.ts';
import { billedSearches } from '../../dialects/index.ts';
import type { Dialect } from '../../rules/index.ts';

type Json = Readonly<Record<string, unknown>>;

/** Words in the bytes of a response with searches. */
const MARKERS: Partial<Record<Dialect, Buffer>> = {
  responses: Buffer.from('"web_search_call"'),
  generate: Buffer.from('webSearchQueries'),
};

export const mayHaveSearches = (dialect: Dialect, bytes: Buffer): boolean => {
  const marker = MARKERS[dialect];
  return marker !== undefined && bytes.includes(marker);
};

/** In a response that is parsed: the response object, or a chunk with the grounding of its first candidate. */
export function searchesIn(dialect: Dialect, response: unknown): number {
  const { output, candidates, modelVersion } = (response ?? {}) as Json;
  if (dialect === 'responses') return listOf(output).filter((item) => (item as Json | null)?.type === CALL).length;
  if (dialect !== 'generate') return 0;
  const grounding = ((listOf(candidates)[0] ?? {}) as Json).groundingMetadata as Json | undefined;
  return billedSearches(String(modelVersion ?? ''), listOf(grounding?.webSearchQueries).length);
}

const CALL = 'web_search_call';
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;

/** In the bytes of a response, without parsing its content, which may hold images. */
export function searchesInBody(dialect: Dialect, body: Buffer, limits: Parameters<typeof scanMembers>[2]): number {
  if (!mayHaveSearches(dialect, body)) return 0;
  const members = scanMembers(body, new Set(['output', 'candidates', 'modelVersion']), limits);
  if (dialect === 'responses')
    return elementsOf(body, members.get('output')).filter((item) => memberOf(body, item, 'type') === CALL).length;
  const [first] = elementsOf(body, members.get('candidates'));
  const version = members.get('modelVersion');
  const grounding = memberOf(body, first, 'groundingMetadata') as Json | undefined;
  return billedSearches(version ? String(valueAt(body, version)) : '', listOf(grounding?.webSearchQueries).length);
}

const elementsOf = (body: Buffer, at: Span | undefined): Span[] =>
  at && body[at.start] === OPEN_ARRAY ? elementsAt(body, at) : [];

function memberOf(body: Buffer, at: Span | undefined, name: string): unknown {
  if (!at || body[at.start] !== OPEN_OBJECT) return undefined;
  const span = membersAt(body, at, new Set([name])).get(name);
  return span && valueAt(body, span);
}

/** Citations of text blocks: of web pages, of search results, and of the documents of the request. */
import type { HubAnnotation, HubDocumentSpan, JsonObject } from '../hub/types.ts';
import { compact, maybeCount, maybeObject, maybeString } from '../wire/read.ts';

/** The wire names of a place in a document, by its unit. */
const UNITS = [
  { unit: 'char', type: 'char_location', from: 'start_char_index', to: 'end_char_index' },
  { unit: 'page', type: 'page_location', from: 'start_page_number', to: 'end_page_number' },
  { unit: 'block', type: 'content_block_location', from: 'start_block_index', to: 'end_block_index' },
] as const;

export function decodeCitation(value: unknown): HubAnnotation | undefined {
  const citation = maybeObject(value);
  const cited = maybeString(citation.cited_text) || undefined;
  const url = maybeString(citation.url) ?? maybeString(citation.source);
  if (url !== undefined) return compact({ url, title: maybeString(citation.title) ?? url, cited });
  const document = documentOf(citation);
  return document && compact({ url: '', title: maybeString(citation.document_title) ?? '', cited, document });
}

function documentOf(citation: JsonObject): HubDocumentSpan | undefined {
  const row = UNITS.find(({ type }) => type === citation.type);
  if (!row) return undefined;
  const [from, to] = [maybeCount(citation[row.from]), maybeCount(citation[row.to])];
  return compact({
    index: maybeCount(citation.document_index),
    fileId: maybeString(citation.file_id),
    span: from === undefined || to === undefined ? undefined : { unit: row.unit, from, to },
  });
}

/** Only the provider can issue `encrypted_index`, so the gateway's envelope prefix fills the slot. */
export function encodeCitation({ url, title, cited = '', document }: HubAnnotation): JsonObject {
  if (!document) return { type: 'web_search_result_location', url, title, cited_text: cited, encrypted_index: 'gw1.' };
  const { index = 0, fileId = null, span = { unit: 'char', from: 0, to: 0 } } = document;
  const row = UNITS.find(({ unit }) => unit === span.unit) ?? UNITS[0];
  return {
    type: row.type,
    cited_text: cited,
    document_index: index,
    document_title: title || null,
    file_id: fileId,
    [row.from]: span.from,
    [row.to]: span.to,
  };
}

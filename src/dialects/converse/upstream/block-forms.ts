/**
 * Blocks and deltas of Converse as those of the Messages API, whose
 * decoder reads them. Text and reasoning have no start of their own.
 */
import type { JsonObject } from '../../hub/types.ts';
import { compact, isObject, joinedTexts, maybeList, maybeObject } from '../../wire/read.ts';

/** A block in the form of the Messages API, or the name of one that no client has a form for. */
export type BlockForm = { readonly block: JsonObject } | { readonly omitted: string };

/** A block of a whole reply, or the start of one in a stream. */
export function blockForm(block: JsonObject): BlockForm {
  const { text, reasoningContent, toolUse, citationsContent } = block;
  if (typeof text === 'string') return { block: { type: 'text', text } };
  if (isObject(reasoningContent)) return { block: reasoningBlock(reasoningContent) };
  if (isObject(citationsContent)) return { block: citedText(citationsContent) };
  // The tools of the provider itself, which no request asks for.
  if (isObject(toolUse) && toolUse.type !== 'server_tool_use')
    return { block: compact({ type: 'tool_use', id: toolUse.toolUseId, name: toolUse.name, input: toolUse.input }) };
  return { omitted: Object.keys(block)[0] ?? 'content' };
}

/** The block that a delta begins, where no start came before it. */
export function blockBegunBy({ reasoningContent, toolUse, toolResult, image }: JsonObject): BlockForm {
  if (isObject(reasoningContent)) {
    const { redactedContent: data } = reasoningContent;
    return { block: data === undefined ? { type: 'thinking' } : { type: 'redacted_thinking', data } };
  }
  if (isObject(toolUse)) return { block: { type: 'tool_use' } };
  if (isObject(toolResult)) return { omitted: 'toolResult' };
  return isObject(image) ? { omitted: 'image' } : { block: { type: 'text' } };
}

export function deltaForm({ text, reasoningContent, toolUse, citation }: JsonObject): JsonObject {
  if (isObject(toolUse)) return { partial_json: toolUse.input };
  if (isObject(citation)) return { citation: citationForm(citation) };
  if (!isObject(reasoningContent)) return { text };
  const { text: thinking, signature } = reasoningContent;
  return { thinking, signature };
}

function reasoningBlock({ reasoningText, redactedContent }: JsonObject): JsonObject {
  if (!isObject(reasoningText)) return { type: 'redacted_thinking', data: redactedContent };
  return { type: 'thinking', thinking: reasoningText.text, signature: reasoningText.signature };
}

const citedText = ({ content, citations }: JsonObject): JsonObject => ({
  type: 'text',
  text: joinedTexts(maybeList(content)),
  citations: maybeList(citations).map((citation) => citationForm(maybeObject(citation))),
});

/** Places in a document by the member of their location. */
const PLACES: Readonly<Record<string, readonly [type: string, from: string, to: string]>> = {
  documentChar: ['char_location', 'start_char_index', 'end_char_index'],
  documentPage: ['page_location', 'start_page_number', 'end_page_number'],
  documentChunk: ['content_block_location', 'start_block_index', 'end_block_index'],
};

function citationForm({ title, source, sourceContent, location }: JsonObject): JsonObject {
  const [kind = '', place] = Object.entries(maybeObject(location))[0] ?? [];
  const { documentIndex, start, end, url } = maybeObject(place);
  const cited = { title, cited_text: joinedTexts(maybeList(sourceContent)) };
  const known = Object.hasOwn(PLACES, kind) ? PLACES[kind] : undefined;
  if (!known) return { ...cited, url: url ?? source };
  const [type, from, to] = known;
  return { ...cited, type, document_title: title, document_index: documentIndex, [from]: start, [to]: end };
}

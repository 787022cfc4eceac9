/** Decoder of text blocks. Consecutive text blocks are the parts of one hub message. */
import type { HubAnnotation, HubEvent, HubItem, HubText, JsonObject } from '../hub/types.ts';
import { maybeString } from '../wire/read.ts';
import * as blocks from './block-state.ts';
import { decodeCitation } from './citations.ts';

export function openTextBlock(first: JsonObject, state: blocks.BlockState, out: HubEvent[]): blocks.OpenBlock {
  const citations: HubAnnotation[] = [];
  let text = '';
  let message: blocks.OpenMessage | undefined;
  let part = 0;
  const append = (delta: JsonObject, sink: HubEvent[]): void => {
    const citation = delta.citation === undefined ? undefined : decodeCitation(delta.citation);
    if (citation) citations.push(citation);
    const added = maybeString(delta.text) ?? '';
    if (added === '') return;
    if (!message) {
      message = joinMessage(state, sink);
      part = message.parts.push({ kind: 'text', text: '' }) - 1;
    }
    // Hub parts are sequential: only the last part accepts text.
    if (part < message.parts.length - 1) throw blocks.outOfOrderError();
    text += added;
    sink.push({ kind: 'text', index: message.index, part, text: added });
  };
  const close = (sink: HubEvent[]): void => {
    if (!message) return citeBefore(citations, state, sink);
    // A citation covers its whole block, whose length is known only now. Hub parts are sequential: one that a later
    // part has ended, which no provider does, takes none.
    const isLast = part === message.parts.length - 1;
    const annotations = isLast ? citations.map((citation) => ({ start: 0, end: text.length, ...citation })) : [];
    for (const annotation of annotations) sink.push({ kind: 'annotation', index: message.index, part, annotation });
    message.parts[part] = { kind: 'text', text, ...(annotations.length > 0 && { annotations }) };
    message.openParts -= 1;
    if (message !== state.message && message.openParts === 0) endMessage(message, state, sink);
  };
  append({ text: first.text }, out);
  for (const citation of Array.isArray(first.citations) ? first.citations : []) append({ citation }, out);
  return { append, close };
}

/**
 * Nova cites in a block of its own, without a text, after the text that the citations are about. The length of a text
 * whose block is still open, which no provider sends, is not known.
 */
function citeBefore(citations: readonly HubAnnotation[], { message }: blocks.BlockState, out: HubEvent[]): void {
  const before = message?.parts.at(-1);
  if (!message || !before || message.openParts > 0) return;
  const { text } = before;
  const annotations = citations.map((citation) => ({ start: 0, end: text.length, ...citation }));
  const part = message.parts.length - 1;
  for (const annotation of annotations) out.push({ kind: 'annotation', index: message.index, part, annotation });
  if (annotations.length > 0)
    message.parts[part] = { ...before, annotations: [...(before.annotations ?? []), ...annotations] };
}

function joinMessage(state: blocks.BlockState, out: HubEvent[]): blocks.OpenMessage {
  if (!state.message) {
    const parts: HubText[] = [];
    const skeleton: HubItem = { kind: 'message', role: 'assistant', parts: [] };
    const index = blocks.beginItem(skeleton, () => messageItem(message), state, out);
    const message: blocks.OpenMessage = { index, parts, openParts: 0, isTruncated: false };
    state.message = message;
  }
  state.message.openParts += 1;
  return state.message;
}

/**
 * Ends the current message before a block of another kind. An open
 * text block, which no provider sends, keeps it open.
 */
export function detachMessage(state: blocks.BlockState, out: HubEvent[]): void {
  const { message } = state;
  state.message = undefined;
  if (message && message.openParts === 0) endMessage(message, state, out);
}

const messageItem = ({ parts, isTruncated }: blocks.OpenMessage): HubItem => ({
  kind: 'message',
  role: 'assistant',
  parts,
  ...(isTruncated && { incomplete: true }),
});
const endMessage = (message: blocks.OpenMessage, state: blocks.BlockState, out: HubEvent[]): void =>
  blocks.endItem(message.index, messageItem(message), state, out);

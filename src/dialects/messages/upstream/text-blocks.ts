/** Text blocks: those that follow each other are the parts of one hub message, which ends when something else begins. */
import type { HubAnnotation, HubEvent, HubItem, HubText, JsonObject } from '../../hub/types.ts';
import { maybeObject, maybeString } from '../../wire/read.ts';
import { type BlockState, beginItem, endItem, type Growing, type Message, outOfOrder } from './block-state.ts';

export function openText(first: JsonObject, state: BlockState, out: HubEvent[]): Growing {
  const notes: HubAnnotation[] = [];
  let text = '';
  let message: Message | undefined;
  let part = 0;
  const grow = (delta: JsonObject, sink: HubEvent[]): void => {
    const note = citationOf(delta.citation);
    if (note) notes.push(note);
    const more = maybeString(delta.text) ?? '';
    if (more === '') return;
    if (!message) {
      message = joinMessage(state, sink);
      part = message.parts.push({ kind: 'text', text: '' }) - 1;
    }
    // Parts follow each other: one that another has followed cannot grow.
    if (part < message.parts.length - 1) throw outOfOrder();
    text += more;
    sink.push({ kind: 'text', index: message.index, part, text: more });
  };
  const close = (sink: HubEvent[]): void => {
    if (!message) return;
    // A citation covers its whole block, whose end is known only now.
    const annotations = notes.map((note) => ({ start: 0, end: text.length, ...note }));
    for (const annotation of annotations) sink.push({ kind: 'annotation', index: message.index, part, annotation });
    message.parts[part] = { kind: 'text', text, ...(annotations.length > 0 && { annotations }) };
    message.growing -= 1;
    if (message !== state.message && message.growing === 0) endMessage(message, state, sink);
  };
  grow({ text: first.text }, out);
  for (const citation of Array.isArray(first.citations) ? first.citations : []) grow({ citation }, out);
  return { grow, close };
}

function joinMessage(state: BlockState, out: HubEvent[]): Message {
  if (!state.message) {
    const parts: HubText[] = [];
    const skeleton: HubItem = { kind: 'message', role: 'assistant', parts: [] };
    const index = beginItem(skeleton, () => messageItem(message), state, out);
    const message: Message = { index, parts, growing: 0, cut: false };
    state.message = message;
  }
  state.message.growing += 1;
  return state.message;
}

/** Something else than text begins. A text block that is still growing, which no provider sends, keeps its message open. */
export function leaveMessage(state: BlockState, out: HubEvent[]): void {
  const { message } = state;
  state.message = undefined;
  if (message && message.growing === 0) endMessage(message, state, out);
}

const messageItem = ({ parts, cut }: Message): HubItem => ({
  kind: 'message',
  role: 'assistant',
  parts,
  ...(cut && { incomplete: true }),
});
const endMessage = (message: Message, state: BlockState, out: HubEvent[]): void =>
  endItem(message.index, messageItem(message), state, out);

/** Only citations that have an address mean something elsewhere. */
function citationOf(value: unknown): HubAnnotation | undefined {
  const citation = maybeObject(value);
  const url = citation.type === 'web_search_result_location' ? maybeString(citation.url) : undefined;
  if (url === undefined) return undefined;
  const cited = maybeString(citation.cited_text);
  return { url, title: maybeString(citation.title) ?? url, ...(cited && { cited }) };
}

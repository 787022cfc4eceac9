/** Conversion between a stream of hub events and the reply it adds up to. */
import type { HubError, HubEvent, HubItem, HubReply } from './types.ts';

export type Folded = { readonly reply: HubReply } | { readonly error: HubError };

/** Returns the reply that a unary call to the same upstream would have given. */
export function fold(events: Iterable<HubEvent>): Folded {
  const items: HubItem[] = [];
  let id = '';
  let model = '';
  for (const event of events) {
    if (event.kind === 'start') {
      id = event.id;
      model = event.model;
    } else if (event.kind === 'item_end') {
      items[event.index] = event.item;
    } else if (event.kind === 'error') {
      return { error: event.error };
    } else if (event.kind === 'finish') {
      const { kind: _, ...end } = event;
      return { reply: { id, model, items, ...end } };
    }
  }
  return { error: { code: 'upstream_error', message: 'The upstream closed the stream before completion.' } };
}

/** Turns a unary reply into a stream, for streaming clients of an upstream that did not stream. */
export function unfold(reply: HubReply): HubEvent[] {
  const events: HubEvent[] = [{ kind: 'start', id: reply.id, model: reply.model }];
  // Not by a spread: an item may have more parts than a call takes arguments.
  for (const [index, item] of reply.items.entries()) {
    for (const event of itemEvents(item, index)) events.push(event);
  }
  const { id: _, model: __, items: ___, ...end } = reply;
  events.push({ kind: 'finish', ...end });
  return events;
}

function itemEvents(item: HubItem, index: number): HubEvent[] {
  const end: HubEvent = { kind: 'item_end', index, item };
  if (item.kind === 'message') {
    const deltas = item.parts.flatMap((part, n): HubEvent[] => {
      if (part.kind === 'refusal') return [{ kind: 'refusal', index, part: n, text: part.text }];
      if (part.kind !== 'text') return [];
      const notes = (part.annotations ?? []).map(
        (annotation): HubEvent => ({ kind: 'annotation', index, part: n, annotation }),
      );
      return [{ kind: 'text', index, part: n, text: part.text }, ...notes];
    });
    return [{ kind: 'item', index, item: { ...item, parts: [] } }, ...deltas, end];
  }
  if (item.kind === 'reasoning') {
    const deltas = item.summary.map((text, part): HubEvent => ({ kind: 'think', index, part, text }));
    return [{ kind: 'item', index, item: { kind: 'reasoning', summary: [] } }, ...deltas, end];
  }
  if (item.kind === 'tool_call') {
    return [{ kind: 'item', index, item: { ...item, args: '' } }, { kind: 'args', index, text: item.args }, end];
  }
  return [{ kind: 'item', index, item }, end];
}

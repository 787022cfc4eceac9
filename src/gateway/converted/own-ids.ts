/**
 * Ids of a reply and its calls, in place of the provider's:
 * those may be empty, repeat, or be the same at another provider (G 4.4).
 */
import { type HubEvent, type HubItem, type HubReply, ownCallId, type ReplyPlace } from '../../dialects/index.ts';

export function withOwnIds(event: HubEvent, place: ReplyPlace): HubEvent {
  if (event.kind === 'start') return { ...event, id: place.requestId };
  return event.kind === 'item' || event.kind === 'item_end' ? { ...event, item: ownItem(event.item, place) } : event;
}

export const replyWithOwnIds = (reply: HubReply, place: ReplyPlace): HubReply => ({
  ...reply,
  id: place.requestId,
  items: reply.items.map((item) => ownItem(item, place)),
});

const ownItem = (item: HubItem, place: ReplyPlace): HubItem =>
  item.kind === 'tool_call' ? { ...item, callId: ownCallId(item.callId, place) } : item;

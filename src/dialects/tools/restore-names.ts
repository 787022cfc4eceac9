/** Tool names of an answer, back in the client's own spelling. By the table that was made for the request, never by taking a name apart. */
import type { EncodedRequest } from '../codec.ts';
import type { HubEvent, HubItem } from '../hub/types.ts';

export function restoreItem(item: HubItem, names: EncodedRequest['names']): HubItem {
  if (item.kind !== 'tool_call') return item;
  const original = names.get(item.name);
  return original ? { ...item, ...original } : item;
}

export function restoreEvent(event: HubEvent, names: EncodedRequest['names']): HubEvent {
  return event.kind === 'item' || event.kind === 'item_end'
    ? { ...event, item: restoreItem(event.item, names) }
    : event;
}

/** Restoring the client's tool names in a reply, by the table made for the request and never by parsing a name. */
import type { HubEvent, HubItem, ToolName } from '../hub/types.ts';

export function restoreItem(item: HubItem, names: ReadonlyMap<string, ToolName>): HubItem {
  if (item.kind !== 'tool_call') return item;
  const original = names.get(item.name);
  return original ? { ...item, ...original } : item;
}

export function restoreEvent(event: HubEvent, names: ReadonlyMap<string, ToolName>): HubEvent {
  return event.kind === 'item' || event.kind === 'item_end'
    ? { ...event, item: restoreItem(event.item, names) }
    : event;
}

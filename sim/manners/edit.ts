/** Edits of events and JSON that several manners share. */
import { isObject, type Json, type JsonObject } from '../json.ts';
import type { StreamEvent } from './manner.ts';

/** Changes the data of the events that have JSON. */
export const eachData =
  (edit: (data: JsonObject, n: number) => JsonObject) =>
  (events: StreamEvent[]): StreamEvent[] =>
    events.map((event, n) => (isObject(event.data) ? { ...event, data: edit(event.data, n) } : event));

/** Changes the events with this type in their data. */
export const eachOf = (
  type: string,
  edit: (data: JsonObject) => JsonObject,
): ((events: StreamEvent[]) => StreamEvent[]) => eachData((data) => (data.type === type ? edit(data) : data));

export const without = (object: JsonObject, ...names: string[]): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));

/** Changes every value with this name, at any depth. */
export function eachMember(value: Json | undefined, name: string, edit: (value: Json) => Json): Json | undefined {
  if (Array.isArray(value)) return value.map((one) => eachMember(one, name, edit) ?? null);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      key === name && one !== undefined ? edit(one) : eachMember(one, name, edit),
    ]),
  );
}

export const editMember = (object: JsonObject, name: string, edit: (value: Json) => Json): JsonObject =>
  eachMember(object, name, edit) as JsonObject;

/** Where the first event lies that fits; the end of the list when none does. */
export function indexOf(events: readonly StreamEvent[], fits: (event: StreamEvent) => boolean): number {
  const at = events.findIndex(fits);
  return at < 0 ? events.length : at;
}

export const typeOf = ({ data }: StreamEvent): unknown => (isObject(data) ? data.type : undefined);

/** Puts an event between all others. */
export const between = (events: StreamEvent[], event: StreamEvent): StreamEvent[] =>
  events.flatMap((one, n) => (n === 0 ? [one] : [structuredClone(event), one]));

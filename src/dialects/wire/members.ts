/**
 * The members of a request body that a decoder reads, as a table. What a client sends
 * beyond it does not reach the provider, so `x-gateway-dropped` names it. Lists and
 * positions do not appear in the names: `messages.content.title`.
 */
import type { JsonObject } from '../hub/types.ts';
import { isGiven, isObject } from './read.ts';

/**
 * `true`: read, or returned by the client as a provider sent it. `false`: known, but not
 * read. A table applies to an object and to each element of a list; `*` are all members
 * that it does not list. A function chooses the table for one object.
 */
export type Members = boolean | MemberTable | ((value: JsonObject) => Members);
export interface MemberTable {
  readonly [name: string]: Members;
}

/** A table of members that are read. */
export const reads = (...names: readonly string[]): MemberTable =>
  Object.fromEntries(names.map((name) => [name, true]));

/**
 * Tables by the `type` of the object; an object of another type is read
 * or rejected as a whole. `absent`: the type if there is none.
 */
export const byType =
  (tables: Readonly<Record<string, Members>>, absent?: string): ((value: JsonObject) => Members) =>
  ({ type = absent }) =>
    typeof type === 'string' && Object.hasOwn(tables, type) ? (tables[type] as Members) : true;

/** Whether the model itself called a tool, which is what every dialect means without a caller. */
export const isDirectCaller = (caller: unknown): boolean => isObject(caller) && caller.type === 'direct';

/** The header holds fewer names, and a body may hold any number of them. */
const MAX_NAMES = 100;

/** Returns the names of all members that are set and not read, each once. */
export function unreadMembers(body: JsonObject, members: Members): string[] {
  const found = new Set<string>();
  collect(body, members, '', found);
  return [...found];
}

function collect(value: unknown, members: Members, path: string, found: Set<string>): void {
  if (members === true || found.size >= MAX_NAMES) return;
  if (members === false) {
    if (isSet(value)) found.add(path);
    return;
  }
  if (Array.isArray(value)) {
    for (const element of value) collect(element, members, path, found);
    return;
  }
  if (!isObject(value)) return;
  if (typeof members === 'function') {
    collect(value, members(value), path, found);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    const rule = (Object.hasOwn(members, name) ? members[name] : members['*']) ?? false;
    collect(member, rule, path === '' ? name : `${path}.${name}`, found);
  }
}

/** Clients also send empty lists for options that are not set. */
const isSet = (value: unknown): boolean => isGiven(value) && !(Array.isArray(value) && value.length === 0);

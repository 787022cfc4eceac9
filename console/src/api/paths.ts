/** Addresses and lists of the APIs under one base path. */
import { get, type Query } from './client.ts';
import type { List } from './types.ts';

export type Body = Readonly<Record<string, unknown>>;

export function apiAt(base: string) {
  /** The address of an operation; each id replaces the next `{}` of the path. */
  const at = (path: string, ...ids: readonly string[]): string =>
    base + ids.reduce((text, id) => text.replace('{}', encodeURIComponent(id)), path);
  const listOf =
    <T>(path: string) =>
    (query: Query = {}, signal?: AbortSignal): Promise<List<T>> =>
      get(at(path), query, signal);
  return { at, listOf };
}

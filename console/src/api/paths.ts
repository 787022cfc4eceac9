/** Addresses and lists of the APIs under one base path. */
import type { Page } from '../../../src/schemas/index.ts';
import { get, type Query } from './client.ts';

export type Body = Readonly<Record<string, unknown>>;

export function apiAt(base: string) {
  /** The address of an operation; each id replaces the next `{}` of the path. */
  const at = (path: string, ...ids: readonly string[]): string =>
    base + ids.reduce((text, id) => text.replace('{}', encodeURIComponent(id)), path);
  const listOf =
    <T>(path: string) =>
    (query: Query = {}, signal?: AbortSignal): Promise<Page<T>> =>
      get(at(path), query, signal);
  return { at, listOf };
}

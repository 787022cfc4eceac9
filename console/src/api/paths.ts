/** Addresses and lists of the APIs under one base path. */
import type { Page } from '../../../src/schemas/index.ts';
import { get, type Query } from './client.ts';

export type Body = Readonly<Record<string, unknown>>;

const CHOICE_PAGE = 500;
const CHOICE_PAGES = 20;

/** Every row of a list that fields choose from, page after page. */
export async function allOf<T>(load: (query: Query) => Promise<Page<T>>, query: Query = {}): Promise<Page<T>> {
  const rows: T[] = [];
  let cursor: string | undefined;
  for (let n = 0; n < CHOICE_PAGES; n++) {
    const page = await load({ ...query, limit: CHOICE_PAGE, cursor });
    rows.push(...page.data);
    if (!page.has_more) return { ...page, data: rows };
    cursor = page.next_cursor ?? undefined;
  }
  return { data: rows, has_more: true, next_cursor: cursor ?? null };
}

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

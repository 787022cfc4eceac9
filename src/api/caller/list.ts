/** The list envelope of document 2 (V 2). */
import { type Call, sendJson } from '../../platform/web/index.ts';

interface ListForm<T> {
  readonly limit: number;
  readonly view: (row: T) => object;
  readonly id: (row: T) => string;
}

/** `rows` has one more than the limit when there are further ones. */
export function sendList<T>(call: Call, rows: readonly T[], { limit, view, id }: ListForm<T>): void {
  const page = rows.slice(0, limit);
  const ids = page.map(id);
  sendJson(call, 200, {
    object: 'list',
    data: page.map(view),
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
    has_more: rows.length > limit,
  });
}

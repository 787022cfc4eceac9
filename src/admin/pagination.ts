/** Lists: one more line is read than is shown, so that it is known whether there is another page. */
import { type Call, sendJson } from '../web/index.ts';
import { cursorOf } from './query-params.ts';

export function sendPage<T>(
  call: Call,
  rows: readonly T[],
  limit: number,
  parts: { view: (row: T) => object; key: (row: T) => readonly (string | number | bigint)[]; more?: object },
): void {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = rows.length > limit;
  sendJson(call, 200, {
    object: 'list',
    ...parts.more,
    data: shown.map(parts.view),
    has_more: hasMore,
    next_cursor: hasMore && last !== undefined ? cursorOf(parts.key(last)) : null,
  });
}

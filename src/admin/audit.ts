/** Who changed what. */
import { snapshot } from '../db/index.ts';
import type { AdminHandler } from './handler.ts';
import { sendPage } from './pagination.ts';

export const listAudit: AdminHandler = async ({ call, query }, { db }) => {
  const { limit } = query;
  const filters = {
    actor: query.oneOf('actor', ['token', 'cli', 'file']),
    action: query.text('action'),
    subject: query.text('subject'),
  };
  const [start, end, before] = [query.time('start'), query.time('end'), query.idCursor()];
  const rows = await snapshot(db, (tx) => {
    let find = tx
      .selectFrom('audit')
      .selectAll()
      .orderBy('id', 'desc')
      .limit(limit + 1);
    if (filters.actor) find = find.where('actor', '=', filters.actor);
    if (filters.action) find = find.where('action', '=', filters.action);
    if (filters.subject) find = find.where('subject', '=', filters.subject);
    if (start) find = find.where('at', '>=', start);
    if (end) find = find.where('at', '<', end);
    if (before !== undefined) find = find.where('id', '<', before);
    return find.execute();
  });
  sendPage(call, rows, limit, { view: (row) => ({ ...row, id: String(row.id) }), key: ({ id }) => [id] });
};

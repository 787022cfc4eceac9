/** The audit log as a list, newest first. */
import { sql } from 'kysely';
import { z } from 'zod';
import { snapshot } from '../../platform/db/index.ts';
import { operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param, period } from './query-params.ts';

const AuditQuery = z.strictObject({
  actor: z
    .string()
    .regex(/^(?:token|cli|file|person:[A-Za-z0-9_]{1,64})$/, 'token, cli, file or person:<id>')
    .describe('by `token` (admin API), `cli`, `file` (configuration applied at start) or `person:<id>` (console)')
    .optional(),
  action: param.action,
  subject: param.subject,
  ...period,
  ...pageParams(rowKey.id),
});

export const listAudit = operation({
  query: AuditQuery,
  async handle({ call, query }, { db }) {
    const { actor, action, subject, start, end, limit, cursor } = query;
    const rows = await snapshot(db, (tx) => {
      let find = tx
        .selectFrom('audit')
        .leftJoin('people', (on) => on.on('people.id', '=', sql<string>`substr(audit.actor, ${'person:'.length + 1})`))
        .selectAll('audit')
        .select('people.name as actor_name')
        .orderBy('audit.id', 'desc')
        .limit(limit + 1);
      if (actor) find = find.where('actor', '=', actor);
      if (action) find = find.where('action', '=', action);
      if (subject) find = find.where('subject', '=', subject);
      if (start) find = find.where('at', '>=', start);
      if (end) find = find.where('at', '<', end);
      if (cursor) find = find.where('audit.id', '<', cursor[0]);
      return find.execute();
    });
    sendPage(call, rows, { limit, view: (row) => ({ ...row, id: String(row.id) }), key: ({ id }) => [id] });
  },
});

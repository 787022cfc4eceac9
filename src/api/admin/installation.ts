/**
 * What operators see of the installation: alarms as a job stored them at its last check, where an old check means that no jobs run; the
 * settings of this server, where a secret shows only that it is set; and the audit log, newest first.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { ALARMS, readAlarms } from '../../ledger/index.ts';
import type { Row } from '../../platform/db/index.ts';
import { operation } from './handler.ts';
import { sendRows } from './list.ts';
import { pageParams, rowKey, wholeList } from './pagination.ts';
import { params, period } from './query-params.ts';

const AuditQuery = z.strictObject({
  actor: z
    .string()
    .regex(/^(?:token|cli|file|person:[A-Za-z0-9_]{1,64})$/, 'token, cli, file or person:<id>')
    .describe('by `token` (admin API), `cli`, `file` (configuration applied at start) or `person:<id>` (console)')
    .optional(),
  ...params('action subject'),
  ...period,
  ...pageParams(rowKey.id),
});

export const INSTALLATION_OPERATIONS = {
  'admin.settings': operation({ handle: (_, { settings }) => wholeList(settings) }),
  'admin.alarms': operation({
    async handle(_, { db }) {
      const view = ({ name, count, detail, ageSeconds }: Awaited<ReturnType<typeof readAlarms>>[number]) => ({
        ...{ name, count, detail, ...ALARMS[name] },
        checked_seconds_ago: Math.round(ageSeconds),
      });
      return wholeList((await readAlarms(db)).map(view));
    },
  }),
  'admin.audit': operation({
    query: AuditQuery,
    handle: ({ call, query: { start = null, end = null, ...query } }, { db }) => {
      const from = sql<Row<'audit'>>`
      select audit.*, people.name as actor_name
      from audit left join people on people.id = substr(audit.actor, ${'person:'.length + 1})
      where (${start}::timestamptz is null or at >= ${start}) and (${end}::timestamptz is null or at < ${end})`;
      return sendRows(
        call,
        db,
        { order: 'number', from, isLog: true, view: (row) => ({ ...row, id: String(row.id) }) },
        query,
      );
    },
  }),
};

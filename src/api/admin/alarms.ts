/** Alarms as a job stored them at its last check. An old check means that no jobs run. */
import { ALARMS, readAlarms } from '../../ledger/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import { operation } from './handler.ts';

export const listAlarms = operation({
  async handle({ call }, { db }) {
    const states = await readAlarms(db);
    sendJson(call, 200, {
      object: 'list',
      data: states.map(({ name, count, detail, ageSeconds }) => ({
        name,
        count,
        detail,
        ...ALARMS[name],
        checked_seconds_ago: Math.round(ageSeconds),
      })),
      has_more: false,
      next_cursor: null,
    });
  },
});

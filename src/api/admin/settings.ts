/** The settings of this server with where each value comes from. A secret shows only that it is set. */
import { sendJson } from '../../platform/web/index.ts';
import { operation } from './handler.ts';

export const listSettings = operation({
  async handle({ call }, { settings }) {
    sendJson(call, 200, { object: 'list', data: settings, has_more: false, next_cursor: null });
  },
});

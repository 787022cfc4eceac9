/** The request log: a page of calls, and one call with its attempts and the arithmetic of its price. */
import { z } from 'zod';
import { formatNanos } from '../core/index.ts';
import { snapshot } from '../db/index.ts';
import { ERROR_SIDES, type LoggedRequest, type OwnRequest } from '../objects/index.ts';
import { findRequest, listRequests, priceOfRequest, type RequestRow, shownAttempts } from '../requests/index.ts';
import { sendJson } from '../web/index.ts';
import { notFound, operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param, period } from './query-params.ts';

/** Filters of a request log by how calls ended. */
export const outcomeParams = {
  status: z.coerce.number().int().min(100).max(599).describe('with this HTTP status').optional(),
  error: z
    .enum(ERROR_SIDES)
    .describe('that failed on this side: `provider`, `ours` (the gateway and its configuration) or `caller`')
    .optional(),
};

const RequestsQuery = z.strictObject({
  user: param.user,
  key: param.key,
  group: param.group,
  account: param.account.describe('whose last attempt was on this upstream account'),
  model: param.model,
  operation: param.operation,
  ...outcomeParams,
  request_id: param.request_id,
  ...period,
  ...pageParams(rowKey.timeAndId),
});

export const listRequestLog = operation({
  query: RequestsQuery,
  async handle({ call, query }, { db }) {
    const { user, request_id, limit, cursor, ...filters } = query;
    const rows = await snapshot(db, async (tx) => {
      if (request_id === undefined)
        return listRequests(tx, { ...filters, owner: user, limit: limit + 1, after: cursor });
      const found = await findRequest(tx, request_id, user);
      return found ? [found] : [];
    });
    sendPage(call, rows, {
      limit,
      more: { currency: 'USD' },
      key: (row) => [row.at.toISOString(), row.id],
      view: requestView,
    });
  },
});

export const getRequest = operation({
  async handle({ call }, { db }) {
    const id = call.params.request ?? '';
    const { row, price } = await snapshot(db, async (tx) => {
      const found = await findRequest(tx, id, undefined);
      if (!found) throw notFound('request in the log', id);
      return { row: found, price: await priceOfRequest(tx, found) };
    });
    sendJson(call, 200, { object: 'request', currency: 'USD', ...requestView(row), pricing: price });
  },
});

const requestView = (row: RequestRow): LoggedRequest => ({
  ...observedView(row),
  user: row.user_id,
  account: row.account_id,
  upstream_model: row.upstream_model,
  target_dialect: row.target,
  converted: row.client !== row.target,
  attempts: shownAttempts(row) as LoggedRequest['attempts'],
  failover_ms: row.failover_ms,
  cost: row.cost_nanos === null ? null : formatNanos(row.cost_nanos),
  price: row.price_id === null ? null : String(row.price_id),
  session: row.session === null ? null : row.session.toString(16).padStart(12, '0'),
});

/** What the caller could observe. */
export const observedView = (row: RequestRow): OwnRequest => ({
  id: row.id,
  at: row.at.toISOString(),
  key: row.key_id,
  group: row.group_id,
  operation: row.operation,
  model: row.model,
  dialect: row.client,
  stream: row.stream,
  status: row.status,
  outcome: row.outcome as OwnRequest['outcome'],
  code: row.code,
  error: row.error as OwnRequest['error'],
  dropped: row.dropped ?? [],
  changed: row.changed ?? [],
  first_byte_ms: row.first_byte_ms,
  total_ms: row.total_ms,
  added_ms: row.added_ms,
  ...chargeView(row),
});

export const chargeView = ({ usage, estimated, nanos }: Pick<RequestRow, 'usage' | 'estimated' | 'nanos'>) => ({
  usage: usage as OwnRequest['usage'],
  estimated,
  charge: nanos === null ? null : formatNanos(nanos),
});

/** The request log: a page of calls, and one call with its attempts and the arithmetic of its price. */
import { z } from 'zod';
import { formatNanos, notFound } from '../../core/index.ts';
import * as requestLog from '../../observe/request-log/index.ts';
import { type Db, snapshot } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { ERROR_SIDES, LoggedRequest, OwnRequest, shownRow } from '../../schemas/index.ts';
import { operation } from './handler.ts';
import { CURSOR_EXPECTED, pageParams, rowKey, sendPage } from './pagination.ts';
import { param, params, period } from './query-params.ts';
import { rejection } from './request-body.ts';

/** Query parameters of a request log, without those of operators. */
export const requestParams = {
  ...params('key', 'group'),
  model: param.model.describe(`of this model; \`*\` stands for any text, as in \`*mini*\``),
  operation: param.operation.describe('of this operation, such as messages.create, or messages.*'),
  ...params('code', 'status'),
  error: z
    .enum(ERROR_SIDES)
    .describe('that failed on this side: `provider`, `ours` (the gateway and its configuration) or `caller`')
    .optional(),
  request_id: param.request_id.describe(
    "of this request (`req_...`), or with this id of the provider's for a failed attempt",
  ),
  ...period,
  sort: z
    .enum(requestLog.REQUEST_SORTS)
    .describe(
      `the largest first by this value, among the newest ${requestLog.SEARCHED_ROWS} calls of the period; by default the newest first`,
    )
    .optional(),
  ...pageParams(z.union([rowKey.timeAndId, rowKey.valueTimeAndId])),
};

const RequestsQuery = z.strictObject({
  user: param.user.describe('of this user; `*` stands for any text'),
  account: param.account.describe('whose last attempt was on this upstream account'),
  ...requestParams,
});

type RequestPageQuery = Omit<z.output<typeof RequestsQuery>, 'user' | 'account'>;

/** Sends a page. Where the search for what has no index ends early, the page says so, and the next one goes on. */
export async function sendRequests(
  call: Call,
  db: Db,
  { request_id, limit, cursor, sort, ...filters }: RequestPageQuery & requestLog.RequestFilters,
  view: (row: requestLog.RequestRow) => object,
): Promise<void> {
  if (cursor && cursor.length !== (sort ? 3 : 2)) throw rejection([`cursor: ${CURSOR_EXPECTED}`], 'invalid_value');
  const { rows, searchedTo } = await snapshot(db, async (tx) => {
    if (request_id === undefined)
      return requestLog.listRequests(tx, { ...filters, sort, limit: limit + 1, after: cursor?.map(String) });
    const found = await requestLog.findRequest(tx, request_id, filters.owner);
    return { rows: found ? [found] : [], searchedTo: undefined };
  });
  sendPage(call, rows, {
    limit,
    more: { currency: 'USD', searched_to: searchedTo?.[0].toISOString() ?? null },
    key: (row) => requestLog.pageKeyOf(row, sort),
    next: searchedTo && [searchedTo[0].toISOString(), searchedTo[1]],
    view,
  });
}

const requestView = (row: requestLog.RequestRow): LoggedRequest => ({
  ...shownRow(LoggedRequest, row, {
    ...observedView(row),
    user: row.user_id || null,
    target_dialect: row.target,
    converted: row.client !== row.target,
    attempts: requestLog.shownAttempts(row) as LoggedRequest['attempts'],
    session: row.session === null ? null : row.session.toString(16).padStart(12, '0'),
  }),
});

export const observedView = (row: requestLog.RequestRow): OwnRequest =>
  shownRow(OwnRequest, row, {
    key: row.key_id || null,
    group: row.group_id || null,
    dialect: row.client,
    dropped: row.dropped ?? [],
    changed: row.changed ?? [],
    ...chargeView(row),
  });

type Charged = Pick<requestLog.RequestRow, 'usage' | 'estimated' | 'nanos'>;
export const chargeView = ({ usage, estimated, nanos }: Charged) => ({
  usage: usage as OwnRequest['usage'],
  estimated,
  charge: nanos === null ? null : formatNanos(nanos),
});

export const REQUESTS_OPERATIONS = {
  'admin.requests': operation({
    query: RequestsQuery,
    handle: ({ call, query }, { db }) => sendRequests(call, db, { ...query, owner: undefined }, requestView),
  }),
  'admin.request': operation({
    async handle({ id }, { db }) {
      const { row, price, captured } = await snapshot(db, async (tx) => {
        const found = await requestLog.findRequest(tx, id, undefined);
        if (!found) throw notFound('request in the log', id);
        const captured = await requestLog.isCaptured(tx, found.user_id, id);
        return { row: found, price: await requestLog.priceOfRequest(tx, found), captured };
      });
      const view = { ...requestView(row), pricing: price, captured };
      return { object: 'request', currency: 'USD', ...view };
    },
  }),
  'admin.capture': operation({
    handle: ({ id, by }, { db, secrets: { sealer } }) => requestLog.viewCapture(db, id, { by, sealer }),
  }),
};

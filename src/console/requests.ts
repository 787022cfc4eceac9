/**
 * The request log of the signed-in person's user. Shows what the caller could observe, and the charge: neither attempts with their
 * accounts and the words of providers, nor the model and dialect of the provider, nor costs.
 */
import { z } from 'zod';
import {
  chargeView,
  notFound,
  observedView,
  outcomeParams,
  pageParams,
  param,
  period,
  readQuery,
  rowKey,
  sendPage,
} from '../admin/index.ts';
import { chargedRequest, findRequest, listRequests } from '../requests/index.ts';
import { type Call, sendJson } from '../web/index.ts';
import type { ConsoleServices, Owner } from './services.ts';

const RequestsQuery = z.strictObject({
  user: param.user,
  key: param.key,
  group: param.group,
  model: param.model,
  operation: param.operation,
  ...outcomeParams,
  ...period,
  ...pageParams(rowKey.timeAndId),
});

export async function listOwnRequests({ db }: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  const { user: _, limit, cursor, ...filters } = readQuery(call.query, RequestsQuery);
  const rows = await listRequests(db, { ...filters, owner: userId, limit: limit + 1, after: cursor });
  sendPage(call, rows, {
    limit,
    more: { currency: 'USD' },
    key: (row) => [row.at.toISOString(), row.id],
    view: observedView,
  });
}

const OneQuery = z.strictObject({ user: param.user });

/** With the charge of a background response, which the list does not have. */
export async function getOwnRequest({ db }: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  readQuery(call.query, OneQuery);
  const id = call.params.request ?? '';
  const row = await findRequest(db, id, userId);
  if (!row) throw notFound('request in the log', id);
  const charged = await chargedRequest(db, row);
  sendJson(call, 200, {
    object: 'request',
    currency: 'USD',
    ...observedView(row),
    ...(charged && chargeView(charged)),
  });
}

export const REQUEST_SCHEMAS = {
  'console.requests': { query: RequestsQuery },
  'console.request': { query: OneQuery },
};

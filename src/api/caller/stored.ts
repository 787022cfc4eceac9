/**
 * Stored responses of converted groups, from our own store (G 4.4): read, stream, cancel, delete, list the input items.
 */
import { fail, failAt } from '../../core/index.ts';
import { type Caller, responseNotFound } from '../../gateway/index.ts';
import { type Call, idHeaders, STREAM_HEADERS, sendJson, sendJsonText } from '../../platform/web/index.ts';
import type { WithGateway } from './files.ts';

const PAGE = { default: 20, max: 100 };

export async function getStored({ gateway }: WithGateway, call: Call, caller: Caller): Promise<void> {
  const query = new URLSearchParams(call.query);
  if (query.get('stream') !== 'true')
    return sendJsonText(call, 200, (await gateway.readStored(call, caller, { kind: 'object' })).text);
  const after = query.has('starting_after') ? Number(query.get('starting_after')) : -1;
  if (!Number.isSafeInteger(after)) throw failAt('invalid_value', 'starting_after', 'expected an integer.');
  const { text, isRunning } = await gateway.readStored(call, caller, { kind: 'events', after });
  const id = call.params.response_id ?? '';
  if (isRunning) return gateway.followBackground(call, { id, userId: caller.key.userId, after });
  call.response.writeHead(200, { ...idHeaders(call), ...STREAM_HEADERS });
  call.response.end(text);
}

export async function cancelStored({ gateway }: WithGateway, call: Call, caller: Caller): Promise<void> {
  sendJson(call, 200, await gateway.cancelBackground(call.params.response_id ?? '', caller.key.userId));
}

export async function deleteStored({ gateway }: WithGateway, call: Call, caller: Caller): Promise<void> {
  const id = call.params.response_id ?? '';
  if ((await gateway.readStored(call, caller, { kind: 'object' })).isRunning)
    throw fail('invalid_request', 'The response is still running; cancel it, then delete it.', {
      param: 'response_id',
    });
  if (!(await gateway.store.remove(id, caller.key.userId))) throw responseNotFound(id);
  sendJson(call, 200, { id, object: 'response', deleted: true });
}

export async function listStoredInput({ gateway }: WithGateway, call: Call, caller: Caller): Promise<void> {
  const query = new URLSearchParams(call.query);
  const isAscending = query.get('order') === 'asc';
  const limit = itemLimit(query, PAGE);
  const page = { kind: 'input', isAscending, after: query.get('after'), limit } as const;
  sendJsonText(call, 200, (await gateway.readStored(call, caller, page)).text);
}

/** The `limit` of a page of items. */
export function itemLimit(query: URLSearchParams, page: { readonly default: number; readonly max: number }): number {
  const text = query.get('limit');
  const limit = text === null ? page.default : Number(text);
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= page.max) return limit;
  throw failAt('invalid_value', 'limit', `expected an integer from 1 to ${page.max}.`);
}

/** Stored responses of converted groups, from our own store (G 4.4): read, stream, cancel, delete, list the input items. */
import { fail, sse } from '../../core/index.ts';
import {
  type Caller,
  eventsAfter,
  fullInputItem,
  type Gateway,
  isRunning,
  responseNotFound,
  type StoredContent,
} from '../../gateway/index.ts';
import { type Call, idHeaders, STREAM_HEADERS, sendJson } from '../../platform/web/index.ts';

interface StoredServices {
  readonly gateway: Gateway;
}

const DEFAULT_PAGE = 20;
const MAX_PAGE = 100;

export async function getStored(services: StoredServices, call: Call, caller: Caller): Promise<void> {
  const content = await find(services, call, caller);
  const query = new URLSearchParams(call.query);
  if (query.get('stream') !== 'true') return sendJson(call, 200, content.response);
  const after = query.has('starting_after') ? Number(query.get('starting_after')) : -1;
  if (!Number.isSafeInteger(after))
    throw fail('invalid_value', 'starting_after: expected an integer.', { param: 'starting_after' });
  if (isRunning(content)) {
    const id = call.params.response_id ?? '';
    return services.gateway.followBackground(call, { id, userId: caller.key.userId, after });
  }
  call.response.writeHead(200, { ...idHeaders(call), ...STREAM_HEADERS });
  const events = eventsAfter(content, after);
  call.response.end(events.map((event) => sse(JSON.stringify(event), event.type)).join(''));
}

export async function cancelStored({ gateway }: StoredServices, call: Call, caller: Caller): Promise<void> {
  sendJson(call, 200, await gateway.cancelBackground(call.params.response_id ?? '', caller.key.userId));
}

export async function deleteStored(services: StoredServices, call: Call, caller: Caller): Promise<void> {
  const { gateway } = services;
  const id = call.params.response_id ?? '';
  if (isRunning(await find(services, call, caller)))
    throw fail('invalid_request', 'The response is still running; cancel it, then delete it.', {
      param: 'response_id',
    });
  if (!(await gateway.store.remove(id, caller.key.userId))) throw responseNotFound(id);
  sendJson(call, 200, { id, object: 'response', deleted: true });
}

export async function listStoredInput(services: StoredServices, call: Call, caller: Caller): Promise<void> {
  const { input } = await find(services, call, caller);
  const id = call.params.response_id ?? '';
  const query = new URLSearchParams(call.query);
  const items = input.map((item, n) => fullInputItem(item, id, n));
  const ordered = query.get('order') === 'asc' ? items : items.reverse();
  const after = query.get('after');
  const start = ordered.findIndex((item) => item.id === after) + 1;
  if (after !== null && start === 0)
    throw fail('invalid_value', 'after: the response has no such item.', { param: 'after' });
  const page = ordered.slice(start, start + pageSize(query.get('limit')));
  sendJson(call, 200, {
    object: 'list',
    data: page,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + page.length < ordered.length,
  });
}

function pageSize(text: string | null): number {
  const size = text === null ? DEFAULT_PAGE : Number(text);
  if (Number.isSafeInteger(size) && size >= 1 && size <= MAX_PAGE) return size;
  throw fail('invalid_value', `limit: expected an integer from 1 to ${MAX_PAGE}.`, { param: 'limit' });
}

async function find({ gateway }: StoredServices, call: Call, caller: Caller): Promise<StoredContent> {
  const id = call.params.response_id ?? '';
  const content = (await gateway.store.find(id, caller.key.userId))?.content;
  if (!content) throw responseNotFound(id);
  return content;
}

/** Stored responses of converted groups, from our own store (G 4.4): read, delete, list what went in. */
import { fail, sse } from '../core/index.ts';
import { type Caller, type ResponseStore, responseNotFound, type StoredContent } from '../gateway/index.ts';
import { type Call, idHeaders, sendJson } from '../web/index.ts';

interface StoredServices {
  readonly store: ResponseStore;
}

const DEFAULT_PAGE = 20;
const MAX_PAGE = 100;

export async function getStored(call: Call, caller: Caller, parts: StoredServices): Promise<void> {
  const { response } = await find(call, caller, parts);
  const query = new URLSearchParams(call.query);
  if (query.get('stream') !== 'true') return sendJson(call, 200, response);
  const after = query.has('starting_after') ? Number(query.get('starting_after')) : -1;
  if (!Number.isSafeInteger(after))
    throw fail('invalid_value', 'starting_after: expected a whole number.', { param: 'starting_after' });
  call.response.writeHead(200, {
    ...idHeaders(call),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
  const events = replayOf(response).slice(after + 1);
  call.response.end(events.map((event) => sse(JSON.stringify(event), event.type)).join(''));
}

/** A finished response told again: its items whole, in order, and the end it had. */
function replayOf(response: StoredContent['response']): { type: string; sequence_number: number }[] {
  const begun = { ...response, status: 'in_progress', output: [], usage: null };
  const items: unknown[] = Array.isArray(response.output) ? response.output : [];
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...items.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: `response.${response.status === 'incomplete' ? 'incomplete' : 'completed'}`, response },
  ];
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

export async function deleteStored(call: Call, caller: Caller, { store }: StoredServices): Promise<void> {
  const id = call.params.response_id ?? '';
  if (!(await store.remove(id, caller.key.userId))) throw responseNotFound(id);
  sendJson(call, 200, { id, object: 'response', deleted: true });
}

export async function listStoredInput(call: Call, caller: Caller, parts: StoredServices): Promise<void> {
  const { input } = await find(call, caller, parts);
  const id = call.params.response_id ?? '';
  const query = new URLSearchParams(call.query);
  // Items that came without an id get one from their place, so that a page can be continued.
  const items = input.map((item, n) => ({ id: `${id}_in${n}`, ...(item as object) }));
  const ordered = query.get('order') === 'asc' ? items : items.reverse();
  const start = ordered.findIndex((item) => item.id === query.get('after')) + 1;
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
  throw fail('invalid_value', `limit: expected a whole number from 1 to ${MAX_PAGE}.`, { param: 'limit' });
}

async function find(call: Call, caller: Caller, { store }: StoredServices): Promise<StoredContent> {
  const id = call.params.response_id ?? '';
  const content = (await store.find(id, caller.key.userId))?.content;
  if (!content) throw responseNotFound(id);
  return content;
}

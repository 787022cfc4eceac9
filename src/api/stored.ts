/** Stored responses of converted groups, from our own store (G 4.4): read, delete, list what went in. */
import { fail } from '../core/index.ts';
import { type Caller, type ResponseStore, responseNotFound, type StoredContent } from '../gateway/index.ts';
import { type Call, sendJson } from '../web/index.ts';

interface StoreParts {
  readonly store: ResponseStore;
}

const DEFAULT_PAGE = 20;
const MAX_PAGE = 100;

export async function getStored(call: Call, caller: Caller, parts: StoreParts): Promise<void> {
  const { response } = await find(call, caller, parts);
  if (new URLSearchParams(call.query).get('stream') === 'true') {
    throw fail('unsupported_parameter', 'stream: a stored response of this group is read whole.', { param: 'stream' });
  }
  sendJson(call, 200, response);
}

export async function deleteStored(call: Call, caller: Caller, { store }: StoreParts): Promise<void> {
  const id = call.params.response_id ?? '';
  if (!(await store.remove(id, caller.key.userId))) throw responseNotFound(id);
  sendJson(call, 200, { id, object: 'response', deleted: true });
}

export async function listStoredInput(call: Call, caller: Caller, parts: StoreParts): Promise<void> {
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

async function find(call: Call, caller: Caller, { store }: StoreParts): Promise<StoredContent> {
  const id = call.params.response_id ?? '';
  const content = (await store.find(id, caller.key.userId))?.content;
  if (!content) throw responseNotFound(id);
  return content;
}

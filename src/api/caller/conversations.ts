/** Conversations in the shape of OpenAI. Requests for responses continue them on every group. */
import { failAt } from '../../core/index.ts';
import type { Caller, KeptConversation } from '../../gateway/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { CONVERSATIONS } from '../../rules/index.ts';
import { readMetadata, readObject } from './batches.ts';
import type { FileApiServices } from './files.ts';
import { itemLimit } from './stored.ts';

type Json = Readonly<Record<string, unknown>>;
type OwnHandler = (services: FileApiServices, call: Call, caller: Caller) => Promise<void>;

const idOf = ({ params }: Call): string => params.conversation_id ?? '';
const itemOf = ({ params }: Call): string => params.item_id ?? '';

const view = ({ id, metadata, created_at: createdAt }: KeptConversation) => ({
  id,
  object: 'conversation',
  created_at: Math.floor(createdAt.getTime() / 1_000),
  metadata,
});

/** A page of items. `data` may have one more than the limit. */
const pageOf = (data: readonly Json[], limit: number) => {
  const page = data.slice(0, limit);
  const [first, last] = [page[0]?.id ?? null, page.at(-1)?.id ?? null];
  return { object: 'list', data: page, first_id: first, last_id: last, has_more: data.length > limit };
};

function readItems(given: unknown): readonly Json[] {
  const items: unknown = given ?? [];
  const isItem = (item: unknown): boolean => typeof item === 'object' && item !== null && !Array.isArray(item);
  if (Array.isArray(items) && items.length <= CONVERSATIONS.added && items.every(isItem)) return items;
  throw failAt('invalid_value', 'items', `expected a list of at most ${CONVERSATIONS.added} objects.`);
}

const create: OwnHandler = async ({ gateway }, call, caller) => {
  await gateway.acquireSlot(call, caller);
  const body = await readObject(gateway, call, 'conversations.create');
  const metadata = readMetadata(body.metadata);
  sendJson(call, 200, view(await gateway.conversations.create(caller.key.userId, metadata, readItems(body.items))));
};

const update: OwnHandler = async ({ gateway }, call, { key }) => {
  const { metadata } = await readObject(gateway, call, 'conversations.update');
  sendJson(call, 200, view(await gateway.conversations.update(idOf(call), key.userId, readMetadata(metadata))));
};

const addItems: OwnHandler = async ({ gateway }, call, caller) => {
  await gateway.acquireSlot(call, caller);
  const { items } = await readObject(gateway, call, 'conversations.addItems');
  const added = await gateway.conversations.append(idOf(call), caller.key.userId, readItems(items));
  sendJson(call, 200, pageOf(added, added.length));
};

const listItems: OwnHandler = async ({ gateway }, call, { key }) => {
  const query = new URLSearchParams(call.query);
  const { id } = await gateway.conversations.find(idOf(call), key.userId);
  const limit = itemLimit(query, CONVERSATIONS.page);
  const page = { after: query.get('after'), limit, isAscending: query.get('order') === 'asc' };
  sendJson(call, 200, pageOf(await gateway.conversations.list(id, key.userId, page), limit));
};

export const CONVERSATION_HANDLERS = {
  'conversations.create': create,
  'conversations.get': async ({ gateway }, call, { key }) =>
    sendJson(call, 200, view(await gateway.conversations.find(idOf(call), key.userId))),
  'conversations.update': update,
  'conversations.delete': async ({ gateway }, call, { key }) => {
    await gateway.conversations.remove(idOf(call), key.userId);
    sendJson(call, 200, { id: idOf(call), object: 'conversation.deleted', deleted: true });
  },
  'conversations.addItems': addItems,
  'conversations.items': listItems,
  'conversations.item': async ({ gateway }, call, { key }) =>
    sendJson(call, 200, await gateway.conversations.item(idOf(call), key.userId, itemOf(call))),
  'conversations.removeItem': async ({ gateway }, call, { key }) =>
    sendJson(call, 200, view(await gateway.conversations.removeItem(idOf(call), key.userId, itemOf(call)))),
} as const satisfies Record<string, OwnHandler>;

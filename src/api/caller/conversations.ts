/** Conversations in the shape of OpenAI. Requests for responses continue them on every group. */
import {
  type Caller,
  conversationItemNotFound,
  type KeptConversation,
  ownMembers,
  type ReadItems,
  readMetadata,
} from '../../gateway/index.ts';
import { type Call, sendJson, sendJsonText } from '../../platform/web/index.ts';
import { CONVERSATIONS } from '../../rules/index.ts';
import type { FileApiServices } from './files.ts';
import { itemLimit } from './stored.ts';

type OwnHandler = (services: FileApiServices, call: Call, caller: Caller) => Promise<void>;

const idOf = ({ params }: Call): string => params.conversation_id ?? '';
const itemOf = ({ params }: Call): string => params.item_id ?? '';

const view = ({ id, metadata, created_at: createdAt }: KeptConversation) => ({
  id,
  object: 'conversation',
  created_at: Math.floor(createdAt.getTime() / 1_000),
  metadata,
});

/** A page of items, which are JSON texts already. */
function sendItems(call: Call, { ids, texts, hasMore }: ReadItems): void {
  const [first, last] = [JSON.stringify(ids[0] ?? null), JSON.stringify(ids.at(-1) ?? null)];
  const ends = `"first_id":${first},"last_id":${last},"has_more":${hasMore}`;
  sendJsonText(call, 200, `{"object":"list","data":[${texts.join(',')}],${ends}}`);
}

const create: OwnHandler = async ({ gateway }, call, caller) => {
  await gateway.acquireSlot(call, caller);
  sendJson(call, 200, view(await gateway.createConversation(call, caller)));
};

const update: OwnHandler = async ({ gateway }, call, { key }) => {
  const bytes = await gateway.readJson(call, 'conversations.update');
  const metadata = readMetadata(bytes, ownMembers(bytes, METADATA_ONLY).get('metadata'));
  sendJson(call, 200, view(await gateway.conversations.update(idOf(call), key.userId, metadata)));
};

const METADATA_ONLY: ReadonlySet<string> = new Set(['metadata']);

const addItems: OwnHandler = async ({ gateway }, call, caller) => {
  await gateway.acquireSlot(call, caller);
  const ids = await gateway.addItems(call, caller);
  sendItems(call, await gateway.readItems(call, caller, { ids }));
};

const listItems: OwnHandler = async ({ gateway }, call, caller) => {
  const query = new URLSearchParams(call.query);
  await gateway.conversations.find(idOf(call), caller.key.userId);
  const limit = itemLimit(query, CONVERSATIONS.page);
  const range = { after: query.get('after'), limit, isAscending: query.get('order') === 'asc' };
  sendItems(call, await gateway.readItems(call, caller, range));
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
  'conversations.item': async ({ gateway }, call, caller) => {
    const [text] = (await gateway.readItems(call, caller, { ids: [itemOf(call)] })).texts;
    if (text === undefined) throw conversationItemNotFound(itemOf(call));
    sendJsonText(call, 200, text);
  },
  'conversations.removeItem': async ({ gateway }, call, { key }) =>
    sendJson(call, 200, view(await gateway.conversations.removeItem(idOf(call), key.userId, itemOf(call)))),
} as const satisfies Record<string, OwnHandler>;

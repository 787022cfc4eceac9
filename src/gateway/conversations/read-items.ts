/** Reading of items of a conversation: within the memory for bodies, and opened in the user's share of the threads. */
import { workOf } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { SEALED_COPIES } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { type GatewayServices, jobOwner } from '../services.ts';
import type { ConversationStore, ItemRange } from './conversation-store.ts';
import { viewItemsJob } from './pages.ts';

export interface ReadItems {
  readonly ids: readonly string[];
  /** The items as JSON. */
  readonly texts: readonly string[];
  readonly hasMore: boolean;
}

export async function readItems(
  { conversations, threads }: Pick<GatewayServices, 'threads'> & { readonly conversations: ConversationStore },
  call: Call,
  caller: Caller,
  range: ItemRange,
): Promise<ReadItems> {
  const id = call.params.conversation_id ?? '';
  const { userId } = caller.key;
  const { items, bytes, hasMore } = await conversations.range(id, userId, range);
  call.reserveMemory().add(bytes * SEALED_COPIES);
  const kept = await conversations.open(id, userId, items);
  const texts = await threads.run(viewItemsJob, kept, jobOwner(call, caller, workOf(kept.texts)));
  return { ids: kept.wanted.map((item) => item.id), texts, hasMore };
}

/** Conversations and items as clients make them: read and sealed in the user's share of the threads. */
import type { Call } from '../../platform/web/index.ts';
import type { InferenceOperation } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { type GatewayServices, jobOwner, readJsonBody } from '../services.ts';
import { ConversationStore, type KeptConversation } from './conversation-store.ts';
import { type Given, givenJob } from './pages.ts';

interface GivenServices extends Pick<GatewayServices, 'threads' | 'bodyLimit'> {
  readonly conversations: ConversationStore;
}

export async function createConversation(
  services: GivenServices,
  call: Call,
  caller: Caller,
): Promise<KeptConversation> {
  const id = ConversationStore.newId();
  const { metadata, pages } = await readGiven(services, { call, caller, operation: 'conversations.create' }, id);
  return services.conversations.create(id, caller.key.userId, metadata, pages);
}

/** Returns the ids of the items. */
export async function addItems(services: GivenServices, call: Call, caller: Caller): Promise<string[]> {
  const id = call.params.conversation_id ?? '';
  const { pages } = await readGiven(services, { call, caller, operation: 'conversations.addItems' }, id);
  return services.conversations.append(id, caller.key.userId, pages);
}

interface GivenSource {
  readonly call: Call;
  readonly caller: Caller;
  readonly operation: InferenceOperation;
}

async function readGiven(
  { conversations, threads, bodyLimit }: GivenServices,
  source: GivenSource,
  conversationId: string,
): Promise<Given> {
  const bytes = await readJsonBody(bodyLimit, source, 'converted');
  const owner = jobOwner(source.call, source.caller, bytes.length);
  return threads.run(givenJob, { bytes, conversationId, keys: conversations.keys }, owner);
}

export { type Background, createBackground } from './background/background.ts';
export { type Batch, expireBatches } from './batches/batch-store.ts';
export type { LineHost } from './batches/batch-worker.ts';
export { type Caller, callersOf } from './caller.ts';
export type { ChosenGroup } from './choose-group.ts';
export { endpointNotSupported } from './client-error.ts';
export {
  ConversationStore,
  conversationItemNotFound,
  expireConversations,
  type KeptConversation,
} from './conversations/conversation-store.ts';
export type { ReadItems } from './conversations/read-items.ts';
export { type ExplainedCall, type ExplainServices, explainCall } from './explain/explain.ts';
export { chargeFiles } from './files/charge-files.ts';
export {
  expireFiles,
  FileStore,
  fileNotFound,
  fileTooLarge,
  type NewFile,
  readFileRoom,
  type StoredFile,
} from './files/file-store.ts';
export type { OwnPage } from './files/own-rows.ts';
export { uploadedAs } from './files/upload.ts';
export { createGateway, type Gateway } from './gateway.ts';
export { type KeptObjectRow, removeObject } from './kept-objects.ts';
export { serves } from './key-groups.ts';
export type { ListedModel } from './models/listing.ts';
export { groupsText } from './models/resolve.ts';
export { expireObjects, ObjectStore } from './objects/object-store.ts';
export { ownMembers, readMetadata, shortText } from './own-members.ts';
export { type Plan, type PlannedRequest, plan, type UnusedWay, type Way } from './plan.ts';
export { type ProbeResult, type ProbeServices, probeAccount } from './probe.ts';
export { inputItems } from './stored/references.ts';
export { expireResponses } from './stored/retention.ts';
export { ResponseStore, responseNotFound } from './stored/store.ts';

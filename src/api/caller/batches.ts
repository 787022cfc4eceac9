/** Batches in the shapes of OpenAI and of Anthropic. The gateway works through them itself. */
import { failAt } from '../../core/index.ts';
import { type Batch, type Caller, fileNotFound, ownMembers, readMetadata, shortText } from '../../gateway/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { BATCH_ENDPOINTS, ENDPOINTS } from '../../rules/index.ts';
import { type FileApiServices, sendOwnPage } from './files.ts';

const idOf = ({ params }: Call): string => params.batch_id ?? '';

const BATCH_MEMBERS: ReadonlySet<string> = new Set(['input_file_id', 'endpoint', 'completion_window', 'metadata']);

async function createBatch({ gateway }: FileApiServices, call: Call, caller: Caller): Promise<void> {
  await gateway.acquireSlot(call, caller);
  const bytes = await gateway.readJson(call, 'batches.create');
  const members = ownMembers(bytes, BATCH_MEMBERS);
  const textOf = (name: string): string | undefined => shortText(bytes, members.get(name));
  const fileId = textOf('input_file_id');
  const endpoint = textOf('endpoint');
  if (fileId === undefined) throw failAt('invalid_value', 'input_file_id', 'expected the id of a file.');
  const url = Object.keys(BATCH_ENDPOINTS).find((path) => path === endpoint) as
    | keyof typeof BATCH_ENDPOINTS
    | undefined;
  if (!url) throw failAt('invalid_value', 'endpoint', `expected one of ${Object.keys(BATCH_ENDPOINTS).join(', ')}.`);
  if (members.has('completion_window') && textOf('completion_window') !== '24h')
    throw failAt('invalid_value', 'completion_window', 'expected "24h".');
  const batch = { url, operation: BATCH_ENDPOINTS[url], metadata: readMetadata(bytes, members.get('metadata')) };
  sendJson(call, 200, openAiView(await gateway.batches.createFromFile(call, caller, fileId, batch)));
}

async function createMessageBatch(services: FileApiServices, call: Call, caller: Caller): Promise<void> {
  const { gateway } = services;
  await gateway.acquireSlot(call, caller);
  const bytes = await gateway.readJson(call, 'messageBatches.create');
  const batch = { operation: 'messages.create', beta: call.header('anthropic-beta')?.slice(0, MAX_BETA) } as const;
  sendJson(call, 200, messagesView(services, await gateway.batches.createFromBody(call, caller, bytes, batch)));
}

const MAX_BETA = 1_000;

async function sendResults({ gateway }: FileApiServices, call: Call, { key }: Caller): Promise<void> {
  const batch = await gateway.batches.find(idOf(call), key.userId, true);
  if (batch.state === 'running')
    throw failAt('invalid_request', 'batch_id', 'the batch is still running; results come when it has ended.');
  const file = await gateway.files.find(batch.output_file ?? '', key.userId);
  if (!file) throw fileNotFound(batch.output_file ?? '');
  await gateway.sendFileContent(call, file);
}

async function deleteBatch({ gateway }: FileApiServices, call: Call, { key }: Caller): Promise<void> {
  await gateway.batches.remove(idOf(call), key.userId);
  sendJson(call, 200, { id: idOf(call), type: 'message_batch_deleted' });
}

type OwnHandler = (services: FileApiServices, call: Call, caller: Caller) => Promise<void>;

/** What both shapes have. */
function handlersOf(isMessages: boolean, view: (services: FileApiServices, batch: Batch) => object) {
  const one =
    (what: 'find' | 'cancel'): OwnHandler =>
    async (services, call, { key }) =>
      sendJson(call, 200, view(services, await services.gateway.batches[what](idOf(call), key.userId, isMessages)));
  const list: OwnHandler = (services, call, { key }) =>
    sendOwnPage(
      call,
      (page) => services.gateway.batches.list(key.userId, page, isMessages),
      (batch) => view(services, batch),
    );
  return { list, get: one('find'), cancel: one('cancel') };
}

const seconds = (at: Date | null): number | null => at && Math.floor(at.getTime() / 1_000);

function openAiStatus({ state, cancelled_at: cancelledAt, expired }: Batch): string {
  if (state === 'failed') return 'failed';
  if (state !== 'ended') return cancelledAt ? 'cancelling' : 'in_progress';
  if (cancelledAt) return 'cancelled';
  return expired > 0 ? 'expired' : 'completed';
}

function openAiView(batch: Batch): object {
  const { state, cancelled_at: cancelledAt, ended_at: endedAt } = batch;
  const status = openAiStatus(batch);
  const at = (which: string): number | null => (status === which ? seconds(endedAt) : null);
  return {
    id: batch.id,
    object: 'batch',
    endpoint: ENDPOINTS[batch.operation as keyof typeof ENDPOINTS].path,
    errors: state === 'failed' ? { object: 'list', data: batch.errors } : null,
    input_file_id: batch.input_file,
    completion_window: '24h',
    status,
    output_file_id: batch.output_file,
    error_file_id: batch.error_file,
    created_at: seconds(batch.created_at),
    in_progress_at: seconds(batch.created_at),
    expires_at: seconds(batch.expires_at),
    finalizing_at: state === 'ended' ? seconds(endedAt) : null,
    completed_at: at('completed'),
    failed_at: at('failed'),
    expired_at: at('expired'),
    cancelling_at: seconds(cancelledAt),
    cancelled_at: at('cancelled'),
    request_counts: { total: batch.total, completed: batch.succeeded, failed: batch.errored },
    metadata: batch.metadata,
  };
}

function messagesView({ publicUrl }: FileApiServices, batch: Batch): object {
  const { succeeded, errored, canceled, expired, cancelled_at: cancelledAt } = batch;
  const isRunning = batch.state === 'running';
  return {
    id: batch.id,
    type: 'message_batch',
    processing_status: isRunning ? (cancelledAt ? 'canceling' : 'in_progress') : 'ended',
    request_counts: {
      processing: batch.total - succeeded - errored - canceled - expired,
      succeeded,
      errored,
      canceled,
      expired,
    },
    created_at: batch.created_at.toISOString(),
    expires_at: batch.expires_at.toISOString(),
    ended_at: batch.ended_at?.toISOString() ?? null,
    cancel_initiated_at: cancelledAt?.toISOString() ?? null,
    archived_at: null,
    results_url: isRunning ? null : `${publicUrl()}/v1/messages/batches/${batch.id}/results`,
  };
}

const openAi = handlersOf(false, (_, batch) => openAiView(batch));
const messages = handlersOf(true, messagesView);

export const BATCH_HANDLERS = {
  'batches.create': createBatch,
  'batches.list': openAi.list,
  'batches.get': openAi.get,
  'batches.cancel': openAi.cancel,
  'messageBatches.create': createMessageBatch,
  'messageBatches.list': messages.list,
  'messageBatches.get': messages.get,
  'messageBatches.cancel': messages.cancel,
  'messageBatches.results': sendResults,
  'messageBatches.delete': deleteBatch,
} as const;

/**
 * A call that continues a conversation: its items go into the request,
 * and what the turn adds is kept before the response ends.
 */
import { ApiError, bufferOf, errorFields, fail, failAt, type Log, readSse, workOf } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { CONVERSATIONS, SEALED_COPIES } from '../../rules/index.ts';
import { type CallSource, type GatewayServices, jobOwner } from '../services.ts';
import type { ConversationStore } from './conversation-store.ts';
import { turnPagesJob } from './pages.ts';
import { addedBytes, namedConversationJob, placeItemsJob } from './place-items.ts';

export interface ConversationServices extends Pick<GatewayServices, 'threads'> {
  readonly conversations: ConversationStore;
  readonly log: Log;
}

/** Turns of this process that are being kept, so that the next one waits for them. */
const keeping = new Map<string, Promise<unknown>>();

/** The body itself when it names no conversation of ours. */
export async function continueConversation(services: ConversationServices, source: CallSource, body: Buffer) {
  const { call, caller, operation } = source;
  const { conversations, threads } = services;
  const named = await threads.run(namedConversationJob, { bytes: body }, jobOwner(call, caller, body.length));
  if (!named) return body;
  if (operation !== 'responses.create' && operation !== 'responses.inputTokens')
    throw failAt('unsupported_parameter', 'conversation', 'only POST /v1/responses continues a conversation.');
  if (call.response.writeEvent)
    throw failAt('unsupported_parameter', 'conversation', 'WebSockets and batches continue none; send the items.');
  if (addedBytes(named) > CONVERSATIONS.bytes)
    throw fail(
      'request_too_large',
      `input: it has more than ${CONVERSATIONS.bytes / 2 ** 20} MiB, what a conversation may hold.`,
      { param: 'input' },
    );
  const { userId } = caller.key;
  await keeping.get(named.id);
  const { items, bytes } = await conversations.find(named.id, userId);
  if (Number(bytes) > CONVERSATIONS.bytes || items >= CONVERSATIONS.items)
    throw fail(
      'invalid_request',
      `conversation: it has reached ${CONVERSATIONS.bytes / 2 ** 20} MiB or ${CONVERSATIONS.items} items; ` +
        'start a new one.',
      { param: 'conversation' },
    );
  call.reserveMemory().add(Number(bytes) * SEALED_COPIES);
  const earlier = await conversations.texts(named.id, userId);
  if (operation === 'responses.create')
    watchReply(call, async (reply) => {
      const turn = { bytes: body, named, reply, conversationId: named.id, keys: conversations.keys };
      const owner = jobOwner(call, caller, body.length + reply.length);
      const keep = async (): Promise<unknown> => {
        const pages = await threads.run(turnPagesJob, turn, owner);
        return pages.length > 0 && conversations.append(named.id, userId, pages);
      };
      const kept = keep().catch((error: unknown) => {
        // Deleted meanwhile, or full.
        if (!(error instanceof ApiError)) services.log.warn('conversation.not_kept', errorFields(error));
      });
      keeping.set(named.id, kept);
      await kept.finally(() => keeping.get(named.id) === kept && keeping.delete(named.id));
    });
  const owner = jobOwner(call, caller, body.length + workOf(earlier));
  return bufferOf(await threads.run(placeItemsJob, { bytes: body, named, earlier }, owner));
}

/** Calls `keep` with the end of a response that was not refused, as JSON, before its client has it. */
function watchReply({ response }: Call, keep: (reply: string) => Promise<void>): void {
  const writeHead = response.writeHead.bind(response);
  const write = response.write.bind(response);
  const end = response.end.bind(response);
  let isSse = false;
  const whole: Buffer[] = [];
  let size = 0;
  let reply: string | undefined;
  const reader = readSse((data, event) => {
    if (ENDS.has(event ?? '')) reply = data;
  });
  const read = (chunk: Buffer | string): void => {
    if (response.statusCode >= 300) return;
    if (isSse) reader.feed(chunk);
    else if (size <= CONVERSATIONS.bytes) size += whole[whole.push(Buffer.from(chunk)) - 1]?.length ?? 0;
  };
  response.writeHead = (status, headers) => {
    isSse = /event-stream/.test(String(headers['content-type'] ?? ''));
    writeHead(status, headers);
  };
  response.write = (chunk) => {
    read(chunk);
    return write(chunk);
  };
  response.end = (chunk) => {
    if (chunk !== undefined) read(chunk);
    if (size > 0) reply = Buffer.concat(whole).toString();
    if (reply === undefined) return end(chunk);
    if (chunk !== undefined && isSse) write(chunk);
    void keep(reply).finally(() => end(isSse ? undefined : chunk));
  };
}

const ENDS: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete']);

/**
 * A call that continues a conversation: its items go into the request,
 * and what the turn adds is kept before the response ends.
 */
import { ApiError, bufferOf, errorFields, fail, failAt, type Log, readSse, valueOfJson } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { CONVERSATIONS, WORKING_COPIES } from '../../rules/index.ts';
import { type CallSource, type GatewayServices, jobOwner } from '../services.ts';
import type { ConversationStore } from './conversation-store.ts';
import { addedItems, namedConversationJob, placeItemsJob } from './place-items.ts';

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
  call.reserveMemory().add(Number(bytes) * WORKING_COPIES.converted);
  const earlier = await conversations.texts(named.id, userId);
  if (operation === 'responses.create')
    watchReply(call, async (output) => {
      const added = [...addedItems(body, named).map((text) => JSON.parse(text)), ...output];
      const kept = conversations.append(named.id, userId, added).catch((error: unknown) => {
        // Deleted meanwhile, or full.
        if (!(error instanceof ApiError)) services.log.warn('conversation.not_kept', errorFields(error));
      });
      keeping.set(named.id, kept);
      await kept.finally(() => keeping.get(named.id) === kept && keeping.delete(named.id));
    });
  const size = body.length + Number(bytes);
  const placed = await threads.run(placeItemsJob, { bytes: body, named, earlier }, jobOwner(call, caller, size));
  return bufferOf(placed);
}

type Item = Readonly<Record<string, unknown>>;

/** Calls `keep` with the output of a response that has succeeded, before its client has the end of it. */
function watchReply({ response }: Call, keep: (output: readonly Item[]) => Promise<void>): void {
  const writeHead = response.writeHead.bind(response);
  const write = response.write.bind(response);
  const end = response.end.bind(response);
  let isSse = false;
  const whole: Buffer[] = [];
  let size = 0;
  let output: readonly Item[] | undefined;
  const take = (text: string, type?: string): void => {
    if (type !== undefined && !ENDS.has(type)) return;
    const value = valueOfJson(text) as { response?: Item } | undefined;
    const reply = type === undefined ? (value as Item | undefined) : value?.response;
    if (Array.isArray(reply?.output) && USABLE.has(reply.status)) output = reply.output;
  };
  const reader = readSse((data, event) => take(data, event ?? ''));
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
    if (size > 0) take(Buffer.concat(whole).toString());
    if (!output) return end(chunk);
    if (chunk !== undefined && isSse) write(chunk);
    void keep(output).finally(() => end(isSse ? undefined : chunk));
  };
}

const ENDS: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete']);
const USABLE: ReadonlySet<unknown> = new Set(['completed', 'incomplete']);

/**
 * Whole answers, both ways. Reading feeds the answer through the stream decoder and writing uses the stream encoder's block
 * mappers, so that a streamed and an unstreamed answer cannot drift apart.
 */

import type { DecodeContext, ReplyContext } from '../codec.ts';
import { failureOf, unreadable } from '../errors/fault.ts';
import { fold } from '../hub/fold.ts';
import type {
  HubAnnotation,
  HubError,
  HubItem,
  HubMessage,
  HubPart,
  HubReply,
  HubStop,
  HubText,
  HubToolCall,
  JsonObject,
} from '../hub/types.ts';
import { wrap } from '../opaque/envelope.ts';
import { responseId } from '../wire/ids.ts';
import { isObject, maybeList, parseArgs } from '../wire/read.ts';
import { encodeSignature, encodeThinkingBlock } from './client/opaque-thinking.ts';
import { decodeStreamError } from './errors.ts';
import { encodeServerCall } from './server-tools.ts';
import { encodeStop } from './stop-reason.ts';
import { replayReply } from './upstream/stream-decoder.ts';
import { encodeUsage } from './usage.ts';

// ---------------------------------------------------------------- reading

export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  if (isObject(body) && body.type === 'error') throw failureOf(decodeStreamError(body));
  if (!isObject(body) || !Array.isArray(body.content)) throw unreadable();
  const folded = fold(replayReply(body, maybeList(body.content), context));
  if ('error' in folded) throw failureOf(folded.error);
  return folded.reply;
}

// ---------------------------------------------------------------- writing

export function encodeReply(reply: HubReply, answer: ReplyContext): JsonObject {
  if (reply.stop === 'malformed_call') throw failureOf(MALFORMED);
  const content = reply.items.flatMap((item) => encodeItem(item, reply.stop));
  const calls = content.some((block) => block.type === 'tool_use');
  return {
    ...messageHead(reply.id, answer),
    content,
    ...encodeStop({ ...reply, ...refusalOf(reply) }, calls),
    usage: encodeUsage(reply.usage, countSearches(reply.items)),
  };
}

export const MALFORMED: HubError = {
  code: 'upstream_error',
  message: 'The model made a tool call that could not be read.',
};

/** What a message and the first event of a stream begin with. */
export const messageHead = (id: string, answer: ReplyContext): JsonObject => ({
  id: responseId('msg_', id),
  type: 'message',
  role: 'assistant',
  model: answer.model,
  diagnostics: null,
});

/** The provider's own explanation, else the words in which the model declined. */
function refusalOf(reply: HubReply): { refusal?: string } {
  if (reply.refusal !== undefined) return { refusal: reply.refusal };
  const parts = reply.items.flatMap((item) => (item.kind === 'message' ? item.parts : []));
  const texts = parts.flatMap((part) => (part.kind === 'refusal' ? [part.text] : []));
  return texts.length > 0 ? { refusal: texts.join('') } : {};
}

export const isForeignSearch = (item: HubItem): boolean => item.kind === 'server_call' && item.tool === 'web_search';
const countSearches = (items: readonly HubItem[]): number => items.filter(isForeignSearch).length;

export const encodeItem = <I extends HubItem>(item: I, stop: HubStop): JsonObject[] =>
  (ITEMS[item.kind] as (item: I, stop: HubStop) => JsonObject[])(item, stop);

type EncodeItem<K> = (item: HubItem & { kind: K }, stop: HubStop) => JsonObject[];

const ITEMS: { readonly [K in HubItem['kind']]: EncodeItem<K> } = {
  message: (item) => [...item.parts.flatMap(partBlock), ...messageTail(item)],
  reasoning(item) {
    const block = encodeThinkingBlock(item);
    return block ? [block] : [];
  },
  tool_call(item, stop) {
    // Half a call, cut by the length limit, must not be executed.
    if (stop === 'length' && item.form !== 'custom' && !isWhole(item.args)) return [];
    const call = { ...callHead(item), input: callInput(item) };
    return item.signature ? [encodeSignature(item.signature, item.callId), call] : [call];
  },
  server_call: encodeServerCall,
  compaction({ text, opaque }) {
    if (opaque?.issuer === 'messages') return [JSON.parse(opaque.data) as JsonObject];
    return opaque ? [{ type: 'compaction', content: text ?? null, encrypted_content: wrap(opaque) }] : [];
  },
  opaque: (item) => (item.issuer === 'messages' && isObject(item.raw) ? [item.raw] : []),
  tool_result: () => [],
  tool_change: () => [],
  config_change: () => [],
  ref: () => [],
};

/** One block per part. */
function partBlock(part: HubPart): JsonObject[] {
  if ((part.kind !== 'text' && part.kind !== 'refusal') || part.text === '') return [];
  const citations = part.kind === 'text' ? citationsOf(part) : [];
  return [{ ...textHead(), text: part.text, citations: citations.length > 0 ? citations : null }];
}

/** What of a message is known, or can be said, only when its text is out: the signature of it, and what it lacks. */
export function messageTail({ parts }: HubMessage): JsonObject[] {
  const signed = parts.findLast((part) => part.kind === 'text' && part.signature !== undefined);
  const signature = signed?.kind === 'text' ? signed.signature : undefined;
  return [...(signature ? [encodeSignature(signature)] : []), ...parts.flatMap(omittedNote)];
}

export const textHead = (): JsonObject => ({ type: 'text', text: '', citations: null });

const citationsOf = (text: HubText): JsonObject[] => (text.annotations ?? []).map(citation);

/** The index is the provider's secret; this marker in its place is recognised when it comes back. */
export const citation = ({ url, title, cited }: HubAnnotation): JsonObject => ({
  type: 'web_search_result_location',
  url,
  title,
  cited_text: cited ?? '',
  encrypted_index: 'gw1.',
});

/** Pictures and sounds have no place in an answer of this dialect; a client should at least know that there was one. */
const omittedNote = (part: HubPart): JsonObject[] =>
  part.kind === 'image' || part.kind === 'audio' || part.kind === 'video'
    ? [{ ...textHead(), text: `[${part.kind} omitted]` }]
    : [];

export const callHead = (call: HubToolCall): JsonObject => ({
  type: 'tool_use',
  id: call.callId,
  name: call.name,
  input: {},
});

const callInput = ({ form, args }: HubToolCall): JsonObject => (form === 'custom' ? { input: args } : parseArgs(args));

function isWhole(args: string): boolean {
  try {
    JSON.parse(args);
    return true;
  } catch {
    return args === '';
  }
}

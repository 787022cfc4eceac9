/**
 * Unary replies of this dialect, and the block encoders that the
 * stream encoder shares, so that both carry the same blocks.
 */
import { encodeCitation } from '../../claude/citations.ts';
import { DIRECT_CALLER, encodeServerCall } from '../../claude/server-tools.ts';
import type { ReplyContext } from '../../codec.ts';
import { failureOf } from '../../errors/fault.ts';
import { forKind } from '../../hub/by-kind.ts';
import type * as hub from '../../hub/types.ts';
import { wrap } from '../../opaque/envelope.ts';
import { carriedBefore } from '../../tools/hosted.ts';
import { responseId } from '../../wire/ids.ts';
import { isObject, parseArgs } from '../../wire/read.ts';
import { encodeStop } from '../stop-reason.ts';
import { encodeUsage } from '../usage.ts';
import { encodeCarrier, encodeSignature, encodeThinkingBlock, isTextSignature } from './opaque-thinking.ts';

export function encodeReply(reply: hub.HubReply, context: ReplyContext): hub.JsonObject {
  if (reply.stop === 'malformed_call') throw failureOf(MALFORMED_CALL);
  const content = reply.items.flatMap((item) => encodeItem(item));
  if (isTextSignature(content.at(-1) ?? {})) content.pop();
  const hasCalls = content.some((block) => block.type === 'tool_use');
  return {
    ...messageHead(reply.id, context),
    content,
    ...encodeStop({ ...reply, ...refusalOf(reply) }, hasCalls),
    usage: encodeUsage(reply.usage, countSearches(reply.items)),
  };
}

export const MALFORMED_CALL: hub.HubError = {
  code: 'upstream_error',
  message: 'The model returned a malformed tool call.',
};

/** Members that open a unary message and `message_start`. */
export const messageHead = (id: string, context: ReplyContext): hub.JsonObject => ({
  id: responseId('msg_', id),
  type: 'message',
  role: 'assistant',
  model: context.model,
  diagnostics: null,
});

/** Returns the provider's explanation, or else the refusal text of the model. */
function refusalOf(reply: hub.HubReply): { refusal?: string } {
  if (reply.refusal !== undefined) return { refusal: reply.refusal };
  const parts = reply.items.flatMap((item) => (item.kind === 'message' ? item.parts : []));
  const texts = parts.flatMap((part) => (part.kind === 'refusal' ? [part.text] : []));
  return texts.length > 0 ? { refusal: texts.join('') } : {};
}

export const isWebSearch = (item: hub.HubItem): boolean => item.kind === 'server_call' && item.tool === 'web_search';
const countSearches = (items: readonly hub.HubItem[]): number => items.filter(isWebSearch).length;

export const encodeItem = forKind<hub.HubItem, void, hub.JsonObject[]>({
  message: (item) => [...item.parts.flatMap(partBlock), ...messageTail(item)],
  reasoning(item) {
    const block = encodeThinkingBlock(item);
    return block ? [block] : [];
  },
  /**
   * A stream has sent a call before the length limit cuts it, so a
   * unary reply has it too; its input is what can be read.
   */
  tool_call(item) {
    const call = { ...callHead(item), input: callInput(item) };
    return item.signature ? [encodeSignature(item.signature, item.callId), call] : [call];
  },
  server_call(item) {
    if (item.image) return omittedMediaNote(item.image);
    const blocks = encodeServerCall(item);
    const carried = blocks.length > 0 ? carriedBefore(item, 'messages') : undefined;
    return carried ? [encodeCarrier(carried), ...blocks] : blocks;
  },
  compaction({ text, opaque }) {
    if (opaque?.issuer === 'messages') return [JSON.parse(opaque.data) as hub.JsonObject];
    return opaque ? [{ type: 'compaction', content: text ?? null, encrypted_content: wrap(opaque) }] : [];
  },
  opaque: (item) => (item.issuer === 'messages' && isObject(item.raw) ? [item.raw] : []),
  tool_result: () => [],
  tool_change: () => [],
  config_change: () => [],
  ref: () => [],
});

function partBlock(part: hub.HubPart): hub.JsonObject[] {
  if ((part.kind !== 'text' && part.kind !== 'refusal') || part.text === '') return [];
  return [{ ...textHead(), text: part.text, citations: part.kind === 'text' ? citationsOf(part) : [] }];
}

/** Blocks that follow the text of a message: its signature and notes about omitted media. */
export function messageTail({ parts }: hub.HubMessage): hub.JsonObject[] {
  const signed = parts.findLast((part) => part.kind === 'text' && part.signature !== undefined);
  const signature = signed?.kind === 'text' ? signed.signature : undefined;
  return [...(signature ? [encodeSignature(signature)] : []), ...parts.flatMap(omittedMediaNote)];
}

/** The SDK's type requires `citations`. It also allows null, but older strict clients reject that. */
export const textHead = (): hub.JsonObject => ({ type: 'text', text: '', citations: [] });

const citationsOf = (text: hub.HubText): hub.JsonObject[] => (text.annotations ?? []).map(encodeCitation);

/** Replies of this dialect cannot carry media; the note shows that some was dropped. */
const omittedMediaNote = (part: hub.HubPart): hub.JsonObject[] =>
  part.kind === 'image' || part.kind === 'audio' || part.kind === 'video'
    ? [{ ...textHead(), text: `[${part.kind} omitted]` }]
    : [];

export const callHead = (call: hub.HubToolCall): hub.JsonObject => ({
  type: 'tool_use',
  id: call.callId,
  name: call.name,
  input: {},
  caller: DIRECT_CALLER,
});

const callInput = ({ form, args }: hub.HubToolCall): hub.JsonObject =>
  form === 'custom' ? { input: args } : parseArgs(args);

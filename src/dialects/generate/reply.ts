/** Whole answers both ways, and the mapping of finished items to parts that the stream encoder shares. */
import type { DecodeContext, ReplyContext } from '../codec.ts';
import { failureOf } from '../errors/fault.ts';
import { fold } from '../hub/fold.ts';
import type { HubItem, HubPart, HubReply, HubStop, HubToolCall, JsonObject } from '../hub/types.ts';
import { responseId } from '../wire/ids.ts';
import { compact, isObject, parseArgs } from '../wire/read.ts';
import { FINISH_REASONS } from './stop-reason.ts';
import { toSlot } from './thought-signature.ts';
import { decodeWhole } from './upstream/stream-decoder.ts';
import { encodeUsage } from './usage.ts';
import { ISSUER, type WirePart } from './wire.ts';

export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  const folded = fold(decodeWhole(body, context));
  if ('error' in folded) throw failureOf(folded.error);
  return folded.reply;
}

export function encodeReply(reply: HubReply, answer: ReplyContext): JsonObject {
  const parts = reply.items.flatMap((item) => wholeParts(item, answer));
  const refused = reply.items.flatMap((item) => (item.kind === 'message' ? item.parts : [])).map(refusalOf);
  return {
    candidates: [
      {
        content: { parts: parts.length > 0 ? parts : [{ text: '' }], role: 'model' },
        ...finishOf(reply.stop, reply.refusal ?? refused.join('')),
        index: 0,
      },
    ],
    usageMetadata: encodeUsage(reply.usage),
    modelVersion: answer.model,
    responseId: responseId('', reply.id),
  };
}

const refusalOf = (part: HubPart): string => (part.kind === 'refusal' ? part.text : '');

export const finishOf = (stop: HubStop, refusal: string): { finishReason: string; finishMessage?: string } =>
  compact({ finishReason: FINISH_REASONS[stop], finishMessage: refusal === '' ? undefined : refusal });

/** The parts of an item that was told at once. */
function wholeParts(item: HubItem, answer: ReplyContext): WirePart[] {
  if (item.kind === 'message') return item.parts.flatMap((part) => wholePart(part));
  if (item.kind !== 'reasoning' || answer.request.clientOptions.thoughts !== true) return endParts(item);
  // Thoughts that were asked for carry their own value; it needs no empty part.
  const [last = '', ...before] = [...item.summary].reverse();
  const texts = before.reverse().map((text) => ({ text, thought: true }));
  const signed = { text: last, thought: true, ...toSlot(item.opaque) };
  return last === '' && item.opaque === undefined ? texts : [...texts, signed];
}

function wholePart(part: HubPart): WirePart[] {
  if (part.kind !== 'text') return endPart(part);
  return part.text === '' && !part.signature ? [] : [{ text: part.text, ...toSlot(part.signature) }];
}

/** The parts that remain to be said when the deltas of an item have been sent. */
export function endParts(item: HubItem): WirePart[] {
  if (item.kind === 'message') return item.parts.flatMap(endPart);
  if (item.kind === 'tool_call') return [callPart(item)];
  // Wanted or not, the value must reach the client, or its next request lacks it.
  if (item.kind === 'reasoning') return item.opaque ? [{ text: '', thought: true, ...toSlot(item.opaque) }] : [];
  return item.kind === 'opaque' && item.issuer === ISSUER && isObject(item.raw) ? [item.raw] : [];
}

function endPart(part: HubPart): WirePart[] {
  if (part.kind === 'text') return part.signature ? [{ text: '', ...toSlot(part.signature) }] : [];
  if (part.kind === 'refusal' || !('source' in part) || typeof part.source === 'string') return [];
  if (part.source.kind !== 'base64') return [];
  const { mime, data } = part.source;
  return [{ inlineData: { mimeType: mime, data }, ...toSlot(part.kind === 'image' ? part.signature : undefined) }];
}

/** Custom tools take free text; this dialect only knows objects. */
const callPart = (call: HubToolCall): WirePart => ({
  functionCall: {
    id: call.callId,
    name: call.name,
    args: call.form === 'custom' ? { input: call.args } : parseArgs(call.args),
  },
  ...toSlot(call.signature),
});

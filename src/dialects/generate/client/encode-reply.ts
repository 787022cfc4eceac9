/** Unary replies of this dialect, and the mapping of complete items to parts that the stream encoder shares. */
import type { ReplyContext } from '../../codec.ts';
import type { HubItem, HubPart, HubReply, HubServerCall, HubStop, HubToolCall, JsonObject } from '../../hub/types.ts';
import { responseId } from '../../wire/ids.ts';
import { compact, isObject, maybeList, parseArgs } from '../../wire/read.ts';
import { FINISH_REASONS } from '../stop-reason.ts';
import { signatureForClient } from '../thought-signature.ts';
import { encodeUsage } from '../usage.ts';
import { ISSUER, type WirePart } from '../wire.ts';
import { Grounding } from './grounding.ts';

export function encodeReply(reply: HubReply, context: ReplyContext): JsonObject {
  const grounding = new Grounding();
  for (const item of reply.items) grounding.addItem(item);
  const parts = reply.items.flatMap((item) => completeParts(item, context));
  const refusals = reply.items.flatMap((item) => (item.kind === 'message' ? item.parts : [])).map(refusalOf);
  return {
    candidates: [
      {
        content: { parts: parts.length > 0 ? parts : [{ text: '' }], role: 'model' },
        ...encodeFinish(reply.stop, reply.refusal ?? refusals.join('')),
        index: 0,
        ...grounding.member,
      },
    ],
    usageMetadata: encodeUsage(reply.usage),
    modelVersion: context.model,
    responseId: responseId('', reply.id),
  };
}

const refusalOf = (part: HubPart): string => (part.kind === 'refusal' ? part.text : '');

export const encodeFinish = (stop: HubStop, refusal: string): { finishReason: string; finishMessage?: string } =>
  compact({ finishReason: FINISH_REASONS[stop], finishMessage: refusal === '' ? undefined : refusal });

function completeParts(item: HubItem, context: ReplyContext): WirePart[] {
  if (item.kind === 'message') return item.parts.flatMap((part) => completePart(part));
  if (item.kind !== 'reasoning' || context.request.clientOptions.thoughts !== true) return endParts(item);
  // Visible thoughts carry the signature on their last part, so no empty part is needed.
  const [last = '', ...before] = [...item.summary].reverse();
  const texts = before.reverse().map((text) => ({ text, thought: true }));
  const signed = { text: last, thought: true, ...signatureForClient(item.opaque) };
  return last === '' && item.opaque === undefined ? texts : [...texts, signed];
}

function completePart(part: HubPart): WirePart[] {
  if (part.kind !== 'text') return endPart(part);
  return part.text === '' && !part.signature ? [] : [{ text: part.text, ...signatureForClient(part.signature) }];
}

/** Returns the parts of an item that its text deltas did not carry. */
export function endParts(item: HubItem): WirePart[] {
  if (item.kind === 'message') return item.parts.flatMap(endPart);
  if (item.kind === 'tool_call') return [callPart(item)];
  if (item.kind === 'server_call') return item.image ? endPart(item.image) : codeParts(item);
  // The client must get the opaque value even without thoughts, because its next request returns it.
  if (item.kind === 'reasoning')
    return item.opaque ? [{ text: '', thought: true, ...signatureForClient(item.opaque) }] : [];
  return item.kind === 'opaque' && item.issuer === ISSUER && isObject(item.raw) ? [item.raw] : [];
}

/** Hosted calls other than code have no part in this dialect. */
function codeParts({ tool, issuer, raw, code = '', output = '', status }: HubServerCall): WirePart[] {
  if (tool !== 'code_exec' || status === 'in_progress') return [];
  if (issuer === ISSUER) return maybeList(raw).filter(isObject);
  const outcome = status === 'failed' ? 'OUTCOME_FAILED' : 'OUTCOME_OK';
  return [{ executableCode: { language: 'PYTHON', code } }, { codeExecutionResult: { outcome, output } }];
}

function endPart(part: HubPart): WirePart[] {
  if (part.kind === 'text') return part.signature ? [{ text: '', ...signatureForClient(part.signature) }] : [];
  if (part.kind === 'refusal' || !('source' in part) || typeof part.source === 'string') return [];
  if (part.source.kind !== 'base64') return [];
  const { mime, data } = part.source;
  return [
    { inlineData: { mimeType: mime, data }, ...signatureForClient(part.kind === 'image' ? part.signature : undefined) },
  ];
}

/** Wraps the free text of custom tools, because arguments are objects in this dialect. */
const callPart = (call: HubToolCall): WirePart => ({
  functionCall: {
    id: call.callId,
    name: call.name,
    args: call.form === 'custom' ? { input: call.args } : parseArgs(call.args),
  },
  ...signatureForClient(call.signature),
});

/**
 * Thought signatures of generate-content as separate reasoning items, because calls and messages of
 * this dialect have no field for them. The signature of a call precedes it and has its call id. The
 * signature of a text follows its message, because a stream has already sent the text when the
 * signature arrives. The signature of an image follows its image call.
 */
import type { HubImage, HubItem, HubMessage, HubReasoningItem, HubToolCall, Opaque } from '../hub/types.ts';

/** Used as id: the signature belongs to the last text of the preceding message. */
const TEXT_BEFORE = 'text-before';
/** Used as id: the signature belongs to the preceding image. */
const IMAGE_BEFORE = 'image-before';

export const signatureOfCall = (call: HubToolCall): Opaque | undefined =>
  call.signature && { ...call.signature, id: call.callId };

export function signatureOfText(message: HubMessage): Opaque | undefined {
  const signed = message.parts.findLast((part) => part.kind === 'text' && part.signature !== undefined);
  return signed?.kind === 'text' && signed.signature ? { ...signed.signature, id: TEXT_BEFORE } : undefined;
}

export const signatureOfImage = ({ signature }: HubImage): Opaque | undefined =>
  signature && { ...signature, id: IMAGE_BEFORE };

/** Moves signatures back to their calls, texts and images. A signature without one of them stays a reasoning item. */
export function restoreSignatures(items: readonly HubItem[]): HubItem[] {
  if (!items.some(isSignature)) return [...items];
  const signatures = new Map(items.filter(isSignature).map((item) => [item.opaque.id, item.opaque]));
  const calls = new Set<string | undefined>(items.flatMap((item) => (item.kind === 'tool_call' ? [item.callId] : [])));
  const result: HubItem[] = [];
  for (const item of items) {
    const last = result.at(-1);
    if (item.kind === 'tool_call') {
      const signature = signatures.get(item.callId);
      result.push(signature ? { ...item, signature } : item);
    } else if (!isSignature(item)) {
      result.push(item);
    } else if (item.opaque.id === TEXT_BEFORE && last?.kind === 'message') {
      const { id: _, ...signature } = item.opaque;
      result[result.length - 1] = signText(last, signature);
    } else if (item.opaque.id === IMAGE_BEFORE && last?.kind === 'server_call' && last.image) {
      const { id: _, ...signature } = item.opaque;
      result[result.length - 1] = { ...last, image: { ...last.image, signature } };
    } else if (!calls.has(item.opaque.id)) {
      result.push(item);
    }
  }
  return result;
}

type Signature = HubReasoningItem & { readonly opaque: Opaque };

const isSignature = (item: HubItem): item is Signature =>
  item.kind === 'reasoning' &&
  item.opaque?.kind === 'thought' &&
  item.opaque.id !== undefined &&
  item.summary.length === 0;

function signText(message: HubMessage, signature: Opaque): HubMessage {
  const lastText = message.parts.findLastIndex((part) => part.kind === 'text');
  return {
    ...message,
    parts: message.parts.map((part, index) =>
      index === lastText && part.kind === 'text' ? { ...part, signature } : part,
    ),
  };
}

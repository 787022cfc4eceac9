/**
 * Opaque values of other providers inside `thinking` blocks, both ways: summaries
 * joined into one text, signatures of calls and texts in blocks of their own.
 */
import type { HubReasoningItem, JsonObject, Opaque } from '../../hub/types.ts';
import { EMPTY_ENVELOPE, pack, unwrap } from '../../opaque/envelope.ts';
import { SUMMARY_GAP } from '../../opaque/summary-parts.ts';

export function encodeThinkingBlock(item: HubReasoningItem): Record<string, unknown> | undefined {
  const { opaque, summary } = item;
  if (opaque?.issuer === 'messages' && opaque.kind === 'redacted') {
    return { type: 'redacted_thinking', data: pack(opaque, 'messages') };
  }
  const thinking = summary.join(SUMMARY_GAP);
  if (thinking === '' && !opaque) return undefined;
  return { type: 'thinking', thinking, signature: signatureOf(item) };
}

export function signatureOf({ opaque, summary }: HubReasoningItem): string {
  if (!opaque) return EMPTY_ENVELOPE;
  const lengths = opaque.lengths ?? summary.map((text) => text.length);
  return pack(opaque.issuer === 'messages' ? opaque : { ...opaque, lengths }, 'messages');
}

/** Target id of a signature for the text directly before it, because text has no id. */
const TEXT_BEFORE = 'text-before';

/** Returns a block that holds only a signature: before the call it signs, or after the text it signs. */
export const encodeSignature = (signature: Opaque, callId?: string): Record<string, unknown> => ({
  type: 'thinking',
  thinking: '',
  signature: pack({ ...signature, id: callId ?? TEXT_BEFORE }, 'messages'),
});

/** Returns the block that carries a hosted call of another provider; its own blocks follow. */
export const encodeCarrier = (opaque: Opaque): Record<string, unknown> => ({
  type: 'thinking',
  thinking: '',
  signature: pack(opaque, 'messages'),
});

/**
 * True for a block with the signature of the text before it alone. Left out at the
 * end of a reply, where `claude -p` would print it; the gateway caches it.
 */
export const isTextSignature = ({ type, signature }: JsonObject): boolean =>
  type === 'thinking' && typeof signature === 'string' && unwrap(signature)?.id === TEXT_BEFORE;

/** Returns what the value signs, or undefined for plain reasoning. */
export function signatureTarget({ kind, id }: Opaque): { callId?: string } | undefined {
  if (kind !== 'thought' || id === undefined) return undefined;
  return id === TEXT_BEFORE ? {} : { callId: id };
}

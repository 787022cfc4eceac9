/**
 * How foreign opaque values sit in a `thinking` block, both ways. Only this dialect's client side uses it: the encoder joins
 * summary parts into one text and gives signatures of calls and texts a block of their own, the decoder undoes exactly that.
 */

import type { HubReasoningItem, Opaque } from '../../hub/types.ts';
import { EMPTY_ENVELOPE, pack } from '../../opaque/envelope.ts';

/** Between two summary parts that share one thinking block. */
export const SUMMARY_GAP = '\n\n';

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

/** The parts that were joined, or the whole text where the client has changed it. */
export function cutSummary(text: string, lengths: readonly number[] | undefined): string[] {
  if (text === '') return [];
  if (!lengths || lengths.length < 2) return [text];
  const parts: string[] = [];
  let at = 0;
  for (const [n, length] of lengths.entries()) {
    if (n > 0 && !text.startsWith(SUMMARY_GAP, at)) return [text];
    if (n > 0) at += SUMMARY_GAP.length;
    parts.push(text.slice(at, at + length));
    at += length;
  }
  return at === text.length ? parts : [text];
}

/** Stands for "the text directly before", which has no id. */
const TEXT = 'text-before';

/** A block that holds nothing but the signature of a call (it comes before the call) or of a text (it comes after it). */
export const encodeSignature = (signature: Opaque, callId?: string): Record<string, unknown> => ({
  type: 'thinking',
  thinking: '',
  signature: pack({ ...signature, id: callId ?? TEXT }, 'messages'),
});

/** What a value from such a block belongs to; undefined for reasoning that stands for itself. */
export function signatureTarget({ kind, id }: Opaque): { callId?: string } | undefined {
  if (kind !== 'thought' || id === undefined) return undefined;
  return id === TEXT ? {} : { callId: id };
}

/** Unary replies of a generateContent upstream. They pass through the stream decoder, so both forms decode to the same reply. */
import type { DecodeContext } from '../../codec.ts';
import { failureOf } from '../../errors/fault.ts';
import { fold } from '../../hub/fold.ts';
import type { HubReply } from '../../hub/types.ts';
import { decodeUnary } from './stream-decoder.ts';

export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  const folded = fold(decodeUnary(body, context));
  if ('error' in folded) throw failureOf(folded.error);
  return folded.reply;
}

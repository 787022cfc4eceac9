/** Unary replies of a generateContent upstream. They pass through the stream decoder, so both forms decode to the same reply. */
import type { DecodeContext } from '../../codec.ts';
import { foldReply } from '../../errors/fault.ts';
import type { HubReply } from '../../hub/types.ts';
import { decodeUnary } from './stream-decoder.ts';

export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  return foldReply(decodeUnary(body, context));
}

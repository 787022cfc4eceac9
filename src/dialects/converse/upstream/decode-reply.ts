/** Whole replies of Converse. They pass through the stream decoder, so both forms decode to the same reply. */
import type { DecodeContext } from '../../codec.ts';
import { failureOf, foldReply, unreadable } from '../../errors/fault.ts';
import type { HubReply } from '../../hub/types.ts';
import { decodeStreamError } from '../../messages/index.ts';
import { isObject, maybeObject } from '../../wire/read.ts';
import { replayReply } from './stream-decoder.ts';

export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  if (isObject(body) && body.type === 'error') throw failureOf(decodeStreamError(body));
  if (!isObject(body) || !Array.isArray(maybeObject(maybeObject(body.output).message).content)) throw unreadable();
  return foldReply(replayReply(body, context));
}

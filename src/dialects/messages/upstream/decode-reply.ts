/** Unary replies of a messages upstream. They pass through the stream decoder, so both forms decode to the same reply. */
import type { DecodeContext } from '../../codec.ts';
import { failureOf, unreadable } from '../../errors/fault.ts';
import { fold } from '../../hub/fold.ts';
import type { HubReply } from '../../hub/types.ts';
import { isObject } from '../../wire/read.ts';
import { decodeStreamError } from '../errors.ts';
import { replayReply } from './stream-decoder.ts';

export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  if (isObject(body) && body.type === 'error') throw failureOf(decodeStreamError(body));
  if (!isObject(body) || !Array.isArray(body.content)) throw unreadable();
  const folded = fold(replayReply(body, body.content, context));
  if ('error' in folded) throw failureOf(folded.error);
  return withCutCall(folded.reply);
}

/** The provider shows the input of a call that the output limit cut as an empty object; the arguments are unknown. */
function withCutCall(reply: HubReply): HubReply {
  const last = reply.items.at(-1);
  if (reply.stop !== 'length' || last?.kind !== 'tool_call' || last.args !== '{}') return reply;
  return { ...reply, items: [...reply.items.slice(0, -1), { ...last, args: '' }] };
}

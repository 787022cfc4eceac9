/** A complete reply of a chat upstream: its message is read as one large delta, so unary and streamed replies agree. */
import type { DecodeContext } from '../../codec.ts';
import { failureOf, foldReply, unreadable } from '../../errors/fault.ts';
import type { HubEvent, HubReply, JsonObject } from '../../hub/types.ts';
import { isObject, maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { decodeErrorObject, errorIn } from '../errors.ts';
import { isFailure } from '../stop-reason.ts';
import { readUsage } from '../usage.ts';
import { openReply, readDelta } from './delta-reader.ts';
import { finishReply, hasLogprobs } from './stream-decoder.ts';

export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  const wire = maybeObject(body);
  const error = errorIn(wire);
  if (error) throw failureOf(error);
  const choice = maybeObject(maybeList(wire.choices)[0]);
  if (isFailure(maybeString(choice.finish_reason))) throw failureOf(decodeErrorObject(choice));
  if (!isObject(choice.message)) throw unreadable();
  const state = {
    reply: openReply(context),
    reason: maybeString(choice.finish_reason),
    usage: readUsage(wire.usage),
    tier: maybeString(wire.service_tier),
    hasLogprobs: hasLogprobs(choice),
  };
  const id = maybeString(wire.id) || context.requestId;
  const events: HubEvent[] = [{ kind: 'start', id, model: maybeString(wire.model) ?? '' }];
  readDelta(withCallIndexes(choice.message), state.reply, events);
  finishReply(state, events);
  return foldReply(events);
}

/** Calls of a complete message have no index. Without one, the reader would merge two calls that share an id. */
const withCallIndexes = (message: JsonObject): JsonObject =>
  Array.isArray(message.tool_calls)
    ? { ...message, tool_calls: message.tool_calls.map((call, index) => ({ ...maybeObject(call), index })) }
    : message;

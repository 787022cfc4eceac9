/**
 * Answers in one piece, both ways. Neither direction has its own idea of an answer: decoding reads the message as one large
 * delta, encoding adds up the deltas that a stream would have sent.
 */
import type { DecodeContext, ReplyContext } from '../codec.ts';
import { failureOf, unreadable } from '../errors/fault.ts';
import { fold, unfold } from '../hub/fold.ts';
import type { HubEvent, HubReply, JsonObject } from '../hub/types.ts';
import { responseId } from '../wire/ids.ts';
import { compact, isObject, maybeList, maybeObject, maybeString } from '../wire/read.ts';
import { tierForClient } from '../wire/service-tiers.ts';
import { type CallDelta, type Delta, finishReason, openDeltaWriter, toDeltas } from './client/delta-writer.ts';
import { MALFORMED_CALL } from './client/stream-encoder.ts';
import { decodeErrorObject } from './errors.ts';
import { openReply, readDelta } from './upstream/delta-reader.ts';
import { finishReply } from './upstream/stream-decoder.ts';
import { encodeUsage, readUsage } from './usage.ts';

export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  const wire = maybeObject(body);
  if (isObject(wire.error)) throw failureOf(decodeErrorObject(wire));
  const choice = maybeObject(maybeList(wire.choices)[0]);
  if (!isObject(choice.message)) throw unreadable();
  const state = {
    answer: openReply(context),
    reason: maybeString(choice.finish_reason),
    usage: readUsage(wire.usage),
    tier: maybeString(wire.service_tier),
  };
  const id = maybeString(wire.id) || context.requestId;
  const events: HubEvent[] = [{ kind: 'start', id, model: maybeString(wire.model) ?? '' }];
  readDelta(numbered(choice.message), state.answer, events);
  finishReply(state, events);
  const folded = fold(events);
  if ('error' in folded) throw failureOf(folded.error);
  return folded.reply;
}

/** Calls of a whole message have no index; without one, two that share an id would be taken for one. */
const numbered = (message: JsonObject): JsonObject =>
  Array.isArray(message.tool_calls)
    ? { ...message, tool_calls: message.tool_calls.map((call, index) => ({ ...maybeObject(call), index })) }
    : message;

export function encodeReply(reply: HubReply, answer: ReplyContext): JsonObject {
  const telling = openDeltaWriter(answer);
  const message = unfold(reply)
    .flatMap((event) => toDeltas(event, telling))
    .reduce(add, EMPTY);
  const reason = finishReason(reply.stop, telling);
  if (reason === 'error') throw failureOf(MALFORMED_CALL);
  return compact({
    id: responseId('chatcmpl-', reply.id),
    object: 'chat.completion',
    created: answer.created,
    model: answer.model,
    choices: [{ index: 0, message: messageOf(message), logprobs: null, finish_reason: reason }],
    usage: encodeUsage(reply.usage),
    service_tier: tierForClient(reply.usage.tier),
    metadata: answer.request.meta.metadata,
  });
}

const EMPTY: Delta = {};

function add(sum: Delta, delta: Delta): Delta {
  const joined = (name: 'content' | 'refusal' | 'reasoning_content') =>
    delta[name] === undefined ? sum[name] : (sum[name] ?? '') + delta[name];
  return compact({
    content: joined('content'),
    reasoning_content: joined('reasoning_content'),
    refusal: joined('refusal'),
    tool_calls: delta.tool_calls ? delta.tool_calls.reduce(addCall, sum.tool_calls ?? []) : sum.tool_calls,
    function_call: delta.function_call
      ? compact({
          name: sum.function_call?.name ?? delta.function_call.name,
          arguments: (sum.function_call?.arguments ?? '') + delta.function_call.arguments,
        })
      : sum.function_call,
    annotations: delta.annotations ?? sum.annotations,
  });
}

function addCall(calls: readonly CallDelta[], delta: CallDelta): readonly CallDelta[] {
  const known = calls[delta.index];
  if (!known) return [...calls, delta];
  const sum = compact({
    ...known,
    function: delta.function && {
      ...known.function,
      arguments: (known.function?.arguments ?? '') + delta.function.arguments,
    },
    custom: delta.custom && { ...known.custom, input: (known.custom?.input ?? '') + delta.custom.input },
  });
  return calls.with(delta.index, sum);
}

/** No text is `null` beside a call or a refusal, and an empty text where there is nothing else. */
function messageOf(sum: Delta): JsonObject {
  const other = sum.tool_calls ?? sum.function_call ?? sum.refusal;
  return compact({
    role: 'assistant',
    content: sum.content || (other ? null : ''),
    reasoning_content: sum.reasoning_content,
    refusal: sum.refusal ?? null,
    tool_calls: sum.tool_calls?.map(({ index: _, ...call }) => call),
    function_call: sum.function_call,
    annotations: sum.annotations,
  });
}

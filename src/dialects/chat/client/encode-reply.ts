/** A complete reply for a chat client: the sum of the deltas that a stream would have sent, so both forms agree. */
import type { ReplyContext } from '../../codec.ts';
import { failureOf } from '../../errors/fault.ts';
import { unfold } from '../../hub/fold.ts';
import type { HubReply, JsonObject } from '../../hub/types.ts';
import { responseId } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { tierForClient } from '../../wire/service-tiers.ts';
import { encodeUsage } from '../usage.ts';
import { type CallDelta, type Delta, finishReason, openDeltaWriter, toDeltas } from './delta-writer.ts';
import { MALFORMED_CALL } from './stream-encoder.ts';

export function encodeReply(reply: HubReply, context: ReplyContext): JsonObject {
  const writer = openDeltaWriter(context);
  const sum = unfold(reply)
    .flatMap((event) => toDeltas(event, writer))
    .reduce(addDelta, EMPTY);
  const reason = finishReason(reply.stop, writer);
  if (reason === 'error') throw failureOf(MALFORMED_CALL);
  return compact({
    id: responseId('chatcmpl-', reply.id),
    object: 'chat.completion',
    created: context.created,
    model: context.model,
    choices: [{ index: 0, message: messageOf(sum), logprobs: null, finish_reason: reason }],
    usage: encodeUsage(reply.usage),
    service_tier: tierForClient(reply.usage.tier),
    metadata: context.request.meta.metadata,
  });
}

const EMPTY: Delta = {};

function addDelta(sum: Delta, delta: Delta): Delta {
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
    images: delta.images ? [...(sum.images ?? []), ...delta.images] : sum.images,
    audio: delta.audio ?? sum.audio,
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

/** Absent text is `null` beside a call or a refusal, and an empty string otherwise. */
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
    images: sum.images,
    audio: sum.audio,
  });
}

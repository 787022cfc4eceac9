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
  const sum: Sum = { tool_calls: [], images: [] };
  for (const event of unfold(reply)) {
    for (const delta of toDeltas(event, writer)) addDelta(sum, delta);
  }
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

/** The sum so far. Its lists grow in place, because a reply may have thousands of calls. */
type Sum = Omit<{ -readonly [K in keyof Delta]: Delta[K] }, 'tool_calls' | 'images'> & {
  readonly tool_calls: CallDelta[];
  readonly images: JsonObject[];
};

function addDelta(sum: Sum, delta: Delta): void {
  for (const name of TEXTS) {
    if (delta[name] !== undefined) sum[name] = (sum[name] ?? '') + delta[name];
  }
  for (const call of delta.tool_calls ?? []) sum.tool_calls[call.index] = addCall(sum.tool_calls[call.index], call);
  if (delta.function_call)
    sum.function_call = compact({
      name: sum.function_call?.name ?? delta.function_call.name,
      arguments: (sum.function_call?.arguments ?? '') + delta.function_call.arguments,
    });
  if (delta.annotations) sum.annotations = delta.annotations;
  for (const image of delta.images ?? []) sum.images.push(image);
  if (delta.audio) sum.audio = delta.audio;
}
const TEXTS = ['content', 'refusal', 'reasoning_content'] as const;

function addCall(known: CallDelta | undefined, delta: CallDelta): CallDelta {
  if (!known) return delta;
  return compact({
    ...known,
    function: delta.function && {
      ...known.function,
      arguments: (known.function?.arguments ?? '') + delta.function.arguments,
    },
    custom: delta.custom && { ...known.custom, input: (known.custom?.input ?? '') + delta.custom.input },
  });
}

/** Absent text is `null` beside a call or a refusal, and an empty string otherwise. */
function messageOf(sum: Sum): JsonObject {
  const calls = sum.tool_calls.length > 0 ? sum.tool_calls.map(({ index: _, ...call }) => call) : undefined;
  const other = calls ?? sum.function_call ?? sum.refusal;
  return compact({
    role: 'assistant',
    content: sum.content || (other ? null : ''),
    reasoning_content: sum.reasoning_content,
    refusal: sum.refusal ?? null,
    tool_calls: calls,
    function_call: sum.function_call,
    annotations: sum.annotations,
    images: sum.images.length > 0 ? sum.images : undefined,
    audio: sum.audio,
  });
}

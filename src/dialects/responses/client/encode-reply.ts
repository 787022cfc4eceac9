/**
 * Response objects for the client: unary replies and stream snapshots. They
 * echo every request setting, with defaults filled in.
 */
import type { ReplyContext } from '../../codec.ts';
import type { HubError, HubItem, HubReply, HubStop, HubUsage, JsonObject } from '../../hub/types.ts';
import { responseId } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { echoFormat } from '../encode-settings.ts';
import { echoToolChoice, echoTools } from '../encode-tools.ts';
import { encodeStreamError } from '../errors.ts';
import { itemBuilders, nonFunctionTools, outputItemId } from '../output-items.ts';
import { DECLINED_TEXT, ENDINGS, refusalOf } from '../stop-reason.ts';
import { encodeTier, encodeUsage } from '../usage.ts';

export function encodeReply(reply: HubReply, context: ReplyContext): JsonObject {
  const id = context.responseId ?? responseId('resp_', reply.id);
  const toolKinds = nonFunctionTools(context.request);
  const { truncated } = ENDINGS[reply.stop];
  const items = [...reply.items, ...refusalItems(reply.stop, reply.refusal, reply.items)];
  const output: JsonObject[] = [];
  let outputIndex = 0;
  for (const [index, item] of items.entries()) {
    // Truncation affects only the last item.
    const isTruncated = truncated && index === items.length - 1;
    for (const builder of itemBuilders(item, toolKinds)) {
      const itemId = outputItemId(builder, id, outputIndex++);
      const isCut = (truncated && builder.hasInvalidArgs) || (isTruncated && builder.idPrefix === 'msg');
      output.push(builder.build(itemId, isCut ? 'incomplete' : 'completed'));
    }
  }
  return { ...finalBody({ id, context, output, stop: reply.stop, usage: reply.usage }), ...echoSettings(context) };
}

/** Returns the refusal message to add when the model declined without writing a refusal itself. */
export function refusalItems(stop: HubStop, refusal: string | undefined, items: readonly HubItem[]): HubItem[] {
  if (!ENDINGS[stop].declined || refusalOf(items) !== undefined) return [];
  const text = refusal || DECLINED_TEXT;
  return [{ kind: 'message', role: 'assistant', parts: [{ kind: 'refusal', text }] }];
}

interface FinishedResponse {
  readonly id: string;
  readonly context: ReplyContext;
  readonly output: readonly JsonObject[];
  readonly stop: HubStop;
  readonly usage: HubUsage;
}

export function finalBody({ id, context, output, stop, usage }: FinishedResponse): JsonObject {
  const { status, reason } = ENDINGS[stop];
  return {
    ...responseHead(id, context),
    status,
    // Codecs are pure and read no clock, so the completion time equals the creation time.
    completed_at: status === 'completed' ? context.created : null,
    error: status === 'failed' ? encodeStreamError(MALFORMED_CALL) : null,
    incomplete_details: reason === undefined ? null : { reason },
    output,
    service_tier: encodeTier(usage.tier),
    usage: encodeUsage(usage),
  };
}
const MALFORMED_CALL: HubError = { code: 'upstream_error', message: 'The model produced a malformed tool call.' };

export const inProgressBody = (id: string, context: ReplyContext): JsonObject => ({
  ...responseHead(id, context),
  status: 'in_progress',
  completed_at: null,
  error: null,
  incomplete_details: null,
  output: [],
  service_tier: 'auto',
  usage: null,
});

export const failedBody = (
  id: string,
  context: ReplyContext,
  output: readonly JsonObject[],
  error: HubError,
): JsonObject => ({
  ...inProgressBody(id, context),
  status: 'failed',
  error: encodeStreamError(error),
  output,
});

const responseHead = (id: string, context: ReplyContext): JsonObject => ({
  id,
  object: 'response',
  created_at: context.created,
  model: context.model,
});

const without = <T>(list: readonly T[], positions: ReadonlySet<number>): T[] =>
  list.filter((_, n) => !positions.has(n));

/** The request settings in the response object; equal in every snapshot of a stream. */
export function echoSettings({ request, omittedTools = [] }: ReplyContext): JsonObject {
  const { sampling, limits, reasoning, output, cache, state, meta } = request;
  return {
    background: state.background ?? false,
    frequency_penalty: sampling.frequency ?? 0,
    instructions: request.system.map((part) => part.text).join('\n\n') || null,
    max_output_tokens: limits.maxOutput ?? null,
    max_tool_calls: limits.maxToolCalls ?? null,
    metadata: meta.metadata ?? {},
    parallel_tool_calls: request.parallelTools ?? true,
    presence_penalty: sampling.presence ?? 0,
    previous_response_id: state.previousId ?? null,
    prompt: null,
    prompt_cache_key: cache.key ?? null,
    reasoning: { effort: reasoning.effort ?? null, summary: reasoning.style ?? null },
    safety_identifier: (meta.isLegacyUser ? undefined : meta.userId) ?? null,
    store: state.store ?? true,
    temperature: sampling.temperature ?? 1,
    text: compact({ format: echoFormat(output.format), verbosity: output.verbosity ?? 'medium' }),
    tool_choice: echoToolChoice(request),
    tools: echoTools(omittedTools.length === 0 ? request.tools : without(request.tools, new Set(omittedTools))),
    top_logprobs: sampling.topLogprobs ?? 0,
    top_p: sampling.topP ?? 1,
    truncation: 'disabled',
    user: (meta.isLegacyUser ? meta.userId : undefined) ?? null,
    access_programs: null,
  };
}

/** The response object: whole answers, and the snapshots of a stream. Every setting of the request is echoed, defaults filled in. */
import type { ReplyContext } from '../../codec.ts';
import type { HubError, HubItem, HubReply, HubStop, HubUsage, JsonObject } from '../../hub/types.ts';
import { responseId } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { encodeFormat } from '../encode-settings.ts';
import { echoToolChoice, echoTools } from '../encode-tools.ts';
import { encodeStreamError } from '../errors.ts';
import { declaredIn, formsOf, placeId } from '../output-items.ts';
import { DECLINED_TEXT, ENDINGS, refusalOf } from '../stop-reason.ts';
import { encodeTier, encodeUsage } from '../usage.ts';

export function encodeReply(reply: HubReply, answer: ReplyContext): JsonObject {
  const id = responseId('resp_', reply.id);
  const declared = declaredIn(answer.request);
  const { cut } = ENDINGS[reply.stop];
  const items = [...reply.items, ...refusalItems(reply.stop, reply.refusal, reply.items)];
  const output: JsonObject[] = [];
  let place = 0;
  for (const [index, item] of items.entries()) {
    // Only the last words can have been cut off.
    const last = cut && index === items.length - 1;
    for (const form of formsOf(item, declared)) {
      const formId = placeId(form, id, place++);
      if (!(cut && form.broken))
        output.push(form.build(formId, last && form.prefix === 'msg' ? 'incomplete' : 'completed'));
    }
  }
  return { ...finalBody({ id, answer, output, stop: reply.stop, usage: reply.usage }), ...settingsOf(answer) };
}

/** What must be said when the model declined and said nothing of it itself. */
export function refusalItems(stop: HubStop, refusal: string | undefined, items: readonly HubItem[]): HubItem[] {
  if (!ENDINGS[stop].declined || refusalOf(items) !== undefined) return [];
  const text = refusal || DECLINED_TEXT;
  return [{ kind: 'message', role: 'assistant', parts: [{ kind: 'refusal', text }] }];
}

interface Final {
  readonly id: string;
  readonly answer: ReplyContext;
  readonly output: readonly JsonObject[];
  readonly stop: HubStop;
  readonly usage: HubUsage;
}

export function finalBody({ id, answer, output, stop, usage }: Final): JsonObject {
  const { status, reason } = ENDINGS[stop];
  return {
    ...head(id, answer),
    status,
    // No clock here: a response is as old as its beginning.
    completed_at: status === 'completed' ? answer.created : null,
    error: status === 'failed' ? encodeStreamError(MALFORMED) : null,
    incomplete_details: reason === undefined ? null : { reason },
    output,
    service_tier: encodeTier(usage.tier),
    usage: encodeUsage(usage),
  };
}
const MALFORMED: HubError = { code: 'upstream_error', message: 'The model made a call that cannot be read.' };

export const openBody = (id: string, answer: ReplyContext): JsonObject => ({
  ...head(id, answer),
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
  answer: ReplyContext,
  output: readonly JsonObject[],
  error: HubError,
): JsonObject => ({
  ...openBody(id, answer),
  status: 'failed',
  error: encodeStreamError(error),
  output,
});

const head = (id: string, answer: ReplyContext): JsonObject => ({
  id,
  object: 'response',
  created_at: answer.created,
  model: answer.model,
});

/** The rest of the object: the same in every snapshot of a stream. */
export function settingsOf({ request }: ReplyContext): JsonObject {
  const { sampling, limits, reasoning, output, cache, state, meta } = request;
  return {
    background: false,
    instructions: request.system.map((part) => part.text).join('\n\n') || null,
    max_output_tokens: limits.maxOutput ?? null,
    max_tool_calls: limits.maxToolCalls ?? null,
    metadata: meta.metadata ?? {},
    parallel_tool_calls: request.parallelTools ?? true,
    previous_response_id: state.previousId ?? null,
    prompt: null,
    prompt_cache_key: cache.key ?? null,
    reasoning: { effort: reasoning.effort ?? null, summary: reasoning.style ?? null },
    safety_identifier: meta.userId ?? null,
    store: state.store ?? true,
    temperature: sampling.temperature ?? 1,
    text: compact({ format: encodeFormat(output.format), verbosity: output.verbosity ?? 'medium' }),
    tool_choice: echoToolChoice(request),
    tools: echoTools(request.tools),
    top_logprobs: sampling.topLogprobs ?? 0,
    top_p: sampling.topP ?? 1,
    truncation: 'disabled',
    user: null,
    access_programs: null,
  };
}

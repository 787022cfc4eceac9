/** Decoder of unary upstream responses. Throws the error of a failed response. */
import type { DecodeContext } from '../../codec.ts';
import { failureOf, unreadable } from '../../errors/fault.ts';
import type { HubError, HubItem, HubReply, JsonObject } from '../../hub/types.ts';
import { uniqueCallId } from '../../wire/ids.ts';
import { isObject, maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { decodeErrorObject, isPolicyViolation } from '../errors.ts';
import { decodeOutputItem, type ItemContext, isSeparateResult, ResultJoiner } from '../read-output.ts';
import { decodeStop } from '../stop-reason.ts';
import { decodeUsage } from '../usage.ts';

export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  if (!isObject(body) || !(Array.isArray(body.output) || isObject(body.error))) throw unreadable();
  const items: HubItem[] = [];
  const results = new ResultJoiner(items, context.account);
  const callIds = new Set<string>();
  const itemContext: ItemContext = {
    account: context.account,
    callId: (given) => uniqueCallId(given, callIds, context.requestId),
  };
  for (const value of maybeList(body.output)) {
    const wire = maybeObject(value);
    if (isSeparateResult(wire) && results.join(wire)) continue;
    const item = decodeOutputItem(wire, itemContext);
    if (item?.kind === 'tool_call' && item.name === '') throw unreadable();
    if (item) items.push(item);
  }
  const error = responseError(body, items.length > 0);
  if (error) throw failureOf(error);
  return {
    id: maybeString(body.id) ?? '',
    model: maybeString(body.model) ?? '',
    items,
    ...responseStop(body, items),
    ...omittedIn(body),
    usage: decodeUsage(body, items),
  };
}

/**
 * The error that ended the response. A refusal of the content is a
 * reply, because it was billed; so is a full context after output.
 */
export function responseError(response: JsonObject, hasOutput: boolean): HubError | undefined {
  if (response.status === 'queued' || response.status === 'in_progress') {
    return { code: 'upstream_error', message: 'The provider returned a response that is not finished.' };
  }
  if (!hasFailed(response) || isPolicyViolation(maybeObject(response.error))) return undefined;
  const { error } = decodeErrorObject(maybeObject(response.error));
  return error.code === 'context_length_exceeded' && hasOutput ? undefined : error;
}

/** Returns the stop of a response without `responseError`. */
export function responseStop(response: JsonObject, items: readonly HubItem[]): Pick<HubReply, 'stop' | 'refusal'> {
  if (!hasFailed(response)) return decodeStop(response, items);
  const wire = maybeObject(response.error);
  return isPolicyViolation(wire)
    ? { stop: 'filter', refusal: decodeErrorObject(wire).error.message }
    : { stop: 'context_full' };
}

/** Log probabilities have no form in the hub, because converted requests never ask for them. */
export function omittedIn({ output }: JsonObject): Pick<HubReply, 'omitted'> {
  const parts = maybeList(output).flatMap((item) => maybeList(maybeObject(item).content));
  return parts.some((part) => maybeList(maybeObject(part).logprobs).length > 0) ? { omitted: ['logprobs'] } : {};
}

const hasFailed = (response: JsonObject): boolean =>
  response.status === 'failed' || (response.output === undefined && isObject(response.error));

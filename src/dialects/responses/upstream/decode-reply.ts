/** Whole answers of an upstream. A response that failed is no answer: it is thrown as the error it tells. */
import type { DecodeContext } from '../../codec.ts';
import { failureOf as failed, unreadable } from '../../errors/fault.ts';
import type { HubError, HubItem, HubReply, JsonObject } from '../../hub/types.ts';
import { freshCallId } from '../../wire/ids.ts';
import { isObject, maybeList, maybeObject, maybeString } from '../../wire/read.ts';
import { isPolicy, readError } from '../errors.ts';
import { decodeOutputItem, type Seat } from '../read-output.ts';
import { decodeStop } from '../stop-reason.ts';
import { decodeUsage } from '../usage.ts';

export function decodeReply(body: unknown, context: DecodeContext): HubReply {
  if (!isObject(body) || !(Array.isArray(body.output) || isObject(body.error))) throw unreadable();
  const items: HubItem[] = [];
  const callIds = new Set<string>();
  const seat: Seat = { context, callId: (given) => freshCallId(given, callIds, context.requestId) };
  for (const one of maybeList(body.output)) {
    const item = decodeOutputItem(maybeObject(one), seat);
    if (item?.kind === 'tool_call' && item.name === '') throw unreadable();
    if (item) items.push(item);
  }
  const failure = failureOf(body, items.length > 0);
  if (failure) throw failed(failure);
  return {
    id: maybeString(body.id) ?? '',
    model: maybeString(body.model) ?? '',
    items,
    ...stopOf(body, items),
    usage: decodeUsage(body, items),
  };
}

/**
 * The error that a response ended in, if it did. A refusal of the content is an answer (the provider read and billed it), and
 * so is a context that ran full while the model was already writing.
 */
export function failureOf(response: JsonObject, wrote: boolean): HubError | undefined {
  if (response.status === 'queued' || response.status === 'in_progress') {
    return { code: 'upstream_error', message: 'The upstream answered before the response was finished.' };
  }
  if (!hasFailed(response) || isPolicy(maybeObject(response.error))) return undefined;
  const { error } = readError(maybeObject(response.error));
  return error.code === 'context_length_exceeded' && wrote ? undefined : error;
}

/** Of a response that did not end in an error. */
export function stopOf(response: JsonObject, items: readonly HubItem[]): Pick<HubReply, 'stop' | 'refusal'> {
  if (!hasFailed(response)) return decodeStop(response, items);
  const wire = maybeObject(response.error);
  return isPolicy(wire) ? { stop: 'filter', refusal: readError(wire).error.message } : { stop: 'context_full' };
}

const hasFailed = (response: JsonObject): boolean =>
  response.status === 'failed' || (response.output === undefined && isObject(response.error));

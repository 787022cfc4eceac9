/**
 * The stream encoder for chat clients: deltas framed as chunks. Usage
 * only on request, `[DONE]` only after success (G 6).
 */
import { SSE_COMMENT, sse } from '../../../core/index.ts';
import type { ReplyContext, StreamEncoder } from '../../codec.ts';
import type { HubError, HubEvent } from '../../hub/types.ts';
import { responseId } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { tierForClient } from '../../wire/service-tiers.ts';
import { encodeError } from '../errors.ts';
import { encodeUsage } from '../usage.ts';
import { type Delta, type DeltaWriter, finishReason, openDeltaWriter, toDeltas } from './delta-writer.ts';

interface State {
  readonly context: ReplyContext;
  readonly writer: DeltaWriter;
  /** Start and end shared by all chunks of a reply, serialized once. */
  head: string;
  readonly tail: string;
  /** What stands before and after the delta, in one piece: every piece of a chunk costs as much as its text. */
  before: string;
  readonly after: string;
  done: boolean;
}

export function openEncoder(context: ReplyContext): StreamEncoder {
  const head = chunkHead(context, context.requestId);
  const tail = context.request.clientOptions.usageChunk ? ',"usage":null}' : '}';
  const state: State = {
    context: context,
    writer: openDeltaWriter(context),
    head,
    tail,
    before: beforeDelta(head),
    after: afterDelta('null', tail),
    done: false,
  };
  return {
    push: (event) => (state.done ? '' : encode(event, state)),
    heartbeat: () => SSE_COMMENT,
  };
}

function encode(event: HubEvent, state: State): string {
  if (event.kind === 'error') return failStream(event.error, state);
  if (event.kind === 'finish') return finish(event, state);
  if (event.kind === 'start') {
    state.head = chunkHead(state.context, event.id);
    state.before = beforeDelta(state.head);
  }
  return chunks(toDeltas(event, state.writer), state);
}

const chunkHead = ({ created, model }: ReplyContext, upstreamId: string): string =>
  JSON.stringify({ id: responseId('chatcmpl-', upstreamId), object: 'chat.completion.chunk', created, model }).slice(
    0,
    -1,
  );

function chunks(deltas: readonly Delta[], state: State): string {
  let text = '';
  for (const delta of deltas) text += state.before + JSON.stringify(delta) + state.after;
  return text;
}

const beforeDelta = (head: string): string => `data: ${head},"choices":[{"index":0,"delta":`;
const afterDelta = (reason: string, tail: string): string => `,"logprobs":null,"finish_reason":${reason}}]${tail}\n\n`;

function finish(event: Extract<HubEvent, { kind: 'finish' }>, state: State): string {
  const reason = finishReason(event.stop, state.writer);
  if (reason === 'error') return failStream(MALFORMED_CALL, state);
  const last = `${state.before}{}${afterDelta(`"${reason}"`, state.tail)}`;
  state.done = true;
  return chunks(toDeltas(event, state.writer), state) + last + usageChunk(event, state) + sse('[DONE]');
}

function usageChunk({ usage }: Extract<HubEvent, { kind: 'finish' }>, { context, head }: State): string {
  if (!context.request.clientOptions.usageChunk) return '';
  const rest = JSON.stringify(
    compact({ choices: [], usage: encodeUsage(usage), service_tier: tierForClient(usage.tier) }),
  );
  return sse(`${head},${rest.slice(1)}`);
}

/** No `[DONE]` after an error: clients would take the text so far for the complete reply. */
function failStream(error: HubError, state: State): string {
  state.done = true;
  return sse(JSON.stringify(encodeError(error)));
}

export const MALFORMED_CALL: HubError = {
  code: 'upstream_error',
  message: 'The model made a malformed tool call.',
};

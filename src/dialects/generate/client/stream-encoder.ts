/**
 * Stream encoder: unnamed SSE events without an end marker, which the SDK
 * would parse. Buffers calls. Comments are separate blocks.
 */
import { SSE_COMMENT, sse } from '../../../core/index.ts';
import type { ReplyContext, StreamEncoder } from '../../codec.ts';
import { forKind } from '../../hub/by-kind.ts';
import { type ItemEvent, ItemSerializer } from '../../hub/serialize-items.ts';
import type { HubEvent, HubItem } from '../../hub/types.ts';
import { responseId } from '../../wire/ids.ts';
import { encodeError } from '../errors.ts';
import { encodeUsage } from '../usage.ts';
import type { WirePart } from '../wire.ts';
import { encodeFinish, endParts } from './encode-reply.ts';
import { Grounding } from './grounding.ts';

export function openEncoder(context: ReplyContext): StreamEncoder {
  const tail = chunkTail(context, context.requestId);
  const state: State = {
    context,
    tail,
    after: afterPart(tail),
    serializer: new ItemSerializer(),
    refusal: '',
    grounding: new Grounding(),
    done: false,
  };
  return {
    push: (event) => (state.done ? '' : writeEvent(event, state)),
    heartbeat: () => SSE_COMMENT,
  };
}

interface State {
  readonly context: ReplyContext;
  /** Text after the part of a chunk, the same in every chunk. */
  after: string;
  /** JSON text of the members that end every chunk. */
  tail: string;
  readonly serializer: ItemSerializer;
  refusal: string;
  readonly grounding: Grounding;
  done: boolean;
}

const chunkTail = (context: ReplyContext, id: string): string =>
  `"modelVersion":${JSON.stringify(context.model)},"responseId":${JSON.stringify(id)}}`;

const writeEvent = forKind<HubEvent, State, string>({
  start(event, state) {
    state.tail = chunkTail(state.context, responseId('', event.id));
    state.after = afterPart(state.tail);
    return '';
  },
  item: route,
  text: route,
  think: route,
  refusal: route,
  args: route,
  annotation: route,
  item_end: route,
  ping: () => SSE_COMMENT,
  finish(event, state) {
    state.done = true;
    const { finishReason, finishMessage } = encodeFinish(event.stop, event.refusal ?? state.refusal);
    const message = finishMessage === undefined ? '' : `,"finishMessage":${JSON.stringify(finishMessage)}`;
    const grounding = JSON.stringify(state.grounding.member).slice(1, -1);
    const members = `"finishReason":"${finishReason}"${message},"index":0${grounding && `,${grounding}`}`;
    const end = `${AFTER_PART},${members}}]`;
    const usage = JSON.stringify(encodeUsage(event.usage));
    return `${BEFORE_PART}{"text":""}${end},"usageMetadata":${usage},${state.tail}\n\n`;
  },
  error(event, state) {
    state.done = true;
    return sse(JSON.stringify(encodeError(event.error)));
  },
});

/** Parts are sequential, so interleaved items are written one after the other. */
function route(event: ItemEvent, state: State): string {
  let text = '';
  for (const next of state.serializer.push(event)) text += writeItemEvent(next, state);
  return text;
}

function writeItemEvent(event: ItemEvent, state: State): string {
  if (event.kind === 'item_end') return writeItemEnd(event.item, state);
  if (event.kind === 'text') return event.text === '' ? '' : chunk({ text: event.text }, state);
  if (event.kind === 'refusal') state.refusal += event.text;
  const isVisibleThought =
    event.kind === 'think' && event.text !== '' && state.context.request.clientOptions.thoughts === true;
  return isVisibleThought ? chunk({ text: event.text, thought: true }, state) : '';
}

function writeItemEnd(item: HubItem, state: State): string {
  state.grounding.addItem(item);
  let text = '';
  for (const part of endParts(item)) text += chunk(part, state);
  return text;
}

/** Builds the JSON text around the part, because everything else is the same in every chunk of a reply. */
const chunk = (part: WirePart, state: State): string => BEFORE_PART + JSON.stringify(part) + state.after;

const BEFORE_PART = 'data: {"candidates":[{"content":{"parts":[';
const AFTER_PART = '],"role":"model"}';
const afterPart = (tail: string): string => `${AFTER_PART},"index":0}],${tail}\n\n`;

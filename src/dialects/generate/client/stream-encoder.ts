/**
 * Hub events as the provider's own stream: blocks of data without names, and no end marker (its SDK takes one for broken
 * JSON). Calls are held until they are whole. Comments stand alone: glued to a block they would hide it from the SDK.
 */
import { SSE_COMMENT, sse } from '../../../core/index.ts';
import type { ReplyContext, StreamEncoder } from '../../codec.ts';
import { type ItemEvent, ItemSerializer } from '../../hub/serialize-items.ts';
import type { HubEvent, HubItem } from '../../hub/types.ts';
import { responseId } from '../../wire/ids.ts';
import { encodeError } from '../errors.ts';
import { endParts, finishOf } from '../reply.ts';
import { encodeUsage } from '../usage.ts';
import type { WirePart } from '../wire.ts';

export function openEncoder(answer: ReplyContext): StreamEncoder {
  const tail = tailOf(answer, answer.requestId);
  const state: State = { answer, tail, sequence: new ItemSerializer(), refusal: '', done: false };
  return {
    push<K extends HubEvent['kind']>(event: Extract<HubEvent, { kind: K }>) {
      return state.done ? '' : (ON[event.kind as K] as Row<K>)(event, state);
    },
    heartbeat: () => SSE_COMMENT,
  };
}

interface State {
  readonly answer: ReplyContext;
  /** The members that every block ends with, as text. */
  tail: string;
  readonly sequence: ItemSerializer;
  refusal: string;
  done: boolean;
}

const tailOf = (answer: ReplyContext, id: string): string =>
  `"modelVersion":${JSON.stringify(answer.model)},"responseId":${JSON.stringify(id)}}`;

type Row<K extends HubEvent['kind']> = (event: Extract<HubEvent, { kind: K }>, state: State) => string;

const ON: { readonly [K in HubEvent['kind']]: Row<K> } = {
  start(event, state) {
    state.tail = tailOf(state.answer, responseId('', event.id));
    return '';
  },
  item: inTurn,
  text: inTurn,
  think: inTurn,
  refusal: inTurn,
  args: inTurn,
  annotation: inTurn,
  item_end: inTurn,
  ping: () => SSE_COMMENT,
  finish(event, state) {
    state.done = true;
    const { finishReason, finishMessage } = finishOf(event.stop, event.refusal ?? state.refusal);
    const message = finishMessage === undefined ? '' : `,"finishMessage":${JSON.stringify(finishMessage)}`;
    const candidate = `${content({ text: '' })},"finishReason":"${finishReason}"${message},"index":0`;
    const usage = JSON.stringify(encodeUsage(event.usage));
    return sse(`{"candidates":[{${candidate}}],"usageMetadata":${usage},${state.tail}`);
  },
  error(event, state) {
    state.done = true;
    return sse(JSON.stringify(encodeError(event.error)));
  },
};

/** Parts follow each other, so items take turns. */
function inTurn(event: ItemEvent, state: State): string {
  let text = '';
  for (const next of state.sequence.push(event)) text += emitItem(next, state);
  return text;
}

function emitItem(event: ItemEvent, state: State): string {
  if (event.kind === 'item_end') return endOf(event.item, state);
  if (event.kind === 'text') return event.text === '' ? '' : block({ text: event.text }, state);
  if (event.kind === 'refusal') state.refusal += event.text;
  const shown = event.kind === 'think' && event.text !== '' && state.answer.request.clientOptions.thoughts === true;
  return shown ? block({ text: event.text, thought: true }, state) : '';
}

/** What the deltas of an item could not say. */
function endOf(item: HubItem, state: State): string {
  let text = '';
  for (const part of endParts(item)) text += block(part, state);
  return text;
}

/** Written by hand around the part: everything but the part is the same in every block of an answer. */
const block = (part: WirePart, state: State): string =>
  sse(`{"candidates":[{${content(part)},"index":0}],${state.tail}`);

const content = (part: WirePart): string => `"content":{"parts":[${JSON.stringify(part)}],"role":"model"}`;

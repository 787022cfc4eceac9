/**
 * Stream encoder, one handler per hub event. Ends only with
 * `response.completed`, `response.incomplete` or `response.failed`.
 */
import { SSE_COMMENT } from '../../../core/index.ts';
import type { ReplyContext, StreamEncoder } from '../../codec.ts';
import { forKind } from '../../hub/by-kind.ts';
import type { HubEvent, HubItem, HubMessage, HubReasoningItem, HubToolCall, JsonObject } from '../../hub/types.ts';
import { responseId } from '../../wire/ids.ts';
import { encodeAnnotation } from '../annotations.ts';
import * as output from '../output-items.ts';
import { ENDINGS, refusalOf } from '../stop-reason.ts';
import { signatureOfCall } from '../thought-signatures.ts';
import { failedBody, finalBody, inProgressBody, refusalItems } from './encode-reply.ts';
import * as events from './event-writer.ts';
import * as parts from './part-writer.ts';
import { openFreeTextUnwrapper } from './unwrap-free-text.ts';

export const openEncoder = (context: ReplyContext): StreamEncoder => new ResponsesEncoder(context);

class ResponsesEncoder implements StreamEncoder {
  readonly #state: State;

  constructor(context: ReplyContext) {
    this.#state = {
      ...events.openWriter(context),
      isStarted: false,
      openItems: new Map(),
      heldCalls: [],
      hasRefusal: false,
    };
  }

  push(event: HubEvent): string {
    this.#state.text = '';
    this.#handle(event);
    return this.#state.text;
  }

  pushEvents(event: HubEvent): readonly string[] {
    const events: string[] = [];
    this.#state.events = events;
    this.#handle(event);
    this.#state.events = undefined;
    return events;
  }

  #handle(event: HubEvent): void {
    if (this.#state.finalBody) return;
    handle(event, this.#state);
  }

  get finalResponse(): JsonObject | undefined {
    return events.finalResponse(this.#state);
  }

  heartbeat(): string {
    return SSE_COMMENT;
  }
}

interface State extends events.Writer {
  isStarted: boolean;
  readonly openItems: Map<number, OpenItem>;
  /**
   * Emits the end of the last message. Deferred, because only the next
   * item or the finish shows whether it was truncated.
   */
  finishMessage?: ((isTruncated: boolean) => void) | undefined;
  /** Calls with invalid JSON arguments. The finish shows whether they were cut. */
  readonly heldCalls: HeldCall[];
  hasRefusal: boolean;
}

interface HeldCall {
  emit(): void;
  /** Adds the call to the response only: clients run a call as soon as its item is done. */
  keepCut(): void;
}

type OpenItem =
  | { readonly kind: 'message' | 'reasoning'; readonly item: parts.GrowingItem }
  | {
      readonly kind: 'call';
      readonly item: events.AddedItem;
      readonly shape: output.CallShape;
      /** Turns a piece of the hub's arguments into a piece of the wire's. */
      readonly unwrap: (piece: string) => string;
      readonly isSigned: boolean;
      hasDeltas: boolean;
    }
  /** Emitted all at once when it ends. */
  | { readonly kind: 'deferred' };

const handle = forKind<HubEvent, State, void>({
  start(event, state) {
    startResponse(state, event.id);
  },
  item(event, state) {
    finishPendingMessage(state, false);
    state.openItems.set(event.index, openItem(event.item, state));
  },
  text(event, state) {
    growPart(state, event.index, 'text', event);
  },
  refusal(event, state) {
    growPart(state, event.index, 'refusal', event);
  },
  think(event, state) {
    growPart(state, event.index, 'think', event);
  },
  args(event, state) {
    const open = state.openItems.get(event.index);
    if (open?.kind === 'call') emitArgs(state, open, open.unwrap(event.text));
  },
  annotation(event, state) {
    const open = state.openItems.get(event.index);
    const part = open?.kind === 'message' ? open.item.openPart : undefined;
    if (open?.kind !== 'message' || part?.hubIndex !== event.part || part.kind !== 'text') return;
    const keys = { ...open.item.keys, content_index: part.wireIndex };
    const annotation_index = part.annotations.push(event.annotation) - 1;
    const annotation = encodeAnnotation(event.annotation);
    events.emit(state, 'response.output_text.annotation.added', { ...keys, annotation_index, annotation });
  },
  item_end(event, state) {
    const open = state.openItems.get(event.index);
    state.openItems.delete(event.index);
    if (open) endItem(event.item, open, state);
  },
  // An SSE comment is framing: `pushEvents` returns nothing for it.
  ping(_, state) {
    if (!state.events) state.text += SSE_COMMENT;
  },
  finish(event, state) {
    const { stop, usage, refusal } = event;
    const { truncated, event: type } = ENDINGS[stop];
    finishPendingMessage(state, truncated === true);
    for (const call of state.heldCalls) {
      if (truncated) call.keepCut();
      else call.emit();
    }
    if (!state.hasRefusal) {
      for (const item of refusalItems(stop, refusal, [])) emitDeferred(item, state);
    }
    const { id, context } = state;
    events.emitFinal(state, type, finalBody({ id, context, output: finishedItems(state), stop, usage }));
  },
  // Agents ignore the `error` event, so a failure is a `response.failed`.
  error(event, state) {
    startResponse(state, state.context.requestId);
    finishPendingMessage(state, false);
    events.emitFinal(state, 'response.failed', failedBody(state.id, state.context, finishedItems(state), event.error));
  },
});

function startResponse(state: State, upstreamId: string): void {
  if (state.isStarted) return;
  state.isStarted = true;
  state.id = state.context.responseId ?? responseId('resp_', upstreamId);
  events.emitResponse(state, 'response.created', inProgressBody(state.id, state.context));
  events.emitResponse(state, 'response.in_progress', inProgressBody(state.id, state.context));
}

/** Items that never ended have an empty slot. */
const finishedItems = (state: State) => state.output.filter((item) => item !== undefined);

function finishPendingMessage(state: State, isTruncated: boolean): void {
  state.finishMessage?.(isTruncated);
  state.finishMessage = undefined;
}

/**
 * A message is announced with its first delta, because it may stay empty;
 * a generate-content call after its signature, if it has one.
 */
function openItem(item: HubItem, state: State): OpenItem {
  if (item.kind === 'message') return { kind: 'message', item: parts.newGrowingItem(output.messageBuilder(item)) };
  if (item.kind === 'reasoning') {
    const growing = parts.newGrowingItem(output.reasoningBuilder(item));
    Object.assign(growing, events.emitItemAdded(state, growing.builder));
    return { kind: 'reasoning', item: growing };
  }
  if (item.kind !== 'tool_call' || state.context.issuer === 'generate-content') return { kind: 'deferred' };
  const shape = output.callShape(item, state.nonFunctionTools);
  if (shape === 'builtin') return { kind: 'deferred' };
  for (const builder of output.signatureBuilders(signatureOfCall(item))) events.emitWholeItem(state, builder);
  const unwrap = shape === 'wrapped' ? openFreeTextUnwrapper() : (piece: string) => piece;
  const added = events.emitItemAdded(state, output.callBuilder(item, shape));
  return { kind: 'call', item: added, shape, unwrap, isSigned: item.signature !== undefined, hasDeltas: false };
}

function growPart(state: State, index: number, kind: parts.PartKind, delta: parts.PartDelta): void {
  const open = state.openItems.get(index);
  const holder = kind === 'think' ? 'reasoning' : 'message';
  if (open?.kind === holder) parts.emitPartDelta(state, open.item, kind, delta);
}

function emitArgs(state: State, open: OpenItem & { kind: 'call' }, delta: string): void {
  if (delta === '') return;
  open.hasDeltas = true;
  events.emit(state, `${callEventsOf(open.shape).prefix}.delta`, { ...open.item.keys, delta });
}

const callEventsOf = (shape: output.CallShape): events.CallEvents =>
  events.CALL_EVENTS[shape === 'function' ? 'function_call' : 'custom_tool_call'];

function endItem(item: HubItem, open: OpenItem, state: State): void {
  if (item.kind === 'message' && open.kind === 'message') endMessage(item, open.item, state);
  else if (item.kind === 'reasoning' && open.kind === 'reasoning') endReasoning(item, open.item, state);
  else if (item.kind === 'tool_call' && open.kind === 'call') endCall(item, open, state);
  else emitDeferred(item, state);
}

function endMessage(message: HubMessage, item: parts.GrowingItem, state: State): void {
  finishPendingMessage(state, false);
  if (item.partCount === 0) {
    for (const [index, part] of message.parts.entries()) {
      if (part.kind === 'text' || part.kind === 'refusal')
        parts.emitPartDelta(state, item, part.kind, { part: index, text: part.text });
    }
  }
  parts.closePart(state, item);
  state.hasRefusal ||= refusalOf([message]) !== undefined;
  state.finishMessage = (isTruncated) => {
    const status = isTruncated ? 'incomplete' : 'completed';
    if (item.outputIndex >= 0) events.emitItemDone(state, item, output.messageBuilder(message).build(item.id, status));
    // Images and signatures of the message become separate items.
    for (const builder of output.itemBuilders(message, state.nonFunctionTools))
      if (builder.idPrefix !== 'msg') events.emitWholeItem(state, builder);
  };
}

function endReasoning(reasoning: HubReasoningItem, item: parts.GrowingItem, state: State): void {
  if (item.partCount === 0)
    for (const [part, text] of reasoning.summary.entries()) parts.emitPartDelta(state, item, 'think', { part, text });
  parts.closePart(state, item);
  events.emitItemDone(state, item, output.reasoningBuilder(reasoning).build(item.id, 'completed'));
}

function endCall(call: HubToolCall, open: OpenItem & { kind: 'call' }, state: State): void {
  const { item, shape } = open;
  const builder = output.callBuilder(call, shape);
  const { prefix, field } = callEventsOf(shape);
  const args = shape === 'function' ? call.args || '{}' : output.callInput(call, shape);
  const emitEnd = () => {
    if (!open.hasDeltas) emitArgs(state, open, args);
    events.emit(state, `${prefix}.done`, { ...item.keys, name: call.name, [field]: args });
    events.emitItemDone(state, item, builder.build(item.id, 'completed'));
    // A signature that arrives with the end follows its call; the call id in it still links the two.
    if (!open.isSigned)
      for (const late of output.signatureBuilders(signatureOfCall(call))) events.emitWholeItem(state, late);
  };
  const keepCut = () => {
    state.output[item.outputIndex] = builder.build(item.id, 'incomplete');
  };
  if (builder.hasInvalidArgs) state.heldCalls.push({ emit: emitEnd, keepCut });
  else emitEnd();
}

function keepWholeCut(state: State, builder: output.ItemBuilder): void {
  const index = state.itemCount++;
  state.output[index] = builder.build(output.outputItemId(builder, state.id, index), 'incomplete');
}

function emitDeferred(item: HubItem, state: State): void {
  for (const builder of output.itemBuilders(item, state.nonFunctionTools)) {
    if (builder.hasInvalidArgs)
      state.heldCalls.push({
        emit: () => events.emitWholeItem(state, builder),
        keepCut: () => keepWholeCut(state, builder),
      });
    else events.emitWholeItem(state, builder);
  }
}

/**
 * Encoder of the conversation for a chat upstream: one assistant message per turn with
 * its calls, then their results in order. Reasoning returns with its calls.
 */
import type { UpstreamTarget } from '../../codec.ts';
import { asText } from '../../encoding/texts.ts';
import { rejectCompaction, rejectRef } from '../../errors/rejection.ts';
import { forKind } from '../../hub/by-kind.ts';
import type { HubItem, HubPart, HubRequest, HubToolCall, HubToolResult, JsonObject } from '../../hub/types.ts';
import { wrapInput } from '../../tools/free-text.ts';
import { hostedText } from '../../tools/hosted.ts';
import type { ToolNames } from '../../tools/names.ts';
import { NO_RESULT, pairResults, type TakeResult } from '../../tools/pair-results.ts';
import { callIdFor } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { type ContentContext, encodeContent, encodePart, joinTexts, openContent } from './encode-content.ts';
import { inThinkTags } from './think-tags.ts';

interface EncodeState {
  readonly target: UpstreamTarget;
  readonly names: ToolNames;
  readonly content: ContentContext;
  readonly takeResult: TakeResult;
  readonly messages: JsonObject[];
  turn: Turn;
}
interface Turn {
  thoughts: string;
  text: string;
  refusal: string;
  readonly calls: HubToolCall[];
}
const emptyTurn = (): Turn => ({ thoughts: '', text: '', refusal: '', calls: [] });

export function encodeMessages(request: HubRequest, target: UpstreamTarget, names: ToolNames): readonly JsonObject[] {
  const content = openContent(countBreakpoints(request), target.capabilities);
  const state: EncodeState = {
    target,
    names,
    content,
    takeResult: pairResults(request.items),
    messages: [],
    turn: emptyTurn(),
  };
  const system = request.system.filter((part) => part.text !== '');
  if (system.length > 0) state.messages.push({ role: 'system', content: encodeContent(system, content) });
  for (const item of request.items) writeItem(item, state);
  endTurn(state);
  return state.messages;
}

/**
 * Whether a breakpoint has no place, or the model takes none. Caching of
 * the whole prompt needs none here: servers cache by themselves.
 */
export function losesBreakpoint(request: HubRequest, explicitCache: boolean): boolean {
  const { items, tools } = request;
  if (!explicitCache && countBreakpoints(request) > 0) return true;
  return (
    tools.some(({ cache }) => cache) ||
    items.some(
      (item) =>
        (item.kind === 'tool_change' && item.add.some(({ cache }) => cache)) ||
        (item.kind === 'tool_result' && countIn(item.parts) > 0) ||
        (item.kind === 'message' && item.role === 'assistant' && countIn(item.parts) > 0),
    )
  );
}

const countIn = (parts: readonly HubPart[]): number => parts.filter((part) => 'cache' in part && part.cache).length;

/** Only parts of system and user messages can have a breakpoint. */
function countBreakpoints({ system, items }: HubRequest): number {
  return items.reduce(
    (sum, item) => sum + (item.kind === 'message' && item.role !== 'assistant' ? countIn(item.parts) : 0),
    countIn(system),
  );
}

const ignore = (): void => {};

const writeItem = forKind<HubItem, EncodeState, void>({
  message: ({ role, parts }, state) => {
    if (role === 'assistant') return addText(parts, state.turn);
    endTurn(state);
    if (parts.length === 0) return;
    if (role === 'system' && !state.target.capabilities.midSystem) pushUser(parts.map(wrapSystem), state);
    else if (role === 'user') pushUser(parts, state);
    else state.messages.push({ role, content: encodeContent(parts, state.content) });
  },
  tool_call: (call, { turn }) => {
    turn.calls.push(call);
  },
  // Written directly after the turn of its call.
  tool_result: (_, state) => endTurn(state),
  compaction: ({ text }, state) => {
    if (!text) rejectCompaction();
    endTurn(state);
    state.messages.push({ role: 'user', content: text });
  },
  ref: ({ id }) => rejectRef(id),
  // A summary of reasoning that only its issuer can read is not what the model thought.
  reasoning: ({ summary, opaque }, { turn }) => {
    if (!opaque) turn.thoughts += summary.join('\n\n');
  },
  // This dialect has no hosted calls. A generated image has no place in an assistant message.
  server_call: (call, { turn }) => {
    const text = call.tool === 'image_gen' ? '' : hostedText(call);
    if (text !== '') turn.text += `${turn.text === '' ? '' : '\n'}${text}\n`;
  },
  opaque: ignore,
  // `effectiveRequest` and `offeredTools` apply these to the whole request.
  tool_change: ignore,
  config_change: ignore,
});

/** Servers that take no lists of texts mostly demand alternating roles too. */
function pushUser(parts: readonly HubPart[], { messages, content: context }: EncodeState): void {
  const content = encodeContent(parts, context);
  const last = messages.at(-1);
  const canJoin = !context.capabilities.textParts && last?.role === 'user' && typeof last.content === 'string';
  if (canJoin && typeof content === 'string')
    messages.splice(-1, 1, { role: 'user', content: joinTexts([String(last.content), content]) });
  else messages.push({ role: 'user', content });
}

const wrapSystem = (part: HubPart): HubPart => ({ kind: 'text', text: `<system>${asText(part) ?? ''}</system>` });

function addText(parts: readonly HubPart[], turn: Turn): void {
  for (const part of parts) {
    if (part.kind === 'refusal') turn.refusal += part.text;
    else turn.text += asText(part) ?? '';
  }
}

function endTurn(state: EncodeState): void {
  const { thoughts, text, refusal, calls } = state.turn;
  state.turn = emptyTurn();
  if (text === '' && refusal === '' && calls.length === 0) return;
  const { reasoningHistory: history } = state.target.capabilities;
  const hasSlot = calls.length > 0 && (history === 'reasoning_content' || history === 'reasoning');
  const isTagged = calls.length > 0 && history === 'think_tags' && thoughts !== '';
  state.messages.push(
    compact({
      role: 'assistant',
      // Servers that demand the reasoning of a call also demand an empty one.
      ...(hasSlot && { [history]: thoughts }),
      content: (isTagged ? inThinkTags(thoughts, text) : text) || null,
      refusal: refusal || undefined,
      tool_calls: calls.length > 0 ? calls.map((call) => encodeCall(call, state)) : undefined,
    }),
  );
  const media: JsonObject[] = [];
  for (const call of calls) writeResult(call, state, media);
  if (media.length > 0) state.messages.push({ role: 'user', content: media });
}

function encodeCall(call: HubToolCall, { target, names }: EncodeState): JsonObject {
  const { signature, form } = call;
  const id = callIdFor('chat', call.callId);
  const name = names.toWire(call);
  // A signature goes back only to the account that issued it.
  const isOwn =
    signature?.issuer === 'generate-content' && signature.account !== undefined && signature.account === target.account;
  const extra = isOwn && { extra_content: { google: { thought_signature: signature.data } } };
  if (form === 'custom' && target.capabilities.customTools)
    return { id, type: 'custom', custom: { name, input: call.args }, ...extra };
  const args = form === 'custom' ? wrapInput(call.args) : call.args || '{}';
  return { id, type: 'function', function: { name, arguments: args }, ...extra };
}

/** Adds a placeholder if the result is missing, because providers reject a call without a result. */
function writeResult(call: HubToolCall, state: EncodeState, media: JsonObject[]): void {
  const tool_call_id = callIdFor('chat', call.callId);
  const result = state.takeResult(call);
  const content = result ? resultContent(result, state.content) : `Error: ${NO_RESULT}`;
  state.messages.push({ role: 'tool', tool_call_id, content });
  const shown = result?.parts.filter((part) => asText(part) === undefined) ?? [];
  if (shown.length === 0) return;
  media.push({ type: 'text', text: `From the result of tool call ${tool_call_id}:` });
  for (const part of shown) media.push(...encodePart(part, withoutBreakpoints(state.content)));
}

const withoutBreakpoints = ({ capabilities }: ContentContext): ContentContext => ({
  capabilities,
  takeBreakpoint: () => undefined,
});

/** Results are text only; media follow in a user message. */
function resultContent(
  { parts, isError }: HubToolResult,
  { capabilities }: ContentContext,
): string | readonly JsonObject[] {
  const texts = parts.flatMap((part) => asText(part) ?? []);
  if (isError) texts[0] = `Error: ${texts[0] ?? ''}`;
  if (!capabilities.textParts) return joinTexts(texts);
  return texts.length > 1 ? texts.map((text) => ({ type: 'text', text })) : (texts[0] ?? '');
}

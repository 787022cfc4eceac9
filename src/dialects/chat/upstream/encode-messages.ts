/**
 * The conversation for a chat upstream. One assistant message per turn holds its text and calls; the results follow it at
 * once, in the order of the calls, wherever the client had put them. Thoughts have no slot here and stay behind.
 */
import type { UpstreamTarget } from '../../codec.ts';
import { rejectCompaction, rejectPrefill, rejectRef } from '../../errors/rejection.ts';
import type { HubItem, HubPart, HubRequest, HubToolCall, HubToolResult, JsonObject } from '../../hub/types.ts';
import { wrapInput } from '../../tools/free-text.ts';
import type { Names } from '../../tools/names.ts';
import { NO_RESULT, pairResults, type TakeResult } from '../../tools/pair-results.ts';
import { callIdFor } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { asText, type Breakpoints, encodeContent, encodePart, openBreakpoints } from './encode-content.ts';

interface Writing {
  readonly target: UpstreamTarget;
  readonly names: Names;
  readonly marks: Breakpoints;
  readonly takeResult: TakeResult;
  readonly messages: JsonObject[];
  turn: Turn;
}
interface Turn {
  text: string;
  refusal: string;
  readonly calls: HubToolCall[];
}
const emptyTurn = (): Turn => ({ text: '', refusal: '', calls: [] });

export function encodeMessages(request: HubRequest, target: UpstreamTarget, names: Names): readonly JsonObject[] {
  checkEnd(request, target);
  const marks = openBreakpoints(countBreakpoints(request), target.capabilities.explicitCache);
  const writing: Writing = {
    target,
    names,
    marks,
    takeResult: pairResults(request.items),
    messages: [],
    turn: emptyTurn(),
  };
  const system = request.system.filter((part) => part.text !== '');
  if (system.length > 0) writing.messages.push({ role: 'system', content: encodeContent(system, marks) });
  for (const item of request.items) writeItem(item, writing);
  endTurn(writing);
  return writing.messages;
}

/** In this dialect a last assistant message is history; for clients of other dialects it is the beginning of the answer. */
function checkEnd({ dialect, items }: HubRequest, { capabilities }: UpstreamTarget): void {
  const last = items.at(-1);
  const prefill = last?.kind === 'message' && last.role === 'assistant';
  if (prefill && !capabilities.prefill && dialect !== 'chat' && dialect !== 'responses') rejectPrefill();
}

/** Only parts of system and user messages have a slot for a mark. */
export function countBreakpoints({ system, items }: HubRequest): number {
  const marked = (parts: readonly HubPart[]) => parts.filter((part) => 'cache' in part && part.cache).length;
  return items.reduce(
    (sum, item) => sum + (item.kind === 'message' && item.role !== 'assistant' ? marked(item.parts) : 0),
    marked(system),
  );
}

type ItemOf<K extends HubItem['kind'] = HubItem['kind']> = {
  [P in K]: Extract<HubItem, { kind: P }> & { kind: P };
}[K];
const nothing = (): void => {};

const ITEMS: { readonly [K in HubItem['kind']]: (item: ItemOf<K>, writing: Writing) => void } = {
  message: ({ role, parts }, writing) => {
    if (role === 'assistant') return addText(parts, writing.turn);
    endTurn(writing);
    if (parts.length > 0) writing.messages.push({ role, content: encodeContent(parts, writing.marks) });
  },
  tool_call: (call, { turn }) => void turn.calls.push(call),
  // Written right after the turn that made the call.
  tool_result: (_, writing) => endTurn(writing),
  compaction: ({ text }, writing) => {
    if (!text) rejectCompaction();
    endTurn(writing);
    writing.messages.push({ role: 'user', content: text });
  },
  ref: ({ id }) => rejectRef(id),
  reasoning: nothing,
  server_call: nothing,
  opaque: nothing,
  // Both are settings of the whole request here.
  tool_change: nothing,
  config_change: nothing,
};
const writeItem = <K extends HubItem['kind']>(item: ItemOf<K>, writing: Writing): void =>
  ITEMS[item.kind](item, writing);

function addText(parts: readonly HubPart[], turn: Turn): void {
  for (const part of parts) {
    if (part.kind === 'refusal') turn.refusal += part.text;
    else turn.text += asText(part) ?? '';
  }
}

// ---------------------------------------------------------------- turns

function endTurn(writing: Writing): void {
  const { text, refusal, calls } = writing.turn;
  if (text === '' && refusal === '' && calls.length === 0) return;
  writing.turn = emptyTurn();
  writing.messages.push(
    compact({
      role: 'assistant',
      content: text === '' ? null : text,
      refusal: refusal || undefined,
      tool_calls: calls.length > 0 ? calls.map((call) => encodeCall(call, writing)) : undefined,
    }),
  );
  const media: JsonObject[] = [];
  for (const call of calls) writeResult(call, writing, media);
  if (media.length > 0) writing.messages.push({ role: 'user', content: media });
}

function encodeCall(call: HubToolCall, { target, names }: Writing): JsonObject {
  const { signature, form } = call;
  const id = callIdFor('chat', call.callId);
  const name = names.toWire(call);
  // Only a signature that this very account gave, on a compatible endpoint, goes back to it.
  const own =
    signature?.issuer === 'generate-content' && signature.account !== undefined && signature.account === target.account;
  const extra = own && { extra_content: { google: { thought_signature: signature.data } } };
  if (form === 'custom' && target.capabilities.customTools)
    return { id, type: 'custom', custom: { name, input: call.args }, ...extra };
  const args = form === 'custom' ? wrapInput(call.args) : call.args || '{}';
  return { id, type: 'function', function: { name, arguments: args }, ...extra };
}

/** A call without a result is refused by the provider, so it gets one that says so. */
function writeResult(call: HubToolCall, writing: Writing, media: JsonObject[]): void {
  const tool_call_id = callIdFor('chat', call.callId);
  const result = writing.takeResult(call);
  const content = result ? resultContent(result) : `Error: ${NO_RESULT}`;
  writing.messages.push({ role: 'tool', tool_call_id, content });
  const shown = result?.parts.filter((part) => asText(part) === undefined) ?? [];
  if (shown.length === 0) return;
  media.push({ type: 'text', text: `From the result of tool call ${tool_call_id}:` });
  for (const part of shown) media.push(encodePart(part, NO_BREAKPOINTS));
}

const NO_BREAKPOINTS: Breakpoints = { take: () => undefined };

/** Results are text only; pictures follow in a user message. */
function resultContent({ parts, isError }: HubToolResult): string | readonly JsonObject[] {
  const texts = parts.flatMap((part) => asText(part) ?? []);
  if (isError) texts[0] = `Error: ${texts[0] ?? ''}`;
  return texts.length > 1 ? texts.map((text) => ({ type: 'text', text })) : (texts[0] ?? '');
}

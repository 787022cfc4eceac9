/**
 * The conversation for a chat upstream. One assistant message per turn holds its text and calls; the results follow it at
 * once, in the order of the calls, wherever the client had put them. Thoughts have no slot here and stay behind.
 */
import { fail } from '../../core/index.ts';
import type { Target } from '../codec.ts';
import type { HubItem, HubPart, HubRequest, HubToolCall, HubToolResult, JsonObject } from '../hub.ts';
import { callIdFor } from '../ids.ts';
import type { Names } from '../names.ts';
import { compact } from '../read.ts';
import { asText, encodeContent, encodePart, type Marks, openMarks } from './encode-content.ts';
import { wrapInput } from './encode-tools.ts';

interface Writing {
  readonly target: Target;
  readonly names: Names;
  readonly marks: Marks;
  /** Results by the place of their call; ids alone would mix up turns of clients that use them again. */
  readonly results: ReadonlyMap<number, readonly HubToolResult[]>;
  readonly messages: JsonObject[];
  /** The place of the item that is being written. */
  at: number;
  turn: Turn;
}
interface Turn {
  text: string;
  refusal: string;
  readonly calls: Placed[];
}
interface Placed {
  readonly call: HubToolCall;
  readonly at: number;
}
const emptyTurn = (): Turn => ({ text: '', refusal: '', calls: [] });

export function encodeMessages(request: HubRequest, target: Target, names: Names): readonly JsonObject[] {
  checkEnd(request, target);
  const marks = openMarks(countMarks(request), target.capabilities.explicitCache);
  const results = pairResults(request.items);
  const writing: Writing = { target, names, marks, results, messages: [], at: 0, turn: emptyTurn() };
  const system = request.system.filter((part) => part.text !== '' && !part.text.startsWith(ATTRIBUTION));
  if (system.length > 0) writing.messages.push({ role: 'system', content: encodeContent(system, marks) });
  for (const [at, item] of request.items.entries()) {
    writing.at = at;
    writeItem(item, writing);
  }
  endTurn(writing);
  return writing.messages;
}

/** A line that one client puts first; it changes from call to call, means nothing to others and would spoil the cache. */
const ATTRIBUTION = 'x-anthropic-billing-header:';

/** In this dialect a last assistant message is history; for clients of other dialects it is the beginning of the answer. */
function checkEnd({ dialect, items }: HubRequest, { capabilities }: Target): void {
  const last = items.at(-1);
  const prefill = last?.kind === 'message' && last.role === 'assistant';
  if (!prefill || capabilities.prefill || dialect === 'chat' || dialect === 'responses') return;
  throw fail(
    'invalid_request',
    'This model does not support assistant message prefill. The conversation must end with a user message.',
  );
}

/** Only parts of system and user messages have a slot for a mark. */
export function countMarks({ system, items }: HubRequest): number {
  const marked = (parts: readonly HubPart[]) => parts.filter((part) => 'cache' in part && part.cache).length;
  return items.reduce(
    (sum, item) => sum + (item.kind === 'message' && item.role !== 'assistant' ? marked(item.parts) : 0),
    marked(system),
  );
}

function pairResults(items: readonly HubItem[]): Map<number, HubToolResult[]> {
  const latest = new Map<string, number>();
  const results = new Map<number, HubToolResult[]>();
  for (const [at, item] of items.entries()) {
    if (item.kind === 'tool_call') latest.set(item.callId, at);
    if (item.kind !== 'tool_result') continue;
    const call = latest.get(item.callId);
    if (call === undefined)
      throw fail('invalid_request', `No tool call found for the tool result with the id ${item.callId.slice(0, 80)}.`);
    const known = results.get(call);
    if (known) known.push(item);
    else results.set(call, [item]);
  }
  return results;
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
  tool_call: (call, { turn, at }) => void turn.calls.push({ call, at }),
  // Written right after the turn that made the call.
  tool_result: (_, writing) => endTurn(writing),
  compaction: ({ text }, writing) => {
    if (!text)
      throw fail(
        'invalid_request',
        'A compacted conversation of another provider cannot be continued with this model.',
      );
    endTurn(writing);
    writing.messages.push({ role: 'user', content: text });
  },
  ref: ({ id }) => {
    throw fail('invalid_request', `Item with id '${id.slice(0, 80)}' not found.`);
  },
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
      tool_calls: calls.length > 0 ? calls.map(({ call }) => encodeCall(call, writing)) : undefined,
    }),
  );
  const media: JsonObject[] = [];
  for (const call of calls) writeResults(call, writing, media);
  if (media.length > 0) writing.messages.push({ role: 'user', content: media });
}

function encodeCall(call: HubToolCall, { target, names }: Writing): JsonObject {
  const { signature, form } = call;
  const id = callIdFor('chat', call.callId);
  const name = names.toWire(call);
  // Only a signature that this very account gave, on a compatible endpoint, goes back to it.
  const own =
    signature?.home === 'generate-content' && signature.account !== undefined && signature.account === target.account;
  const extra = own && { extra_content: { google: { thought_signature: signature.data } } };
  if (form === 'custom' && target.capabilities.customTools)
    return { id, type: 'custom', custom: { name, input: call.args }, ...extra };
  const args = form === 'custom' ? wrapInput(call.args) : call.args || '{}';
  return { id, type: 'function', function: { name, arguments: args }, ...extra };
}

/** A call without a result is refused by the provider, so it gets one that says so. */
function writeResults({ call, at }: Placed, writing: Writing, media: JsonObject[]): void {
  const tool_call_id = callIdFor('chat', call.callId);
  const results = writing.results.get(at);
  if (!results) {
    writing.messages.push({ role: 'tool', tool_call_id, content: 'Error: No output was recorded for this call.' });
    return;
  }
  for (const result of results) {
    writing.messages.push({ role: 'tool', tool_call_id, content: resultContent(result) });
    const shown = result.parts.filter((part) => asText(part) === undefined);
    if (shown.length === 0) continue;
    media.push({ type: 'text', text: `From the result of tool call ${tool_call_id}:` });
    for (const part of shown) media.push(encodePart(part, NO_MARKS));
  }
}

const NO_MARKS: Marks = { take: () => undefined };

/** Results are text only; pictures follow in a user message. */
function resultContent({ parts, isError }: HubToolResult): string | readonly JsonObject[] {
  const texts = parts.flatMap((part) => asText(part) ?? []);
  if (isError) texts[0] = `Error: ${texts[0] ?? ''}`;
  return texts.length > 1 ? texts.map((text) => ({ type: 'text', text })) : (texts[0] ?? '');
}

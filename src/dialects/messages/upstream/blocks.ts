/**
 * Content blocks as they grow, turned into hub items: one row per block kind with what happens when it opens, grows and
 * closes. A hosted call stays open until the block with its result comes.
 */
import type { HubEvent, HubItem, HubToolCall, JsonObject, Opaque } from '../../hub/types.ts';
import { freshCallId } from '../../wire/ids.ts';
import { isObject, maybeString, parseArgs } from '../../wire/read.ts';
import { decodeServerCall, isResultType, SERVER_USES, serverToolOf } from '../server-tools.ts';
import {
  type BlockState,
  beginItem,
  COMPLETE,
  endItem,
  type Growing,
  MalformedStream,
  outOfOrder,
} from './block-state.ts';
import { leaveMessage, openText } from './text-blocks.ts';

export function openBlock(place: number | undefined, block: JsonObject, state: BlockState, out: HubEvent[]): void {
  const at = place ?? state.lastPlace + 1;
  if (state.open.has(at)) throw outOfOrder();
  state.lastPlace = Math.max(at, state.lastPlace);
  const kind = kindOf(maybeString(block.type) ?? '');
  if (kind !== 'text') leaveMessage(state, out);
  state.open.set(at, OPEN[kind](block, state, out));
}

export function growBlock(place: number | undefined, delta: JsonObject, state: BlockState, out: HubEvent[]): void {
  const block = state.open.get(place ?? state.lastPlace);
  if (!block) throw outOfOrder();
  block.grow(delta, out);
}

export function closeBlock(place: number | undefined, state: BlockState, out: HubEvent[]): void {
  const at = place ?? state.lastPlace;
  const block = state.open.get(at);
  state.open.set(at, null);
  block?.close(out);
}

/** The answer is over: whatever is still open ends as it is. `cut` when the length limit ended it. */
export function closeAll(state: BlockState, cut: boolean, out: HubEvent[]): void {
  for (const block of state.open.values()) block?.close(out);
  state.open.clear();
  if (state.message) state.message.cut = cut;
  for (const [index, item] of state.items) endItem(index, item(), state, out);
}

type Open = (block: JsonObject, state: BlockState, out: HubEvent[]) => Growing;
type Kind = 'text' | 'thinking' | 'redacted' | 'call' | 'server' | 'result' | 'compaction' | 'other';

function kindOf(type: string): Kind {
  if (SERVER_USES.has(type)) return 'server';
  return isResultType(type) ? 'result' : (KINDS.get(type) ?? 'other');
}

const KINDS: ReadonlyMap<string, Kind> = new Map(
  Object.entries<Kind>({
    text: 'text',
    thinking: 'thinking',
    redacted_thinking: 'redacted',
    tool_use: 'call',
    compaction: 'compaction',
  }),
);

const OPEN: { readonly [K in Kind]: Open } = {
  text: openText,
  thinking: openThinking,
  redacted: openRedacted,
  call: openCall,
  server: openServer,
  result: takeResult,
  compaction: openCompaction,
  other: openOther,
};

// ---------------------------------------------------------------- reasoning

function openThinking(first: JsonObject, state: BlockState, out: HubEvent[]): Growing {
  let text = '';
  let signature = '';
  const item = (): HubItem => {
    const summary = text === '' ? [] : [text];
    const lengths = summary.map((part) => part.length);
    const opaque = signature === '' ? undefined : opaqueOf('thinking', signature, state, lengths);
    return { kind: 'reasoning', summary, ...(opaque && { opaque }) };
  };
  const index = beginItem({ kind: 'reasoning', summary: [] }, item, state, out);
  const grow = (delta: JsonObject, sink: HubEvent[]): void => {
    if (typeof delta.signature === 'string' && delta.signature !== '') signature = delta.signature;
    const more = maybeString(delta.thinking) ?? '';
    if (more === '') return;
    text += more;
    sink.push({ kind: 'think', index, part: 0, text: more });
  };
  grow(first, out);
  return { grow, close: (sink) => endItem(index, item(), state, sink) };
}

function openRedacted(block: JsonObject, state: BlockState, out: HubEvent[]): Growing {
  const skeleton: HubItem = { kind: 'reasoning', summary: [], redacted: true };
  const item = (): HubItem => ({ ...skeleton, opaque: opaqueOf('redacted', maybeString(block.data) ?? '', state) });
  const index = beginItem(skeleton, item, state, out);
  return { grow: () => undefined, close: (sink) => endItem(index, item(), state, sink) };
}

function opaqueOf(kind: Opaque['kind'], data: string, { context }: BlockState, lengths?: readonly number[]): Opaque {
  return {
    issuer: 'messages',
    kind,
    ...(context.account !== undefined && { account: context.account }),
    ...(lengths && { lengths }),
    data,
  };
}

// ---------------------------------------------------------------- calls

function openCall(block: JsonObject, state: BlockState, out: HubEvent[]): Growing {
  const name = maybeString(block.name);
  if (!name) throw new MalformedStream('The provider called a tool without naming it.');
  const skeleton: HubToolCall = {
    kind: 'tool_call',
    callId: freshCallId(maybeString(block.id), state.callIds, state.context.requestId),
    name,
    form: 'function',
    args: '',
  };
  // Some servers give the whole input at once; what they send afterwards only repeats it.
  const input = inputOf(block);
  let args = '';
  const index = beginItem(skeleton, () => ({ ...skeleton, args }), state, out);
  const add = (text: string, sink: HubEvent[]): void => {
    if (text === '') return;
    args += text;
    sink.push({ kind: 'args', index, text });
  };
  add(input, out);
  return {
    grow: (delta, sink) => (input === '' ? add(maybeString(delta.partial_json) ?? '', sink) : undefined),
    close(sink) {
      if (args === '') add('{}', sink);
      endItem(index, { ...skeleton, args }, state, sink);
    },
  };
}

const inputOf = (block: JsonObject): string =>
  isObject(block.input) && Object.keys(block.input).length > 0 ? JSON.stringify(block.input) : '';

function openServer(block: JsonObject, state: BlockState, out: HubEvent[]): Growing {
  let args = inputOf(block);
  const whole = args !== '';
  const id = maybeString(block.id) ?? '';
  const use = (): JsonObject => ({ ...block, input: parseArgs(args) });
  const skeleton: HubItem = {
    kind: 'server_call',
    id,
    tool: serverToolOf(block),
    issuer: 'messages',
    status: 'in_progress',
  };
  const index = beginItem(skeleton, () => decodeServerCall(use()), state, out);
  state.servers.set(id, { index, use });
  return {
    grow: (delta) => {
      if (!whole) args += maybeString(delta.partial_json) ?? '';
    },
    close: () => undefined,
  };
}

function takeResult(block: JsonObject, state: BlockState, out: HubEvent[]): Growing {
  const id = maybeString(block.tool_use_id) ?? '';
  const server = state.servers.get(id);
  if (!server) return openOther(block, state, out);
  state.servers.delete(id);
  endItem(server.index, decodeServerCall(server.use(), block), state, out);
  return COMPLETE;
}

// ---------------------------------------------------------------- what only its issuer understands

function openCompaction(first: JsonObject, state: BlockState, out: HubEvent[]): Growing {
  let block = first;
  const item = (): HubItem => {
    const { type, content, encrypted_content, ...rest } = block;
    // One order of members, however the block arrived.
    const data = JSON.stringify({ type, content, encrypted_content, ...rest });
    return {
      kind: 'compaction',
      ...(typeof content === 'string' && content !== '' && { text: content }),
      opaque: opaqueOf('compaction', data, state),
    };
  };
  const index = beginItem({ kind: 'compaction' }, item, state, out);
  return {
    grow(delta) {
      const { type: _, ...members } = delta;
      block = { ...block, ...members };
    },
    close: (sink) => endItem(index, item(), state, sink),
  };
}

function openOther(block: JsonObject, state: BlockState, out: HubEvent[]): Growing {
  const item: HubItem = { kind: 'opaque', issuer: 'messages', raw: block };
  const index = beginItem(item, () => item, state, out);
  return { grow: () => undefined, close: (sink) => endItem(index, item, state, sink) };
}

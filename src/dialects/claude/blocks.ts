/**
 * Decoder of streamed content blocks, one opener per block kind. A
 * hosted call stays open until the block with its result arrives.
 */
import type { HubEvent, HubItem, HubToolCall, JsonObject, Opaque } from '../hub/types.ts';
import { withCarrier } from '../tools/hosted.ts';
import { uniqueCallId } from '../wire/ids.ts';
import { compact, isObject, maybeString, parseArgs, tableOf } from '../wire/read.ts';
import {
  type BlockState,
  beginItem,
  COMPLETE_BLOCK,
  endItem,
  MalformedStreamError,
  type OpenBlock,
  outOfOrderError,
} from './block-state.ts';
import {
  decodeListing,
  decodeServerCall,
  isResultType,
  LISTING_TYPE,
  SERVER_USE_TYPES,
  serverToolOf,
} from './server-tools.ts';
import { detachMessage, openTextBlock } from './text-blocks.ts';

export function openBlock(wireIndex: number | undefined, block: JsonObject, state: BlockState, out: HubEvent[]): void {
  const index = wireIndex ?? state.lastIndex + 1;
  if (state.blocks.has(index)) throw outOfOrderError();
  state.lastIndex = Math.max(index, state.lastIndex);
  endEmptyCall(state, false, out);
  const kind = kindOf(maybeString(block.type) ?? '');
  if (kind !== 'text') detachMessage(state, out);
  state.blocks.set(index, OPENERS[kind](block, state, out));
}

export function appendToBlock(
  wireIndex: number | undefined,
  delta: JsonObject,
  state: BlockState,
  out: HubEvent[],
): void {
  const block = state.blocks.get(wireIndex ?? state.lastIndex);
  if (!block) throw outOfOrderError();
  block.append(delta, out);
}

export function closeBlock(wireIndex: number | undefined, state: BlockState, out: HubEvent[]): void {
  const index = wireIndex ?? state.lastIndex;
  const block = state.blocks.get(index);
  state.blocks.set(index, undefined);
  block?.close(out);
}

/** Ends all open blocks and items at the end of the reply. `isTruncated`: the length limit ended it. */
export function closeAllBlocks(state: BlockState, isTruncated: boolean, out: HubEvent[]): void {
  for (const block of state.blocks.values()) block?.close(out);
  state.blocks.clear();
  endEmptyCall(state, isTruncated, out);
  if (state.message) state.message.isTruncated = isTruncated;
  for (const [index, item] of state.items) endItem(index, item(), state, out);
}

function endEmptyCall(state: BlockState, isCut: boolean, out: HubEvent[]): void {
  state.endEmptyCall?.(isCut, out);
  state.endEmptyCall = undefined;
}

type BlockOpener = (block: JsonObject, state: BlockState, out: HubEvent[]) => OpenBlock;
type BlockKind = 'text' | 'thinking' | 'redacted' | 'call' | 'server' | 'result' | 'listing' | 'compaction' | 'other';

function kindOf(type: string): BlockKind {
  if (SERVER_USE_TYPES.has(type)) return 'server';
  return isResultType(type) ? 'result' : (KINDS.get(type) ?? 'other');
}

const KINDS = tableOf<BlockKind>({
  text: 'text',
  thinking: 'thinking',
  redacted_thinking: 'redacted',
  tool_use: 'call',
  compaction: 'compaction',
  [LISTING_TYPE]: 'listing',
});

const OPENERS: { readonly [K in BlockKind]: BlockOpener } = {
  text: openTextBlock,
  thinking: openThinking,
  redacted: openRedacted,
  call: openCall,
  server: openServerCall,
  result: completeServerCall,
  listing: openListing,
  compaction: openCompaction,
  other: openOther,
};

function openThinking(first: JsonObject, state: BlockState, out: HubEvent[]): OpenBlock {
  let text = '';
  let signature = '';
  const item = (): HubItem => {
    const summary = text === '' ? [] : [text];
    const lengths = summary.map((part) => part.length);
    const opaque = signature === '' ? undefined : opaqueOf('thinking', signature, state, lengths);
    return { kind: 'reasoning', summary, ...(opaque && { opaque }) };
  };
  const index = beginItem({ kind: 'reasoning', summary: [] }, item, state, out);
  const append = (delta: JsonObject, sink: HubEvent[]): void => {
    if (typeof delta.signature === 'string' && delta.signature !== '') signature = delta.signature;
    const more = maybeString(delta.thinking) ?? '';
    if (more === '') return;
    text += more;
    sink.push({ kind: 'think', index, part: 0, text: more });
  };
  append(first, out);
  return { append, close: (sink) => endItem(index, item(), state, sink) };
}

function openRedacted(block: JsonObject, state: BlockState, out: HubEvent[]): OpenBlock {
  const skeleton: HubItem = { kind: 'reasoning', summary: [], redacted: true };
  return holdItem(
    skeleton,
    { ...skeleton, opaque: opaqueOf('redacted', maybeString(block.data) ?? '', state) },
    state,
    out,
  );
}

/** An item that is known when its block opens, and ends with it. */
function holdItem(skeleton: HubItem, item: HubItem, state: BlockState, out: HubEvent[]): OpenBlock {
  const index = beginItem(skeleton, () => item, state, out);
  return { append: () => undefined, close: (sink) => endItem(index, item, state, sink) };
}

const opaqueOf = (kind: Opaque['kind'], data: string, { context }: BlockState, lengths?: readonly number[]): Opaque =>
  compact({ issuer: 'messages', kind, account: context.account, lengths, data });

function openCall(block: JsonObject, state: BlockState, out: HubEvent[]): OpenBlock {
  const name = maybeString(block.name);
  if (!name) throw new MalformedStreamError('The provider sent a tool call without a name.');
  const skeleton: HubToolCall = {
    kind: 'tool_call',
    callId: uniqueCallId(maybeString(block.id), state.callIds, state.context.requestId),
    name,
    form: 'function',
    args: '',
  };
  // Some providers send the complete input at the start and repeat it in deltas.
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
    append: (delta, sink) => (input === '' ? add(maybeString(delta.partial_json) ?? '', sink) : undefined),
    close(closing) {
      endEmptyCall(state, false, closing);
      const end = (isCut: boolean, sink: HubEvent[]): void => {
        if (!isCut) add('{}', sink);
        endItem(index, { ...skeleton, args }, state, sink);
      };
      if (args === '') state.endEmptyCall = end;
      else endItem(index, { ...skeleton, args }, state, closing);
    },
  };
}

const inputOf = (block: JsonObject): string =>
  isObject(block.input) && Object.keys(block.input).length > 0 ? JSON.stringify(block.input) : '';

function openServerCall(block: JsonObject, state: BlockState, out: HubEvent[]): OpenBlock {
  let args = inputOf(block);
  const isInputComplete = args !== '';
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
  state.serverCalls.set(id, { index, use });
  return {
    append: (delta) => {
      if (!isInputComplete) args += maybeString(delta.partial_json) ?? '';
    },
    close: () => undefined,
  };
}

function completeServerCall(block: JsonObject, state: BlockState, out: HubEvent[]): OpenBlock {
  const id = maybeString(block.tool_use_id) ?? '';
  const server = state.serverCalls.get(id);
  if (!server) return openOther(block, state, out);
  state.serverCalls.delete(id);
  endItem(server.index, withCarrier(decodeServerCall(server.use(), block), state.context.account), state, out);
  return COMPLETE_BLOCK;
}

function openListing(block: JsonObject, state: BlockState, out: HubEvent[]): OpenBlock {
  const { raw: _, found: _found, ...call } = decodeListing(block);
  const item = withCarrier(decodeListing(block), state.context.account);
  return holdItem({ ...call, status: 'in_progress' }, item, state, out);
}

function openCompaction(first: JsonObject, state: BlockState, out: HubEvent[]): OpenBlock {
  let block = first;
  const item = (): HubItem => {
    const { type, content, encrypted_content, ...rest } = block;
    // Fixed member order, so that streamed and unary blocks give the same bytes.
    const data = JSON.stringify({ type, content, encrypted_content, ...rest });
    return {
      kind: 'compaction',
      ...(typeof content === 'string' && content !== '' && { text: content }),
      opaque: opaqueOf('compaction', data, state),
    };
  };
  const index = beginItem({ kind: 'compaction' }, item, state, out);
  return {
    append(delta) {
      const { type: _, ...members } = delta;
      block = { ...block, ...members };
    },
    close: (sink) => endItem(index, item(), state, sink),
  };
}

function openOther(block: JsonObject, state: BlockState, out: HubEvent[]): OpenBlock {
  const item: HubItem = { kind: 'opaque', issuer: 'messages', raw: block };
  return holdItem(item, item, state, out);
}

/**
 * Decoder of a client's messages: one row per block type and role, in order.
 * Opaque values return from the slots that the encoder filled to their item.
 */
import { decodeListing, decodeServerCall, isResultType, LISTING_TYPE } from '../../claude/server-tools.ts';
import type { HubItem, HubMessage, HubPart, HubToolCall, JsonObject, Opaque } from '../../hub/types.ts';
import { isEnvelope, slotText, unwrap } from '../../opaque/envelope.ts';
import { splitSummary } from '../../opaque/summary-parts.ts';
import { restoreCarried } from '../../tools/hosted.ts';
import * as wire from '../../wire/read.ts';
import { decodePart, readCacheBreakpoint } from './decode-media.ts';
import { decodeTool } from './decode-tools.ts';
import { signatureTarget } from './opaque-thinking.ts';

export function decodeMessages(messages: readonly unknown[]): HubItem[] {
  if (messages.length === 0) wire.wrongValue('messages', 'at least one message is required.');
  const state: DecodeState = { items: [], callNames: new Map(), serverUses: new Map(), pendingSignatures: new Map() };
  for (const [n, entry] of messages.entries()) {
    const message = wire.needObject(entry, `messages[${n}]`);
    const role = wire.oneOf(['user', 'assistant', 'system'])(message.role, `messages[${n}].role`);
    state.openMessage = undefined;
    for (const [block, path] of blocksOf(message.content, `messages[${n}].content`)) {
      ROLES[role](block, path, state);
    }
  }
  return restoreCarried(state.items);
}

interface DecodeState {
  readonly items: HubItem[];
  /** Tool name by call id, because a result carries only the id. */
  readonly callNames: Map<string, string>;
  /** Hosted calls by id, because their results carry only the id. */
  readonly serverUses: Map<string, JsonObject>;
  /** Signatures whose call has not been decoded yet, by call id. */
  readonly pendingSignatures: Map<string, Opaque>;
  /** The hub message that takes the next part of this turn; unset after any other item. */
  openMessage?: { readonly parts: HubPart[] } | undefined;
}

/** A plain string is one text block. */
function* blocksOf(content: unknown, path: string): Generator<readonly [JsonObject, string]> {
  if (typeof content === 'string') {
    yield [{ type: 'text', text: content }, path];
    return;
  }
  for (const [n, entry] of wire.needList(content, path).entries()) {
    yield [wire.needObject(entry, `${path}[${n}]`), `${path}[${n}]`];
  }
}

type BlockReader = (block: JsonObject, path: string, state: DecodeState) => void;

const ROLES: Readonly<Record<HubMessage['role'], BlockReader>> = {
  user(block, path, state) {
    if (block.type === 'tool_result') pushItem(decodeToolResult(block, path, state), state);
    else appendPart('user', decodePart(block, path), state);
  },
  system(block, path, state) {
    if (block.type === 'tool_addition') pushToolAddition(block, path, state);
    else if (block.type === 'text') appendPart('system', decodePart(block, path), state);
    else wire.unsupported(`${path}.type`, `blocks of type "${String(block.type)}" are not supported by this model.`);
  },
  assistant(block, path, state) {
    const type = wire.needString(block.type, `${path}.type`);
    const read = ASSISTANT_BLOCKS.get(type);
    if (read) read(block, path, state);
    else if (isResultType(type)) attachServerResult(block, state);
    // A block type that the provider issued. The client only returns it, so rejecting it would break the conversation.
    else pushItem({ kind: 'opaque', issuer: 'messages', raw: block }, state);
  },
};

function appendPart(role: HubMessage['role'], part: HubPart | undefined, state: DecodeState): void {
  if (!part) return;
  if (state.openMessage) {
    state.openMessage.parts.push(part);
    return;
  }
  state.openMessage = { parts: [part] };
  state.items.push({ kind: 'message', role, parts: state.openMessage.parts });
}

function pushItem(item: HubItem, state: DecodeState): void {
  state.openMessage = undefined;
  state.items.push(item);
}

const ASSISTANT_BLOCKS = wire.tableOf<BlockReader>({
  /** Ignores citations: their indices are opaque, and no other provider accepts a citation as input. */
  text: (block, path, state) => appendPart('assistant', decodePart(block, path), state),
  thinking(block, path, state) {
    const text = wire.needString(block.thinking, `${path}.thinking`);
    pushReasoning(text, slotText(wire.maybeString(block.signature)), 'thinking', state);
  },
  redacted_thinking: (block, path, state) =>
    pushReasoning('', wire.needString(block.data, `${path}.data`), 'redacted', state),
  tool_use(block, path, state) {
    const callId = wire.needString(block.id, `${path}.id`);
    const name = wire.needString(block.name, `${path}.name`);
    const signature = state.pendingSignatures.get(callId);
    const call: HubToolCall = {
      kind: 'tool_call',
      callId,
      name,
      form: 'function',
      args: JSON.stringify(wire.isGiven(block.input) ? wire.needObject(block.input, `${path}.input`) : {}),
      ...(signature && { signature }),
    };
    state.callNames.set(callId, name);
    pushItem(call, state);
  },
  server_tool_use: pushServerUse,
  mcp_tool_use: pushServerUse,
  [LISTING_TYPE]: (block, _, state) => pushItem(decodeListing(block), state),
  compaction(block, path, state) {
    const text = wire.optional(block, 'content', wire.needString, path);
    const slot = wire.maybeString(block.encrypted_content) ?? '';
    const opaque = isEnvelope(slot)
      ? unwrap(slot)
      : ({ issuer: 'messages', kind: 'compaction', data: JSON.stringify(block) } as const);
    pushItem({ kind: 'compaction', ...(text !== undefined && { text }), ...(opaque && { opaque }) }, state);
  },
});

function opaqueIn(slot: string, kind: 'thinking' | 'redacted'): Opaque | undefined {
  if (isEnvelope(slot)) return unwrap(slot);
  return slot === '' ? undefined : { issuer: 'messages', kind, data: slot };
}

function pushReasoning(text: string, slot: string, kind: 'thinking' | 'redacted', state: DecodeState): void {
  const opaque = opaqueIn(slot, kind);
  // Drop the whole block of a damaged envelope: reasoning text without its opaque value must never reach a model.
  if (isEnvelope(slot) && !opaque) return;
  const target = opaque && signatureTarget(opaque);
  if (opaque && target) {
    attachSignature(opaque, target, state);
    return;
  }
  pushItem(
    {
      kind: 'reasoning',
      summary: splitSummary(text, opaque?.lengths),
      ...(opaque && { opaque }),
      ...(opaque?.kind === 'redacted' && { redacted: true }),
    },
    state,
  );
}

/**
 * Moves a signature from its `thinking` block to the call or text it
 * signs, which have no slot for it in this dialect.
 */
function attachSignature(opaque: Opaque, target: { callId?: string }, state: DecodeState): void {
  const { id: _, ...signature } = opaque;
  if (target.callId !== undefined) {
    signCall(target.callId, signature, state);
    return;
  }
  const last = state.openMessage?.parts.at(-1);
  if (state.openMessage && last?.kind === 'text') state.openMessage.parts.splice(-1, 1, { ...last, signature });
}

/** The block precedes its call, or follows it when the call was streamed before the signature arrived. */
function signCall(callId: string, signature: Opaque, state: DecodeState): void {
  const index = state.items.findLastIndex((item) => item.kind === 'tool_call' && item.callId === callId);
  const call = state.items[index];
  if (call?.kind === 'tool_call') state.items[index] = { ...call, signature };
  else state.pendingSignatures.set(callId, signature);
}

function pushServerUse(block: JsonObject, path: string, state: DecodeState): void {
  state.serverUses.set(wire.needString(block.id, `${path}.id`), block);
  pushItem(decodeServerCall(block), state);
}

function attachServerResult(block: JsonObject, state: DecodeState): void {
  const id = wire.maybeString(block.tool_use_id) ?? '';
  const index = state.items.findLastIndex((item) => item.kind === 'server_call' && item.id === id);
  const call = state.items[index];
  if (call?.kind !== 'server_call') {
    pushItem({ kind: 'opaque', issuer: 'messages', raw: block }, state);
    return;
  }
  state.items[index] = decodeServerCall(state.serverUses.get(id) ?? {}, block);
  state.openMessage = undefined;
}

function decodeToolResult(block: JsonObject, path: string, state: DecodeState): HubItem {
  const callId = wire.needString(block.tool_use_id, `${path}.tool_use_id`);
  const name = state.callNames.get(callId);
  if (name === undefined) {
    const found = `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${callId}.`;
    const rule = 'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.';
    wire.wrongValue(`${path}.tool_use_id`, `${found} ${rule}`);
  }
  const isError = wire.optional(block, 'is_error', wire.readBoolean, path);
  const parts = wire.isGiven(block.content) ? resultParts(block, path) : [];
  return { kind: 'tool_result', callId, name, form: 'function', parts, ...(isError && { isError }) };
}

/** A breakpoint on the result block applies to its last part, because the hub keeps breakpoints on parts. */
function resultParts(block: JsonObject, path: string): HubPart[] {
  const parts: HubPart[] = [];
  for (const [inner, innerPath] of blocksOf(block.content, `${path}.content`)) {
    const part = inner.type === 'tool_reference' ? toolReferencePart(inner, innerPath) : decodePart(inner, innerPath);
    if (part) parts.push(part);
  }
  const last = parts.at(-1);
  const breakpoint = readCacheBreakpoint(block, path);
  if (last && breakpoint.cache && last.kind !== 'refusal' && last.kind !== 'json')
    parts.splice(-1, 1, { ...last, ...breakpoint });
  return parts;
}

/** A match of a client-side tool search. Other dialects offer all tools from the start, so the name is enough. */
const toolReferencePart = (block: JsonObject, path: string): HubPart => ({
  kind: 'text',
  text: `Tool available: ${wire.needString(block.tool_name, `${path}.tool_name`)}`,
});

/**
 * Ignores a `tool_reference`, which unhides a tool that other
 * dialects offer anyway; a `tool_definition` adds a tool.
 */
function pushToolAddition(block: JsonObject, path: string, state: DecodeState): void {
  const tool = wire.needObject(block.tool, `${path}.tool`);
  if (tool.type === 'tool_reference') return;
  if (tool.type !== 'tool_definition') wire.unsupported(`${path}.tool.type`, 'not supported by this model.');
  pushItem({ kind: 'tool_change', add: [decodeTool(tool.definition, `${path}.tool.definition`)] }, state);
}

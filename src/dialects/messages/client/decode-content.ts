/**
 * A client's messages flattened into hub items: one row per block type and role, order kept. Opaque values come back in the
 * slots that the encoder filled (`thinking.signature`, `redacted_thinking.data`) and go to the item they belong to.
 */

import type { HubItem, HubMessage, HubPart, HubToolCall, JsonObject, Opaque } from '../../hub/types.ts';
import { isEnvelope, textIn, unwrap } from '../../opaque/envelope.ts';
import {
  aBoolean,
  given,
  maybeObject,
  maybeString,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  unsupported,
  wrongValue,
} from '../../wire/read.ts';
import { decodeServerCall, isResultType, isSynthetic } from '../server-tools.ts';
import { decodePart, readCacheBreakpoint } from './decode-media.ts';
import { decodeTool } from './decode-tools.ts';
import { cutSummary, signatureTarget } from './opaque-thinking.ts';

export function decodeMessages(messages: readonly unknown[]): HubItem[] {
  if (messages.length === 0) wrongValue('messages', 'at least one message is required.');
  const reading: Reading = { items: [], names: new Map(), signatures: new Map() };
  for (const [n, entry] of messages.entries()) {
    const message = needObject(entry, `messages[${n}]`);
    const role = oneOf(['user', 'assistant', 'system'])(message.role, `messages[${n}].role`);
    reading.turn = undefined;
    for (const [block, path] of blocksOf(message.content, `messages[${n}].content`)) {
      ROLES[role](block, path, reading);
    }
  }
  return reading.items;
}

interface Reading {
  readonly items: HubItem[];
  /** Calls so far, for the results that only give the id. */
  readonly names: Map<string, string>;
  /** Signatures waiting for the call that they belong to. */
  readonly signatures: Map<string, Opaque>;
  /** The hub message that further parts of this turn join, while nothing else came between. */
  turn?: { readonly parts: HubPart[] } | undefined;
}

/** A plain string is one text block. */
function* blocksOf(content: unknown, path: string): Generator<readonly [JsonObject, string]> {
  if (typeof content === 'string') {
    yield [{ type: 'text', text: content }, path];
    return;
  }
  for (const [n, entry] of needList(content, path).entries()) {
    yield [needObject(entry, `${path}[${n}]`), `${path}[${n}]`];
  }
}

type ReadBlock = (block: JsonObject, path: string, reading: Reading) => void;

const ROLES: Readonly<Record<HubMessage['role'], ReadBlock>> = {
  user(block, path, reading) {
    if (block.type === 'tool_result') add(toolResult(block, path, reading), reading);
    else join('user', decodePart(block, path), reading);
  },
  system(block, path, reading) {
    if (block.type === 'tool_addition') toolAddition(block, path, reading);
    else if (block.type === 'text') join('system', decodePart(block, path), reading);
    else unsupported(`${path}.type`, `blocks of type "${String(block.type)}" cannot be used with this model.`);
  },
  assistant(block, path, reading) {
    const type = needString(block.type, `${path}.type`);
    const read = ASSISTANT.get(type);
    if (read) read(block, path, reading);
    else if (isResultType(type)) serverResult(block, reading);
    // A provider's artefact: the client only hands back what it was given, so it is not the client's to be refused.
    else add({ kind: 'opaque', issuer: 'messages', raw: block }, reading);
  },
};

function join(role: HubMessage['role'], part: HubPart | undefined, reading: Reading): void {
  if (!part) return;
  if (reading.turn) {
    reading.turn.parts.push(part);
    return;
  }
  reading.turn = { parts: [part] };
  reading.items.push({ kind: 'message', role, parts: reading.turn.parts });
}

function add(item: HubItem, reading: Reading): void {
  reading.turn = undefined;
  reading.items.push(item);
}

// ---------------------------------------------------------------- assistant

const ASSISTANT: ReadonlyMap<string, ReadBlock> = new Map(
  Object.entries<ReadBlock>({
    /** Citations are not read: their indices are opaque, and no other provider takes a citation as input. */
    text: (block, path, reading) => join('assistant', decodePart(block, path), reading),
    thinking(block, path, reading) {
      const text = needString(block.thinking, `${path}.thinking`);
      reasoning(text, textIn(maybeString(block.signature)), 'thinking', reading);
    },
    redacted_thinking: (block, path, reading) =>
      reasoning('', needString(block.data, `${path}.data`), 'redacted', reading),
    tool_use(block, path, reading) {
      const callId = needString(block.id, `${path}.id`);
      const name = needString(block.name, `${path}.name`);
      const signature = reading.signatures.get(callId);
      const call: HubToolCall = {
        kind: 'tool_call',
        callId,
        name,
        form: 'function',
        args: JSON.stringify(given(block.input) ? needObject(block.input, `${path}.input`) : {}),
        ...(signature && { signature }),
      };
      reading.names.set(callId, name);
      add(call, reading);
    },
    server_tool_use: serverUse,
    mcp_tool_use: serverUse,
    compaction(block, path, reading) {
      const text = optional(block, 'content', needString, path);
      const slot = maybeString(block.encrypted_content) ?? '';
      const opaque = isEnvelope(slot)
        ? unwrap(slot)
        : ({ issuer: 'messages', kind: 'compaction', data: JSON.stringify(block) } as const);
      add({ kind: 'compaction', ...(text !== undefined && { text }), ...(opaque && { opaque }) }, reading);
    },
  }),
);

function reasoning(text: string, slot: string, kind: 'thinking' | 'redacted', reading: Reading): void {
  const opaque = isEnvelope(slot)
    ? unwrap(slot)
    : slot === ''
      ? undefined
      : ({ issuer: 'messages', kind, data: slot } as const);
  // A damaged envelope takes its block with it: the text alone must never reach a model.
  if (isEnvelope(slot) && !opaque) return;
  const target = opaque && signatureTarget(opaque);
  if (opaque && target) {
    placeSignature(opaque, target, reading);
    return;
  }
  add(
    {
      kind: 'reasoning',
      summary: cutSummary(text, opaque?.lengths),
      ...(opaque && { opaque }),
      ...(opaque?.kind === 'redacted' && { redacted: true }),
    },
    reading,
  );
}

/** A signature that stood in a thinking block only because a call or a text has no slot for one here. */
function placeSignature(opaque: Opaque, target: { callId?: string }, reading: Reading): void {
  const { id: _, ...signature } = opaque;
  if (target.callId !== undefined) {
    signCall(target.callId, signature, reading);
    return;
  }
  const last = reading.turn?.parts.at(-1);
  if (reading.turn && last?.kind === 'text') reading.turn.parts.splice(-1, 1, { ...last, signature });
}

/** Its block stands before the call, or behind it where the call was told before the signature was known. */
function signCall(callId: string, signature: Opaque, reading: Reading): void {
  const at = reading.items.findLastIndex((item) => item.kind === 'tool_call' && item.callId === callId);
  const call = reading.items[at];
  if (call?.kind === 'tool_call') reading.items[at] = { ...call, signature };
  else reading.signatures.set(callId, signature);
}

function serverUse(block: JsonObject, path: string, reading: Reading): void {
  const id = needString(block.id, `${path}.id`);
  // Told by us about a foreign search: nobody upstream ever saw it.
  if (isSynthetic(id)) return;
  add(decodeServerCall(block), reading);
}

function serverResult(block: JsonObject, reading: Reading): void {
  const id = maybeString(block.tool_use_id) ?? '';
  if (isSynthetic(id)) return;
  const at = reading.items.findLastIndex((item) => item.kind === 'server_call' && item.id === id);
  const call = reading.items[at];
  if (call?.kind !== 'server_call') {
    add({ kind: 'opaque', issuer: 'messages', raw: block }, reading);
    return;
  }
  const [use] = Array.isArray(call.raw) ? (call.raw as unknown[]) : [];
  reading.items[at] = decodeServerCall(maybeObject(use), block);
  reading.turn = undefined;
}

// ---------------------------------------------------------------- user and system

function toolResult(block: JsonObject, path: string, reading: Reading): HubItem {
  const callId = needString(block.tool_use_id, `${path}.tool_use_id`);
  const name = reading.names.get(callId);
  if (name === undefined) {
    wrongValue(
      `${path}.tool_use_id`,
      `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${callId}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
    );
  }
  const isError = optional(block, 'is_error', aBoolean, path);
  const parts = given(block.content) ? resultParts(block, path) : [];
  return { kind: 'tool_result', callId, name, form: 'function', parts, ...(isError && { isError }) };
}

/** The mark on the block itself counts for its last part, since the hub keeps marks on parts. */
function resultParts(block: JsonObject, path: string): HubPart[] {
  const parts: HubPart[] = [];
  for (const [inner, at] of blocksOf(block.content, `${path}.content`)) {
    const part = inner.type === 'tool_reference' ? foundTool(inner, at) : decodePart(inner, at);
    if (part) parts.push(part);
  }
  const last = parts.at(-1);
  const mark = readCacheBreakpoint(block, path);
  if (last && mark.cache && last.kind !== 'refusal' && last.kind !== 'json') parts.splice(-1, 1, { ...last, ...mark });
  return parts;
}

/** What a client's own tool search found. Elsewhere all tools are offered from the start, so the name is news enough. */
const foundTool = (block: JsonObject, path: string): HubPart => ({
  kind: 'text',
  text: `Tool available: ${needString(block.tool_name, `${path}.tool_name`)}`,
});

/** A reference only unhides a tool that is offered anyway; a definition brings a new one. */
function toolAddition(block: JsonObject, path: string, reading: Reading): void {
  const tool = needObject(block.tool, `${path}.tool`);
  if (tool.type === 'tool_reference') return;
  if (tool.type !== 'tool_definition') unsupported(`${path}.tool.type`, 'cannot be used with this model.');
  add({ kind: 'tool_change', add: [decodeTool(tool.definition, `${path}.tool.definition`)] }, reading);
}

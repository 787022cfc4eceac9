/**
 * Encoder of the flat conversation as turns by the provider's rules: they alternate from
 * the user on, results come first and in call order, nothing is empty.
 */
import type { UpstreamTarget } from '../codec.ts';
import { rejectCompaction, rejectRef } from '../errors/rejection.ts';
import { forKind } from '../hub/by-kind.ts';
import type { HubItem, HubMessage, HubReasoningItem, HubText, HubToolCall, HubToolResult } from '../hub/types.ts';
import { isReadable } from '../opaque/envelope.ts';
import { hostedText, ownForm } from '../tools/hosted.ts';
import type { ToolNames } from '../tools/names.ts';
import { NO_RESULT, pairResults, type TakeResult } from '../tools/pair-results.ts';
import { callIdFor } from '../wire/ids.ts';
import { isObject, parseArgs } from '../wire/read.ts';
import { type Block, encodeParts, type PartBlocks, textBlock, USER_BLOCKS } from './encode-content.ts';
import { isResultType, SERVER_USE_TYPES } from './server-tools.ts';

export interface MessageTurn {
  readonly role: 'user' | 'assistant' | 'system';
  readonly blocks: Block[];
}

/** What differs between the dialects that have these turns. */
export interface TurnForms {
  readonly dialect: 'messages' | 'converse';
  readonly parts: PartBlocks;
  /** Reasoning without a signature. */
  readonly unsigned?: (text: string) => Block;
}
const MESSAGES_FORMS: TurnForms = { dialect: 'messages', parts: USER_BLOCKS };

export function encodeMessages(
  items: readonly HubItem[],
  target: UpstreamTarget,
  names: ToolNames,
  forms: TurnForms = MESSAGES_FORMS,
) {
  const conversation = items.filter((item) => item.kind !== 'tool_change' && item.kind !== 'config_change');
  const found = conversation.findIndex((item) => !isSystem(item));
  const start = found < 0 ? conversation.length : found;
  // System messages before the first other item.
  const leadingSystem = conversation.slice(0, start).flatMap((item) => (isSystem(item) ? textsOf(item) : []));
  const rest = conversation.slice(start);
  const state: EncodeState = {
    turns: [],
    assistant: [],
    calls: [],
    takeResult: pairResults(rest),
    target,
    names,
    forms,
  };
  for (const item of rest) encodeItem(item, state);
  endAssistantTurn(state);
  const turns = placeSystemTurns(state.turns, target.capabilities.midSystem);
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', blocks: [{ type: 'text', text: '.' }] });
  trimPrefill(turns);
  return { leadingSystem, turns };
}

interface EncodeState {
  readonly turns: MessageTurn[];
  /** Blocks of the open assistant turn, and the calls in it. */
  assistant: Block[];
  calls: HubToolCall[];
  readonly takeResult: TakeResult;
  readonly target: UpstreamTarget;
  readonly names: ToolNames;
  readonly forms: TurnForms;
}

const isSystem = (item: HubItem): item is HubMessage => item.kind === 'message' && item.role === 'system';
const textsOf = (message: HubMessage): HubText[] => message.parts.filter((part) => part.kind === 'text');

const encodeItem = forKind<HubItem, EncodeState, void>({
  message(item, state) {
    if (item.role === 'assistant') {
      state.assistant.push(...encodeParts(item.parts, 'assistant'));
      return;
    }
    endAssistantTurn(state);
    appendTurn(state.turns, { role: item.role, blocks: encodeParts(item.parts, 'user', state.forms.parts) });
  },
  reasoning(item, state) {
    const block = restoreThinking(item, state);
    if (block) state.assistant.push(block);
  },
  tool_call(item, state) {
    state.calls.push(item);
    state.assistant.push({
      type: 'tool_use',
      id: callIdFor(state.forms.dialect, item.callId),
      name: state.names.toWire(item),
      input: item.form === 'custom' ? { input: item.args } : parseArgs(item.args),
    });
  },
  /** `endAssistantTurn` writes the result; here it only ends the turn. */
  tool_result: (_, state) => endAssistantTurn(state),
  /** Calls of other providers become text, and an image a note. */
  server_call(item, state) {
    const own = readsOwn(state) ? ownForm(item, 'messages', state.target) : undefined;
    const parts = item.image ?? { kind: 'text', text: hostedText(item) };
    state.assistant.push(
      ...(own?.filter(isObject).map((block) => ({ ...block })) ?? encodeParts([parts], 'assistant')),
    );
  },
  opaque(item, state) {
    if (readsOwn(state) && item.issuer === 'messages' && isObject(item.raw)) state.assistant.push({ ...item.raw });
  },
  compaction: encodeCompaction,
  ref: ({ id }) => rejectRef(id),
  tool_change: () => undefined,
  config_change: () => undefined,
});

/** Blocks that only Anthropic reads have no form in Converse. */
const readsOwn = ({ forms }: EncodeState): boolean => forms.dialect === 'messages';

/** Rejects a compaction without readable text, because it replaces history that this provider would miss. */
function encodeCompaction(item: HubItem & { kind: 'compaction' }, state: EncodeState): void {
  if (readsOwn(state) && item.opaque?.issuer === 'messages') {
    state.assistant.push(JSON.parse(item.opaque.data) as Block);
    return;
  }
  const block = textBlock(item.text ?? '') ?? rejectCompaction();
  endAssistantTurn(state);
  appendTurn(state.turns, { role: 'user', blocks: [block] });
}

/** Returns a block only if this provider signed it, for this account, and the text is unchanged. */
function restoreThinking({ opaque, summary }: HubReasoningItem, { target, forms }: EncodeState): Block | undefined {
  if (opaque === undefined && summary.length > 0) return forms.unsigned?.(summary.join('\n\n'));
  if (!opaque || !isReadable(opaque, 'messages', target.account)) return undefined;
  if (opaque.kind === 'redacted') return { type: 'redacted_thinking', data: opaque.data };
  const thinking = summary.join('\n\n');
  const signed = opaque.lengths?.reduce((sum, length) => sum + length, 0);
  if (signed !== undefined && signed !== thinking.length) return undefined;
  return { type: 'thinking', thinking, signature: opaque.data };
}

function appendTurn(turns: MessageTurn[], turn: MessageTurn): void {
  if (turn.blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === turn.role) last.blocks.push(...turn.blocks);
  else turns.push({ role: turn.role, blocks: [...turn.blocks] });
}

function endAssistantTurn(state: EncodeState): void {
  const { turns, assistant, calls } = state;
  // The provider rejects thinking at the end of a turn.
  while (isThinking(assistant.at(-1))) assistant.pop();
  appendTurn(turns, { role: 'assistant', blocks: assistant });
  appendTurn(turns, {
    role: 'user',
    blocks: calls.map((call) => resultBlock(call, state.takeResult(call), state.forms)),
  });
  state.assistant = [];
  state.calls = [];
}

export const isThinking = (block: Block | undefined): boolean =>
  block?.type === 'thinking' || block?.type === 'redacted_thinking';

function resultBlock(call: HubToolCall, result: HubToolResult | undefined, { dialect, parts }: TurnForms): Block {
  const id = { type: 'tool_result', tool_use_id: callIdFor(dialect, call.callId) };
  if (!result) return { ...id, is_error: true, content: [{ type: 'text', text: NO_RESULT }] };
  const content = encodeParts(result.parts, 'user', parts);
  if (!result.isError) return content.length > 0 ? { ...id, content } : id;
  const failed = { type: 'text', text: 'The call failed.' };
  // With `is_error` the provider requires non-empty text and rejects other blocks.
  if (content.some((block) => block.type !== 'text')) return { ...id, content: [failed, ...content] };
  return { ...id, is_error: true, content: content.length > 0 ? content : [failed] };
}

/** Keeps system messages in position: as system turns where model and neighbours allow it, else as tagged user text. */
function placeSystemTurns(turns: readonly MessageTurn[], midSystem: boolean): MessageTurn[] {
  const placed: MessageTurn[] = [];
  for (const [n, turn] of turns.entries()) {
    const isAllowed = midSystem && placed.at(-1)?.role === 'user' && turns[n + 1]?.role !== 'user';
    appendTurn(
      placed,
      turn.role !== 'system' || isAllowed ? turn : { role: 'user', blocks: turn.blocks.map(wrapSystem) },
    );
  }
  return placed;
}

const wrapSystem = (block: Block): Block => ({ ...block, text: `<system>${String(block.text)}</system>` });

/** The provider rejects whitespace at the end of a prefill. A turn with hosted tools is paused, not prefilled. */
function trimPrefill(turns: readonly MessageTurn[]): void {
  const last = turns.at(-1);
  if (last?.role !== 'assistant' || last.blocks.some(isServerBlock)) return;
  const block = last.blocks.at(-1);
  if (block?.type === 'text') last.blocks.splice(-1, 1, { ...block, text: String(block.text).trimEnd() });
}

const isServerBlock = ({ type }: Block): boolean =>
  typeof type === 'string' && (SERVER_USE_TYPES.has(type) || isResultType(type));

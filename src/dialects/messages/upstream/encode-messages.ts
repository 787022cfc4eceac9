/**
 * The flat conversation written as turns, with the repairs that the provider's rules force: turns alternate and begin with the
 * user, every call is answered at the start of the next turn and in call order, nothing is empty. Order is kept otherwise.
 */
import type { UpstreamTarget } from '../../codec.ts';
import { rejectCompaction, rejectPrefill, rejectRef } from '../../errors/rejection.ts';
import type { HubItem, HubMessage, HubReasoningItem, HubText, HubToolCall, HubToolResult } from '../../hub/types.ts';
import type { Names } from '../../tools/names.ts';
import { NO_RESULT, pairResults, type TakeResult } from '../../tools/pair-results.ts';
import { callIdFor } from '../../wire/ids.ts';
import { isObject, parseArgs } from '../../wire/read.ts';
import { isResultType, rawBlocks, SERVER_USES } from '../server-tools.ts';
import { type Block, encodeParts, textBlock } from './encode-content.ts';

export interface Turn {
  readonly role: 'user' | 'assistant' | 'system';
  readonly blocks: Block[];
}

export interface Conversation {
  /** System messages that stand before everything else. */
  readonly lead: readonly HubText[];
  readonly turns: readonly Turn[];
}

export function encodeMessages(items: readonly HubItem[], target: UpstreamTarget, names: Names): Conversation {
  const spoken = items.filter((item) => item.kind !== 'tool_change' && item.kind !== 'config_change');
  const found = spoken.findIndex((item) => !isSystem(item));
  const start = found < 0 ? spoken.length : found;
  const lead = spoken.slice(0, start).flatMap((item) => (isSystem(item) ? textsOf(item) : []));
  const rest = spoken.slice(start);
  const writing: Writing = { turns: [], assistant: [], calls: [], takeResult: pairResults(rest), target, names };
  for (const item of rest) write(item, writing);
  endAssistant(writing);
  const turns = settleSystem(writing.turns, target.capabilities.midSystem);
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', blocks: [{ type: 'text', text: '.' }] });
  settlePrefill(turns, target);
  return { lead, turns };
}

interface Writing {
  readonly turns: Turn[];
  /** The assistant's turn that is being written, and the calls in it. */
  assistant: Block[];
  calls: HubToolCall[];
  readonly takeResult: TakeResult;
  readonly target: UpstreamTarget;
  readonly names: Names;
}

const isSystem = (item: HubItem): item is HubMessage => item.kind === 'message' && item.role === 'system';
const textsOf = (message: HubMessage): HubText[] => message.parts.filter((part) => part.kind === 'text');

// ---------------------------------------------------------------- items

const write = <I extends HubItem>(item: I, writing: Writing): void =>
  (ITEMS[item.kind] as (item: I, writing: Writing) => void)(item, writing);

type WriteItem<K> = (item: HubItem & { kind: K }, writing: Writing) => void;

const ITEMS: { readonly [K in HubItem['kind']]: WriteItem<K> } = {
  message(item, writing) {
    if (item.role === 'assistant') {
      writing.assistant.push(...encodeParts(item.parts, 'assistant'));
      return;
    }
    endAssistant(writing);
    append(writing.turns, { role: item.role, blocks: encodeParts(item.parts, 'user') });
  },
  reasoning(item, writing) {
    const block = restoreThinking(item, writing.target);
    if (block) writing.assistant.push(block);
  },
  tool_call(item, writing) {
    writing.calls.push(item);
    writing.assistant.push({
      type: 'tool_use',
      id: callIdFor('messages', item.callId),
      name: writing.names.toWire(item),
      input: item.form === 'custom' ? { input: item.args } : parseArgs(item.args),
    });
  },
  /** Written together with its call; here it only says that the assistant's turn is over. */
  tool_result: (_, writing) => endAssistant(writing),
  /** Foreign searches are dropped: the text they led to is still there. */
  server_call: (item, writing) => void writing.assistant.push(...rawBlocks(item).map((block) => ({ ...block }))),
  opaque(item, writing) {
    if (item.issuer === 'messages' && isObject(item.raw)) writing.assistant.push({ ...item.raw });
  },
  compaction: writeCompaction,
  ref: ({ id }) => rejectRef(id),
  tool_change: () => undefined,
  config_change: () => undefined,
};

/** What came before it is gone, so without text that we can read the history has a hole. */
function writeCompaction(item: HubItem & { kind: 'compaction' }, writing: Writing): void {
  if (item.opaque?.issuer === 'messages') {
    writing.assistant.push(JSON.parse(item.opaque.data) as Block);
    return;
  }
  const block = textBlock(item.text ?? '') ?? rejectCompaction();
  endAssistant(writing);
  append(writing.turns, { role: 'user', blocks: [block] });
}

/** Only what this provider signed, for this account, and with the very text it signed. */
function restoreThinking({ opaque, summary }: HubReasoningItem, { account }: UpstreamTarget): Block | undefined {
  if (opaque?.issuer !== 'messages') return undefined;
  if (opaque.account !== undefined && account !== undefined && opaque.account !== account) return undefined;
  if (opaque.kind === 'redacted') return { type: 'redacted_thinking', data: opaque.data };
  const thinking = summary.join('\n\n');
  const signed = opaque.lengths?.reduce((sum, length) => sum + length, 0);
  if (signed !== undefined && signed !== thinking.length) return undefined;
  return { type: 'thinking', thinking, signature: opaque.data };
}

// ---------------------------------------------------------------- turns

function append(turns: Turn[], turn: Turn): void {
  if (turn.blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === turn.role) last.blocks.push(...turn.blocks);
  else turns.push({ role: turn.role, blocks: [...turn.blocks] });
}

function endAssistant(writing: Writing): void {
  const { turns, assistant, calls } = writing;
  // Thinking must lead to something; at the end of a turn the provider refuses it.
  while (isThinking(assistant.at(-1))) assistant.pop();
  append(turns, { role: 'assistant', blocks: assistant });
  append(turns, { role: 'user', blocks: calls.map((call) => resultBlock(call, writing.takeResult(call))) });
  writing.assistant = [];
  writing.calls = [];
}

export const isThinking = (block: Block | undefined): boolean =>
  block?.type === 'thinking' || block?.type === 'redacted_thinking';

function resultBlock(call: HubToolCall, result: HubToolResult | undefined): Block {
  const id = { type: 'tool_result', tool_use_id: callIdFor('messages', call.callId) };
  if (!result) return { ...id, is_error: true, content: [{ type: 'text', text: NO_RESULT }] };
  const content = encodeParts(result.parts, 'user');
  if (!result.isError) return content.length > 0 ? { ...id, content } : id;
  // A failed call may say why in words only, and must say something.
  if (content.some((block) => block.type !== 'text')) {
    return { ...id, content: [{ type: 'text', text: 'The call failed.' }, ...content] };
  }
  return {
    ...id,
    is_error: true,
    content: content.length > 0 ? content : [{ type: 'text', text: 'The call failed.' }],
  };
}

/** System messages keep their place: as such where model and neighbours allow, else as marked text of the user. */
function settleSystem(turns: readonly Turn[], midSystem: boolean): Turn[] {
  const settled: Turn[] = [];
  for (const [n, turn] of turns.entries()) {
    const fits = midSystem && settled.at(-1)?.role === 'user' && turns[n + 1]?.role !== 'user';
    append(settled, turn.role !== 'system' || fits ? turn : { role: 'user', blocks: turn.blocks.map(wrapSystem) });
  }
  return settled;
}

const wrapSystem = (block: Block): Block => ({ ...block, text: `<system>${String(block.text)}</system>` });

/** A turn that ends in the provider's own tools is no prefill: it goes on where it paused. */
function settlePrefill(turns: Turn[], target: UpstreamTarget): void {
  const last = turns.at(-1);
  if (last?.role !== 'assistant' || last.blocks.some(isServerBlock)) return;
  if (!target.capabilities.prefill) rejectPrefill();
  const block = last.blocks.at(-1);
  // White space at the very end is refused.
  if (block?.type === 'text') last.blocks.splice(-1, 1, { ...block, text: String(block.text).trimEnd() });
}

const isServerBlock = ({ type }: Block): boolean =>
  typeof type === 'string' && (SERVER_USES.has(type) || isResultType(type));

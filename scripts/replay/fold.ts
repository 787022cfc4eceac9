/**
 * Folds the events of a recorded response into one object of the unary form. It reads what the provider sent, not what
 * the gateway makes of it, so it shares no code with `src/dialects/`.
 */
import type { UpstreamDialect } from '../../src/rules/index.ts';
import { isRecord, type JsonRecord, jsonOf, listOf, type Recording, recordOf, textOf } from './recording.ts';

export function foldRecording(recording: Recording): JsonRecord {
  const { dialect, isStream, events } = recording;
  if (!isStream) return events[0] ?? {};
  return isBroken(recording) ? { error: 'the stream broke off' } : FOLDS[dialect](events);
}

/** Whether a chat stream ends with neither a finish reason, nor a report of usage, nor the mark of the end. */
export function isBroken({ dialect, isStream, events, body }: Recording): boolean {
  if (dialect !== 'chat' || !isStream || body.includes('[DONE]')) return false;
  const { choices, usage } = events.at(-1) ?? {};
  return (
    listOf(choices).every(({ finish_reason }) => !finish_reason) && !(listOf(choices).length === 0 && isRecord(usage))
  );
}

const FOLDS: Readonly<Record<UpstreamDialect, (events: readonly JsonRecord[]) => JsonRecord>> = {
  messages: foldMessages,
  chat: foldChat,
  responses: foldResponses,
  generate: foldGenerate,
  converse: foldConverse,
};

type Open = Record<string, unknown>;
const open = (value: unknown): Open => ({ ...recordOf(value) });
const append = (target: Open, name: string, more: unknown): void => {
  target[name] = textOf(target[name]) + textOf(more);
};

// ---------------------------------------------------------------- messages

function foldMessages(events: readonly JsonRecord[]): JsonRecord {
  let message: Open = {};
  const blocks = new Map<unknown, Open>();
  for (const event of events) {
    if (event.type === 'message_start') {
      // A proxy began again. The same message is still open; another one cannot follow what a client has read already.
      if (blocks.size > 0 && message.id !== recordOf(event.message).id)
        return { error: 'a second message in the stream' };
      message = open(event.message);
      // Calls that code of the provider makes come with the start.
      for (const [n, block] of listOf(message.content).entries()) blocks.set(`start ${n}`, open(block));
    } else if (event.type === 'content_block_start') blocks.set(event.index, open(event.content_block));
    else if (event.type === 'content_block_delta') addBlockDelta(blocks.get(event.index), recordOf(event.delta));
    else if (event.type === 'message_delta') {
      Object.assign(message, event.delta);
      message.usage = { ...recordOf(message.usage), ...recordOf(event.usage) };
    } else if (event.type === 'error') message.error = event.error;
  }
  for (const block of blocks.values()) if (typeof block.json === 'string') block.input = jsonOf(block.json || '{}');
  return { ...message, content: [...blocks.values()] };
}

function addBlockDelta(block: Open | undefined, delta: JsonRecord): void {
  if (!block) return;
  if (delta.type === 'text_delta') append(block, 'text', delta.text);
  else if (delta.type === 'thinking_delta') append(block, 'thinking', delta.thinking);
  else if (delta.type === 'input_json_delta') append(block, 'json', delta.partial_json);
  else if (delta.type === 'citations_delta') block.citations = [...listOf(block.citations), delta.citation];
}

// ---------------------------------------------------------------- chat

const CHAT_TEXTS = ['content', 'reasoning_content', 'reasoning', 'refusal'];
const CHAT_LISTS = ['annotations', 'images', 'reasoning_details'];

function foldChat(events: readonly JsonRecord[]): JsonRecord {
  const message: Open = {};
  const calls: Open[] = [];
  const whole: Open = {};
  let finish: unknown;
  for (const event of events) {
    for (const name of ['error', 'usage', 'citations', 'search_results']) if (event[name]) whole[name] = event[name];
    const choice = listOf(event.choices).find(({ index }) => index === undefined || index === 0);
    if (choice?.finish_reason) finish = choice.finish_reason;
    const delta = recordOf(choice?.delta);
    for (const name of CHAT_TEXTS) {
      if (Array.isArray(delta[name])) message[name] = [...partsOf(message[name]), ...listOf(delta[name])];
      else if (Array.isArray(message[name])) message[name] = [...partsOf(message[name]), ...partsOf(delta[name])];
      else append(message, name, delta[name]);
    }
    for (const name of CHAT_LISTS) if (delta[name]) message[name] = [...listOf(message[name]), ...listOf(delta[name])];
    for (const call of listOf(delta.tool_calls)) addCall(calls, call);
    if (isRecord(delta.function_call)) addCall(calls, { index: 'legacy', function: delta.function_call });
  }
  return { ...whole, choices: [{ message: { ...message, tool_calls: calls }, finish_reason: finish }] };
}

function partsOf(content: unknown): readonly JsonRecord[] {
  if (Array.isArray(content)) return listOf(content);
  return textOf(content) ? [{ type: 'text', text: content }] : [];
}

/** A call goes on under its index; another id under the same index begins a new one. */
function addCall(calls: Open[], { index, id, type, ...more }: JsonRecord): void {
  const body = recordOf(more.function ?? more.custom);
  const known = calls.findLast((call) => (index === undefined ? !id || call.id === id : call.index === index));
  if (known && (!textOf(id) || !textOf(known.id) || known.id === id)) {
    const inner = known.function as Open;
    inner.name = textOf(inner.name) || body.name;
    append(inner, 'arguments', asText(body.arguments ?? body.input));
  } else
    calls.push({ index, id, type, function: { name: body.name, arguments: asText(body.arguments ?? body.input) } });
}

const asText = (value: unknown): string => (isRecord(value) ? JSON.stringify(value) : textOf(value));

// ---------------------------------------------------------------- responses and generate

function foldResponses(events: readonly JsonRecord[]): JsonRecord {
  const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  const last = events.findLast(({ response }) => isRecord(response));
  const failure = events.find(({ type }) => type === 'error');
  const response = recordOf(last?.response);
  const output = listOf(response.output).length > 0 ? response.output : items;
  return { ...response, output, ...(failure && { error: failure.error ?? failure }) };
}

export function foldGenerate(events: readonly JsonRecord[]): JsonRecord {
  const parts: unknown[] = [];
  const candidate: Open = {};
  const whole: Open = {};
  for (const event of events) {
    if (event.error) whole.error = event.error;
    if (event.promptFeedback) whole.promptFeedback = event.promptFeedback;
    if (event.usageMetadata)
      whole.usageMetadata = { ...recordOf(whole.usageMetadata), ...recordOf(event.usageMetadata) };
    const [first] = listOf(event.candidates);
    if (!first) continue;
    parts.push(...listOf(recordOf(first.content).parts));
    for (const name of ['finishReason', 'groundingMetadata', 'citationMetadata', 'urlContextMetadata'])
      if (first[name]) candidate[name] = first[name];
  }
  return { ...whole, candidates: [{ ...candidate, content: { parts } }] };
}

// ---------------------------------------------------------------- converse

function foldConverse(events: readonly JsonRecord[]): JsonRecord {
  const blocks = new Map<unknown, Open>();
  const blockAt = (index: unknown): Open => {
    const block = blocks.get(index) ?? {};
    blocks.set(index, block);
    return block;
  };
  const whole: Open = {};
  for (const event of events) {
    const [[type, payload] = ['', {}]] = Object.entries(event);
    const { contentBlockIndex: index, start, delta, ...members } = recordOf(payload);
    if (type.endsWith('Exception')) whole.error = payload;
    else if (type === 'contentBlockStart') Object.assign(blockAt(index), open(start));
    else if (type === 'contentBlockDelta') addConverseDelta(blockAt(index), recordOf(delta));
    else Object.assign(whole, members);
  }
  for (const block of blocks.values())
    if (typeof block.json === 'string')
      block.toolUse = { ...recordOf(block.toolUse), input: jsonOf(block.json || '{}') };
  return { ...whole, output: { message: { content: [...blocks.values()] } } };
}

function addConverseDelta(block: Open, { text, reasoningContent, toolUse, citation }: JsonRecord): void {
  if (text !== undefined) append(block, 'text', text);
  if (isRecord(toolUse)) append(block, 'json', toolUse.input);
  if (isRecord(citation))
    block.citationsContent = { citations: [...listOf(recordOf(block.citationsContent).citations), citation] };
  if (!isRecord(reasoningContent)) return;
  const before = recordOf(recordOf(block.reasoningContent).reasoningText);
  const reasoningText = { text: textOf(before.text) + textOf(reasoningContent.text) };
  block.reasoningContent = { reasoningText };
}

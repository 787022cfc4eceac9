/** Model replies in the wire format of each provider, streamed and unary. Written without the codecs. */
import type { UpstreamDialect } from '../../src/rules/index.ts';
import type { WireEvent } from '../support/dialects/codecs.ts';
import { type Block, cutText, type ModelReply } from './reply-arbitrary.ts';

export interface WireReply {
  readonly events: readonly WireEvent[];
  readonly unary: unknown;
}

export const wireFormOf = (upstream: UpstreamDialect, reply: ModelReply): WireReply => WRITERS[upstream](reply);

const WRITERS: Readonly<Record<UpstreamDialect, (reply: ModelReply) => WireReply>> = {
  messages: asMessages,
  chat: asChat,
  responses: asResponses,
  generate: asGenerate,
  converse: asConverse,
};

type Json = Record<string, unknown>;
type Call = Block & { kind: 'call' };
const isCall = (block: Block): block is Call => block.kind === 'call';
const hasCalls = ({ blocks }: ModelReply): boolean => blocks.some(isCall);

// ---------------------------------------------------------------- messages

function asMessages(reply: ModelReply): WireReply {
  const { usage, stop } = reply;
  const counts = {
    input_tokens: usage.input - usage.cacheRead - usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite,
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.reasoning },
  };
  const stop_reason = stop === 'length' ? 'max_tokens' : hasCalls(reply) ? 'tool_use' : 'end_turn';
  const head = { id: 'msg_01law', type: 'message', role: 'assistant', model: 'upstream-1' };
  const content = reply.blocks.map(messagesBlock);
  return {
    events: [
      event('message_start', { message: { ...head, content: [], usage: { ...counts, output_tokens: 1 } } }),
      event('ping', {}),
      ...reply.blocks.flatMap((block, index) => messagesEvents(block, index, reply.cuts)),
      event('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: counts }),
      event('message_stop', {}),
    ],
    unary: { ...head, content, stop_reason, stop_sequence: null, usage: counts },
  };
}

const event = (type: string, data: Json): WireEvent => ({ event: type, data: { type, ...data } });

function messagesBlock(block: Block): Json {
  if (block.kind === 'text') return { type: 'text', text: block.text };
  if (block.kind === 'thought') return { type: 'thinking', thinking: block.texts.join(''), signature: block.value };
  return { type: 'tool_use', id: block.id, name: block.name, input: JSON.parse(block.args) as unknown };
}

function messagesEvents(block: Block, index: number, cuts: readonly number[]): WireEvent[] {
  const open = (content_block: Json) => event('content_block_start', { index, content_block });
  const grow = (delta: Json) => event('content_block_delta', { index, delta });
  const close = event('content_block_stop', { index });
  if (block.kind === 'text') {
    const deltas = cutText(block.text, cuts).map((text) => grow({ type: 'text_delta', text }));
    return [open({ type: 'text', text: '' }), ...deltas, close];
  }
  if (block.kind === 'thought') {
    const deltas = cutText(block.texts.join(''), cuts).map((thinking) => grow({ type: 'thinking_delta', thinking }));
    const signed = grow({ type: 'signature_delta', signature: block.value });
    return [open({ type: 'thinking', thinking: '', signature: '' }), ...deltas, signed, close];
  }
  const deltas = cutText(block.args, cuts).map((partial_json) => grow({ type: 'input_json_delta', partial_json }));
  return [open({ type: 'tool_use', id: block.id, name: block.name, input: {} }), ...deltas, close];
}

// ---------------------------------------------------------------- chat

/** One message: thoughts first, then text, then calls. */
function asChat(reply: ModelReply): WireReply {
  const { usage, stop, cuts } = reply;
  const counts = {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
  const finish_reason = stop === 'length' ? 'length' : hasCalls(reply) ? 'tool_calls' : 'stop';
  const head = { id: 'chatcmpl-law1234', created: 1, model: 'upstream-1' };
  const chunk = (delta: Json, reason: string | null = null): WireEvent => ({
    data: { ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] },
  });
  const reasoning_content = thoughtsOf(reply).join('');
  const content = reply.blocks.map((block) => (block.kind === 'text' ? block.text : '')).join('');
  const tool_calls = reply.blocks.filter(isCall).map(({ id, name, args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }));
  const message = {
    role: 'assistant',
    content: content || null,
    ...(reasoning_content && { reasoning_content }),
    ...(tool_calls.length > 0 && { tool_calls }),
  };
  return {
    events: [
      chunk({ role: 'assistant', content: '' }),
      ...cutText(reasoning_content, cuts).map((text) => chunk({ reasoning_content: text })),
      ...cutText(content, cuts).map((text) => chunk({ content: text })),
      ...reply.blocks.filter(isCall).flatMap((call, index) => chatCall(call, index, cuts).map((entry) => chunk(entry))),
      chunk({}, finish_reason),
      { data: { ...head, object: 'chat.completion.chunk', choices: [], usage: counts } },
      { data: '[DONE]' },
    ],
    unary: { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage: counts },
  };
}

const thoughtsOf = ({ blocks }: ModelReply): string[] =>
  blocks.flatMap((block) => (block.kind === 'thought' ? block.texts : []));

const chatCall = ({ id, name, args }: Call, index: number, cuts: readonly number[]): Json[] => [
  { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
  ...cutText(args, cuts).map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] })),
];

// ---------------------------------------------------------------- responses

/** Adjacent texts are parts of one message; the events of adjacent calls are interleaved. */
function asResponses(reply: ModelReply): WireReply {
  const { usage, stop } = reply;
  const counts = {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  };
  const groups = groupNeighbours(reply.blocks);
  const items = groups.flat().map((group, index) => responsesItem(group, index));
  const head = { id: 'resp_law1234', object: 'response', model: 'upstream-1', error: null };
  const status = stop === 'length' ? 'incomplete' : 'completed';
  const incomplete_details = stop === 'length' ? { reason: 'max_output_tokens' } : null;
  const last = items.at(-1);
  if (stop === 'length' && last?.type === 'message') last.status = 'incomplete';
  const response = { ...head, status, incomplete_details, output: items, usage: counts };
  let index = 0;
  const itemEvents = groups.map((group) =>
    interleave(group.map((blocks) => responsesEvents(blocks, items[index] ?? {}, index++, reply.cuts))),
  );
  const events = [
    { type: 'response.created', response: { ...head, status: 'in_progress', output: [] } },
    ...itemEvents.flat(),
    { type: `response.${status}`, response },
  ];
  return {
    events: events.map((data, sequence_number) => ({ event: String(data.type), data: { ...data, sequence_number } })),
    unary: response,
  };
}

/** Groups adjacent texts into one item and adjacent calls into one group of items. */
function groupNeighbours(blocks: readonly Block[]): Block[][][] {
  const groups: Block[][][] = [];
  for (const [n, block] of blocks.entries()) {
    const last = groups.at(-1);
    const follows = n > 0 && blocks[n - 1]?.kind === block.kind;
    if (follows && block.kind === 'text') last?.[0]?.push(block);
    else if (follows && block.kind === 'call') last?.push([block]);
    else groups.push([[block]]);
  }
  return groups;
}

function responsesItem(blocks: readonly Block[], index: number): Json {
  const [first] = blocks;
  if (first?.kind === 'thought') {
    const summary = first.texts.map((text) => ({ type: 'summary_text', text }));
    return { type: 'reasoning', id: `rs_${index}`, summary, encrypted_content: first.value };
  }
  if (first?.kind === 'call') {
    const { id, name, args } = first;
    return { type: 'function_call', id: `fc_${index}`, call_id: id, name, arguments: args, status: 'completed' };
  }
  const content = blocks.map((block) => ({
    type: 'output_text',
    text: block.kind === 'text' ? block.text : '',
    annotations: [],
  }));
  return { type: 'message', id: `msg_${index}`, role: 'assistant', status: 'completed', content };
}

function responsesEvents(blocks: readonly Block[], item: Json, output_index: number, cuts: readonly number[]): Json[] {
  const at = { output_index, item_id: item.id };
  const inner: Json[] = [];
  for (const [n, block] of blocks.entries()) {
    if (block.kind === 'text') inner.push(...textEvents(block.text, { ...at, content_index: n }, cuts));
    if (block.kind === 'thought') {
      for (const [k, text] of block.texts.entries())
        inner.push(...summaryEvents(text, { ...at, summary_index: k }, cuts));
    }
    if (block.kind === 'call') inner.push(...argumentEvents(block.args, at, cuts));
  }
  const skeleton = { ...item, content: [], summary: [], arguments: '', encrypted_content: 'partial' };
  return [
    { type: 'response.output_item.added', output_index, item: skeleton },
    ...inner,
    { type: 'response.output_item.done', output_index, item },
  ];
}

const textEvents = (text: string, at: Json, cuts: readonly number[]): Json[] => [
  { type: 'response.content_part.added', ...at, part: { type: 'output_text', text: '' } },
  ...cutText(text, cuts).map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
  { type: 'response.output_text.done', ...at, text },
];
const summaryEvents = (text: string, at: Json, cuts: readonly number[]): Json[] => [
  { type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } },
  ...cutText(text, cuts).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
  { type: 'response.reasoning_summary_text.done', ...at, text },
];
const argumentEvents = (args: string, at: Json, cuts: readonly number[]): Json[] => [
  ...cutText(args, cuts).map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
  { type: 'response.function_call_arguments.done', ...at, arguments: args },
];

/** One event of each list in turn. */
function interleave(lists: readonly (readonly Json[])[]): Json[] {
  const result: Json[] = [];
  const longest = Math.max(...lists.map((list) => list.length));
  for (let n = 0; n < longest; n += 1) for (const list of lists) if (list[n]) result.push(list[n] as Json);
  return result;
}

// ---------------------------------------------------------------- generate

/** Calls are not split; the signature of a thought is on the part that follows it. */
function asGenerate(reply: ModelReply): WireReply {
  const { usage, stop, cuts } = reply;
  const usageMetadata = {
    promptTokenCount: usage.input,
    cachedContentTokenCount: usage.cacheRead,
    candidatesTokenCount: usage.output - usage.reasoning,
    thoughtsTokenCount: usage.reasoning,
    totalTokenCount: usage.input + usage.output,
  };
  const finishReason = stop === 'length' ? 'MAX_TOKENS' : 'STOP';
  const tail = { modelVersion: 'upstream-1', responseId: 'law1234' };
  const chunk = (parts: readonly Json[], more: Json = {}): WireEvent => ({
    data: { candidates: [{ content: { role: 'model', parts }, index: 0, ...more }], ...tail },
  });
  const parts = reply.blocks.flatMap((block, n) => generateParts(block, reply.blocks[n - 1]));
  const last = {
    data: {
      candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason, index: 0 }],
      usageMetadata,
      ...tail,
    },
  };
  const content = { role: 'model', parts };
  return {
    events: [...parts.flatMap((part) => cutPart(part, cuts).map((piece) => chunk([piece]))), last],
    unary: { candidates: [{ content, finishReason, index: 0 }], usageMetadata, ...tail },
  };
}

function generateParts(block: Block, before: Block | undefined): Json[] {
  if (block.kind === 'thought') return block.texts.map((text) => ({ text, thought: true }));
  const signed = before?.kind === 'thought' ? { thoughtSignature: before.value } : {};
  if (block.kind === 'text') return [{ text: block.text, ...signed }];
  return [{ functionCall: { id: block.id, name: block.name, args: JSON.parse(block.args) as unknown }, ...signed }];
}

/** The signature of a text comes with its last delta. */
function cutPart(part: Json, cuts: readonly number[]): Json[] {
  if (typeof part.text !== 'string') return [part];
  const texts = cutText(part.text, cuts);
  return texts.map((text, n) => {
    const { thoughtSignature: _, ...rest } = part;
    return n === texts.length - 1 ? { ...part, text } : { ...rest, text };
  });
}

// ---------------------------------------------------------------- converse

/** Texts and thoughts begin with their first delta. */
function asConverse(reply: ModelReply): WireReply {
  const { usage: counts, stop } = reply;
  const usage = {
    inputTokens: counts.input - counts.cacheRead - counts.cacheWrite,
    outputTokens: counts.output,
    totalTokens: counts.input + counts.output,
    cacheReadInputTokens: counts.cacheRead,
    cacheWriteInputTokens: counts.cacheWrite,
  };
  const stopReason = stop === 'length' ? 'max_tokens' : hasCalls(reply) ? 'tool_use' : 'end_turn';
  const metrics = { latencyMs: 1 };
  const content = reply.blocks.map(converseBlock);
  return {
    events: [
      { event: 'messageStart', data: { role: 'assistant', p: 'ab' } },
      ...reply.blocks.flatMap((block, index) => converseEvents(block, index, reply.cuts)),
      { event: 'messageStop', data: { stopReason, p: 'abc' } },
      { event: 'metadata', data: { usage, metrics, p: 'a' } },
    ],
    unary: { output: { message: { role: 'assistant', content } }, stopReason, usage, metrics },
  };
}

function converseBlock(block: Block): Json {
  if (block.kind === 'text') return { text: block.text };
  if (block.kind === 'thought')
    return { reasoningContent: { reasoningText: { text: block.texts.join(''), signature: block.value } } };
  return { toolUse: { toolUseId: block.id, name: block.name, input: JSON.parse(block.args) as unknown } };
}

function converseEvents(block: Block, contentBlockIndex: number, cuts: readonly number[]): WireEvent[] {
  const grow = (delta: Json) => ({ event: 'contentBlockDelta', data: { contentBlockIndex, delta, p: 'abcd' } });
  const close = { event: 'contentBlockStop', data: { contentBlockIndex, p: 'abcde' } };
  if (block.kind === 'text') return [...cutText(block.text, cuts).map((text) => grow({ text })), close];
  if (block.kind === 'thought') {
    const deltas = cutText(block.texts.join(''), cuts).map((text) => grow({ reasoningContent: { text } }));
    return [...deltas, grow({ reasoningContent: { signature: block.value } }), close];
  }
  const start = { toolUse: { toolUseId: block.id, name: block.name } };
  const deltas = cutText(block.args, cuts).map((input) => grow({ toolUse: { input } }));
  return [{ event: 'contentBlockStart', data: { contentBlockIndex, start } }, ...deltas, close];
}

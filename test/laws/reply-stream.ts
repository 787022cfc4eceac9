/** The stream in which a provider would send a reply, for every reply of its dialect. Written without the codecs. */
import type { UpstreamDialect } from '../../src/rules/index.ts';
import type { WireEvent } from '../support/dialects/codecs.ts';
import type { Json } from './type-walk.ts';

export const streamOf = (upstream: UpstreamDialect, body: Json): readonly WireEvent[] => WRITERS[upstream](body);

const WRITERS: Readonly<Record<UpstreamDialect, (body: Json) => WireEvent[]>> = {
  messages: asMessages,
  chat: asChat,
  responses: asResponses,
  generate: (body) => [{ data: body }],
  converse: asConverse,
};

const event = (type: string, members: Json): WireEvent => ({ event: type, data: { type, ...members } });
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

// ---------------------------------------------------------------- messages

function asMessages({
  content,
  stop_reason,
  stop_sequence,
  stop_details,
  container,
  usage,
  ...head
}: Json): WireEvent[] {
  const message = { ...head, content: [], stop_reason: null, stop_sequence: null, stop_details: null, container: null };
  const delta = { stop_reason, stop_sequence, stop_details, container };
  return [
    event('message_start', { message: { ...message, usage } }),
    ...listOf(content).flatMap(blockEvents),
    event('message_delta', { delta, usage }),
    event('message_stop', {}),
  ];
}

function blockEvents(block: Json, index: number): WireEvent[] {
  const [start, deltas] = BLOCK_DELTAS[String(block.type)]?.(block) ?? [block, []];
  return [
    event('content_block_start', { index, content_block: start }),
    ...deltas.map((delta) => event('content_block_delta', { index, delta })),
    event('content_block_stop', { index }),
  ];
}

const withInput = (block: Json): [Json, Json[]] => [
  { ...block, input: {} },
  [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }],
];

/** The start of a block and its deltas; blocks of other types are complete from the start. */
const BLOCK_DELTAS: Readonly<Record<string, (block: Json) => [start: Json, deltas: Json[]]>> = {
  text: ({ text, citations, ...rest }) => [
    { ...rest, text: '', citations: null },
    [...listOf(citations).map((citation) => ({ type: 'citations_delta', citation })), { type: 'text_delta', text }],
  ],
  thinking: ({ thinking, signature, ...rest }) => [
    { ...rest, thinking: '', signature: '' },
    [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature },
    ],
  ],
  tool_use: withInput,
  server_tool_use: withInput,
  mcp_tool_use: withInput,
};

// ---------------------------------------------------------------- chat

function asChat({ choices, usage, object: _, ...head }: Json): WireEvent[] {
  const chunk = (members: Json): WireEvent => ({ data: { ...head, object: 'chat.completion.chunk', ...members } });
  const deltas = listOf(choices).map(({ message, ...choice }) => {
    const { tool_calls, ...delta } = message as Json;
    const calls = listOf(tool_calls).map((call, index) => ({ index, ...call }));
    return { ...choice, delta: { ...delta, ...(calls.length > 0 && { tool_calls: calls }) } };
  });
  return [chunk({ choices: deltas }), chunk({ choices: [], usage }), { data: '[DONE]' }];
}

// ---------------------------------------------------------------- responses

function asResponses(response: Json): WireEvent[] {
  const open = { ...response, status: 'in_progress', output: [], usage: null, error: null, incomplete_details: null };
  const end = ['failed', 'incomplete', 'cancelled'].find((status) => status === response.status) ?? 'completed';
  return [
    event('response.created', { response: open }),
    ...listOf(response.output).flatMap(itemEvents),
    event(`response.${end === 'cancelled' ? 'completed' : end}`, { response }),
  ].map((one, sequence_number) => ({ ...one, data: { ...(one.data as Json), sequence_number } }));
}

function itemEvents(item: Json, output_index: number): WireEvent[] {
  const at = { output_index, item_id: item.id };
  const writer = ITEM_DELTAS[String(item.type)];
  return [
    event('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', ...writer?.start } }),
    ...(writer?.deltas(item, at) ?? []),
    event('response.output_item.done', { output_index, item }),
  ];
}

interface ItemWriter {
  /** Members of the item that its deltas fill. */
  readonly start: Json;
  deltas(item: Json, at: Json): WireEvent[];
}

const ITEM_DELTAS: Readonly<Record<string, ItemWriter>> = {
  message: {
    start: { content: [] },
    deltas: ({ content }, at) =>
      listOf(content).flatMap((part, content_index) => partEvents(part, { ...at, content_index })),
  },
  reasoning: {
    start: { summary: [] },
    deltas: ({ summary }, at) =>
      listOf(summary).flatMap((part, summary_index) => [
        event('response.reasoning_summary_part.added', { ...at, summary_index, part: { ...part, text: '' } }),
        event('response.reasoning_summary_text.delta', { ...at, summary_index, delta: part.text }),
        event('response.reasoning_summary_text.done', { ...at, summary_index, text: part.text }),
        event('response.reasoning_summary_part.done', { ...at, summary_index, part }),
      ]),
  },
  function_call: {
    start: { arguments: '' },
    deltas: ({ arguments: args }, at) => [
      event('response.function_call_arguments.delta', { ...at, delta: args }),
      event('response.function_call_arguments.done', { ...at, arguments: args }),
    ],
  },
};

function partEvents(part: Json, at: Json): WireEvent[] {
  const name = part.type === 'refusal' ? 'refusal' : 'output_text';
  const member = part.type === 'refusal' ? 'refusal' : 'text';
  const text = textOf(part[member]);
  return [
    event('response.content_part.added', { ...at, part: { ...part, [member]: '', annotations: [] } }),
    event(`response.${name}.delta`, { ...at, delta: text, logprobs: part.logprobs }),
    ...listOf(part.annotations).map((annotation, annotation_index) =>
      event('response.output_text.annotation.added', { ...at, annotation_index, annotation }),
    ),
    event(`response.${name}.done`, { ...at, [member]: text, logprobs: part.logprobs }),
    event('response.content_part.done', { ...at, part }),
  ];
}

// ---------------------------------------------------------------- converse

interface ConverseBody {
  readonly output?: { readonly message?: { readonly content?: Json[] } };
}

/** Calls have a start; cited text and its citations are deltas of one block. */
function asConverse({ output, stopReason, additionalModelResponseFields, ...metadata }: Json): WireEvent[] {
  const content = ({ output } as ConverseBody).output?.message?.content ?? [];
  return [
    { event: 'messageStart', data: { role: 'assistant' } },
    ...content.flatMap((block, contentBlockIndex) => [
      ...converseDeltas(block).map(([event, members]) => ({ event, data: { contentBlockIndex, ...members } })),
      { event: 'contentBlockStop', data: { contentBlockIndex } },
    ]),
    { event: 'messageStop', data: { stopReason, additionalModelResponseFields } },
    { event: 'metadata', data: metadata },
  ];
}

function converseDeltas(block: Json): (readonly [event: string, members: Json])[] {
  const grow = (delta: Json) => ['contentBlockDelta', { delta }] as const;
  const { reasoningContent, toolUse, toolResult, image, citationsContent } = block as Record<string, Json | undefined>;
  if (toolUse) {
    const { input, ...start } = toolUse;
    return [['contentBlockStart', { start: { toolUse: start } }], grow({ toolUse: { input: JSON.stringify(input) } })];
  }
  if (toolResult) return [['contentBlockStart', { start: { toolResult } }]];
  if (image) return [['contentBlockStart', { start: { image } }]];
  if (citationsContent) {
    const texts = listOf(citationsContent.content).map(({ text }) => grow({ text }));
    return [...texts, ...listOf(citationsContent.citations).map((citation) => grow({ citation }))];
  }
  if (!reasoningContent) return 'text' in block ? [grow(block)] : [['contentBlockStart', { start: block }]];
  const { reasoningText, redactedContent } = reasoningContent as { reasoningText?: Json; redactedContent?: string };
  if (!reasoningText) return [grow({ reasoningContent: { redactedContent } })];
  const { text, signature } = reasoningText;
  return [
    grow({ reasoningContent: { text } }),
    ...(signature === undefined ? [] : [grow({ reasoningContent: { signature } })]),
  ];
}

/** Every field of the SDKs' types of replies, each in a reply that is minimal apart from it. */
import type { Dialect, UpstreamDialect } from '../../src/rules/index.ts';
import { CONVERSE_FIELDS } from './converse-fields.ts';
import { type BodyRules, type FieldCase, type Json, MARK, walkType } from './type-walk.ts';

const fieldsOf = new Map<Dialect, readonly FieldCase[]>();

export function replyFields(dialect: UpstreamDialect): readonly FieldCase[] {
  if (dialect === 'converse') return CONVERSE_FIELDS;
  const fields =
    fieldsOf.get(dialect) ??
    walkType(dialect, 'reply', { ...RULES[dialect], examples: EXAMPLES, whole: WHOLE, prefersNull: true });
  fieldsOf.set(dialect, fields);
  return fields;
}

/** Settings of the request that a response repeats, and the definitions of tools inside a compaction. */
const WHOLE = /^(?:instructions|tools|tool_choice|text|reasoning|prompt|model)$|\.tool_changes$/;

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const TEXT = 'Hello, world.';
const SEGMENT = { startIndex: 0, endIndex: 5, text: 'Hello' };

const EXAMPLES: readonly (readonly [RegExp, unknown])[] = [
  [/(?:^|[._])(?:url|uri|retrievedUrl|image_url)$/, `https://example.com/${MARK}`],
  [/(?:tool_use_id|call_id)$/, 'call_1'],
  [/(?:^|\.)arguments$/, `{"${MARK}":1}`],
  [/content\.input$|functionCall\.args$/, { [MARK]: MARK }],
  [/mimeType$/, 'image/png'],
  [/jsonPath$/, `$.${MARK}`],
  [/inlineData\.data$|output\.result$/, PNG],
  [/(?:start_index|startIndex|start_char_index|start_block_index|start_page_number)$/, 1],
  [/(?:end_index|endIndex|end_char_index|end_block_index|end_page_number)$/, 4],
  [/segment$/, SEGMENT],
  [/segment\.text$/, 'ell'],
  [/groundingChunkIndices$|\.(?:index|document_index|search_result_index|partIndex)$/, 0],
  [/[tT]okens?(?:_count|Count)?$/, 7],
];

/** Members that an object needs, by the end of its path and for some fields only. */
type Needed = readonly (readonly [path: RegExp, members: Json, fields?: RegExp])[];

const completer =
  (needed: Needed): BodyRules['complete'] =>
  (path, object, field) => ({
    ...object,
    ...needed.find(([end, , only]) => end.test(path) && only?.test(field) !== false)?.[1],
  });

const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const isOf = (value: Json | undefined, pattern: RegExp): boolean => pattern.test(String(value?.type));

// ---------------------------------------------------------------- messages

const SERVER_TOOLS: readonly (readonly [result: RegExp, name: string])[] = [
  [/^web_search/, 'web_search'],
  [/^web_fetch/, 'web_fetch'],
  [/^code_execution/, 'code_execution'],
  [/^bash_/, 'bash_code_execution'],
  [/^text_editor/, 'text_editor_code_execution'],
  [/^tool_search/, 'tool_search_tool_bm25'],
];

const INPUT = { query: 'q', url: 'https://example.com/p', code: 'print(1)' };

/** A call of a hosted tool has its result, and a result its call. */
export function withCounterpart(block: Json): Json[] {
  const id = block.id ?? 'call_1';
  if (isOf(block, /^mcp_tool_use$/))
    return [block, { type: 'mcp_tool_result', tool_use_id: id, is_error: false, content: TEXT }];
  if (isOf(block, /^server_tool_use$/))
    return [block, { type: `${resultOf(String(block.name))}_tool_result`, tool_use_id: id, content: [] }];
  if (isOf(block, /^mcp_tool_result$/))
    return [{ type: 'mcp_tool_use', id: block.tool_use_id, name: 'find', server_name: 'docs', input: INPUT }, block];
  const name = SERVER_TOOLS.find(([type]) => isOf(block, type))?.[1];
  return name ? [{ type: 'server_tool_use', id: block.tool_use_id, name, input: INPUT }, block] : [block];
}

const resultOf = (name: string): string => (name.startsWith('tool_search') ? 'tool_search' : name);

function placeInMessages({ content, usage, ...rest }: Json): Json {
  const blocks = listOf(content).flatMap(withCounterpart);
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'upstream-1',
    content: blocks.length > 0 ? blocks : [{ type: 'text', text: TEXT, citations: null }],
    stop_reason: stopOf(blocks, rest),
    stop_sequence: null,
    usage: { input_tokens: 100, output_tokens: 50, ...(usage as Json | undefined) },
    ...rest,
  };
}

function stopOf(blocks: readonly Json[], { stop_sequence, stop_details }: Json): string {
  if (stop_sequence) return 'stop_sequence';
  if (stop_details) return 'refusal';
  return blocks.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn';
}

// ---------------------------------------------------------------- chat

function placeInChat({ choices, usage, ...rest }: Json): Json {
  const message = { role: 'assistant', content: TEXT, refusal: null };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'upstream-1',
    choices: listOf(choices)[0] ? choices : [{ index: 0, message, finish_reason: 'stop', logprobs: null }],
    usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150, ...(usage as Json | undefined) },
    ...rest,
  };
}

// ---------------------------------------------------------------- responses

const MESSAGE = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: TEXT, annotations: [] }],
};

function placeInResponses({ output, usage, ...rest }: Json): Json {
  const items = listOf(output).flatMap((item): Json[] => {
    if (item.type === 'tool_search_output')
      return [
        {
          type: 'tool_search_call',
          id: 'ts_1',
          call_id: null,
          execution: 'server',
          status: 'completed',
          arguments: {},
        },
        item,
      ];
    if (item.type === 'shell_call_output')
      return [
        { type: 'shell_call', id: 'sh_1', call_id: 'call_1', action: { commands: ['ls'] }, environment: CONTAINER },
        item,
      ];
    return [item.type === 'image_generation_call' ? { ...item, result: item.result ?? 'AAAA' } : item];
  });
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'upstream-1',
    status: rest.error ? 'failed' : rest.incomplete_details ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: null,
    output: items.length > 0 ? items : [MESSAGE],
    usage: { input_tokens: 100, output_tokens: 50, total_tokens: 150, ...(usage as Json | undefined) },
    ...rest,
  };
}

const CONTAINER = { type: 'container_reference', container_id: 'cntr_1' };

// ---------------------------------------------------------------- generate

function placeInGenerate({ candidates, usageMetadata, ...rest }: Json): Json {
  const content = { role: 'model', parts: [{ text: TEXT }] };
  const given = listOf(candidates);
  const all = given.length > 0 || rest.promptFeedback ? given : [{}];
  return {
    candidates: all.map((candidate) => ({ content, finishReason: 'STOP', ...candidate })).map(withResult),
    usageMetadata: {
      promptTokenCount: 100,
      candidatesTokenCount: 50,
      totalTokenCount: 150,
      ...(usageMetadata as Json | undefined),
    },
    modelVersion: 'upstream-1',
    responseId: 'r1',
    ...rest,
  };
}

/** Code has its result. */
function withResult({ content, ...candidate }: Json): Json {
  const { parts, ...rest } = content as Json;
  const results = listOf(parts).some((part) => part.executableCode) ? [{ codeExecutionResult: RAN }] : [];
  const calls = listOf(parts).some((part) => part.codeExecutionResult) ? [{ executableCode: CODE }] : [];
  return { ...candidate, content: { ...rest, parts: [...calls, ...listOf(parts), ...results] } };
}

const CODE = { code: 'print(1)', language: 'PYTHON' };
const RAN = { outcome: 'OUTCOME_OK', output: '1' };
const CHUNK = { web: { uri: 'https://example.com/a', title: 'A' } };
const SUPPORT = { segment: SEGMENT, groundingChunkIndices: [0] };

const RULES: Readonly<Record<Dialect, Pick<BodyRules, 'place' | 'complete'>>> = {
  messages: { place: placeInMessages, complete: completer([[/^usage$/, { input_tokens: 100, output_tokens: 50 }]]) },
  chat: {
    place: placeInChat,
    complete: completer([
      [/^choices\.message$/, { content: TEXT }],
      [/^usage$/, { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 }],
    ]),
  },
  responses: {
    place: placeInResponses,
    complete: completer([
      [/^usage$/, { input_tokens: 100, output_tokens: 50, total_tokens: 150 }],
      [/^output\.content$/, { text: TEXT }],
    ]),
  },
  generate: {
    place: placeInGenerate,
    complete: completer([
      [/groundingMetadata$/, { groundingChunks: [CHUNK], groundingSupports: [SUPPORT] }],
      [/groundingChunks\.\w+$/, { uri: 'https://example.com/b', title: 'B' }],
      [/groundingSupports$/, SUPPORT],
      [/groundingSupports\.segment$/, SEGMENT],
      [/citations$/, { uri: 'https://example.com/c', title: 'C', startIndex: 0, endIndex: 5 }],
      [/urlMetadata$/, { retrievedUrl: 'https://example.com/d', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' }],
      [/functionCall$/, { name: 'find', args: {} }],
      [/inlineData$/, { mimeType: 'image/png', data: PNG }],
      [/partialArgs$/, { jsonPath: '$.a' }, /Value$/],
      [/partialArgs$/, { jsonPath: '$.a', stringValue: 'b' }],
      [/executableCode$/, CODE],
      [/codeExecutionResult$/, RAN],
      [/^candidates$/, { finishReason: 'SAFETY' }, /^finishMessage$/],
      [/^candidates$/, { finishReason: 'CONTINUATION' }, /^continuationToken$/],
      [/parts$/, { text: TEXT }, /^thought/],
      [/^promptFeedback$/, { blockReason: 'SAFETY' }],
    ]),
  },
};

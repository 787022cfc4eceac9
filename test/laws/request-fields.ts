/** Every field of the SDKs' request types, each in a request that is minimal apart from it. */
import type { Dialect } from '../../src/rules/index.ts';
import { withCounterpart } from './reply-fields.ts';
import { type FieldCase, type Json, MARK, walkType } from './type-walk.ts';

const fieldsOf = new Map<Dialect, readonly FieldCase[]>();

export function requestFields(dialect: Dialect): readonly FieldCase[] {
  const place = (members: Json): Json => placeIn(dialect, members);
  const fields = fieldsOf.get(dialect) ?? walkType(dialect, 'request', { examples: EXAMPLES, place, complete });
  fieldsOf.set(dialect, fields);
  return fields;
}

// ---------------------------------------------------------------- values

const CALL = 'call_1';
const SCHEMA = { type: 'object', properties: { [MARK]: { type: 'string' } } };

/** Values for members whose type does not say what is valid, by the end of their path. */
const PICTURE = 'https://example.com/a.png';
const PDF = 'data:application/pdf;base64,JVBERi0xLjQK';

/** Members that a valid object needs although its type does not require them. */
const NEEDED: readonly { readonly if: (object: Json) => boolean; readonly members: Json }[] = [
  { if: ({ type }) => type === 'input_image', members: { image_url: PICTURE } },
  { if: ({ type }) => type === 'input_file', members: { filename: 'a.pdf', file_data: PDF } },
  { if: ({ type }) => /^(?:function|local_shell)_call_output$/.test(String(type)), members: { call_id: CALL } },
  { if: ({ type }) => type === 'mcp', members: { require_approval: 'never' } },
  { if: ({ type }) => type === 'tool_search_output', members: { execution: 'client' } },
  { if: ({ type }) => type === 'tool_result', members: { content: 'Found.' } },
  { if: ({ role }) => role === 'system', members: { content: 'Be brief.' } },
];

function complete(path: string, object: Json, field: string): Json {
  // A summary is shown only if the model reasons.
  if (path === 'reasoning') return { effort: 'high', ...object };
  const needed = NEEDED.find((row) => row.if(object))?.members ?? {};
  // A file id and data exclude each other.
  return /^file_(?:id|url)$/.test(field) ? object : { ...needed, ...object };
}

const EXAMPLES: readonly (readonly [RegExp, unknown])[] = [
  [/(?:^|\.)(?:parameters|input_schema|schema|output_schema)$/, SCHEMA],
  [/\.(?:tool_use_id|tool_call_id|call_id)$/, CALL],
  [/content\.file$/, { filename: 'a.pdf', file_data: PDF }],
  [/allowed_tools\.tools$/, { type: 'function', function: { name: 'find' } }],
  [/^tool_choice\.tools$/, { type: 'function', name: 'find' }],
  [/budget_tokens$/, 2_000],
  [/^max_(?:output_|completion_)?tokens$/, 3_000],
  [/(?:^|\.)(?:top_p|temperature|score)$/, 0.3],
  [/^top_logprobs$/, 2],
  [/^(?:n|seed)$/, 2],
  [/^tool_choice\..*name$/, 'find'],
  [/^function_call\.name$/, 'find'],
  [/logit_bias$/, { 50256: -100 }],
  [/content\.input$/, { query: MARK, url: PICTURE, code: MARK }],
  [/media_type$/, 'image/png'],
  [/(?:^|\.)(?:arguments)$/, `{"${MARK}":1}`],
  [/(?:\.|_)(?:max_tokens|compact_threshold|value|total)$/, 60_000],
  [/(?:^|[._])(?:url|source|uri|file_url|image_url|server_url|fileUri)$/, `https://example.com/${MARK}`],
  [/file_data$/, `data:application/pdf;base64,${MARK}`],
];

// ---------------------------------------------------------------- requests

const TOOLS: Readonly<Record<'messages' | 'chat' | 'responses', Json>> = {
  messages: { name: 'find', input_schema: { type: 'object', properties: {} } },
  chat: { type: 'function', function: { name: 'find', parameters: { type: 'object', properties: {} } } },
  responses: { type: 'function', name: 'find', parameters: { type: 'object', properties: {} }, strict: false },
};
const GO_ON = { role: 'user', content: 'Go on.' };
const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Every field of the configuration that the SDK of the generate dialect turns into a request. */
export const configFields = (): readonly FieldCase[] =>
  walkType('generate', 'config', { examples: EXAMPLES, place: (members) => members, complete });

/** Completes the members to a request that is valid: a conversation around the message, and a call that a result belongs to. */
function placeIn(dialect: Dialect, members: Json): Json {
  const { messages, input, tools, tool_choice, ...rest } = members;
  const choice = tool_choice === undefined ? {} : { tool_choice };
  if (dialect === 'messages')
    return {
      max_tokens: 4_000,
      ...rest,
      ...choice,
      model: 'm',
      messages: [
        { role: 'user', content: 'Hello.' },
        { role: 'assistant', content: [{ type: 'tool_use', id: CALL, name: 'find', input: {} }] },
        ...asList(messages).map(withResults),
        ...(roleOf(asList(messages).at(-1)) === 'user' ? [] : [GO_ON]),
      ],
      tools: [TOOLS.messages, ...asList(tools)],
    };
  if (dialect === 'chat')
    return {
      ...rest,
      ...choice,
      model: 'm',
      messages: [
        GO_ON,
        {
          role: 'assistant',
          tool_calls: [{ id: CALL, type: 'function', function: { name: 'find', arguments: '{}' } }],
        },
        ...(roleOf(asList(messages).at(-1)) === 'function'
          ? [{ role: 'assistant', function_call: { name: 'find', arguments: '{}' } }]
          : []),
        ...asList(messages),
        ...(roleOf(asList(messages).at(-1)) === 'user' ? [] : [GO_ON]),
      ],
      tools: [TOOLS.chat, ...asList(tools)],
    };
  if (dialect === 'generate')
    return { ...members, contents: [{ role: 'user', parts: [{ text: 'Hello.' }] }, ...asList(members.contents)] };
  return {
    ...rest,
    ...choice,
    model: 'm',
    input:
      typeof input === 'string'
        ? input
        : [
            GO_ON,
            { type: 'function_call', call_id: CALL, name: 'find', arguments: '{}' },
            ...asList(input).map(withImage),
            ...(roleOf(asList(input).at(-1)) === 'user' ? [] : [GO_ON]),
          ],
    tools: [TOOLS.responses, ...asList(tools)],
  };
}

/** Calls of hosted tools in an assistant message have their results. */
function withResults(message: unknown): unknown {
  const { role, content, ...rest } = message as Json;
  return role === 'assistant' && Array.isArray(content)
    ? { ...rest, role, content: (content as Json[]).flatMap(withCounterpart) }
    : message;
}

/** A call of the image tool without its result says nothing. */
const withImage = (item: unknown): unknown =>
  (item as Json).type === 'image_generation_call'
    ? { ...(item as Json), result: (item as Json).result ?? 'AAAA' }
    : item;

const roleOf = (message: unknown): unknown => (message as { role?: unknown } | undefined)?.role;

/**
 * One request of about 1.5 KB in the four dialects, one of 400 KB as agents send them, and what tells a complete
 * response.
 */

export const DIALECTS = ['messages', 'chat', 'responses', 'generate'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** Selects how the upstream responds. It is the only field that every conversion keeps. */
export const MODELS = ['bench-burst', 'bench-paced', 'bench-hold', 'bench-flood'] as const;

export interface BenchRequest {
  readonly path: string;
  readonly body: string;
}

/** Text deltas of a stream. */
export const DELTAS = 200;
/** Events of a stream: the deltas, its beginning and its end. */
export const EVENTS: Readonly<Record<Dialect, number>> = { messages: 206, chat: 204, responses: 208, generate: 201 };

const SYSTEM_TEXT = 'You are a careful assistant who answers in plain words. '.repeat(5).trim();
const USER_TEXT = 'Explain how a river finds its way to the sea, and why it bends. '.repeat(15).trim();
const TURNS = [
  { role: 'user', content: 'Hello.' },
  { role: 'assistant', content: 'Hello, what would you like to know?' },
  { role: 'user', content: USER_TEXT },
];

export const PATHS = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' } as const;
const BODIES: Readonly<Record<Dialect, (stream: boolean) => object>> = {
  messages: () => ({ max_tokens: 1024, system: SYSTEM_TEXT, messages: TURNS }),
  chat: (stream) => ({
    max_completion_tokens: 1024,
    ...(stream && { stream_options: { include_usage: true } }),
    messages: [{ role: 'system', content: SYSTEM_TEXT }, ...TURNS],
  }),
  responses: () => ({ max_output_tokens: 1024, store: false, instructions: SYSTEM_TEXT, input: TURNS }),
  generate: () => ({
    systemInstruction: { parts: [{ text: SYSTEM_TEXT }] },
    contents: TURNS.map(({ role, content }) => ({
      role: role === 'user' ? role : 'model',
      parts: [{ text: content }],
    })),
    generationConfig: { maxOutputTokens: 1024 },
  }),
};

const TOOLS = Array.from({ length: 30 }, (_, n) => ({
  name: `tool_${n}`,
  description: `Does the ${n}th thing of an agent, and says what came of it. `.repeat(8),
  schema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'of a file' },
      lines: { type: 'array', items: { type: 'integer' } },
    },
    required: ['path'],
  },
}));
const CALLS = Array.from({ length: 105 }, (_, n) => ({
  id: `call_${n}`,
  name: `tool_${n % 30}`,
  input: { path: `src/part-${n}/file.ts`, lines: [n, n + 40] },
  result:
    `${n}: export const value = "a \\"quoted\\" word";\n\tif (value.length > ${n}) return '${n % 20 ? 'e' : 'é'}';\n`.repeat(
      40,
    ),
}));
/**
 * The conversation of an agent after so many turns: tools, and a call with its result for each turn. `mark` makes it
 * another one.
 */
export function agentBody(dialect: Dialect, turns = CALLS.length, mark = ''): object {
  const calls = CALLS.slice(0, turns);
  const ask = { role: 'user', content: mark + USER_TEXT };
  if (dialect === 'messages')
    return {
      max_tokens: 1024,
      system: SYSTEM_TEXT,
      tools: TOOLS.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
      messages: [
        ask,
        ...calls.flatMap(({ id, name, input, result }) => [
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'I look.' },
              { type: 'tool_use', id, name, input },
            ],
          },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: result }] }],
          },
        ]),
      ],
    };
  return {
    max_completion_tokens: 1024,
    tools: TOOLS.map(({ schema, ...tool }) => ({ type: 'function', function: { ...tool, parameters: schema } })),
    messages: [
      { role: 'system', content: SYSTEM_TEXT },
      ask,
      ...calls.flatMap(({ id, name, input, result }) => [
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }],
        },
        { role: 'tool', tool_call_id: id, content: result },
      ]),
    ],
  };
}
const hasAgents = (dialect: Dialect): boolean => dialect === 'messages' || dialect === 'chat';

export const SHAPES = ['long texts', 'small parts', 'pictures'] as const;
export type Shape = (typeof SHAPES)[number];
/** Characters of a part, and parts of a message. */
const PARTS: Readonly<Record<Shape, readonly [chars: number, count: number]>> = {
  'long texts': [8_000, 1],
  'small parts': [150, 30],
  pictures: [60_000, 1],
};
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAgAAAAIACAYAAAD0eNT6AAAA';

/** One user's messages of about so many bytes in all. */
export function shapedBody(dialect: 'messages' | 'chat', shape: Shape, bytes: number, mark: string): object {
  const [maxChars, count] = PARTS[shape];
  const chars = Math.min(maxChars, Math.ceil((bytes * 0.9) / count));
  const text = USER_TEXT.repeat(Math.ceil(chars / USER_TEXT.length)).slice(0, chars);
  const data = PICTURE + 'Rk9PQkFS'.repeat(chars >> 3);
  const pictures = {
    messages: { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
    chat: { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
  };
  const part = shape === 'pictures' ? pictures[dialect] : { type: 'text', text };
  const content = Array.from({ length: count }, () => part);
  const turns = Math.max(1, Math.round(bytes / JSON.stringify(content).length));
  const messages = [
    { role: 'user', content: mark },
    ...Array.from({ length: turns }, () => ({ role: 'user', content })),
  ];
  return { ...(dialect === 'chat' ? { max_completion_tokens: 1024 } : { max_tokens: 1024 }), messages };
}

export function benchRequest(dialect: Dialect, model: string, stream: boolean, isLong = false): BenchRequest {
  const body = isLong && hasAgents(dialect) ? agentBody(dialect) : BODIES[dialect](stream);
  if (dialect !== 'generate') return { path: PATHS[dialect], body: JSON.stringify({ model, stream, ...body }) };
  const verb = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  return { path: `/v1beta/models/${model}:${verb}`, body: JSON.stringify(body) };
}

/** Text in the last event of a complete stream, as the client receives it. */
export const STREAM_END: Readonly<Record<Dialect, string>> = {
  messages: 'message_stop',
  chat: '[DONE]',
  responses: 'response.completed',
  generate: '"finishReason"',
};

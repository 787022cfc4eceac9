/** One request of about 1.5 KB in the four dialects, and what tells a complete response. */

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

const PATHS = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' } as const;
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

export function benchRequest(dialect: Dialect, model: string, stream: boolean): BenchRequest {
  const body = BODIES[dialect](stream);
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

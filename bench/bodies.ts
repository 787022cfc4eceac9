/** Requests and upstream responses in the four dialects: about 1.5 KB sent, 1 KB or 200 text deltas returned. */

export const DIALECTS = ['messages', 'chat', 'responses', 'generate'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** Selects how the upstream responds. It is the only field that every conversion keeps. */
export const MODELS = ['bench-burst', 'bench-paced', 'bench-hold', 'bench-flood'] as const;
export type Model = (typeof MODELS)[number];

export interface BenchRequest {
  readonly path: string;
  readonly body: string;
}

const DELTAS = 200;
const CREATED = 1_750_000_000;
const SYSTEM_TEXT = 'You are a careful assistant who answers in plain words. '.repeat(5).trim();
const USER_TEXT = 'Explain how a river finds its way to the sea, and why it bends. '.repeat(15).trim();
const REPLY_TEXT =
  'A river follows the steepest way down, carries away what is loose and drops it where it slows. '.repeat(6);
const DELTA = ' flows on';
const TEXT = DELTA.repeat(DELTAS);

/** The same request in each dialect. */
export const REQUESTS: Readonly<Record<Dialect, (model: Model, stream: boolean) => BenchRequest>> = {
  messages: (model, stream) => ({
    path: '/v1/messages',
    body: JSON.stringify({
      model,
      max_tokens: 1024,
      stream,
      system: SYSTEM_TEXT,
      messages: [
        { role: 'user', content: 'Hello.' },
        { role: 'assistant', content: 'Hello, what would you like to know?' },
        { role: 'user', content: USER_TEXT },
      ],
    }),
  }),
  chat: (model, stream) => ({
    path: '/v1/chat/completions',
    body: JSON.stringify({
      model,
      max_completion_tokens: 1024,
      stream,
      ...(stream && { stream_options: { include_usage: true } }),
      messages: [
        { role: 'system', content: SYSTEM_TEXT },
        { role: 'user', content: 'Hello.' },
        { role: 'assistant', content: 'Hello, what would you like to know?' },
        { role: 'user', content: USER_TEXT },
      ],
    }),
  }),
  responses: (model, stream) => ({
    path: '/v1/responses',
    body: JSON.stringify({
      model,
      max_output_tokens: 1024,
      stream,
      store: false,
      instructions: SYSTEM_TEXT,
      input: [
        { role: 'user', content: 'Hello.' },
        { role: 'assistant', content: 'Hello, what would you like to know?' },
        { role: 'user', content: USER_TEXT },
      ],
    }),
  }),
  generate: (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: JSON.stringify({
      systemInstruction: { parts: [{ text: SYSTEM_TEXT }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hello.' }] },
        { role: 'model', parts: [{ text: 'Hello, what would you like to know?' }] },
        { role: 'user', parts: [{ text: USER_TEXT }] },
      ],
      generationConfig: { maxOutputTokens: 1024 },
    }),
  }),
};

/** Text in the last event of a complete stream, as the client receives it. */
export const STREAM_END: Readonly<Record<Dialect, string>> = {
  messages: 'message_stop',
  chat: '[DONE]',
  responses: 'response.completed',
  generate: '"finishReason"',
};

// ---------------------------------------------------------------- messages

const MESSAGE = {
  id: 'msg_bench0000000000000001',
  type: 'message',
  role: 'assistant',
  model: 'bench',
  content: [] as object[],
  stop_reason: null as string | null,
  stop_sequence: null,
  stop_details: null,
  container: null,
  usage: {
    input_tokens: 312,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: 1,
    service_tier: 'standard',
  },
};

const messagesUnary = {
  ...MESSAGE,
  content: [{ type: 'text', text: REPLY_TEXT }],
  stop_reason: 'end_turn',
  usage: { ...MESSAGE.usage, output_tokens: 180 },
};

const messagesStream = [
  { type: 'message_start', message: MESSAGE },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  ...repeat(() => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: DELTA } })),
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { ...MESSAGE.usage, output_tokens: DELTAS },
  },
  { type: 'message_stop' },
].map((event) => named(event.type, event));

// ---------------------------------------------------------------- chat

const CHAT_USAGE = {
  prompt_tokens: 312,
  completion_tokens: DELTAS,
  total_tokens: 312 + DELTAS,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
};

const chatUnary = {
  id: 'chatcmpl-bench0000000001',
  object: 'chat.completion',
  created: CREATED,
  model: 'bench',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: REPLY_TEXT, refusal: null },
      finish_reason: 'stop',
      logprobs: null,
    },
  ],
  usage: CHAT_USAGE,
  service_tier: 'default',
};

const chatChunk = (choices: object[], usage: object | null = null): string =>
  plain({
    id: 'chatcmpl-bench0000000001',
    object: 'chat.completion.chunk',
    created: CREATED,
    model: 'bench',
    choices,
    usage,
  });

const chatStream = [
  chatChunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
  ...repeat(() => chatChunk([{ index: 0, delta: { content: DELTA }, finish_reason: null }])),
  chatChunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
  chatChunk([], CHAT_USAGE),
  'data: [DONE]\n\n',
];

// ---------------------------------------------------------------- responses

const RESPONSES_USAGE = {
  input_tokens: 312,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: DELTAS,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 312 + DELTAS,
};

const response = (status: string, output: object[], usage: object | null): object => ({
  id: 'resp_bench00000000000000000001',
  object: 'response',
  created_at: CREATED,
  status,
  model: 'bench',
  output,
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  tool_choice: 'auto',
  tools: [],
  text: { format: { type: 'text' } },
  store: false,
  usage,
});

const part = (text: string): object => ({ type: 'output_text', text, annotations: [], logprobs: [] });
const item = (status: string, content: object[]): object => ({
  id: 'msg_bench00000000000000000001',
  type: 'message',
  role: 'assistant',
  status,
  content,
});

const responsesUnary = response('completed', [item('completed', [part(REPLY_TEXT)])], RESPONSES_USAGE);

const AT = { item_id: 'msg_bench00000000000000000001', output_index: 0, content_index: 0 };
const responsesStream = [
  { type: 'response.created', response: response('in_progress', [], null) },
  { type: 'response.in_progress', response: response('in_progress', [], null) },
  { type: 'response.output_item.added', output_index: 0, item: item('in_progress', []) },
  { type: 'response.content_part.added', ...AT, part: part('') },
  ...repeat(() => ({ type: 'response.output_text.delta', ...AT, delta: DELTA, logprobs: [] })),
  { type: 'response.output_text.done', ...AT, text: TEXT, logprobs: [] },
  { type: 'response.content_part.done', ...AT, part: part(TEXT) },
  { type: 'response.output_item.done', output_index: 0, item: item('completed', [part(TEXT)]) },
  {
    type: 'response.completed',
    response: response('completed', [item('completed', [part(TEXT)])], RESPONSES_USAGE),
  },
].map((event, sequence_number) => named(event.type, { ...event, sequence_number }));

// ---------------------------------------------------------------- generate

const generated = (text: string, finishReason?: string): object => ({
  candidates: [
    { content: { role: 'model', parts: [{ text }] }, ...(finishReason !== undefined && { finishReason }), index: 0 },
  ],
  usageMetadata: {
    promptTokenCount: 312,
    candidatesTokenCount: DELTAS,
    totalTokenCount: 312 + DELTAS,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 312 }],
  },
  modelVersion: 'bench',
  responseId: 'bench000000000000000001',
});

const generateStream = [...repeat(() => plain(generated(DELTA))), plain(generated('', 'STOP'))];

// ---------------------------------------------------------------- together

/** A unary response as JSON. */
export const UNARY: Readonly<Record<Dialect, string>> = {
  messages: JSON.stringify(messagesUnary),
  chat: JSON.stringify(chatUnary),
  responses: JSON.stringify(responsesUnary),
  generate: JSON.stringify(generated(REPLY_TEXT, 'STOP')),
};

/** A streamed response, one SSE block per event. */
export const EVENTS: Readonly<Record<Dialect, readonly string[]>> = {
  messages: messagesStream,
  chat: chatStream,
  responses: responsesStream,
  generate: generateStream,
};

function repeat<T>(make: () => T): T[] {
  return Array.from({ length: DELTAS }, make);
}

function named(event: string, data: object): string {
  return `event: ${event}\n${plain(data)}`;
}

function plain(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

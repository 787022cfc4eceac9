/** Clients of the official SDKs, and of the WebSocket, that ask for one reply and say what they read. */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { foldGenerate } from '../../../scripts/replay/fold.ts';
import { type JsonRecord, recordOf } from '../../../scripts/replay/recording.ts';
import type { Dialect } from '../../../src/rules/index.ts';
import { isTerminal, ResponsesSocketClient } from '../../support/websocket.ts';
import type { Ask, ProviderCase } from './case.ts';

export interface Seen {
  /** The unary form of the response, as the SDK returns or collects it. */
  readonly whole: JsonRecord;
  /** The deltas of the text of a responses stream, whose end has the text too. */
  readonly deltas: string | undefined;
  /** The bytes of the HTTP response; undefined for a turn on a WebSocket. */
  readonly body: string | undefined;
}

export interface Caller {
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
const WEATHER = 'What is the weather in "Zürich 🙂"? ';

interface AskForm {
  readonly prompt: string;
  readonly tools: readonly string[];
  readonly maxTokens: number;
  readonly isThinking: boolean;
}

const form = (prompt: string, more: Partial<AskForm> = {}): AskForm => ({
  prompt,
  tools: [],
  maxTokens: 20_000,
  isThinking: false,
  ...more,
});
const ASK_FORMS: Readonly<Record<Ask, AskForm>> = {
  text: form('Grüße an 東京, 🙂 and "all" of you'),
  tool: form(`${WEATHER}Explain, and use get_weather.`, { tools: ['get_weather'] }),
  tools: form(`${WEATHER}Use get_weather and get_time in parallel.`, { tools: ['get_weather', 'get_time'] }),
  thinking: form('Grüße an 東京 after some thought', { isThinking: true }),
  refusal: form('please refuse'),
  cut: form('Grüße an 東京 and a long answer', { maxTokens: 16 }),
};

export function askAs({ client, mode, ask }: ProviderCase, caller: Caller): Promise<Seen> {
  if (mode === 'websocket') return askSocket(ASK_FORMS[ask], caller);
  return CLIENTS[client](ASK_FORMS[ask], caller, mode === 'stream');
}

type Client = (ask: AskForm, caller: Caller, isStream: boolean) => Promise<Seen>;

const CLIENTS: Readonly<Record<Dialect, Client>> = {
  messages: askMessages,
  chat: askChat,
  responses: askResponses,
  generate: askGenerate,
};

/** A fetch that keeps the text of its responses. */
function keepingFetch(): { readonly fetch: typeof fetch; body(): Promise<string> } {
  let text: Promise<string> = Promise.resolve('');
  return {
    async fetch(...args) {
      const response = await globalThis.fetch(...args);
      text = response.clone().text();
      text.catch(() => {});
      return response;
    },
    body: () => text,
  };
}

const options = { maxRetries: 0, timeout: 60_000 } as const;

async function askMessages(
  { prompt, tools, maxTokens, isThinking }: AskForm,
  caller: Caller,
  isStream: boolean,
): Promise<Seen> {
  const kept = keepingFetch();
  const { messages } = new Anthropic({ baseURL: caller.url, apiKey: caller.key, fetch: kept.fetch, ...options });
  const body = {
    model: caller.model,
    max_tokens: maxTokens,
    messages: [{ role: 'user' as const, content: prompt }],
    ...(isThinking && { thinking: { type: 'enabled' as const, budget_tokens: 2_000 } }),
    ...(tools.length > 0 && { tools: tools.map((name) => ({ name, input_schema: SCHEMA as never })) }),
  };
  const message = isStream ? await messages.stream(body).finalMessage() : await messages.create(body);
  return { whole: { ...message }, deltas: undefined, body: await kept.body() };
}

async function askChat(
  { prompt, tools, maxTokens, isThinking }: AskForm,
  caller: Caller,
  isStream: boolean,
): Promise<Seen> {
  const kept = keepingFetch();
  const { completions } = new OpenAI({ baseURL: `${caller.url}/v1`, apiKey: caller.key, fetch: kept.fetch, ...options })
    .chat;
  const body = {
    model: caller.model,
    max_completion_tokens: maxTokens,
    messages: [{ role: 'user' as const, content: prompt }],
    ...(isThinking && { reasoning_effort: 'medium' as const }),
    ...(tools.length > 0 && {
      tools: tools.map((name) => ({ type: 'function' as const, function: { name, parameters: SCHEMA } })),
    }),
  };
  if (!isStream) return { whole: { ...(await completions.create(body)) }, deltas: undefined, body: await kept.body() };
  const stream = completions.stream({ ...body, stream_options: { include_usage: true } });
  // The accumulator keeps the last value of a member that it does not know.
  let reasoning = '';
  stream.on('chunk', ({ choices }) => {
    const { reasoning_content: piece } = recordOf(choices?.[0]?.delta);
    if (typeof piece === 'string') reasoning += piece;
  });
  const { choices, ...whole } = await stream.finalChatCompletion().catch(readCut(stream));
  const [choice] = choices;
  const message = { ...choice?.message, ...(reasoning !== '' && { reasoning_content: reasoning }) };
  return { whole: { ...whole, choices: [{ ...choice, message }] }, deltas: undefined, body: await kept.body() };
}

/** The helper of the SDK rejects a reply that the limit cut, and has it all the same. */
const readCut =
  (stream: { readonly currentChatCompletionSnapshot: unknown }) =>
  (error: unknown): { choices: readonly { message?: object }[] } => {
    if (error instanceof OpenAI.APIError || !String(error).includes('length limit')) throw error;
    return stream.currentChatCompletionSnapshot as { choices: readonly { message?: object }[] };
  };

const responsesBody = ({ prompt, tools, maxTokens, isThinking }: AskForm, model: string) => ({
  model,
  input: prompt,
  max_output_tokens: maxTokens,
  ...(isThinking && { reasoning: { effort: 'medium' as const, summary: 'auto' as const } }),
  ...(tools.length > 0 && {
    tools: tools.map((name) => ({ type: 'function' as const, name, parameters: SCHEMA, strict: false })),
  }),
});

async function askResponses(ask: AskForm, caller: Caller, isStream: boolean): Promise<Seen> {
  const kept = keepingFetch();
  const { responses } = new OpenAI({ baseURL: `${caller.url}/v1`, apiKey: caller.key, fetch: kept.fetch, ...options });
  const body = responsesBody(ask, caller.model);
  if (!isStream) return { whole: { ...(await responses.create(body)) }, deltas: undefined, body: await kept.body() };
  const stream = responses.stream(body);
  let deltas = '';
  stream.on('response.output_text.delta', ({ delta }) => {
    deltas += delta;
  });
  return { whole: { ...(await stream.finalResponse()) }, deltas, body: await kept.body() };
}

async function askGenerate(
  { prompt, tools, maxTokens, isThinking }: AskForm,
  caller: Caller,
  isStream: boolean,
): Promise<Seen> {
  const { models } = new GoogleGenAI({ apiKey: caller.key, httpOptions: { baseUrl: caller.url } });
  const body = {
    model: caller.model,
    contents: prompt,
    config: {
      maxOutputTokens: maxTokens,
      ...(isThinking && { thinkingConfig: { includeThoughts: true } }),
      ...(tools.length > 0 && {
        tools: [{ functionDeclarations: tools.map((name) => ({ name, parametersJsonSchema: SCHEMA })) }],
      }),
    },
  };
  if (!isStream) return { whole: { ...(await models.generateContent(body)) }, deltas: undefined, body: '' };
  const events: JsonRecord[] = [];
  for await (const event of await models.generateContentStream(body)) events.push({ ...event });
  return { whole: foldGenerate(events), deltas: undefined, body: '' };
}

export class TurnError extends Error {}

async function askSocket(ask: AskForm, { url, key, model }: Caller): Promise<Seen> {
  const client = await new ResponsesSocketClient(url, key).open();
  try {
    client.create(responsesBody(ask, model));
    const last = await client.until(isTerminal);
    if (!/^response\.(?:completed|incomplete)$/.test(last.type)) throw new TurnError(JSON.stringify(last));
    const texts = client.frames.filter(({ type }) => type === 'response.output_text.delta');
    const deltas = texts.map(({ delta }) => String(delta)).join('');
    // What the provider sends late belongs to no other turn.
    const next = await client.turn(responsesBody(ask, `next-${model}`));
    if (next.response?.id === last.response?.id) throw new TypeError('the second turn ends with the first response');
    return { whole: { ...last.response }, deltas, body: undefined };
  } finally {
    client.socket.close();
  }
}

/** Clients of the official SDKs, whose own accumulators read a stream. Each returns the unary form of the response. */
import type { Dialect } from '../../src/rules/index.ts';
import { anthropic, openai } from '../../test/support/sdk.ts';
import { type JsonRecord, listOf, recordOf } from './recording.ts';

export interface Ask {
  readonly url: string;
  readonly key: string;
  readonly isStream: boolean;
  /** Names of the tools that the recorded response calls. */
  readonly tools: readonly string[];
}

/** Converting clients; generate-content needs a group of its own style. */
export type ConvertedClient = Exclude<Dialect, 'generate'>;

const MODEL = 'replayed-model';
const TURNS = (): [{ role: 'user'; content: string }] => [{ role: 'user', content: 'Hello' }];
const SCHEMA = { type: 'object' } as const;

export const askAs = (client: ConvertedClient, ask: Ask): Promise<JsonRecord> => CLIENTS[client](ask);

const CLIENTS: Readonly<Record<ConvertedClient, (ask: Ask) => Promise<JsonRecord>>> = {
  messages: askMessages,
  chat: askChat,
  responses: askResponses,
};

async function askMessages({ url, key, isStream, tools }: Ask): Promise<JsonRecord> {
  const { messages } = anthropic(url, key);
  const body = {
    model: MODEL,
    max_tokens: 4_000,
    messages: TURNS(),
    thinking: { type: 'enabled', budget_tokens: 2_000 },
    ...(tools.length > 0 && { tools: tools.map((name) => ({ name, input_schema: SCHEMA })) }),
  } as const;
  const message = isStream ? await messages.stream(body).finalMessage() : await messages.create(body);
  return { ...message };
}

async function askChat({ url, key, isStream, tools }: Ask): Promise<JsonRecord> {
  const { completions } = openai(url, key).chat;
  const body = {
    model: MODEL,
    messages: TURNS(),
    reasoning_effort: 'medium',
    ...(tools.length > 0 && {
      tools: tools.map((name) => ({ type: 'function' as const, function: { name, parameters: SCHEMA } })),
    }),
  } as const;
  if (!isStream) return { ...(await completions.create(body)) };
  const stream = completions.stream({ ...body, stream_options: { include_usage: true } });
  // The accumulator keeps the last value of members that it does not know.
  const more = { reasoning_content: '', annotations: [] as JsonRecord[], images: [] as JsonRecord[] };
  stream.on('chunk', ({ choices }) => {
    const delta = recordOf(choices[0]?.delta);
    if (typeof delta.reasoning_content === 'string') more.reasoning_content += delta.reasoning_content;
    more.annotations.push(...listOf(delta.annotations));
    more.images.push(...listOf(delta.images));
  });
  const { choices, ...whole } = await stream.finalChatCompletion();
  const [choice] = choices;
  return { ...whole, choices: [{ ...choice, message: { ...choice?.message, ...more } }] };
}

async function askResponses({ url, key, isStream, tools }: Ask): Promise<JsonRecord> {
  const { responses } = openai(url, key);
  const body = {
    model: MODEL,
    input: 'Hello',
    store: false,
    reasoning: { effort: 'medium', summary: 'auto' },
    ...(tools.length > 0 && {
      tools: tools.map((name) => ({ type: 'function' as const, name, parameters: SCHEMA, strict: false })),
    }),
  } as const;
  const response = isStream ? await responses.stream(body).finalResponse() : await responses.create(body);
  return { ...response };
}

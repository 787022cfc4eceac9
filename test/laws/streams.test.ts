import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import Anthropic0 from 'anthropic-0';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { codecOf, fold, type HubReply, type HubRequest } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { decodeAll, readVectors } from '../support/dialects/codecs.ts';
import { answerTo, askedBy, CROSSINGS, convert, DIALECTS, FROM, readAs } from './dialect-pairs.ts';
import { plain } from './normalize.ts';
import { asked, readPairs } from './vector.ts';

interface Case {
  readonly name: string;
  readonly request: HubRequest;
  readonly text: string;
  readonly body: unknown;
  readonly reply: HubReply;
}

/** Pictures of a message are told when it ends; only this dialect has a place for them between two texts. */
const AT_ITS_END: ReadonlySet<string> = new Set(['generate-image.json']);

const casesFor = (client: Dialect): Case[] => [...recordedFor(client), ...situationsFor(client)];

/** The situations of this client in which an upstream answers to the end. */
function situationsFor(client: Dialect): Case[] {
  return readPairs().flatMap((vector) => {
    if (vector.client !== client || !vector.events) return [];
    const { request, encoded } = asked(vector);
    const { hub, text } = convert(vector, vector.events, request, encoded);
    const folded = fold(hub);
    // Without its last chunk the stream of a chat client counts nothing.
    if (!('reply' in folded) || (client === 'chat' && !request.clientOptions.usageChunk)) return [];
    const body = codecOf(client).client.encodeReply(folded.reply, answerTo(request, vector.upstream));
    return [{ name: vector.name, request, text, body, reply: folded.reply }];
  });
}

/** Complete answers of every recorded upstream, told to this client. */
function recordedFor(client: Dialect): Case[] {
  return CROSSINGS.filter((crossing) => crossing.client === client).flatMap(({ upstream }) =>
    readVectors(upstream).flatMap((vector) => {
      const folded = fold(decodeAll(codecOf(upstream).upstream.openDecoder(FROM), vector.events));
      if (!('reply' in folded) || folded.reply.stop === 'malformed_call') return [];
      if (client === 'generate' && AT_ITS_END.has(vector.name)) return [];
      const request = askedBy(client);
      const { text } = convert({ client, upstream }, vector.events, request);
      const body = codecOf(client).client.encodeReply(folded.reply, answerTo(request, upstream));
      return [{ name: vector.name, request, text, body, reply: folded.reply }];
    }),
  );
}

const hasCustomCall = ({ items }: HubReply): boolean =>
  items.some((item) => item.kind === 'tool_call' && item.form === 'custom');

/** Half a call, cut by the length limit, is left out of a whole answer; in a stream its beginning has been told by then. */
const hasBrokenCall = ({ items }: HubReply): boolean =>
  items.some((item) => item.kind === 'tool_call' && item.form !== 'custom' && !isJson(item.args));

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

for (const client of DIALECTS) {
  test(`a stream to a ${client} client adds up to the whole answer`, () => {
    for (const { name, request, text, body, reply } of casesFor(client)) {
      const told = readAs(client, text, request);
      assert.equal(told.end, 'complete', name);
      if (told.end === 'complete' && !hasBrokenCall(reply))
        assert.deepEqual(plain(client, told.body), plain(client, body), name);
    }
  });
}

// ---------------------------------------------------------------- the official SDKs

/** An SDK's fetch that finds this stream at every address. */
const serving = (text: string) => async () =>
  new Response(text, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

for (const [version, Client] of Object.entries({
  '1.x': Anthropic,
  '0.x': Anthropic0 as unknown as typeof Anthropic,
})) {
  test(`[S69 N35] the official SDK ${version} of the messages dialect adds a stream up to the whole answer`, async () => {
    for (const { name, text, body, reply } of casesFor('messages')) {
      const client = new Client({ apiKey: 'k', fetch: serving(text), maxRetries: 0 });
      const message = await client.messages
        .stream({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] })
        .finalMessage();
      const { parsed_output: _, ...told } = asJson(message) as Record<string, unknown>;
      if (!hasBrokenCall(reply)) assert.deepEqual(without(told, LATE), without(body, LATE), name);
    }
  });
}

for (const [version, Client] of Object.entries({ 7: OpenAI, 6: OpenAI6 as unknown as typeof OpenAI })) {
  test(`[S69 N32] the official SDK ${version} of the responses dialect adds a stream up to the whole answer`, async () => {
    for (const { name, text, body, reply } of casesFor('responses')) {
      const client = new Client({ apiKey: 'k', fetch: serving(text), maxRetries: 0 });
      const response = await client.responses.stream({ model: 'm', input: 'hi' }).finalResponse();
      const { output_parsed: _, output_text: __, ...told } = asJson(response) as Record<string, unknown>;
      if (!hasBrokenCall(reply)) assert.deepEqual(without(told, PARSED), asJson(body), name);
    }
  });

  test(`[S69 N31] the official SDK ${version} of the chat dialect adds a stream up to the whole answer`, async () => {
    for (const { name, text, body, reply } of casesFor('chat')) {
      // The older helper knows calls of functions only.
      if (version === '6' && hasCustomCall(reply)) continue;
      const client = new Client({ apiKey: 'k', fetch: serving(text), maxRetries: 0 });
      const messages = [{ role: 'user' as const, content: 'hi' }];
      const completion = await client.chat.completions
        .stream({ model: 'm', messages, stream_options: { include_usage: true } })
        .finalChatCompletion();
      const told = without(completion, [...PARSED, ...UNOFFICIAL]);
      assert.deepEqual(plain('chat', told), plain('chat', without(body, UNOFFICIAL)), name);
    }
  });
}

/** What the helpers add of their own. */
const PARSED = ['parsed', 'parsed_arguments'];
/** Members that the helper of the messages dialect takes from the head of a stream only. */
const LATE = ['cache_creation', 'service_tier'];
/** Members that the chat helper does not know how to add up. */
const UNOFFICIAL = ['reasoning_content', 'extra_content'];

const without = (value: unknown, names: readonly string[]): unknown =>
  JSON.parse(JSON.stringify(value, (key, member: unknown) => (names.includes(key) ? undefined : member)));

test('[S69 N36] the official SDK of the generate dialect reads every block of a stream', async () => {
  const original = globalThis.fetch;
  try {
    for (const { name, text, body } of casesFor('generate')) {
      globalThis.fetch = serving(text);
      const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: 'http://upstream.test' } });
      const chunks: Record<string, unknown>[] = [];
      for await (const chunk of await client.models.generateContentStream({ model: 'm', contents: 'hi' }))
        chunks.push(asJson(chunk) as Record<string, unknown>);
      assert.deepEqual(plain('generate', sumOf(chunks)), plain('generate', without(body, ['finishMessage'])), name);
    }
  } finally {
    globalThis.fetch = original;
  }
});

interface Candidate {
  readonly content: { readonly parts: readonly unknown[] };
}

function sumOf(chunks: readonly Record<string, unknown>[]): unknown {
  const { sdkHttpResponse: _, ...last } = chunks.at(-1) ?? {};
  const candidates = chunks.flatMap((chunk) => chunk.candidates as Candidate[]);
  const parts = candidates.flatMap((candidate) => candidate.content.parts);
  return { ...last, candidates: [{ ...candidates.at(-1), content: { parts } }] };
}

// ---------------------------------------------------------------- the AI SDK

type Fetch = typeof globalThis.fetch;
type Model = ReturnType<ReturnType<typeof createOpenAI>['chat']>;
type Content = Awaited<ReturnType<Model['doGenerate']>>['content'][number];

/** The provider of the AI SDK that speaks each dialect. */
const PROVIDERS: Readonly<Record<Dialect, (fetch: Fetch) => Model>> = {
  messages: (fetch) => createAnthropic({ apiKey: 'k', fetch })('m'),
  chat: (fetch) => createOpenAI({ apiKey: 'k', fetch }).chat('m'),
  responses: (fetch) => createOpenAI({ apiKey: 'k', fetch }).responses('m'),
  generate: (fetch) => createGoogle({ apiKey: 'k', fetch })('m'),
};

const PROMPT: Parameters<Model['doGenerate']>[0] = {
  prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
};

/** What its users see. It cuts texts elsewhere in a stream than in an answer, and tells calls when they end. */
interface Read {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly unknown[];
  readonly finish: unknown;
  readonly usage: unknown;
}

async function readWhole(model: Model): Promise<Read> {
  const { content, finishReason, usage } = await model.doGenerate(PROMPT);
  const words = (type: 'text' | 'reasoning'): string =>
    content.map((part) => (part.type === type ? part.text : '')).join('');
  return {
    text: words('text'),
    reasoning: words('reasoning'),
    calls: callsIn(content),
    finish: finishReason,
    usage: [usage.inputTokens, usage.outputTokens],
  };
}

async function readStream(model: Model): Promise<Read> {
  const said = { text: '', reasoning: '' };
  const content: Content[] = [];
  let end: Pick<Read, 'finish' | 'usage'> = { finish: undefined, usage: undefined };
  for await (const part of (await model.doStream(PROMPT)).stream) {
    if (part.type === 'error') throw new Error(`an error among the parts: ${JSON.stringify(part.error)}`);
    if (part.type === 'text-delta') said.text += part.delta;
    if (part.type === 'reasoning-delta') said.reasoning += part.delta;
    if (part.type === 'tool-call') content.push(part);
    if (part.type === 'finish')
      end = { finish: part.finishReason, usage: [part.usage.inputTokens, part.usage.outputTokens] };
  }
  return { ...said, calls: callsIn(content), ...end };
}

const callsIn = (content: readonly Content[]): readonly unknown[] =>
  content
    .flatMap((part) =>
      part.type === 'tool-call'
        ? [[part.toolCallId, part.toolName, isJson(part.input) ? JSON.parse(part.input) : part.input]]
        : [],
    )
    .sort((one, other) => String(one).localeCompare(String(other)));

for (const client of DIALECTS) {
  test(`[S69 N29] the AI SDK reads a ${client} stream as it reads the whole answer`, async () => {
    for (const { name, text, body, reply } of casesFor(client)) {
      // Its chat provider knows calls of functions only.
      if (client === 'chat' && hasCustomCall(reply)) continue;
      const streamed = await readStream(PROVIDERS[client](serving(text)));
      const whole = await readWhole(PROVIDERS[client](async () => Response.json(body)));
      if (!hasBrokenCall(reply)) assert.deepEqual(streamed, whole, name);
    }
  });
}

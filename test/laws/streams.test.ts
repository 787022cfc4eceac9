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
import { codecOf, fold, type HubReply, type HubRequest, upstreamOf } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { decodeAll, readVectors, type WireEvent } from '../support/dialects/codecs.ts';
import { longTest, someOf } from '../support/long-test.ts';
import {
  convert,
  DECODE_CONTEXT,
  DIALECT_PAIRS,
  DIALECTS,
  readStreamAs,
  replyContextFor,
  requestFrom,
} from './dialect-pairs.ts';
import { normalize } from './normalize.ts';
import { readConversions } from './vector.ts';
import { encodeRequestOf } from './vector-checks.ts';

interface Case {
  readonly name: string;
  readonly request: HubRequest;
  readonly text: string;
  readonly body: unknown;
  readonly reply: HubReply;
}

const CASES = Object.fromEntries(
  DIALECTS.map((client) => [client, [...repliesFor(client), ...conversionsFor(client)]]),
) as Record<Dialect, Case[]>;

/** The conversion vectors of this client that end with a complete reply. */
function conversionsFor(client: Dialect): Case[] {
  return readConversions().flatMap((vector) => {
    if (vector.client !== client || !vector.events) return [];
    const { request, encoded } = encodeRequestOf(vector);
    const { hub, text } = convert(vector, vector.events, request, encoded);
    const folded = fold(hub);
    // Without the usage chunk a chat stream has no usage to compare.
    if (!('reply' in folded) || (client === 'chat' && !request.clientOptions.usageChunk)) return [];
    const body = codecOf(client).client.encodeReply(folded.reply, replyContextFor(request, vector.upstream));
    return [{ name: vector.name, request, text, body, reply: folded.reply }];
  });
}

/** The complete replies of every upstream's vectors, converted for this client. */
function repliesFor(client: Dialect): Case[] {
  return DIALECT_PAIRS.filter((pair) => pair.client === client).flatMap(({ upstream }) =>
    readVectors(upstream).flatMap((vector) => {
      const folded = fold(decodeAll(upstreamOf(upstream).openDecoder(DECODE_CONTEXT), vector.events));
      if (!('reply' in folded) || folded.reply.stop === 'malformed_call') return [];
      const request = requestFrom(client);
      const { text } = convert({ client, upstream }, vector.events, request);
      const body = codecOf(client).client.encodeReply(folded.reply, replyContextFor(request, upstream));
      return [{ name: vector.name, request, text, body, reply: folded.reply }];
    }),
  );
}

const hasCustomCall = ({ items }: HubReply): boolean =>
  items.some((item) => item.kind === 'tool_call' && item.form === 'custom');

/** A call cut by the length limit is left out of a unary response; a stream has already sent its beginning. */
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
  test(`a stream to a ${client} client adds up to the unary response`, () => {
    for (const { name, request, text, body, reply } of CASES[client]) {
      const result = readStreamAs(client, text, request);
      assert.equal(result.end, 'complete', name);
      if (result.end === 'complete' && !hasBrokenCall(reply))
        assert.deepEqual(normalize(client, result.body), normalize(client, body), name);
    }
  });
}

/** The same JSON in another form each time, so that no event has the pattern of an earlier one. */
const unlike = (events: readonly WireEvent[]): WireEvent[] =>
  events.map(({ data, ...event }, n) => ({
    ...event,
    data: typeof data === 'string' ? data : ' '.repeat(n + 1) + JSON.stringify(data),
  }));

test('events that are read by the pattern of an earlier one give the same bytes as parsed ones', () => {
  for (const pair of DIALECT_PAIRS) {
    const request = requestFrom(pair.client);
    for (const { name, events } of readVectors(pair.upstream))
      for (const sent of [events, events.flatMap((event) => [event, event])])
        assert.equal(
          convert(pair, sent, request).text,
          convert(pair, unlike(sent), request).text,
          `${name} from ${pair.upstream} to ${pair.client}`,
        );
  }
});

// ---------------------------------------------------------------- the official SDKs

/** A fetch that returns this stream for every URL. */
const fetchReturning = (text: string) => async () =>
  new Response(text, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

for (const [version, Client] of Object.entries({
  '1.x': Anthropic,
  '0.x': Anthropic0 as unknown as typeof Anthropic,
})) {
  (version === '1.x' ? test : longTest)(
    `@anthropic-ai/sdk ${version} accumulates a messages stream to the unary response`,
    async () => {
      for (const { name, text, body, reply } of CASES.messages) {
        const client = new Client({ apiKey: 'k', fetch: fetchReturning(text), maxRetries: 0 });
        const message = await client.messages
          .stream({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] })
          .finalMessage();
        const { parsed_output: _, ...result } = asJson(message) as Record<string, unknown>;
        if (!hasBrokenCall(reply)) assert.deepEqual(without(result, LATE), without(body, LATE), name);
      }
    },
  );
}

for (const [version, Client] of Object.entries({ 7: OpenAI, 6: OpenAI6 as unknown as typeof OpenAI })) {
  (version === '7' ? test : longTest)(
    `openai ${version} accumulates a responses stream to the unary response`,
    async () => {
      for (const { name, text, body, reply } of CASES.responses) {
        const client = new Client({ apiKey: 'k', fetch: fetchReturning(text), maxRetries: 0 });
        const response = await client.responses.stream({ model: 'm', input: 'hi' }).finalResponse();
        const { output_parsed: _, output_text: __, ...result } = asJson(response) as Record<string, unknown>;
        if (!hasBrokenCall(reply)) assert.deepEqual(without(result, PARSED), asJson(body), name);
      }
    },
  );

  (version === '7' ? test : longTest)(`openai ${version} accumulates a chat stream to the unary response`, async () => {
    for (const { name, text, body, reply } of CASES.chat) {
      // The helper of version 6 supports function calls only.
      if (version === '6' && hasCustomCall(reply)) continue;
      const client = new Client({ apiKey: 'k', fetch: fetchReturning(text), maxRetries: 0 });
      const messages = [{ role: 'user' as const, content: 'hi' }];
      const completion = await client.chat.completions
        .stream({ model: 'm', messages, stream_options: { include_usage: true } })
        .finalChatCompletion();
      const result = without(completion, [...PARSED, ...UNOFFICIAL]);
      assert.deepEqual(normalize('chat', result), normalize('chat', without(body, UNOFFICIAL)), name);
    }
  });
}

/** Members that the SDK helpers add. */
const PARSED = ['parsed', 'parsed_arguments'];
/** Members that the messages helper reads only from `message_start`. */
const LATE = ['cache_creation', 'service_tier'];
/** Members that the chat helper does not accumulate. */
const UNOFFICIAL = ['reasoning_content', 'extra_content', 'images'];

const without = (value: unknown, names: readonly string[]): unknown =>
  JSON.parse(JSON.stringify(value, (key, member: unknown) => (names.includes(key) ? undefined : member)));

test('@google/genai reads every chunk of a stream', async (t) => {
  let sent = '';
  t.mock.method(globalThis, 'fetch', () => fetchReturning(sent)());
  for (const { name, text, body } of CASES.generate) {
    sent = text;
    const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: 'http://upstream.test' } });
    const chunks: Record<string, unknown>[] = [];
    for await (const chunk of await client.models.generateContentStream({ model: 'm', contents: 'hi' }))
      chunks.push(asJson(chunk) as Record<string, unknown>);
    assert.deepEqual(
      normalize('generate', sumOf(chunks)),
      normalize('generate', without(body, ['finishMessage'])),
      name,
    );
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

/** The AI SDK provider of each dialect. */
const PROVIDERS: Readonly<Record<Dialect, (fetch: Fetch) => Model>> = {
  messages: (fetch) => createAnthropic({ apiKey: 'k', fetch })('m'),
  chat: (fetch) => createOpenAI({ apiKey: 'k', fetch }).chat('m'),
  responses: (fetch) => createOpenAI({ apiKey: 'k', fetch }).responses('m'),
  generate: (fetch) => createGoogle({ apiKey: 'k', fetch })('m'),
};

const PROMPT: Parameters<Model['doGenerate']>[0] = {
  prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
};

/** What users of the AI SDK see. Texts are joined because it splits them differently in streams; calls are sorted. */
interface Read {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly unknown[];
  readonly finish: unknown;
  readonly usage: unknown;
}

async function readUnary(model: Model): Promise<Read> {
  const { content, finishReason, usage } = await model.doGenerate(PROMPT);
  const textOf = (type: 'text' | 'reasoning'): string =>
    content.map((part) => (part.type === type ? part.text : '')).join('');
  return {
    text: textOf('text'),
    reasoning: textOf('reasoning'),
    calls: callsIn(content),
    finish: finishReason,
    usage: [usage.inputTokens, usage.outputTokens],
  };
}

async function readStream(model: Model): Promise<Read> {
  const texts = { text: '', reasoning: '' };
  const content: Content[] = [];
  let end: Pick<Read, 'finish' | 'usage'> = { finish: undefined, usage: undefined };
  for await (const part of (await model.doStream(PROMPT)).stream) {
    if (part.type === 'error') throw new Error(`unexpected error part: ${JSON.stringify(part.error)}`);
    if (part.type === 'text-delta') texts.text += part.delta;
    if (part.type === 'reasoning-delta') texts.reasoning += part.delta;
    if (part.type === 'tool-call') content.push(part);
    if (part.type === 'finish')
      end = { finish: part.finishReason, usage: [part.usage.inputTokens, part.usage.outputTokens] };
  }
  return { ...texts, calls: callsIn(content), ...end };
}

/** The AI SDK makes up an id for code that the provider ran. */
const callsIn = (content: readonly Content[]): readonly unknown[] =>
  content
    .flatMap((part) =>
      part.type === 'tool-call'
        ? [
            [
              part.providerExecuted ? '' : part.toolCallId,
              part.toolName,
              isJson(part.input) ? JSON.parse(part.input) : part.input,
            ],
          ]
        : [],
    )
    .sort((one, other) => String(one).localeCompare(String(other)));

for (const client of DIALECTS) {
  test(`the AI SDK reads a ${client} stream and the unary response alike`, async () => {
    for (const { name, text, body, reply } of someOf(CASES[client], 60)) {
      // Its chat provider supports function calls only.
      if (client === 'chat' && hasCustomCall(reply)) continue;
      const streamed = await readStream(PROVIDERS[client](fetchReturning(text)));
      const unary = await readUnary(PROVIDERS[client](async () => Response.json(body)));
      if (!hasBrokenCall(reply)) assert.deepEqual(streamed, unary, name);
    }
  });
}

/** What a user of a response would notice, read from the unary form of each dialect. */
import { createHash } from 'node:crypto';
import type { UpstreamDialect } from '../../src/rules/index.ts';
import { joinPieces } from './partial-args.ts';
import { isRecord, type JsonRecord, jsonOf, listOf, recordOf, textOf } from './recording.ts';

export interface Facts {
  readonly text: string;
  readonly thinking: string;
  readonly refusal: string;
  readonly calls: readonly ToolCall[];
  /** URLs, each once. */
  readonly citations: readonly string[];
  /** Digests of drawn pictures. */
  readonly images: readonly string[];
  readonly hasAudio?: boolean;
  readonly stop: Stop;
  readonly tokens: Tokens | undefined;
}
export interface ToolCall {
  readonly name: string;
  /** Canonical JSON, or the text itself where it is not JSON. */
  readonly args: string;
}
export type Stop = 'end' | 'tool' | 'length' | 'declined';
export interface Tokens {
  /** With cached tokens. */
  readonly input: number;
  readonly cached: number;
  /** With reasoning. */
  readonly output: number;
}

export const factsOf = (dialect: UpstreamDialect, response: JsonRecord): Facts => READERS[dialect](response);

const READERS: Readonly<Record<UpstreamDialect, (response: JsonRecord) => Facts>> = {
  messages: messagesFacts,
  chat: chatFacts,
  responses: responsesFacts,
  generate: generateFacts,
  converse: converseFacts,
};

// ---------------------------------------------------------------- messages

function messagesFacts({ content, stop_reason, stop_details, usage }: JsonRecord): Facts {
  const blocks = listOf(content);
  const ofType = (type: string): JsonRecord[] => blocks.filter((block) => block.type === type);
  const cites = ofType('text').flatMap(({ citations }) => listOf(citations).map(({ url, source }) => url ?? source));
  return {
    text: joined(ofType('text').map(({ text }) => text)),
    thinking: joined(ofType('thinking').map(({ thinking }) => thinking)),
    refusal: textOf(recordOf(stop_details).explanation),
    calls: ofType('tool_use').map(({ name, input }) => callOf(name, input)),
    citations: distinct(cites),
    images: ofType('image').map(({ source }) => digest(recordOf(source).data)),
    stop: MESSAGES_STOPS[textOf(stop_reason)] ?? 'end',
    tokens: reported(messagesTokens(recordOf(usage))),
  };
}

const MESSAGES_STOPS: Readonly<Record<string, Stop>> = {
  tool_use: 'tool',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'declined',
};

/** With iterations, their sum: the counts beside them leave out what the provider charges too. */
function messagesTokens(usage: JsonRecord): Tokens {
  const iterations = listOf(usage.iterations);
  const sum = (name: string): number =>
    (iterations.length > 0 ? iterations : [usage]).reduce((total, row) => total + count(row[name]), 0);
  const cached = sum('cache_read_input_tokens');
  const input = sum('input_tokens') + cached + sum('cache_creation_input_tokens');
  return { input, cached, output: sum('output_tokens') };
}

// ---------------------------------------------------------------- chat

function chatFacts({ choices, usage, citations, search_results }: JsonRecord): Facts {
  const choice = listOf(choices)[0] ?? {};
  const message = recordOf(choice.message);
  const legacy = recordOf(message.function_call);
  const calls = [
    ...listOf(message.tool_calls).map((call) => {
      const custom = recordOf(call.custom);
      return textOf(custom.name) ? callOf(custom.name, { input: custom.input }) : ofFunction(recordOf(call.function));
    }),
    ...(textOf(legacy.name) ? [ofFunction(legacy)] : []),
  ];
  const parts = contentParts(message.content);
  const notes = distinct(listOf(message.annotations).map((note) => recordOf(note.url_citation).url));
  const [tagged = '', thought = ''] = /^\s*<think>(.*?)(?:<\/think>\s*|$)/s.exec(parts.text) ?? [];
  const details = joined(listOf(message.reasoning_details).map(({ text, summary }) => text ?? summary));
  return {
    text: parts.text.slice(tagged.length),
    thinking: textOf(message.reasoning_content) || textOf(message.reasoning) || details || parts.thinking || thought,
    refusal: textOf(message.refusal),
    calls,
    citations:
      notes.length > 0 ? notes : distinct([...listOf(search_results).map(({ url }) => url), ...urlsOf(citations)]),
    images: listOf(message.images).map((image) => digest(dataOf(recordOf(image.image_url).url))),
    // A refusal has no finish reason of its own.
    stop: CHAT_STOPS[textOf(choice.finish_reason)] ?? (textOf(message.refusal) ? 'declined' : 'end'),
    tokens: reported(openaiTokens(recordOf(usage), 'prompt', 'completion')),
  };
}

/** Servers that search by themselves list their sources beside the reply. */
const urlsOf = (sources: unknown): unknown[] => (Array.isArray(sources) ? sources : []);

/** Content is a text, or parts among which may be thoughts. */
function contentParts(content: unknown): { readonly text: string; readonly thinking: string } {
  if (!Array.isArray(content)) return { text: textOf(content), thinking: '' };
  const thoughts = listOf(content).filter(({ type }) => type === 'thinking');
  return {
    text: joined(listOf(content).map(({ text }) => text)),
    thinking: joined(
      thoughts.map(({ thinking }) => textOf(thinking) || joined(listOf(thinking).map(({ text }) => text))),
    ),
  };
}

const CHAT_STOPS: Readonly<Record<string, Stop>> = {
  tool_calls: 'tool',
  function_call: 'tool',
  tool_use: 'tool',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  content_filter: 'declined',
  sensitive: 'declined',
};

function openaiTokens(usage: JsonRecord, input: string, output: string): Tokens {
  const details = recordOf(usage[`${input}_tokens_details`]);
  return {
    input: count(usage[`${input}_tokens`]),
    // Some servers report more than the prompt; see `TOLERANCES.overlappingCache`.
    cached: Math.min(count(details.cached_tokens ?? usage.prompt_cache_hit_tokens), count(usage[`${input}_tokens`])),
    output: count(usage[`${output}_tokens`]),
  };
}

// ---------------------------------------------------------------- responses

function responsesFacts({ output, status, incomplete_details, usage }: JsonRecord): Facts {
  const items = listOf(output);
  const ofType = (type: string): JsonRecord[] => items.filter((item) => item.type === type);
  const parts = ofType('message').flatMap(({ content }) => listOf(content));
  const thoughts = ofType('reasoning').flatMap(({ summary, content }) => [...listOf(summary), ...listOf(content)]);
  const outputs = new Set(items.filter(({ type }) => type === 'shell_call_output').map(({ call_id }) => call_id));
  // The provider has run a call whose output it sends.
  const calls = items.filter(({ call_id }) => !outputs.has(call_id)).flatMap(responsesCall);
  const refusal = joined(parts.map(({ refusal: text }) => text));
  const reason = textOf(recordOf(incomplete_details).reason);
  const isCut = status === 'incomplete';
  return {
    text: joined(parts.map(({ text }) => text)),
    thinking: joined(thoughts.map(({ text }) => text)),
    refusal,
    calls,
    citations: distinct(parts.flatMap(({ annotations }) => listOf(annotations).map(({ url }) => url))),
    images: ofType('image_generation_call').flatMap(({ result }) => (textOf(result) ? [digest(result)] : [])),
    stop: isCut ? (reason === 'content_filter' ? 'declined' : 'length') : stopOf(calls, refusal),
    tokens: reported(openaiTokens(recordOf(usage), 'input', 'output')),
  };
}

function stopOf(calls: readonly ToolCall[], refusal: string): Stop {
  if (calls.length > 0) return 'tool';
  return refusal ? 'declined' : 'end';
}

/** Also tools that the client runs and the provider has shaped. */
function responsesCall(item: JsonRecord): readonly ToolCall[] {
  if (item.type === 'function_call') return [callOf(item.name, item.arguments)];
  if (item.type === 'custom_tool_call') return [callOf(item.name, { input: item.input })];
  if (item.type === 'apply_patch_call') return [callOf('apply_patch', item.operation)];
  return item.type === 'shell_call' || item.type === 'local_shell_call'
    ? [callOf(item.type.replace(/_call$/, ''), item.action)]
    : [];
}

// ---------------------------------------------------------------- generate

function generateFacts({ candidates, usageMetadata, promptFeedback }: JsonRecord): Facts {
  const candidate = listOf(candidates)[0] ?? {};
  const parts = listOf(recordOf(candidate.content).parts);
  const texts = (thought: boolean): string =>
    joined(parts.filter((part) => (part.thought === true) === thought).map(({ text }) => text));
  const calls = functionCalls(parts);
  const reason = textOf(candidate.finishReason);
  const declined = GENERATE_DECLINED.test(reason) || textOf(recordOf(promptFeedback).blockReason) !== '';
  return {
    text: texts(false),
    thinking: texts(true),
    refusal: '',
    calls,
    citations: distinct([
      ...citedChunks(recordOf(candidate.groundingMetadata)),
      ...listOf(recordOf(candidate.citationMetadata).citationSources).map(({ uri }) => uri),
      ...listOf(recordOf(candidate.citationMetadata).citations).map(({ uri }) => uri),
    ]),
    images: parts.flatMap(({ inlineData, thought }) =>
      isPicture(inlineData) && !thought ? [digest(inlineData.data)] : [],
    ),
    ...(parts.some(({ inlineData }) => textOf(recordOf(inlineData).mimeType).startsWith('audio/')) && {
      hasAudio: true,
    }),
    stop: declined ? 'declined' : generateStop(reason, calls),
    tokens: reported(generateTokens(recordOf(usageMetadata))),
  };
}

function generateStop(reason: string, calls: readonly ToolCall[]): Stop {
  if (reason === 'MAX_TOKENS') return 'length';
  return calls.length > 0 ? 'tool' : 'end';
}

const GENERATE_DECLINED = /SAFETY|RECITATION|LANGUAGE|BLOCKLIST|PROHIBITED_CONTENT|SPII|MODEL_ARMOR/;

const functionCalls = (parts: readonly JsonRecord[]): ToolCall[] =>
  joinPieces(parts).map(({ name, args }) => callOf(name, args));

const isPicture = (data: unknown): data is JsonRecord => textOf(recordOf(data).mimeType).startsWith('image/');

/** Only what a passage of the text refers to. */
function citedChunks({ groundingChunks, groundingSupports }: JsonRecord): string[] {
  const chunks = listOf(groundingChunks);
  const used = listOf(groundingSupports).flatMap(({ groundingChunkIndices: indices }) =>
    Array.isArray(indices) ? indices : [],
  );
  return distinct(used.map((index) => recordOf(chunks[Number(index)]?.web).uri));
}

/** Counts of zero are not a report: the gateway estimates them. */
const reported = (tokens: Tokens): Tokens | undefined => (tokens.input + tokens.output > 0 ? tokens : undefined);

const generateTokens = (usage: JsonRecord): Tokens => ({
  input: count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount),
  cached: count(usage.cachedContentTokenCount),
  output: count(usage.candidatesTokenCount) + count(usage.thoughtsTokenCount),
});

// ---------------------------------------------------------------- converse

function converseFacts({ output, stopReason, usage: counts }: JsonRecord): Facts {
  const blocks = listOf(recordOf(recordOf(output).message).content);
  const cited = blocks.map(({ citationsContent }) => recordOf(citationsContent));
  const usage = recordOf(counts);
  const cached = count(usage.cacheReadInputTokens);
  return {
    text: joined(blocks.flatMap(({ text }, n) => [text, ...listOf(cited[n]?.content).map((part) => part.text)])),
    thinking: joined(blocks.map((block) => recordOf(recordOf(block.reasoningContent).reasoningText).text)),
    refusal: '',
    // The others are tools of the provider itself.
    calls: blocks.flatMap(({ toolUse }) =>
      isRecord(toolUse) && toolUse.type !== 'server_tool_use' ? [callOf(toolUse.name, toolUse.input)] : [],
    ),
    citations: distinct(
      cited.flatMap(({ citations }) =>
        listOf(citations).map(({ location, source }) => recordOf(recordOf(location).web).url ?? source),
      ),
    ),
    images: [],
    stop: CONVERSE_STOPS[textOf(stopReason)] ?? 'end',
    tokens: reported({
      input: count(usage.inputTokens) + cached + count(usage.cacheWriteInputTokens),
      cached,
      output: count(usage.outputTokens),
    }),
  };
}

const CONVERSE_STOPS: Readonly<Record<string, Stop>> = {
  tool_use: 'tool',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  guardrail_intervened: 'declined',
  content_filtered: 'declined',
};

// ---------------------------------------------------------------- values

const joined = (texts: readonly unknown[]): string => texts.map(textOf).join('');
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const distinct = (urls: readonly unknown[]): string[] =>
  [...new Set(urls.map(textOf).filter((url) => url !== ''))].sort();
const digest = (data: unknown): string => createHash('sha256').update(textOf(data)).digest('hex').slice(0, 12);
const dataOf = (url: unknown): string => textOf(url).replace(/^data:[^,]*,/, '');

const ofFunction = (body: JsonRecord): ToolCall => callOf(body.name, body.arguments);

/** No arguments are an empty object. */
function callOf(name: unknown, args: unknown): ToolCall {
  const value = typeof args === 'string' ? (args.trim() === '' ? {} : (jsonOf(args) ?? args)) : (args ?? {});
  return { name: textOf(name), args: typeof value === 'string' ? value : canonical(value) };
}

export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );

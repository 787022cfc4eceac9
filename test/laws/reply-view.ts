/** What a client sees in a unary response: texts, thoughts, calls and usage, read without the codecs. */
import type { Dialect } from '../../src/rules/index.ts';
import type { ModelReply, Usage } from './reply-arbitrary.ts';

type Json = Record<string, unknown>;
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});

export type ReplyPart = readonly ['thought' | 'text', string] | readonly ['call', string, string, string];

/** In order. Adjacent parts of one kind are joined, and line breaks between thoughts are ignored. */
export const partsOf = (client: Dialect, body: unknown): ReplyPart[] => joinNeighbours(READERS[client](objectOf(body)));

export const partsIn = (client: Dialect, { blocks }: ModelReply): ReplyPart[] => {
  const parts = blocks.flatMap((block): ReplyPart[] => {
    if (block.kind === 'thought') return block.texts.map((text) => ['thought', text]);
    return block.kind === 'text' ? [['text', block.text]] : [['call', block.id, block.name, block.args]];
  });
  return joinNeighbours(client === 'chat' ? inChatOrder(parts) : parts);
};

const ORDER = ['thought', 'text', 'call'] as const;
/** The chat format puts thoughts before text and text before calls. */
export const inChatOrder = (parts: readonly ReplyPart[]): ReplyPart[] =>
  ORDER.flatMap((kind) => parts.filter(([one]) => one === kind));

function joinNeighbours(parts: readonly ReplyPart[]): ReplyPart[] {
  const result: ReplyPart[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    const text = part[0] === 'thought' ? part[1].replaceAll('\n', '') : part[1];
    if (part[0] !== 'call' && text === '') continue;
    if (part[0] !== 'call' && last?.[0] === part[0]) result[result.length - 1] = [part[0], last[1] + text];
    else result.push(part[0] === 'call' ? part : [part[0], text]);
  }
  return result;
}

const READERS: Readonly<Record<Dialect, (body: Json) => ReplyPart[]>> = {
  messages: (body) =>
    listOf(body.content).flatMap((block): ReplyPart[] => {
      if (block.type === 'text') return [['text', String(block.text)]];
      if (block.type === 'thinking') return [['thought', String(block.thinking)]];
      if (block.type !== 'tool_use') return [];
      return [['call', String(block.id), String(block.name), JSON.stringify(block.input)]];
    }),
  chat(body) {
    const message = objectOf(objectOf(listOf(body.choices)[0]).message);
    const calls = listOf(message.tool_calls).map((call): ReplyPart => {
      const { name, arguments: args } = objectOf(call.function);
      return ['call', String(call.id), String(name), String(args)];
    });
    return [['thought', String(message.reasoning_content ?? '')], ['text', String(message.content ?? '')], ...calls];
  },
  responses: (body) =>
    listOf(body.output).flatMap((item): ReplyPart[] => {
      if (item.type === 'message') return listOf(item.content).map((part) => ['text', String(part.text)]);
      if (item.type === 'reasoning') return listOf(item.summary).map((part) => ['thought', String(part.text)]);
      return [['call', String(item.call_id), String(item.name), String(item.arguments)]];
    }),
  generate: (body) =>
    listOf(objectOf(objectOf(listOf(body.candidates)[0]).content).parts).flatMap((part): ReplyPart[] => {
      if (typeof part.text === 'string') return [[part.thought === true ? 'thought' : 'text', part.text]];
      const { id, name, args } = objectOf(part.functionCall);
      return [['call', String(id), String(name), JSON.stringify(args)]];
    }),
};

/** Usage in the hub's terms, by the counting rules of each dialect. */
export const usageOf = (client: Dialect, body: unknown): Usage => USAGE_READERS[client](objectOf(body));

const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

const USAGE_READERS: Readonly<Record<Dialect, (body: Json) => Usage>> = {
  messages(body) {
    const usage = objectOf(body.usage);
    const cacheRead = number(usage.cache_read_input_tokens);
    const cacheWrite = number(usage.cache_creation_input_tokens);
    return {
      input: number(usage.input_tokens) + cacheRead + cacheWrite,
      cacheRead,
      cacheWrite,
      output: number(usage.output_tokens),
      reasoning: number(objectOf(usage.output_tokens_details).thinking_tokens),
    };
  },
  chat(body) {
    const usage = objectOf(body.usage);
    const details = objectOf(usage.prompt_tokens_details);
    return {
      input: number(usage.prompt_tokens),
      cacheRead: number(details.cached_tokens),
      cacheWrite: number(details.cache_write_tokens),
      output: number(usage.completion_tokens),
      reasoning: number(objectOf(usage.completion_tokens_details).reasoning_tokens),
    };
  },
  responses(body) {
    const usage = objectOf(body.usage);
    const details = objectOf(usage.input_tokens_details);
    return {
      input: number(usage.input_tokens),
      cacheRead: number(details.cached_tokens),
      cacheWrite: number(details.cache_write_tokens),
      output: number(usage.output_tokens),
      reasoning: number(objectOf(usage.output_tokens_details).reasoning_tokens),
    };
  },
  generate(body) {
    const usage = objectOf(body.usageMetadata);
    const reasoning = number(usage.thoughtsTokenCount);
    return {
      input: number(usage.promptTokenCount) + number(usage.toolUsePromptTokenCount),
      cacheRead: number(usage.cachedContentTokenCount),
      cacheWrite: 0,
      output: number(usage.candidatesTokenCount) + reasoning,
      reasoning,
    };
  },
};

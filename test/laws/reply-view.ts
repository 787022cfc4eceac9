/** What a client sees in a whole answer of its dialect: the words, the calls and the bill, read without any codec. */
import type { Dialect } from '../../src/rules/index.ts';
import type { Story, Usage } from './reply-arbitrary.ts';

type Json = Record<string, unknown>;
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});

export type Sight = readonly ['thought' | 'text', string] | readonly ['call', string, string, string];

/** In order; neighbours of one kind are one, and paragraphs between thoughts do not count. */
export const sightsOf = (client: Dialect, body: unknown): Sight[] => joined(SIGHTS[client](objectOf(body)));

export const sightsIn = (client: Dialect, { blocks }: Story): Sight[] => {
  const sights = blocks.flatMap((block): Sight[] => {
    if (block.kind === 'thought') return block.texts.map((text) => ['thought', text]);
    return block.kind === 'text' ? [['text', block.text]] : [['call', block.id, block.name, block.args]];
  });
  return joined(client === 'chat' ? inChatOrder(sights) : sights);
};

const ORDER = ['thought', 'text', 'call'] as const;
/** The format itself puts thoughts before words and words before calls. */
export const inChatOrder = (sights: readonly Sight[]): Sight[] =>
  ORDER.flatMap((kind) => sights.filter(([one]) => one === kind));

function joined(sights: readonly Sight[]): Sight[] {
  const result: Sight[] = [];
  for (const sight of sights) {
    const last = result.at(-1);
    const text = sight[0] === 'thought' ? sight[1].replaceAll('\n', '') : sight[1];
    if (sight[0] !== 'call' && text === '') continue;
    if (sight[0] !== 'call' && last?.[0] === sight[0]) result[result.length - 1] = [sight[0], last[1] + text];
    else result.push(sight[0] === 'call' ? sight : [sight[0], text]);
  }
  return result;
}

const SIGHTS: Readonly<Record<Dialect, (body: Json) => Sight[]>> = {
  messages: (body) =>
    listOf(body.content).flatMap((block): Sight[] => {
      if (block.type === 'text') return [['text', String(block.text)]];
      if (block.type === 'thinking') return [['thought', String(block.thinking)]];
      if (block.type !== 'tool_use') return [];
      return [['call', String(block.id), String(block.name), JSON.stringify(block.input)]];
    }),
  chat(body) {
    const message = objectOf(objectOf(listOf(body.choices)[0]).message);
    const made = listOf(message.tool_calls).map((call): Sight => {
      const { name, arguments: args } = objectOf(call.function);
      return ['call', String(call.id), String(name), String(args)];
    });
    return [['thought', String(message.reasoning_content ?? '')], ['text', String(message.content ?? '')], ...made];
  },
  responses: (body) =>
    listOf(body.output).flatMap((item): Sight[] => {
      if (item.type === 'message') return listOf(item.content).map((part) => ['text', String(part.text)]);
      if (item.type === 'reasoning') return listOf(item.summary).map((part) => ['thought', String(part.text)]);
      return [['call', String(item.call_id), String(item.name), String(item.arguments)]];
    }),
  generate: (body) =>
    listOf(objectOf(objectOf(listOf(body.candidates)[0]).content).parts).flatMap((part): Sight[] => {
      if (typeof part.text === 'string') return [[part.thought === true ? 'thought' : 'text', part.text]];
      const { id, name, args } = objectOf(part.functionCall);
      return [['call', String(id), String(name), JSON.stringify(args)]];
    }),
};

/** The bill in the hub's words, by the formulas of each dialect. */
export const billOf = (client: Dialect, body: unknown): Usage => BILLS[client](objectOf(body));

const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

const BILLS: Readonly<Record<Dialect, (body: Json) => Usage>> = {
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

/** Arbitrary conversations in no dialect, and their request body in each client dialect. */
import fc from 'fast-check';
import type { Dialect } from '../../src/rules/index.ts';
import { callArguments, TOOL_NAMES, texts } from './reply-arbitrary.ts';

type Json = Record<string, unknown>;

export interface Conversation {
  readonly system: readonly string[];
  readonly turns: readonly Turn[];
  readonly last: readonly Part[];
  readonly tools: readonly string[];
  readonly settings: Settings;
}
export interface Turn {
  readonly user: readonly Part[];
  /** Empty only if there are calls. */
  readonly text: string;
  readonly calls: readonly Call[];
}
export type Part = { readonly text: string } | { readonly image: string };
export interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: string;
  /** Undefined if the client never sent a result. */
  readonly result?: { readonly text: string; readonly image?: string | undefined } | undefined;
}
export interface Settings {
  readonly temperature?: number | undefined;
  readonly maxTokens: number;
  readonly stop?: readonly string[] | undefined;
  readonly effort?: 'low' | 'high' | undefined;
  readonly choice?: 'required' | 'none' | 'named' | undefined;
  readonly serial?: boolean | undefined;
}

const PIXEL = 'iVBORw0KGgo=';
const parts: fc.Arbitrary<Part[]> = fc.array(
  fc.oneof({ weight: 4, arbitrary: texts.map((text) => ({ text })) }, fc.constant({ image: PIXEL })),
  { minLength: 1, maxLength: 3 },
);
const result = fc.record({ text: texts, image: fc.option(fc.constant(PIXEL), { nil: undefined, freq: 4 }) });
const call = fc.record({
  id: fc.constant(''),
  name: fc.constantFrom(...TOOL_NAMES),
  args: callArguments,
  result: fc.option(result, { nil: undefined, freq: 8 }),
});
const turn = fc.record({
  user: parts,
  text: fc.oneof(texts, fc.constant('')),
  calls: fc.array(call, { maxLength: 3 }),
});

export const conversations: fc.Arbitrary<Conversation> = fc
  .record({
    system: fc.array(texts, { maxLength: 2 }),
    turns: fc.array(turn, { maxLength: 4 }),
    last: parts,
    tools: fc.constant([...TOOL_NAMES]),
    settings: fc.record({
      temperature: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
      maxTokens: fc.integer({ min: 1, max: 9_000 }),
      stop: fc.option(fc.array(texts, { minLength: 1, maxLength: 4 }), { nil: undefined }),
      effort: fc.option(fc.constantFrom('low' as const, 'high' as const), { nil: undefined }),
      choice: fc.option(fc.constantFrom('required' as const, 'none' as const, 'named' as const), { nil: undefined }),
      serial: fc.option(fc.boolean(), { nil: undefined }),
    }),
  })
  .map((conversation) => ({ ...conversation, turns: conversation.turns.map(normalizeTurn) }));

/** Gives calls unique ids, and turns without calls a text. */
const normalizeTurn = (one: Turn, n: number): Turn => ({
  ...one,
  text: one.text === '' && one.calls.length === 0 ? 'Yes.' : one.text,
  calls: one.calls.map((call, k) => ({ ...call, id: `call:${n}.${k}` })),
});

// ---------------------------------------------------------------- request bodies

export const bodyOf = (client: Dialect, conversation: Conversation): Json => WRITERS[client](conversation);

const WRITERS: Readonly<Record<Dialect, (conversation: Conversation) => Json>> = {
  messages: asMessages,
  chat: asChat,
  responses: asResponses,
  generate: asGenerate,
};

const SCHEMA = { type: 'object', properties: { q: { type: 'string' } } };
const compact = (value: Json): Json => JSON.parse(JSON.stringify(value)) as Json;
/** Stop sequences that every dialect accepts. */
const stops = ({ stop }: Settings): string[] | undefined => stop?.filter((text) => text.length <= 60);

function asMessages({ system, turns, last, tools, settings }: Conversation): Json {
  const blocks = (list: readonly Part[]): Json[] =>
    list.map((part) =>
      'text' in part
        ? { type: 'text', text: part.text }
        : { type: 'image', source: { type: 'base64', media_type: 'image/png', data: part.image } },
    );
  const messages: Json[] = [];
  let results: Json[] = [];
  for (const { user, text, calls } of turns) {
    messages.push({ role: 'user', content: [...results, ...blocks(user)] });
    const uses = calls.map(({ id, name, args }) => ({
      type: 'tool_use',
      id,
      name,
      input: JSON.parse(args) as unknown,
    }));
    messages.push({ role: 'assistant', content: [...(text ? [{ type: 'text', text }] : []), ...uses] });
    results = calls.flatMap(({ id, result }) =>
      result ? [{ type: 'tool_result', tool_use_id: id, content: blocks(resultParts(result)) }] : [],
    );
  }
  messages.push({ role: 'user', content: [...results, ...blocks(last)] });
  const { choice, serial, effort } = settings;
  const kind = { required: 'any', none: 'none', named: 'tool' } as const;
  const toolChoice = choice ? { type: kind[choice], ...(choice === 'named' && { name: tools[0] }) } : undefined;
  return compact({
    model: 'asked-for',
    max_tokens: settings.maxTokens,
    system: system.map((text) => ({ type: 'text', text })),
    messages,
    tools: tools.map((name) => ({ name, input_schema: SCHEMA })),
    tool_choice: toolChoice || serial ? { type: 'auto', ...toolChoice, disable_parallel_tool_use: serial } : undefined,
    temperature: settings.temperature,
    stop_sequences: stops(settings),
    output_config: effort && { effort },
  });
}

const resultParts = ({ text, image }: NonNullable<Call['result']>): Part[] => [{ text }, ...(image ? [{ image }] : [])];

function asChat({ system, turns, last, tools, settings }: Conversation): Json {
  const content = (list: readonly Part[]): Json[] =>
    list.map((part) =>
      'text' in part
        ? { type: 'text', text: part.text }
        : { type: 'image_url', image_url: { url: `data:image/png;base64,${part.image}` } },
    );
  const messages: Json[] = system.map((text) => ({ role: 'developer', content: text }));
  for (const { user, text, calls } of turns) {
    messages.push({ role: 'user', content: content(user) });
    const tool_calls = calls.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    }));
    messages.push({
      role: 'assistant',
      content: text || null,
      tool_calls: tool_calls.length > 0 ? tool_calls : undefined,
    });
    for (const { id, result } of calls) {
      if (result) messages.push({ role: 'tool', tool_call_id: id, content: [{ type: 'text', text: result.text }] });
    }
  }
  messages.push({ role: 'user', content: content(last) });
  const { choice, serial } = settings;
  return compact({
    model: 'asked-for',
    max_completion_tokens: settings.maxTokens,
    messages,
    tools: tools.map((name) => ({ type: 'function', function: { name, parameters: SCHEMA } })),
    tool_choice: choice === 'named' ? { type: 'function', function: { name: tools[0] } } : choice,
    parallel_tool_calls: serial === undefined ? undefined : !serial,
    temperature: settings.temperature,
    stop: stops(settings),
    reasoning_effort: settings.effort,
  });
}

function asResponses({ system, turns, last, tools, settings }: Conversation): Json {
  const content = (list: readonly Part[]): Json[] =>
    list.map((part) =>
      'text' in part
        ? { type: 'input_text', text: part.text }
        : { type: 'input_image', image_url: `data:image/png;base64,${part.image}` },
    );
  const input: Json[] = [];
  for (const { user, text, calls } of turns) {
    input.push({ type: 'message', role: 'user', content: content(user) });
    if (text) input.push({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });
    for (const { id, name, args } of calls) input.push({ type: 'function_call', call_id: id, name, arguments: args });
    for (const { id, result } of calls) {
      if (result) input.push({ type: 'function_call_output', call_id: id, output: content(resultParts(result)) });
    }
  }
  input.push({ type: 'message', role: 'user', content: content(last) });
  const { choice, serial, effort } = settings;
  return compact({
    model: 'asked-for',
    instructions: system.join('\n\n') || undefined,
    max_output_tokens: settings.maxTokens,
    input,
    tools: tools.map((name) => ({ type: 'function', name, parameters: SCHEMA })),
    tool_choice: choice === 'named' ? { type: 'function', name: tools[0] } : choice,
    parallel_tool_calls: serial === undefined ? undefined : !serial,
    temperature: settings.temperature,
    reasoning: effort && { effort },
  });
}

function asGenerate({ system, turns, last, tools, settings }: Conversation): Json {
  const content = (list: readonly Part[]): Json[] =>
    list.map((part) =>
      'text' in part ? { text: part.text } : { inlineData: { mimeType: 'image/png', data: part.image } },
    );
  const contents: Json[] = [];
  let results: Json[] = [];
  for (const { user, text, calls } of turns) {
    contents.push({ role: 'user', parts: [...results, ...content(user)] });
    const call = calls.map(({ id, name, args }) => ({ functionCall: { id, name, args: JSON.parse(args) as unknown } }));
    contents.push({ role: 'model', parts: [...(text ? [{ text }] : []), ...call] });
    results = calls.flatMap(({ id, name, result }) =>
      result ? [{ functionResponse: { id, name, response: { output: result.text } } }] : [],
    );
  }
  contents.push({ role: 'user', parts: [...results, ...content(last)] });
  const { choice, effort } = settings;
  const mode = { required: 'ANY', none: 'NONE', named: 'ANY' } as const;
  return compact({
    contents,
    systemInstruction: system.length > 0 ? { parts: system.map((text) => ({ text })) } : undefined,
    tools: [{ functionDeclarations: tools.map((name) => ({ name, parametersJsonSchema: SCHEMA })) }],
    toolConfig: choice && {
      functionCallingConfig: { mode: mode[choice], allowedFunctionNames: choice === 'named' ? [tools[0]] : undefined },
    },
    generationConfig: {
      maxOutputTokens: settings.maxTokens,
      temperature: settings.temperature,
      stopSequences: stops(settings),
      thinkingConfig: effort && { thinkingLevel: effort.toUpperCase() },
    },
  });
}

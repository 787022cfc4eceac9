/**
 * Coding agents: a loop over an official SDK that sends the whole conversation with every request.
 * Replies go back exactly as the SDK returned them. Every second request is streamed by default.
 */
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import type { ClientDialect } from './conversion-harness.ts';
import { anthropic, openai } from './sdk.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

export interface AgentReply {
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

export interface ToolResult {
  readonly call: ToolCall;
  readonly text: string;
  readonly isError?: boolean;
  /** A PNG in base64. */
  readonly image?: string;
}

export interface Agent {
  /** A test may change the key between two requests to move to another group or account. */
  key: string;
  model: string;
  /** The conversation as it will be sent; a test may edit it as a client might. */
  readonly history: unknown[];
  addUserMessage(text: string): void;
  addToolResults(results: readonly ToolResult[]): void;
  /** Sends the conversation and appends the reply to it. */
  send(): Promise<AgentReply>;
}

export const TOOLS = [
  { name: 'read_file', description: 'Reads a file.', fields: ['path'] },
  { name: 'edit_file', description: 'Edits a file.', fields: ['path', 'text'] },
  { name: 'run_tests', description: 'Runs the tests.', fields: ['filter'] },
  { name: 'take_photo', description: 'Takes a screenshot.', fields: ['window'] },
] as const;

const schemaOf = (fields: readonly string[]) => ({
  type: 'object' as const,
  properties: Object.fromEntries(fields.map((field) => [field, { type: 'string' as const }])),
  required: [...fields],
});

/** A PNG of one pixel. */
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const SYSTEM = 'You are a careful engineer. Use the tools.';

export interface AgentOptions {
  readonly url: string;
  readonly key: string;
  readonly model: string;
  /** All requests, none, or every nth. */
  readonly stream?: boolean | number;
}

export const startAgent = (client: ClientDialect, options: AgentOptions): Agent => AGENTS[client](options);

const isStreamed = (requestCount: number, stream: boolean | number = 2): boolean =>
  typeof stream === 'boolean' ? stream : requestCount % stream === 1;

const AGENTS: Readonly<Record<ClientDialect, (options: AgentOptions) => Agent>> = {
  messages({ url, key, model, stream }) {
    const messages: Anthropic.MessageParam[] = [];
    let requestCount = 0;
    return {
      key,
      model,
      history: messages,
      addUserMessage: (text) => void messages.push({ role: 'user', content: [{ type: 'text', text }] }),
      addToolResults(results) {
        messages.push({ role: 'user', content: results.map(messagesResult) });
      },
      async send() {
        const body = {
          model: this.model,
          max_tokens: 8_000,
          thinking: { type: 'enabled' as const, budget_tokens: 2_000 },
          system: [{ type: 'text' as const, text: SYSTEM, cache_control: { type: 'ephemeral' as const } }],
          tools: TOOLS.map(({ name, description, fields }) => ({ name, description, input_schema: schemaOf(fields) })),
          messages: withCacheBreakpoint(messages),
        };
        const client = anthropic(url, this.key);
        requestCount += 1;
        const message = isStreamed(requestCount, stream)
          ? await client.messages.stream(body).finalMessage()
          : await client.messages.create(body);
        messages.push({ role: 'assistant', content: message.content });
        return {
          text: message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
          calls: message.content.flatMap((block) =>
            block.type === 'tool_use' ? [{ id: block.id, name: block.name, args: block.input }] : [],
          ),
        };
      },
    };
  },

  chat({ url, key, model, stream }) {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'system', content: SYSTEM }];
    let requestCount = 0;
    return {
      key,
      model,
      history: messages,
      addUserMessage: (content) => void messages.push({ role: 'user', content }),
      addToolResults(results) {
        for (const { call, text, isError } of results)
          messages.push({ role: 'tool', tool_call_id: call.id, content: isError ? `Error: ${text}` : text });
        const images = results.flatMap(({ image }) => image ?? []);
        // A tool message holds only text, so the image follows in a user message.
        if (images.length > 0) messages.push({ role: 'user', content: images.map(chatImage) });
      },
      async send() {
        const body = {
          model: this.model,
          reasoning_effort: 'high' as const,
          tools: TOOLS.map(({ name, description, fields }) => ({
            type: 'function' as const,
            function: { name, description, parameters: schemaOf(fields) },
          })),
          messages,
        };
        const client = openai(url, this.key);
        requestCount += 1;
        const completion = isStreamed(requestCount, stream)
          ? await client.chat.completions.stream(body).finalChatCompletion()
          : await client.chat.completions.create(body);
        const message = completion.choices[0]?.message;
        if (!message) throw new Error('no choice');
        messages.push(message);
        return {
          text: message.content ?? '',
          calls: (message.tool_calls ?? []).flatMap((call) =>
            call.type === 'function'
              ? [{ id: call.id, name: call.function.name, args: JSON.parse(call.function.arguments) }]
              : [],
          ),
        };
      },
    };
  },

  responses({ url, key, model, stream }) {
    const input: OpenAI.Responses.ResponseInputItem[] = [];
    let requestCount = 0;
    return {
      key,
      model,
      history: input,
      addUserMessage: (content) => void input.push({ role: 'user', content }),
      addToolResults(results) {
        for (const { call, text, isError, image } of results) {
          const shownText = isError ? `Error: ${text}` : text;
          const output = image
            ? [
                { type: 'input_text' as const, text: shownText },
                { type: 'input_image' as const, ...responsesImage(image) },
              ]
            : shownText;
          input.push({ type: 'function_call_output', call_id: call.id, output });
        }
      },
      async send() {
        const body = {
          model: this.model,
          instructions: SYSTEM,
          store: false,
          include: ['reasoning.encrypted_content' as const],
          reasoning: { effort: 'high' as const, summary: 'auto' as const },
          tools: TOOLS.map(({ name, description, fields }) => ({
            type: 'function' as const,
            name,
            description,
            parameters: schemaOf(fields),
            strict: false,
          })),
          input,
        };
        const client = openai(url, this.key);
        requestCount += 1;
        const response = isStreamed(requestCount, stream)
          ? await client.responses.stream(body).finalResponse()
          : await client.responses.create(body);
        input.push(...(response.output as OpenAI.Responses.ResponseInputItem[]));
        return {
          text: response.output_text,
          calls: response.output.flatMap((item) =>
            item.type === 'function_call'
              ? [{ id: item.call_id, name: item.name, args: JSON.parse(item.arguments) }]
              : [],
          ),
        };
      },
    };
  },
};

const chatImage = (data: string) => ({
  type: 'image_url' as const,
  image_url: { url: `data:image/png;base64,${data}` },
});

const responsesImage = (data: string) => ({ image_url: `data:image/png;base64,${data}`, detail: 'auto' as const });

function messagesResult({ call, text, isError, image }: ToolResult): Anthropic.ToolResultBlockParam {
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: image ?? '' };
  return {
    type: 'tool_result',
    tool_use_id: call.id,
    ...(isError && { is_error: true }),
    content: image
      ? [
          { type: 'text', text },
          { type: 'image', source },
        ]
      : text,
  };
}

/** Puts the cache breakpoint on the newest message, as Claude Code does with every request. */
function withCacheBreakpoint(messages: readonly Anthropic.MessageParam[]): Anthropic.MessageParam[] {
  const last = messages.at(-1);
  if (last?.role !== 'user' || typeof last.content === 'string') return [...messages];
  const breakpoint = { cache_control: { type: 'ephemeral' } };
  const end = last.content.length - 1;
  const content = last.content.map((block, n) => (n === end ? ({ ...block, ...breakpoint } as typeof block) : block));
  return [...messages.slice(0, -1), { ...last, content }];
}

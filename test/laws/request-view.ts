/** The conversation in an upstream request, read without the codecs: turns, calls, results and opaque values. */
import type { UpstreamDialect } from '../../src/rules/index.ts';

type Json = Record<string, unknown>;
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});

export interface RequestView {
  /** Texts of both roles and calls, in order. */
  readonly turns: readonly string[];
  /** Results in the order of their calls, text only. */
  readonly results: readonly string[];
  /** Opaque values and the model output they belong to, in order. */
  readonly values: readonly string[];
}

export const viewRequest = (upstream: UpstreamDialect, body: unknown): RequestView => VIEWERS[upstream](objectOf(body));

const args = (value: unknown): string => JSON.stringify(typeof value === 'string' ? JSON.parse(value) : value);

const VIEWERS: Readonly<Record<UpstreamDialect, (body: Json) => RequestView>> = {
  messages(body) {
    const view = { turns: [] as string[], results: [] as string[], values: [] as string[] };
    for (const { role, content } of listOf(body.messages)) {
      for (const block of listOf(content)) {
        if (block.type === 'text') view.turns.push(`${role}: ${block.text}`);
        if (block.type === 'image') view.turns.push(`${role}: image`);
        if (block.type === 'tool_use') view.turns.push(`call ${block.name} ${args(block.input)}`);
        if (block.type === 'tool_result') view.results.push(textOf(block.content));
        if (role === 'assistant') view.values.push(String(block.signature ?? block.data ?? block.text ?? block.name));
      }
    }
    return view;
  },
  chat(body) {
    const view = { turns: [] as string[], results: [] as string[], values: [] as string[] };
    for (const message of listOf(body.messages)) {
      const { role } = message;
      if (role === 'tool')
        view.results.push(typeof message.content === 'string' ? message.content : textOf(message.content));
      else if (role !== 'system') {
        const parts =
          typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : listOf(message.content);
        for (const part of parts) view.turns.push(`${role}: ${part.type === 'text' ? part.text : 'image'}`);
      }
      for (const call of listOf(message.tool_calls)) {
        const { name, arguments: input } = objectOf(call.function);
        view.turns.push(`call ${name} ${args(input)}`);
      }
    }
    return view;
  },
  responses(body) {
    const view = { turns: [] as string[], results: [] as string[], values: [] as string[] };
    for (const item of listOf(body.input)) {
      const isModelItem = item.type !== 'function_call_output' && item.role !== 'user' && item.role !== 'developer';
      if (item.type === 'message' && item.role !== 'developer') {
        for (const part of listOf(item.content)) view.turns.push(`${item.role}: ${part.text ?? 'image'}`);
      }
      if (item.type === 'function_call') view.turns.push(`call ${item.name} ${args(item.arguments)}`);
      if (item.type === 'function_call_output') {
        view.results.push(typeof item.output === 'string' ? item.output : textOf(item.output));
      }
      if (!isModelItem) continue;
      if (item.type === 'message') for (const part of listOf(item.content)) view.values.push(String(part.text));
      else view.values.push(String(item.encrypted_content ?? item.name));
    }
    return view;
  },
  generate(body) {
    const view = { turns: [] as string[], results: [] as string[], values: [] as string[] };
    for (const { role, parts } of listOf(body.contents)) {
      for (const part of listOf(parts)) {
        const speaker = role === 'model' ? 'assistant' : 'user';
        const call = objectOf(part.functionCall);
        if (typeof part.text === 'string' && part.text !== '') view.turns.push(`${speaker}: ${part.text}`);
        if (part.inlineData) view.turns.push(`${speaker}: image`);
        if (part.functionCall) view.turns.push(`call ${call.name} ${args(call.args)}`);
        if (part.functionResponse) {
          const response = objectOf(objectOf(part.functionResponse).response);
          view.results.push(String(response.output ?? response.error));
        }
        if (role !== 'model') continue;
        if (part.thoughtSignature) view.values.push(String(part.thoughtSignature));
        view.values.push(String(part.functionCall ? call.name : part.text));
      }
    }
    return view;
  },
  converse(body) {
    const view = { turns: [] as string[], results: [] as string[], values: [] as string[] };
    for (const { role, content } of listOf(body.messages)) {
      for (const block of listOf(content) as ConverseBlock[]) {
        const { text, image, toolUse, toolResult, reasoningContent: thought } = block;
        if (text !== undefined) view.turns.push(`${role}: ${text}`);
        if (image) view.turns.push(`${role}: image`);
        if (toolUse) view.turns.push(`call ${toolUse.name} ${args(toolUse.input)}`);
        if (toolResult) view.results.push(textOf(toolResult.content));
        const value = thought?.reasoningText?.signature ?? thought?.redactedContent ?? text ?? toolUse?.name;
        if (role === 'assistant') view.values.push(String(value));
      }
    }
    return view;
  },
};

/** What the blocks of Converse hold. */
interface ConverseBlock extends Json {
  readonly toolUse?: { readonly name: string; readonly input: unknown };
  readonly toolResult?: { readonly content: unknown };
  readonly reasoningContent?: {
    readonly reasoningText?: { readonly signature: string };
    readonly redactedContent?: string;
  };
}

const textOf = (content: unknown): string =>
  listOf(content)
    .flatMap((part) => (typeof part.text === 'string' ? [part.text] : []))
    .join('');

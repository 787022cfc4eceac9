/** What an upstream is told, read from its request without any codec: who said what, which calls, which results, which values. */
import type { Dialect } from '../../src/rules/index.ts';

type Json = Record<string, unknown>;
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});

export interface Spoken {
  /** Words of both sides and calls, in order. */
  readonly said: readonly string[];
  /** Results in the order of their calls, text only. */
  readonly results: readonly string[];
  /** Opaque values and what they stand before or on, in order; results left out. */
  readonly values: readonly string[];
}

export const spokenTo = (upstream: Dialect, body: unknown): Spoken => SPOKEN[upstream](objectOf(body));

const args = (value: unknown): string => JSON.stringify(typeof value === 'string' ? JSON.parse(value) : value);

const SPOKEN: Readonly<Record<Dialect, (body: Json) => Spoken>> = {
  messages(body) {
    const spoken = { said: [] as string[], results: [] as string[], values: [] as string[] };
    for (const { role, content } of listOf(body.messages)) {
      for (const block of listOf(content)) {
        if (block.type === 'text') spoken.said.push(`${role}: ${block.text}`);
        if (block.type === 'image') spoken.said.push(`${role}: image`);
        if (block.type === 'tool_use') spoken.said.push(`call ${block.name} ${args(block.input)}`);
        if (block.type === 'tool_result') spoken.results.push(textOf(block.content));
        if (role === 'assistant') spoken.values.push(String(block.signature ?? block.data ?? block.text ?? block.name));
      }
    }
    return spoken;
  },
  chat(body) {
    const spoken = { said: [] as string[], results: [] as string[], values: [] as string[] };
    for (const message of listOf(body.messages)) {
      const { role } = message;
      if (role === 'tool')
        spoken.results.push(typeof message.content === 'string' ? message.content : textOf(message.content));
      else if (role !== 'system') {
        const parts =
          typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : listOf(message.content);
        for (const part of parts) spoken.said.push(`${role}: ${part.type === 'text' ? part.text : 'image'}`);
      }
      for (const call of listOf(message.tool_calls)) {
        const made = objectOf(call.function);
        spoken.said.push(`call ${made.name} ${args(made.arguments)}`);
      }
    }
    return spoken;
  },
  responses(body) {
    const spoken = { said: [] as string[], results: [] as string[], values: [] as string[] };
    for (const item of listOf(body.input)) {
      const own = item.type !== 'function_call_output' && item.role !== 'user' && item.role !== 'developer';
      if (item.type === 'message' && item.role !== 'developer') {
        for (const part of listOf(item.content)) spoken.said.push(`${item.role}: ${part.text ?? 'image'}`);
      }
      if (item.type === 'function_call') spoken.said.push(`call ${item.name} ${args(item.arguments)}`);
      if (item.type === 'function_call_output') {
        spoken.results.push(typeof item.output === 'string' ? item.output : textOf(item.output));
      }
      if (!own) continue;
      if (item.type === 'message') for (const part of listOf(item.content)) spoken.values.push(String(part.text));
      else spoken.values.push(String(item.encrypted_content ?? item.name));
    }
    return spoken;
  },
  generate(body) {
    const spoken = { said: [] as string[], results: [] as string[], values: [] as string[] };
    for (const { role, parts } of listOf(body.contents)) {
      for (const part of listOf(parts)) {
        const who = role === 'model' ? 'assistant' : 'user';
        const made = objectOf(part.functionCall);
        if (typeof part.text === 'string' && part.text !== '') spoken.said.push(`${who}: ${part.text}`);
        if (part.inlineData) spoken.said.push(`${who}: image`);
        if (part.functionCall) spoken.said.push(`call ${made.name} ${args(made.args)}`);
        if (part.functionResponse) {
          const response = objectOf(objectOf(part.functionResponse).response);
          spoken.results.push(String(response.output ?? response.error));
        }
        if (role !== 'model') continue;
        if (part.thoughtSignature) spoken.values.push(String(part.thoughtSignature));
        spoken.values.push(String(part.functionCall ? made.name : part.text));
      }
    }
    return spoken;
  },
};

const textOf = (content: unknown): string =>
  listOf(content)
    .flatMap((part) => (typeof part.text === 'string' ? [part.text] : []))
    .join('');

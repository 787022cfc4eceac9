/** A row of the register, and shorthands for its vectors. */
import type { Dialect } from '../../../src/rules/index.ts';
import {
  type ConversionVector,
  type ExpectedRejection,
  type ExpectedReply,
  type ExpectedRequest,
  readConversion,
  type Vector,
} from '../vector.ts';

/** Client dialect over provider dialect. */
export type Conversion = `${Dialect} over ${Dialect}`;

/** One point where two dialects cannot express the same. */
export interface Row {
  /** Printed in `docs/fidelity.md`. */
  readonly summary: string;
  /** The conversions it concerns. The vectors cover all of them, or `test` proves the rest. */
  readonly conversions: readonly Conversion[];
  readonly outcomes: readonly ('carried' | 'changed' | 'dropped' | 'rejected' | 'never')[];
  readonly vectors: readonly Vector[];
  /** The file of a test that proves what needs more than a codec, such as the store or the cache of the gateway. */
  readonly test?: string;
}

type Json = Record<string, unknown>;
type More = Partial<Vector>;

/** Expects an upstream request. */
export const encodes = (conversion: Conversion, request: Json, expect: ExpectedRequest, more: More = {}): Vector => ({
  ...dialectsOf(conversion),
  request,
  expect,
  ...more,
});

export const rejects = (
  conversion: Conversion,
  request: Json,
  rejected: ExpectedRejection,
  more: More = {},
): Vector => ({
  ...dialectsOf(conversion),
  request,
  rejected: rejected,
  ...more,
});

/** Expects the response to the client for a unary provider reply. */
export const returns = (conversion: Conversion, unary: unknown, expect: ExpectedReply, more: More = {}): Vector => ({
  ...dialectsOf(conversion),
  unary,
  expect,
  ...more,
});

/** A vector from `test/vectors/conversions`. */
export const fromFile = (name: string): ConversionVector => readConversion(name);

function dialectsOf(conversion: Conversion): { client: Dialect; upstream: Dialect } {
  const [client, upstream] = conversion.split(' over ') as [Dialect, Dialect];
  return { client, upstream };
}

// ---------------------------------------------------------------- fixtures in each dialect

export const user = (content: unknown): Json => ({ role: 'user', content });
export const assistant = (content: unknown): Json => ({ role: 'assistant', content });

const OBJECT = { type: 'object', properties: {} };
/** The same tool in each client dialect. */
export const FIND = {
  messages: { name: 'find', input_schema: OBJECT },
  chat: { type: 'function', function: { name: 'find', parameters: OBJECT } },
  responses: { type: 'function', name: 'find', parameters: OBJECT },
} as const;

/** A call of that tool and its result, as each client sends them back. */
export const CALL_AND_RESULT = {
  messages: (result: Json = { content: 'ok' }): Json[] => [
    assistant([{ type: 'tool_use', id: 'call_a', name: 'find', input: {} }]),
    user([{ type: 'tool_result', tool_use_id: 'call_a', ...result }]),
  ],
  chat: (): Json[] => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'find', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_a', content: 'ok' },
  ],
  responses: (output: unknown = 'ok'): Json[] => [
    { type: 'function_call', call_id: 'call_a', name: 'find', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_a', output },
  ],
} as const;

/** Unary replies of each provider. */
export const unaryReply = {
  messages: (content: readonly unknown[], more: Json = {}): Json => ({
    id: 'msg_law1234',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
    ...more,
  }),
  responses: (output: readonly unknown[], more: Json = {}): Json => ({
    id: 'resp_law1234',
    object: 'response',
    model: 'up',
    status: 'completed',
    output,
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    ...more,
  }),
  generate: (parts: readonly unknown[], more: Json = {}): Json => ({
    responseId: 'law1234',
    modelVersion: 'up',
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    ...more,
  }),
};

export const assistantMessage = (text: string): Json => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});

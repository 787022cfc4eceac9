/** What a row of the register is, and short ways to write its proofs. */
import type { Dialect } from '../../../src/rules/index.ts';
import type { Elsewhere } from '../test-reference.ts';
import { type Answered, type PairVector, type Refused, readPair, type Vector, type Written } from '../vector.ts';

/** Client first. */
export type Way = `${Dialect} over ${Dialect}`;

/** One point where two dialects do not say the same. */
export interface Row {
  /** In one line, for people. */
  readonly story: string;
  /** The conversions that it concerns. */
  readonly ways: readonly Way[];
  readonly fate: readonly ('carried' | 'changed' | 'left out' | 'rejected' | 'never')[];
  readonly proofs: readonly Proof[];
}
export type Proof = Vector | Elsewhere;

type Json = Record<string, unknown>;
type More = Partial<Vector>;

/** What is written for the upstream. */
export const writes = (way: Way, request: Json, expect: Written, more: More = {}): Vector => ({
  ...ends(way),
  request,
  expect,
  ...more,
});

export const refuses = (way: Way, request: Json, refused: Refused, more: More = {}): Vector => ({
  ...ends(way),
  request,
  refused,
  ...more,
});

/** What the client hears of a whole answer. */
export const tells = (way: Way, unary: unknown, expect: Answered, more: More = {}): Vector => ({
  ...ends(way),
  unary,
  expect,
  ...more,
});

/** A situation that is on file already. */
export const recorded = (name: string): PairVector => readPair(name);

/** A test over HTTP. */
export const seenIn = (file: string, title: string): Elsewhere => ({ file: `test/e2e/${file}.test.ts`, title });

function ends(way: Way): { client: Dialect; upstream: Dialect } {
  const [client, upstream] = way.split(' over ') as [Dialect, Dialect];
  return { client, upstream };
}

// ---------------------------------------------------------------- words of the dialects

export const user = (content: unknown): Json => ({ role: 'user', content });
export const assistant = (content: unknown): Json => ({ role: 'assistant', content });

const OBJECT = { type: 'object', properties: {} };
/** The same function in the words of each client. */
export const FIND = {
  messages: { name: 'find', input_schema: OBJECT },
  chat: { type: 'function', function: { name: 'find', parameters: OBJECT } },
  responses: { type: 'function', name: 'find', parameters: OBJECT },
} as const;

/** A call of it and its result, as each client sends them back. */
export const CALLED = {
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

/** Whole answers of each upstream. */
export const answer = {
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

export const said = (text: string): Json => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});

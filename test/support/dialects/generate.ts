/** Builders and shortcuts for tests of the generate dialect. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ApiError } from '../../../src/core/index.ts';
import type { DecodeContext, ReplyContext, UpstreamTarget } from '../../../src/dialects/codec.ts';
import { openEncoder } from '../../../src/dialects/generate/client/stream-encoder.ts';
import { openDecoder } from '../../../src/dialects/generate/upstream/stream-decoder.ts';
import type { HubEvent, HubItem, HubRequest, Opaque } from '../../../src/dialects/hub/types.ts';
import { type CapabilityOverrides, capabilitiesOf } from '../../../src/rules/index.ts';
import { CONTEXT, decodeAll, hubRequest, readVectors, replyContext, type WireEvent } from './codecs.ts';

export { CONTEXT, hubRequest };
export const vectors = readVectors('generate');

export const decode = (events: readonly WireEvent[], context: DecodeContext = CONTEXT): HubEvent[] =>
  decodeAll(openDecoder(context), events);

export const target = (overrides: CapabilityOverrides = {}, model = 'gemini-3-pro'): UpstreamTarget => ({
  model,
  capabilities: capabilitiesOf('generate-content', model, overrides),
});

export const clientContext = (changes: Partial<HubRequest> = {}): ReplyContext =>
  replyContext({ request: hubRequest(changes), created: 1 });

export const user = (text: string): HubItem => ({
  kind: 'message',
  role: 'user',
  parts: [{ kind: 'text', text }],
});
export const model = (text: string): HubItem => ({
  kind: 'message',
  role: 'assistant',
  parts: [{ kind: 'text', text }],
});
export const call = (callId: string, name = 'f', args = '{}'): HubItem => ({
  kind: 'tool_call',
  callId,
  name,
  form: 'function',
  args,
});
export const result = (callId: string, text = 'ok'): HubItem => ({
  kind: 'tool_result',
  callId,
  form: 'function',
  parts: [{ kind: 'text', text }],
});
export const thought = (data: string, more: Partial<Opaque> = {}): Opaque => ({
  issuer: 'generate-content',
  kind: 'thought',
  data,
  ...more,
});

export const functionCallPart = (id: string, name = 'f', thoughtSignature?: string) => ({
  functionCall: { id, name, args: {} },
  ...(thoughtSignature !== undefined && { thoughtSignature }),
});
export const functionResponsePart = (id: string, output = 'ok', name = 'f') => ({
  functionResponse: { id, name, response: { output } },
});

/** Predicate for `assert.throws`. */
export const isApiError = (code: string, message: RegExp) => (error: unknown) =>
  error instanceof ApiError && error.code === code && message.test(error.message);

// ---------------------------------------------------------------- streams

const WITH_THOUGHTS = clientContext({ clientOptions: { thoughts: true } });

export function encodeStream(events: readonly HubEvent[], context = WITH_THOUGHTS): string {
  const encoder = openEncoder(context);
  return events.map((event) => encoder.push(event)).join('');
}

/** Splits a stream as the official SDK does: data lines only, each followed by a blank line. */
export function chunksOf(text: string): { data: string }[] {
  assert.ok(text === '' || text.endsWith('\n\n'));
  return text
    .split('\n\n')
    .filter((part) => part !== '' && !part.startsWith(':'))
    .map((part) => {
      assert.match(part, /^data: \{/);
      return { data: part.slice('data: '.length) };
    });
}

// ---------------------------------------------------------------- schemas

export const propertyNames = fc.oneof(
  fc.constantFrom('a', 'b', 'title', 'type', 'default', 'format', '$ref', '__proto__'),
  fc.string({ maxLength: 5 }),
);

/** JSON Schemas with the keywords and mistakes that clients send. */
export const { schema: jsonSchemas } = fc.letrec((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(fc.boolean(), fc.constant({})),
    fc.record(
      {
        type: fc.oneof(
          fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'object', 'null', 'nonsense'),
          fc.subarray(['string', 'integer', 'object', 'null']),
        ),
        description: fc.string(),
        title: fc.string(),
        format: fc.constantFrom('date-time', 'email', 'int32'),
        enum: fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { maxLength: 3 }),
        const: fc.oneof(fc.string(), fc.boolean(), fc.constant(null)),
        minimum: fc.integer(),
        exclusiveMaximum: fc.oneof(fc.integer(), fc.boolean()),
        required: fc.array(propertyNames, { maxLength: 3 }),
        properties: fc.dictionary(propertyNames, tie('schema'), { maxKeys: 4 }),
        items: tie('schema'),
        anyOf: fc.array(tie('schema'), { maxLength: 3 }),
        oneOf: fc.array(tie('schema'), { maxLength: 3 }),
        allOf: fc.array(tie('schema'), { maxLength: 2 }),
        additionalProperties: tie('schema'),
        $ref: fc.constantFrom('#', '#/properties/a', '#/items', '#/$defs/x'),
      },
      { requiredKeys: [] },
    ),
  ),
}));

/** False for schemas near the node limit, which a second conversion would truncate again. */
export const isSmallSchema = (schema: unknown): boolean => JSON.stringify(schema).length < 50_000;

/**
 * Compares every response body and stream event that the gateway converts with the SDKs' types. A test file that
 * imports this module fails at its end if one of its responses differed. It observes the encoders and changes nothing.
 */
import assert from 'node:assert/strict';
import { codecOf, type StreamEncoder } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { type JsonSchema, type Resolve, violations } from './json-schema.ts';
import { PredicateCompiler } from './schema-predicate.ts';
import { resolverOf, type Subject, sdkSchemas } from './sdk-schemas.ts';

const found = new Set<string>();

const comparisons = new Map<Dialect, Comparison>();

interface Extension {
  readonly types: readonly string[];
  readonly members?: Readonly<Record<string, JsonSchema>>;
  /** Required members of the type that the gateway may omit. */
  readonly omitted?: readonly string[];
  readonly why: string;
}

const TEXT = { type: 'string' };
const MESSAGES_ERRORS = [
  ...['InvalidRequest', 'Authentication', 'Billing', 'Permission', 'NotFound', 'RateLimit', 'GatewayTimeout'],
  ...['Overloaded', 'API'],
].map((name) => `${name}ErrorObject`);
const CHAT_CALLS = ['ChatCompletionMessageFunctionToolCall', 'ChatCompletionMessageCustomToolCall'];
const DELTA = 'ChatCompletionChunk.Choice.Delta';

/** Members beyond the types, with further values, or omitted, and why. */
const EXTENSIONS: Readonly<Record<Dialect, readonly Extension[]>> = {
  messages: [
    { types: MESSAGES_ERRORS, members: { code: TEXT }, why: 'the stable code of the gateway, as in error responses' },
    {
      types: ['MessageDeltaUsage'],
      members: { cache_creation: true, service_tier: true, inference_geo: true, speed: true },
      why: 'other providers report usage only at the end, after `message_start`',
    },
    { types: ['TextBlock'], omitted: ['citations'], why: 'the provider omits it too, and strict clients reject null' },
  ],
  chat: [
    {
      types: ['ChatCompletionMessage', DELTA],
      members: { reasoning_content: TEXT, images: { type: 'array' } },
      why: 'the usual extensions for reasoning and generated images',
    },
    { types: [...CHAT_CALLS, `${DELTA}.ToolCall`], members: { extra_content: true }, why: 'the signature of a call' },
    { types: [DELTA], members: { annotations: { type: 'array' } }, why: 'the provider streams them too' },
  ],
  responses: [
    { types: ['Response'], members: { store: { type: 'boolean' } }, why: 'the provider sends it too' },
    {
      types: ['Response'],
      members: {
        usage: { anyOf: [{ $ref: '#/definitions/ResponseUsage' }, { type: 'null' }] },
        user: { type: ['string', 'null'] },
      },
      why: 'the provider sends null where nothing is known',
    },
    {
      types: ['ResponseFunctionCallArgumentsDoneEvent', 'ResponseCustomToolCallInputDoneEvent'],
      members: { name: TEXT },
      why: 'version 6 of the SDK requires it',
    },
    {
      types: ['Response'],
      members: { presence_penalty: { type: 'number' }, frequency_penalty: { type: 'number' } },
      why: 'the Open Responses types require them',
    },
    {
      types: ['ResponseFormatTextJSONSchemaConfig'],
      members: { description: { type: ['string', 'null'] } },
      why: 'the provider sends null where nothing is known',
    },
    { types: ['ResponseCustomToolCall'], members: { status: TEXT }, why: 'the provider sends it too' },
    { types: ['ResponseError'], members: { code: TEXT }, why: 'agents act on codes that the type does not list' },
  ],
  generate: [],
};

for (const dialect of ['messages', 'chat', 'responses', 'generate'] as const) observe(dialect);
// At the exit rather than in a hook: a hook that fails keeps later ones from stopping what the tests have started.
process.once('exit', () => {
  if (found.size === 0) return;
  console.error('Converted responses differ from the types of the SDKs:', [...found]);
  process.exitCode = 1;
});

function observe(dialect: Dialect): void {
  const client: { -readonly [K in 'encodeReply' | 'openEncoder']: Client[K] } = codecOf(dialect).client;
  const { encodeReply, openEncoder } = client;
  client.encodeReply = (reply, context) => {
    const body = encodeReply(reply, context);
    compare(dialect, 'reply', body);
    return body;
  };
  client.openEncoder = (context) => observed(dialect, openEncoder(context));
}

type Client = ReturnType<typeof codecOf>['client'];

function observed(dialect: Dialect, encoder: StreamEncoder): StreamEncoder {
  const { push, pushEvents } = encoder;
  return Object.assign(encoder, {
    push(event: Parameters<typeof push>[0]) {
      const text = push.call(encoder, event);
      for (const data of dataIn(text)) compare(dialect, 'event', JSON.parse(data));
      return text;
    },
    ...(pushEvents && {
      pushEvents(event: Parameters<typeof push>[0]) {
        const texts = pushEvents.call(encoder, event);
        for (const data of texts) compare(dialect, 'event', JSON.parse(data));
        return texts;
      },
    }),
  });
}

const dataIn = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => line.slice('data: '.length));

function compare(dialect: Dialect, subject: Subject, value: unknown): void {
  const { compiler, resolve } = comparisons.get(dialect) ?? openComparison(dialect);
  const schema = sdkSchemas(dialect)[subject];
  if (compiler.compile(schema)(value)) return;
  for (const violation of violations(schema, value, resolve, subject)) found.add(`${dialect} ${violation}`);
}

// ---------------------------------------------------------------- types

interface Comparison {
  readonly compiler: PredicateCompiler;
  readonly resolve: Resolve;
}

/** Compares with the SDK's types, extended by the members that the gateway adds on purpose. */
function openComparison(dialect: Dialect): Comparison {
  const { definitions } = sdkSchemas(dialect);
  const extended = { ...definitions };
  for (const { types, members, omitted = [] } of EXTENSIONS[dialect])
    for (const type of types) {
      const schema = extended[type] as { properties: object; required?: readonly string[] };
      assert.ok(schema, `the SDK has a type ${type}`);
      const required = (schema.required ?? []).filter((name) => !omitted.includes(name));
      extended[type] = { ...schema, properties: { ...schema.properties, ...members }, required };
    }
  const resolve = resolverOf(dialect, extended);
  const comparison = { compiler: new PredicateCompiler(resolve), resolve };
  comparisons.set(dialect, comparison);
  return comparison;
}

/**
 * Compares every response body and stream event that the gateway converts with the SDKs' types. A test file that imports this
 * module fails at its end if one of its responses differed. It observes the encoders and changes nothing.
 */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { codecOf, type StreamEncoder } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { type Subject, sdkViolations } from './sdk-schemas.ts';

const found = new Set<string>();

for (const dialect of ['messages', 'chat', 'responses', 'generate'] as const) observe(dialect);
// Scripts that generate pages import this module too, outside of a test run.
if (process.env.NODE_TEST_CONTEXT !== undefined)
  after(() => assert.deepEqual([...found], [], 'converted responses have the types of the SDKs'));

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
  for (const violation of sdkViolations(dialect, subject, value)) {
    const difference = `${dialect} ${violation.replaceAll(/\[\d+\]/g, '[]')}`;
    if (!INTENDED.some(([pattern]) => pattern.test(difference))) found.add(difference);
  }
}

/** Differences from the types, and why the gateway has them. */
const INTENDED: readonly (readonly [RegExp, string])[] = [
  [/^messages event\.error: code is unknown/, 'the stable code of the gateway, as in error responses'],
  [
    /^messages event\.usage: (?:cache_creation|service_tier|inference_geo|speed) is unknown/,
    'other providers report usage only at the end, after `message_start`',
  ],
  [/^chat .*: reasoning_content is unknown/, 'the usual extension for reasoning, which no official member has'],
  [/^chat .*: images is unknown/, 'the usual extension for generated images'],
  [/^chat .*\.tool_calls\[\]: extra_content is unknown/, 'carries the thought signature of a call'],
  [
    /^chat event\.choices\[\]\.delta: annotations is unknown/,
    'the provider streams them; the type has them in messages only',
  ],
  [/^responses .*: store is unknown/, 'the provider and the Open Responses schema have it'],
  [/^responses .*\.(?:usage: not object|user: not string)/, 'the provider sends null where nothing is known'],
  [/^responses event: name is unknown/, 'the SDK of version 6 requires it'],
  [/^responses .*(?:item|output\[\]): status is unknown/, 'the provider sends the status of custom calls'],
  [/^responses event\.response\.error\.code: not one of/, 'agents act on codes that the type does not list'],
];

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { codecOf, encodeRequestFor, type HubRequest, pairOf } from '../../src/dialects/index.ts';
import type { Dialect, UpstreamDialect } from '../../src/rules/index.ts';
import { deepFreeze } from '../support/dialects/codecs.ts';
import { bodyOf, type Conversation, conversations, type Turn } from './conversation-arbitrary.ts';
import { DIALECT_PAIRS, DIALECTS, targetFor } from './dialect-pairs.ts';
import { viewRequest } from './request-view.ts';
import { checkRules } from './rules.ts';
import { law } from './runs.ts';

const decodeRequest = (client: Dialect, body: unknown): HubRequest =>
  deepFreeze(codecOf(client).client.decodeRequest(body, { headers: {}, model: 'asked-for' }));

/** Models of several generations: each accepts other fields. */
const flags = fc.record({
  thinking: fc.constantFrom('adaptive', 'manual', 'both', 'none' as const),
  sampling: fc.constantFrom('full', 'none' as const),
  resultMedia: fc.boolean(),
  functionsWithSchema: fc.boolean(),
  jsonSchemaTools: fc.boolean(),
  explicitCache: fc.boolean(),
  phase: fc.boolean(),
});

/** The turns of a conversation, as `request-view.ts` prints them. */
function expectedTurns(client: Dialect, upstream: UpstreamDialect, { turns, last }: Conversation): string[] {
  const inResults = client === 'messages' || client === 'responses';
  const parts = (list: Turn['user']) => list.map((part) => `user: ${'text' in part ? part.text : 'image'}`);
  const expected: string[] = [];
  let imagesOfResults: string[] = [];
  for (const { user, text, calls } of turns) {
    expected.push(...imagesOfResults, ...parts(user));
    if (text) expected.push(`assistant: ${text}`);
    for (const { name, args } of calls) expected.push(`call ${name} ${args}`);
    // A chat result is text only: its images follow in a user message, behind a label that names the call.
    const withImage = inResults && upstream === 'chat' ? calls.filter((call) => call.result?.image) : [];
    imagesOfResults = withImage.flatMap(() => ['user: label', 'user: image']);
  }
  return [...expected, ...imagesOfResults, ...parts(last)];
}

const LABEL = /^user: From the result of tool call /;
const withoutLabels = (expected: readonly string[]): string[] =>
  expected.map((one) => (LABEL.test(one) ? 'user: label' : one));

for (const pair of DIALECT_PAIRS) {
  const { client, upstream, name, isOffered } = pair;
  test(`${name}: any conversation is encoded completely, in order, deterministically and by the provider's rules`, () => {
    law(
      fc.tuple(conversations, flags),
      ([conversation, capabilities]) => {
        const request = decodeRequest(client, bodyOf(client, conversation));
        const target = targetFor(upstream, 'some-model', { ...capabilities, prefill: true });
        const encoded = encodeRequestFor(pairOf(pair), request, target);
        assert.deepEqual(encodeRequestFor(pairOf(pair), request, target), encoded, 'encoding is deterministic');
        assert.deepEqual(JSON.parse(JSON.stringify(encoded.body)), encoded.body, 'the body survives JSON');
        checkRules(upstream, encoded.body);

        const view = viewRequest(upstream, encoded.body);
        // Images of tool results follow them for models without media in results.
        if (upstream !== 'generate' || capabilities.resultMedia) {
          assert.deepEqual(withoutLabels(view.turns), expectedTurns(client, upstream, conversation));
        }
        const results = conversation.turns.flatMap(({ calls }) =>
          calls.flatMap(({ result }) => (result ? [result.text] : [])),
        );
        assert.deepEqual(
          view.results.filter((text) => !/No output was recorded/.test(text)),
          results,
        );
      },
      isOffered ? 1 : 0.1,
    );
  });

  test(`${name}: a continued conversation begins with the same bytes`, () => {
    law(
      conversations.filter(({ turns }) => turns.length > 0),
      (conversation) => {
        const complete = { ...conversation, turns: conversation.turns.map(withResults) };
        const [next] = complete.turns.slice(-1);
        const before = { ...complete, turns: complete.turns.slice(0, -1), last: next?.user ?? [] };
        const encode = (one: Conversation) =>
          conversationOf(
            upstream,
            encodeRequestFor(pairOf(pair), decodeRequest(client, bodyOf(client, one)), targetFor(upstream)).body,
          );
        const short = encode(before);
        assert.deepEqual(encode(complete).slice(0, short.length), short);
      },
      isOffered ? 0.25 : 0.05,
    );
  });
}

/** A result that arrives later replaces the synthetic one and changes the prefix, so every call gets one here. */
const withResults = (turn: Turn): Turn => ({
  ...turn,
  calls: turn.calls.map((call) => ({ ...call, result: call.result ?? { text: 'ok' } })),
});

const CONVERSATION: Readonly<Record<UpstreamDialect, string>> = {
  converse: 'messages',
  messages: 'messages',
  chat: 'messages',
  responses: 'input',
  generate: 'contents',
};

const conversationOf = (upstream: UpstreamDialect, body: Readonly<Record<string, unknown>>): string[] =>
  (body[CONVERSATION[upstream]] as unknown[]).map((entry) => JSON.stringify(entry));

for (const dialect of DIALECTS) {
  test(`a ${dialect} request encoded for its own dialect decodes to the same request`, () => {
    law(
      conversations,
      (conversation) => {
        const request = decodeRequest(
          dialect,
          bodyOf(dialect, { ...conversation, turns: conversation.turns.map(withResults) }),
        );
        const target = targetFor(dialect, 'some-model', { prefill: true, sampling: 'full', stop: true });
        const { body, emulateStop } = codecOf(dialect).upstream.encodeRequest(request, target);
        const again = decodeRequest(dialect, body);
        assert.deepEqual(comparableItems(again), comparableItems(request));
        assert.deepEqual(again.system, request.system);
        assert.deepEqual(again.tools.map(withoutStrict), request.tools.map(withoutStrict));
        assert.deepEqual(again.toolChoice, request.toolChoice);
        assert.deepEqual([...(again.sampling.stop ?? []), ...emulateStop], request.sampling.stop ?? []);
      },
      0.5,
    );
  });
}

/** Items without the members that encoding may change: ids, names, signatures and defaults. */
const comparableItems = ({ items }: HubRequest): unknown[] =>
  items.map((item) =>
    JSON.parse(
      JSON.stringify(item, (key, value: unknown) =>
        ['callId', 'detail', 'signature', 'name'].includes(key) ? undefined : value,
      ),
    ),
  );
const withoutStrict = <T extends object>(tool: T): unknown => ({ ...tool, strict: undefined });

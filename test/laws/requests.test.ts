import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { codecOf, encodeRequestFor, type HubRequest } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { deepFreeze } from '../support/dialects/codecs.ts';
import { bodyOf, type Script, scripts, type Turn } from './conversation-arbitrary.ts';
import { CROSSINGS, DIALECTS, pairOf, targetFor } from './dialect-pairs.ts';
import { spokenTo } from './request-view.ts';
import { checkRules } from './rules.ts';
import { law } from './runs.ts';

const read = (client: Dialect, body: unknown): HubRequest =>
  deepFreeze(codecOf(client).client.decodeRequest(body, { headers: {}, model: 'asked-for' }));

/** Models of several generations: what is written for one must not be what another refuses. */
const flags = fc.record({
  thinking: fc.constantFrom('adaptive', 'manual', 'both', 'none' as const),
  sampling: fc.constantFrom('full', 'none' as const),
  resultMedia: fc.boolean(),
  functionsWithSchema: fc.boolean(),
  jsonSchemaTools: fc.boolean(),
  explicitCache: fc.boolean(),
  phase: fc.boolean(),
});

/** What was said, in the words of `spoken.ts`. */
function saidIn(client: Dialect, upstream: Dialect, { turns, last }: Script): string[] {
  const inResults = client === 'messages' || client === 'responses';
  const parts = (list: Turn['user']) => list.map((part) => `user: ${'text' in part ? part.text : 'image'}`);
  const said: string[] = [];
  let beside: string[] = [];
  for (const { user, text, calls } of turns) {
    said.push(...beside, ...parts(user));
    if (text) said.push(`assistant: ${text}`);
    for (const { name, args } of calls) said.push(`call ${name} ${args}`);
    // A chat result is text only: its pictures follow in a message, behind a line that says whose they are.
    const shown = inResults && upstream === 'chat' ? calls.filter((call) => call.result?.image) : [];
    beside = shown.flatMap(() => ['user: label', 'user: image']);
  }
  return [...said, ...beside, ...parts(last)];
}

const LABEL = /^user: From the result of tool call /;
const unlabelled = (said: readonly string[]): string[] => said.map((one) => (LABEL.test(one) ? 'user: label' : one));

for (const crossing of CROSSINGS) {
  const { client, upstream, name, isOffered } = crossing;
  test(`${name}: any conversation is written as the provider takes it, whole, in order, and the same every time`, () => {
    law(
      fc.tuple(scripts, flags),
      ([script, capabilities]) => {
        const request = read(client, bodyOf(client, script));
        const target = targetFor(upstream, 'some-model', { ...capabilities, prefill: true });
        const encoded = encodeRequestFor(pairOf(crossing), request, target);
        assert.deepEqual(encodeRequestFor(pairOf(crossing), request, target), encoded, 'the same twice');
        assert.deepEqual(JSON.parse(JSON.stringify(encoded.body)), encoded.body, 'nothing that JSON cannot say');
        checkRules(upstream, encoded.body);

        const spoken = spokenTo(upstream, encoded.body);
        // Pictures in results stand beside them for models that cannot take them inside.
        if (upstream !== 'generate' || capabilities.resultMedia) {
          assert.deepEqual(unlabelled(spoken.said), saidIn(client, upstream, script));
        }
        const answered = script.turns.flatMap(({ calls }) =>
          calls.flatMap(({ result }) => (result ? [result.text] : [])),
        );
        assert.deepEqual(
          spoken.results.filter((text) => !/No output was recorded/.test(text)),
          answered,
        );
      },
      isOffered ? 1 : 0.1,
    );
  });

  test(`${name}: a conversation that goes on begins with the same bytes`, () => {
    law(
      scripts.filter(({ turns }) => turns.length > 0),
      (script) => {
        const whole = { ...script, turns: script.turns.map(answeredTurn) };
        const [next] = whole.turns.slice(-1);
        const before = { ...whole, turns: whole.turns.slice(0, -1), last: next?.user ?? [] };
        const write = (one: Script) =>
          conversationOf(
            upstream,
            encodeRequestFor(pairOf(crossing), read(client, bodyOf(client, one)), targetFor(upstream)).body,
          );
        const short = write(before);
        assert.deepEqual(write(whole).slice(0, short.length), short);
      },
      isOffered ? 0.25 : 0.05,
    );
  });
}

/** Results that came later would rightly change what stands for them. */
const answeredTurn = (turn: Turn): Turn => ({
  ...turn,
  calls: turn.calls.map((call) => ({ ...call, result: call.result ?? { text: 'ok' } })),
});

const CONVERSATION: Readonly<Record<Dialect, string>> = {
  messages: 'messages',
  chat: 'messages',
  responses: 'input',
  generate: 'contents',
};

const conversationOf = (upstream: Dialect, body: Readonly<Record<string, unknown>>): string[] =>
  (body[CONVERSATION[upstream]] as unknown[]).map((entry) => JSON.stringify(entry));

for (const dialect of DIALECTS) {
  test(`a ${dialect} request written for its own dialect and read again is the same request`, () => {
    law(
      scripts,
      (script) => {
        const request = read(dialect, bodyOf(dialect, { ...script, turns: script.turns.map(answeredTurn) }));
        const target = targetFor(dialect, 'some-model', { prefill: true, sampling: 'full', stop: true });
        const { body, emulateStop } = codecOf(dialect).upstream.encodeRequest(request, target);
        const again = read(dialect, body);
        assert.deepEqual(plainItems(again), plainItems(request));
        assert.deepEqual(again.system, request.system);
        assert.deepEqual(again.tools.map(unstrict), request.tools.map(unstrict));
        assert.deepEqual(again.toolChoice, request.toolChoice);
        assert.deepEqual([...(again.sampling.stop ?? []), ...emulateStop], request.sampling.stop ?? []);
      },
      0.5,
    );
  });
}

/** Ids are put into the grammar of the target, details filled in. */
const plainItems = ({ items }: HubRequest): unknown[] =>
  items.map((item) =>
    JSON.parse(
      JSON.stringify(item, (key, value: unknown) =>
        ['callId', 'detail', 'signature', 'name'].includes(key) ? undefined : value,
      ),
    ),
  );
const unstrict = <T extends object>(tool: T): unknown => ({ ...tool, strict: undefined });

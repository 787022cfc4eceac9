import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codecOf, encodeRequestFor, type HubRequest, type UpstreamTarget } from '../../src/dialects/index.ts';
import type { Dialect } from '../../src/rules/index.ts';
import { decodeAll } from '../support/dialects/codecs.ts';
import { answerTo, askedBy, CROSSINGS, DIALECTS, HOMES, pairOf, readAs, targetFor } from './dialect-pairs.ts';
import { type Block, type Story, stories } from './reply-arbitrary.ts';
import { spokenTo } from './request-view.ts';
import { law } from './runs.ts';
import { told } from './wire.ts';

type Json = Record<string, unknown>;
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

const FROM_ACCOUNT = { requestId: 'req_law', account: 'family-a' };

/** The client's next request after this answer, read back: the answer as it came, results, and one more question. */
function nextRequest(client: Dialect, upstream: Dialect, story: Story): HubRequest {
  const hub = decodeAll(codecOf(upstream).upstream.openDecoder(FROM_ACCOUNT), told(upstream, story).events);
  const request = askedBy(client);
  const encoder = codecOf(client).client.openEncoder(answerTo(request, upstream));
  const sum = readAs(client, hub.map((event) => encoder.push(event)).join(''), request);
  assert.ok(sum.end === 'complete');
  return codecOf(client).client.decodeRequest(NEXT[client](sum.body), { headers: {}, model: 'asked-for' });
}

const NEXT: Readonly<Record<Dialect, (body: Json) => Json>> = {
  messages({ content }) {
    const uses = listOf(content).filter((block) => block.type === 'tool_use');
    const results = uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' }));
    const before = { role: 'user', content: 'hi' };
    const after = { role: 'user', content: [...results, { type: 'text', text: 'go on' }] };
    const turn = listOf(content).length > 0 ? [{ role: 'assistant', content }] : [];
    return { model: 'm', max_tokens: 100, messages: [before, ...turn, after] };
  },
  chat({ choices }) {
    const message = listOf(choices)[0]?.message as Json;
    const made = listOf(message.tool_calls);
    const { refusal: _, annotations: __, tool_calls: ___, ...words } = message;
    const said = made.length > 0 ? { ...words, tool_calls: made } : words;
    const results = made.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'ok' }));
    const user = (content: string) => ({ role: 'user', content });
    return { model: 'm', messages: [user('hi'), said, ...results, user('go on')] };
  },
  responses({ output }) {
    const made = listOf(output).filter((item) => item.type === 'function_call');
    const results = made.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'ok' }));
    const user = (content: string) => ({ type: 'message', role: 'user', content });
    return { model: 'm', input: [user('hi'), ...listOf(output), ...results, user('go on')] };
  },
  generate: () => ({}),
};

/** Sent in place of a value that never was. */
const STAND_IN = 'skip_thought_signature_validator';

const targetOf = (upstream: Dialect, account: string): UpstreamTarget => ({ ...targetFor(upstream), account });

/** Values and what they led to. */
const valuesSent = (upstream: Dialect, request: HubRequest, client: Dialect, account = 'family-a'): string[] =>
  spokenTo(
    upstream,
    encodeRequestFor(pairOf({ client, upstream }), request, targetOf(upstream, account)).body,
  ).values.filter((value) => value !== STAND_IN);

/** What the provider itself had said, with its values where they were. */
function valuesIn({ blocks }: Story): string[] {
  return blocks.map((block) =>
    block.kind === 'thought' ? block.value : block.kind === 'text' ? block.text : block.name,
  );
}

/** This provider streams one text in many parts, so texts that follow each other are one, up to a signature. */
function joinedTexts(story: Story): Story {
  const blocks: Block[] = [];
  for (const block of story.blocks) {
    const [before, last] = [blocks.at(-2), blocks.at(-1)];
    const value = last?.kind === 'thought' && last.texts.length === 0 ? last : undefined;
    const text = value ? before : last;
    const isSigned = blocks.at(value ? -3 : -2)?.kind === 'thought';
    if (block.kind !== 'text' || text?.kind !== 'text' || isSigned) blocks.push(block);
    else blocks.splice(value ? -2 : -1, 2, ...(value ? [value] : []), { ...text, text: text.text + block.text });
  }
  return { ...story, blocks };
}

const CARRYING = CROSSINGS.filter(({ isOffered, client }) => isOffered && client !== 'chat');

for (const { client, upstream, name } of CARRYING) {
  test(`${name}: what only the provider can read comes back to it unchanged and in its place`, () => {
    law(
      stories,
      (story) => {
        const request = nextRequest(client, upstream, story);
        const expected = valuesIn(upstream === 'generate' ? joinedTexts(story) : story);
        assert.deepEqual(valuesSent(upstream, request, client), expected);
      },
      0.5,
    );
  });
}

test('chat over generate: the signature of a call comes back on that call', () => {
  law(
    stories,
    (story) => {
      const request = nextRequest('chat', 'generate', story);
      const { body } = encodeRequestFor(
        pairOf({ client: 'chat', upstream: 'generate' }),
        request,
        targetOf('generate', 'family-a'),
      );
      const parts = listOf(body.contents).flatMap((content) => listOf(content.parts));
      const sent = parts.filter((part) => part.functionCall).map(({ thoughtSignature }) => thoughtSignature);
      const minted = story.blocks.flatMap((block, n) => {
        const before = story.blocks[n - 1];
        return block.kind === 'call' ? [before?.kind === 'thought' ? before.value : undefined] : [];
      });
      assert.deepEqual(
        sent.map((value) => (value === STAND_IN ? undefined : value)),
        minted,
      );
    },
    0.5,
  );
});

for (const { client, upstream, name } of CROSSINGS.filter(({ isOffered }) => isOffered)) {
  test(`${name}: nobody else ever sees a value or a thought, neither another provider nor another account`, () => {
    law(
      stories,
      (story) => {
        const blocks = story.blocks.map((block) => (block.kind === 'thought' ? { ...block, texts: [THOUGHT] } : block));
        const request = nextRequest(client, upstream, { ...story, blocks });
        const secrets = blocks.flatMap((block) => (block.kind === 'thought' ? [block.value] : []));
        for (const other of DIALECTS) {
          const target = HOMES[other] === HOMES[upstream] ? targetOf(other, 'family-b') : targetFor(other);
          const text = JSON.stringify(encodeRequestFor(pairOf({ client, upstream: other }), request, target).body);
          for (const secret of secrets) assert.ok(!text.includes(secret), `${other} sees a value`);
          assert.doesNotMatch(text, /gw1\.eyJ/, `${other} sees an envelope`);
          assert.ok(!text.includes(THOUGHT), `${other} sees a thought`);
        }
      },
      0.25,
    );
  });
}

const THOUGHT = 'a thought of its own';

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  codecOf,
  encodeRequestFor,
  type HubRequest,
  pairOf,
  type UpstreamTarget,
  upstreamOf,
  withoutOpaque,
} from '../../src/dialects/index.ts';
import type { Dialect, UpstreamDialect } from '../../src/rules/index.ts';
import { decodeAll } from '../support/dialects/codecs.ts';
import {
  DIALECT_PAIRS,
  ISSUERS,
  readStreamAs,
  replyContextFor,
  requestFrom,
  targetFor,
  UPSTREAMS,
} from './dialect-pairs.ts';
import { type Block, type ModelReply, modelReplies } from './reply-arbitrary.ts';
import { viewRequest } from './request-view.ts';
import { law } from './runs.ts';
import { wireFormOf } from './wire.ts';

type Json = Record<string, unknown>;
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

const FROM_ACCOUNT = { requestId: 'req_law', account: 'family-a' };

/** Decodes the client's next request after this reply: the reply as received, tool results and another user message. */
function nextRequest(client: Dialect, upstream: UpstreamDialect, reply: ModelReply): HubRequest {
  const hub = decodeAll(upstreamOf(upstream).openDecoder(FROM_ACCOUNT), wireFormOf(upstream, reply).events);
  const request = requestFrom(client);
  const encoder = codecOf(client).client.openEncoder(replyContextFor(request, upstream));
  const result = readStreamAs(client, hub.map((event) => encoder.push(event)).join(''), request);
  assert.ok(result.end === 'complete');
  return codecOf(client).client.decodeRequest(NEXT[client](result.body), { headers: {}, model: 'asked-for' });
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
    const calls = listOf(message.tool_calls);
    const { refusal: _, annotations: __, tool_calls: ___, ...content } = message;
    const assistantMessage = calls.length > 0 ? { ...content, tool_calls: calls } : content;
    const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'ok' }));
    const user = (content: string) => ({ role: 'user', content });
    return { model: 'm', messages: [user('hi'), assistantMessage, ...results, user('go on')] };
  },
  responses({ output }) {
    const calls = listOf(output).filter((item) => item.type === 'function_call');
    const results = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'ok' }));
    const user = (content: string) => ({ type: 'message', role: 'user', content });
    return { model: 'm', input: [user('hi'), ...listOf(output), ...results, user('go on')] };
  },
  generate({ candidates }) {
    const parts = listOf((listOf(candidates)[0]?.content as Json | undefined)?.parts).filter(({ text }) => text !== '');
    const calls = parts.flatMap(({ functionCall }) => (functionCall ? [functionCall as Json] : []));
    const results = calls.map(({ id, name }) => ({ functionResponse: { id, name, response: { output: 'ok' } } }));
    const turn = parts.length > 0 ? [{ role: 'model', parts }] : [];
    const user = (...given: Json[]) => ({ role: 'user', parts: given });
    return { contents: [user({ text: 'hi' }), ...turn, user(...results, { text: 'go on' })] };
  },
};

/** Sent for a call that has no signature. */
const STAND_IN = 'skip_thought_signature_validator';

const targetOf = (upstream: UpstreamDialect, account: string): UpstreamTarget => ({ ...targetFor(upstream), account });

/** Opaque values in the upstream request, each before the output it belongs to. */
const valuesSent = (upstream: UpstreamDialect, request: HubRequest, client: Dialect, account = 'family-a'): string[] =>
  viewRequest(
    upstream,
    encodeRequestFor(pairOf({ client, upstream }), request, targetOf(upstream, account)).body,
  ).values.filter((value) => value !== STAND_IN);

/** The provider's own reply in the same form. */
function valuesOf({ blocks }: ModelReply): string[] {
  return blocks.map((block) =>
    block.kind === 'thought' ? block.value : block.kind === 'text' ? block.text : block.name,
  );
}

/** A generate provider streams one text in many parts, so adjacent texts are one text, up to a signature. */
function joinTexts(reply: ModelReply): ModelReply {
  const blocks: Block[] = [];
  for (const block of reply.blocks) {
    const [before, last] = [blocks.at(-2), blocks.at(-1)];
    const value = last?.kind === 'thought' && last.texts.length === 0 ? last : undefined;
    const text = value ? before : last;
    const isSigned = blocks.at(value ? -3 : -2)?.kind === 'thought';
    if (block.kind !== 'text' || text?.kind !== 'text' || isSigned) blocks.push(block);
    else blocks.splice(value ? -2 : -1, 2, ...(value ? [value] : []), { ...text, text: text.text + block.text });
  }
  return { ...reply, blocks };
}

/** A reply of the messages dialect never ends in thinking, so the gateway keeps the value of its last text. */
function sentBy(client: Dialect, reply: ModelReply): ModelReply {
  const { blocks } = reply;
  const endsSigned = blocks.at(-1)?.kind === 'text' && blocks.at(-2)?.kind === 'thought';
  return client === 'messages' && endsSigned ? { ...reply, blocks: blocks.toSpliced(-2, 1) } : reply;
}

/** Chat servers have no opaque values of their own. A generate-content client returns a text in the pieces in which it came. */
const CARRYING_PAIRS = DIALECT_PAIRS.filter(
  ({ isOffered, client, upstream }) => isOffered && client !== 'chat' && client !== 'generate' && upstream !== 'chat',
);

for (const { client, upstream, name } of CARRYING_PAIRS) {
  test(`${name}: opaque values return to their provider unchanged and in position`, () => {
    law(
      modelReplies,
      (reply) => {
        const request = nextRequest(client, upstream, reply);
        const expected = valuesOf(upstream === 'generate' ? sentBy(client, joinTexts(reply)) : reply);
        assert.deepEqual(valuesSent(upstream, request, client), expected);
      },
      0.5,
    );
  });
}

for (const { client, upstream, name } of CARRYING_PAIRS) {
  test(`${name}: reasoning that is left out after a rejection is named`, () => {
    law(
      modelReplies,
      (reply) => {
        const request = nextRequest(client, upstream, reply);
        const rest = withoutOpaque(request);
        const pair = pairOf({ client, upstream });
        const { dropped } = encodeRequestFor(pair, rest, targetOf(upstream, 'family-a'));
        const isLess = rest.items.length < request.items.length;
        assert.equal(dropped.includes(pair.client.fieldNames.thoughts), isLess);
      },
      0.2,
    );
  });
}

test('chat over generate: the signature of a call returns on that call', () => {
  law(
    modelReplies,
    (reply) => {
      const request = nextRequest('chat', 'generate', reply);
      const { body } = encodeRequestFor(
        pairOf({ client: 'chat', upstream: 'generate' }),
        request,
        targetOf('generate', 'family-a'),
      );
      const parts = listOf(body.contents).flatMap((content) => listOf(content.parts));
      const sent = parts.filter((part) => part.functionCall).map(({ thoughtSignature }) => thoughtSignature);
      const expected = reply.blocks.flatMap((block, n) => {
        const before = reply.blocks[n - 1];
        return block.kind === 'call' ? [before?.kind === 'thought' ? before.value : undefined] : [];
      });
      assert.deepEqual(
        sent.map((value) => (value === STAND_IN ? undefined : value)),
        expected,
      );
    },
    0.5,
  );
});

for (const { client, upstream, name } of DIALECT_PAIRS.filter(({ isOffered }) => isOffered)) {
  test(`${name}: opaque values and thoughts never reach another provider or account`, () => {
    law(
      modelReplies,
      (reply) => {
        const blocks = reply.blocks.map((block) => (block.kind === 'thought' ? { ...block, texts: [THOUGHT] } : block));
        const request = nextRequest(client, upstream, { ...reply, blocks });
        const secrets = blocks.flatMap((block) => (block.kind === 'thought' ? [block.value] : []));
        for (const other of UPSTREAMS) {
          const target = ISSUERS[other] === ISSUERS[upstream] ? targetOf(other, 'family-b') : targetFor(other);
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

const THOUGHT = 'a private thought';

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  accumulate,
  call,
  clientContext,
  encodeStream,
  hubReply,
  message,
} from '../../../../test/support/dialects/messages.ts';
import type { Style } from '../../../rules/index.ts';
import { unfold } from '../../hub/fold.ts';
import type { HubItem, HubReply, JsonObject, Opaque } from '../../hub/types.ts';
import { decodeMessages } from './decode-content.ts';
import { encodeReply } from './encode-reply.ts';

const foreign: Opaque = { issuer: 'responses', kind: 'reasoning', id: 'rs_1', data: 'gAAA' };

const REPLIES: Readonly<Record<string, readonly [HubReply, Style?]>> = {
  'plain text': [hubReply([message('assistant', 'Hello')])],
  'several parts': [hubReply([message('assistant', 'One. ', 'Two.')])],
  'an empty reply': [hubReply([])],
  'an empty message': [hubReply([message('assistant', '')])],
  'reasoning of another provider in two summaries': [
    hubReply([{ kind: 'reasoning', summary: ['First.', 'Then.'], opaque: foreign }, message('assistant', 'So.')]),
  ],
  'reasoning without text': [
    hubReply([{ kind: 'reasoning', summary: [], opaque: foreign }, message('assistant', 'So.')]),
  ],
  'empty reasoning': [hubReply([{ kind: 'reasoning', summary: [] }, message('assistant', 'So.')])],
  'reasoning without a signature': [hubReply([{ kind: 'reasoning', summary: ['Hm.'] }, message('assistant', 'So.')])],
  'calls with and without arguments': [
    hubReply([message('assistant', 'Looking.'), call('call_1', '{"q":"a"}'), call('call_2', '{}')], { stop: 'tool' }),
  ],
  'a signed call and a signed text': [
    hubReply(
      [
        call('c1', '{"q":1}', {
          signature: { issuer: 'generate-content', kind: 'thought', id: 'c1', data: 'sig' },
        }),
        call('c2', '{}'),
        {
          kind: 'message',
          role: 'assistant',
          parts: [
            { kind: 'text', text: 'Done.', signature: { issuer: 'generate-content', kind: 'thought', data: 'tsig' } },
          ],
        },
      ],
      { stop: 'tool' },
    ),
    'generate-content',
  ],
  'a web search of another provider with citations': [
    hubReply([
      {
        kind: 'server_call',
        id: 'ws_1',
        tool: 'web_search',
        issuer: 'responses',
        status: 'completed',
        queries: ['dragoman'],
        sources: [{ url: 'https://a.example', title: 'A' }],
      },
      {
        kind: 'message',
        role: 'assistant',
        parts: [
          { kind: 'text', text: 'It is', annotations: [{ url: 'https://a.example', title: 'A', start: 0, end: 5 }] },
        ],
      },
    ]),
  ],
  'an image': [
    hubReply([
      {
        kind: 'message',
        role: 'assistant',
        parts: [
          { kind: 'text', text: 'Here:' },
          { kind: 'image', source: { kind: 'base64', mime: 'image/png', data: 'AA==' } },
        ],
      },
    ]),
  ],
  'a refusal text': [
    hubReply([{ kind: 'message', role: 'assistant', parts: [{ kind: 'refusal', text: 'I cannot.' }] }], {
      stop: 'refusal',
    }),
  ],
  'a filtered reply': [hubReply([], { stop: 'filter', refusal: 'Blocked.' })],
  'a stop sequence': [hubReply([message('assistant', 'a')], { stop: 'stop_sequence', stopSequence: 'END' })],
};

describe('messages reply encoder', () => {
  for (const [about, [hub, issuer]] of Object.entries(REPLIES)) {
    it(`returns the message that the SDK accumulates from the stream: ${about}`, async () => {
      const whole = JSON.parse(JSON.stringify(encodeReply(hub, clientContext(issuer)))) as JsonObject;
      const streamed = await accumulate(encodeStream(unfold(hub), issuer));
      // A stream sends it in `message_start`, before it is known, and clients never update it.
      const { cache_creation: _, ...usage } = whole.usage as Record<string, unknown>;
      const { cache_creation: __, ...streamedUsage } = streamed.usage as Record<string, unknown>;
      assert.deepEqual({ ...streamed, usage: streamedUsage }, { ...whole, usage });
    });
  }

  it('returns the requested model, the upstream id with the msg_ prefix and all constant members', () => {
    assert.deepEqual(encodeReply(hubReply([message('assistant', 'Hi')]), clientContext()), {
      id: 'msg_abcdef',
      type: 'message',
      role: 'assistant',
      model: 'alias',
      diagnostics: null,
      content: [{ type: 'text', text: 'Hi', citations: [] }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: {
        input_tokens: 30,
        cache_creation_input_tokens: 10,
        cache_read_input_tokens: 60,
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 0 },
        output_tokens: 5,
        output_tokens_details: null,
        server_tool_use: null,
        service_tier: 'standard',
        inference_geo: null,
        speed: null,
      },
    });
  });

  it('keeps a tool call that the length limit truncated, as a stream does', () => {
    const body = encodeReply(
      hubReply([message('assistant', 'a'), call('c', '{"x":')], { stop: 'length' }),
      clientContext(),
    ) as JsonObject;
    assert.deepEqual(body.content, [
      { type: 'text', text: 'a', citations: [] },
      { type: 'tool_use', id: 'c', name: 'find', input: { INVALID_JSON: '{"x":' }, caller: { type: 'direct' } },
    ]);
    assert.equal(body.stop_reason, 'max_tokens');
  });

  it('throws upstream_error for a malformed call', () => {
    assert.throws(() => encodeReply(hubReply([], { stop: 'malformed_call' }), clientContext()), {
      code: 'upstream_error',
    });
  });

  it('keeps opaque values, parts and signatures when a client returns the reply as history', () => {
    for (const [about, [hub, issuer]] of Object.entries(REPLIES)) {
      const { content } = encodeReply(hub, clientContext(issuer)) as { content: unknown[] };
      if (content.length === 0) continue;
      const items = decodeMessages([{ role: 'assistant', content }]);
      const kept = items.map((item) => (item.kind === 'reasoning' ? [item.summary, item.opaque?.data] : item.kind));
      const sent = hub.items
        .filter((item) => item.kind !== 'reasoning' || item.opaque || item.summary.length > 0)
        .map((item) => (item.kind === 'reasoning' ? [item.summary, item.opaque?.data] : item.kind));
      assert.deepEqual(kept, sent, about);
      const signatures = (list: readonly HubItem[]) =>
        list.flatMap((item) =>
          item.kind === 'tool_call'
            ? [item.signature?.data]
            : item.kind === 'message'
              ? item.parts
                  .map((part) => (part.kind === 'text' ? part.signature?.data : undefined))
                  .filter((data) => data)
              : [],
        );
      const isLast = hub.items.at(-1)?.kind === 'message';
      assert.deepEqual(signatures(items), isLast ? signatures(hub.items.slice(0, -1)) : signatures(hub.items), about);
    }
  });

  it('ends a reply with its text, not with the signature of the text, streamed and unary', () => {
    const signature = { issuer: 'generate-content', kind: 'thought', data: 'c2ln' } as const;
    const text = { ...message('assistant', 'Hello'), parts: [{ kind: 'text', text: 'Hello', signature }] } as HubItem;
    const types = (items: HubItem[]) => {
      const reply = hubReply(items, { stop: 'end' });
      const context = clientContext('generate-content');
      const unary = (encodeReply(reply, context).content as JsonObject[]).map(({ type }) => type);
      const starts = encodeStream(unfold(reply), 'generate-content').matchAll(/"content_block":\{"type":"(\w+)"/g);
      assert.deepEqual(
        [...starts].map(([, type]) => type),
        unary,
      );
      return unary;
    };
    assert.deepEqual(types([text]), ['text']);
    assert.deepEqual(types([text, call('c', '{}')]), ['text', 'thinking', 'tool_use']);
  });

  it('names the model as the caller of a tool, streamed and unary', () => {
    const reply = hubReply([call('c', '{}')], { stop: 'tool' });
    const unary = encodeReply(reply, clientContext());
    assert.deepEqual((unary.content as JsonObject[])[0]?.caller, { type: 'direct' });
    assert.match(encodeStream(unfold(reply)), /"caller":\{"type":"direct"\}/);
  });
  it('sets stop_reason to tool_use exactly when the reply has calls', () => {
    const stop = (items: HubItem[], stop: HubReply['stop']) =>
      (encodeReply(hubReply(items, { stop }), clientContext()) as JsonObject).stop_reason;
    assert.equal(stop([message('assistant', 'a')], 'tool'), 'end_turn');
    assert.equal(stop([call('c', '{}')], 'end'), 'tool_use');
    assert.equal(stop([call('c', '{}')], 'length'), 'max_tokens');
  });
});

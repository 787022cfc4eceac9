import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeAll, readVectors } from '../../../../test/support/dialects/codecs.ts';
import {
  aCall,
  aReply,
  aReplyContext,
  CONTEXT,
  pushAll,
  terminalEvent,
  textMessage,
} from '../../../../test/support/dialects/responses.ts';
import { SSE_COMMENT, sse } from '../../../core/index.ts';
import { DIALECTS, type Dialect, type Style } from '../../../rules/index.ts';
import { unfold } from '../../hub/fold.ts';
import { type HubStop, NO_USAGE } from '../../hub/types.ts';
import { codecOf } from '../../index.ts';
import { ENDINGS } from '../stop-reason.ts';
import { openEncoder } from './stream-encoder.ts';

const ISSUERS: Readonly<Record<Dialect, Style>> = {
  messages: 'messages',
  chat: 'responses',
  responses: 'responses',
  generate: 'generate-content',
};

describe('responses stream encoder without SSE framing', () => {
  const streams = [
    ...DIALECTS.flatMap((upstream) =>
      readVectors(upstream).map(({ name, events }) => ({
        name,
        issuer: ISSUERS[upstream],
        events: decodeAll(codecOf(upstream).upstream.openDecoder(CONTEXT), events),
      })),
    ),
    ...(Object.keys(ENDINGS) as HubStop[]).map((stop) => ({
      name: stop,
      issuer: 'messages' as const,
      events: unfold(aReply([textMessage('Hello'), aCall('go', '{"a":1}')], stop)),
    })),
  ];

  it('pushEvents returns the JSON of the events that push writes', () => {
    for (const { name, issuer, events } of streams) {
      const [framed, unframed] = [openEncoder(aReplyContext({ issuer })), openEncoder(aReplyContext({ issuer }))];
      for (const event of events) {
        const blocks = framed.push(event).replaceAll(SSE_COMMENT, '');
        const json = unframed.pushEvents?.(event) ?? [];
        assert.equal(json.map((text) => sse(text, (JSON.parse(text) as { type: string }).type)).join(''), blocks, name);
      }
    }
  });
  it('pushEvents returns nothing for a ping and after the end', () => {
    const encoder = openEncoder(aReplyContext());
    assert.deepEqual(encoder.pushEvents?.({ kind: 'ping' }), []);
    for (const event of unfold(aReply([textMessage('Hi')]))) encoder.pushEvents?.(event);
    assert.deepEqual(encoder.pushEvents?.({ kind: 'finish', stop: 'end', usage: NO_USAGE }), []);
  });
  it('finalResponse is the response of the terminal event, and undefined before it', () => {
    for (const { name, issuer, events } of streams) {
      const encoder = openEncoder(aReplyContext({ issuer }));
      for (const event of events.slice(0, -1)) encoder.push(event);
      assert.equal(encoder.finalResponse, undefined, name);
      const terminal = terminalEvent(pushAll(encoder, events.slice(-1)));
      assert.match(terminal.type, /^response\.(completed|incomplete|failed)$/, name);
      assert.deepEqual(encoder.finalResponse, terminal.response, name);
    }
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UpstreamDialect } from '../../rules/index.ts';
import { type ReplyPhase, replyPhase } from './reply-phase.ts';

/**
 * The last signals of a reply: from the first of them on, a provider is read for its usage although the client is gone.
 */
const EVENTS: Readonly<Record<UpstreamDialect, readonly (readonly [event: object, phase: ReplyPhase])[]>> = {
  messages: [
    [{ type: 'content_block_delta', delta: { text: 'a' } }, 'content'],
    [{ type: 'content_block_stop' }, 'finished'],
    [{ type: 'message_delta', delta: { stop_reason: 'end_turn' } }, 'finished'],
    [{ type: 'ping' }, undefined],
  ],
  chat: [
    [{ choices: [{ delta: { content: 'a' }, finish_reason: null }] }, 'content'],
    [{ choices: [{ delta: {}, finish_reason: 'stop' }] }, 'finished'],
    [{ choices: [], usage: {} }, undefined],
  ],
  responses: [
    [{ type: 'response.output_text.delta', delta: 'a' }, 'content'],
    [{ type: 'response.output_text.done', text: 'a' }, 'finished'],
    [{ type: 'response.output_item.done', item: { type: 'message' } }, 'finished'],
    [{ type: 'response.output_item.done', item: { type: 'reasoning' } }, 'content'],
    [{ type: 'response.output_item.done', item: { type: 'web_search_call' } }, 'content'],
    [{ type: 'response.completed' }, 'finished'],
    [{ type: 'error' }, undefined],
  ],
  generate: [
    [{ candidates: [{ content: { parts: [{ text: 'a' }] } }] }, 'content'],
    [{ candidates: [{ finishReason: 'STOP' }] }, 'finished'],
    [{ promptFeedback: { blockReason: 'SAFETY' } }, 'finished'],
    [{ usageMetadata: {} }, undefined],
  ],
  converse: [
    [{ contentBlockIndex: 0, delta: { text: 'a' } }, 'content'],
    [{ contentBlockIndex: 0 }, 'finished'],
    [{ stopReason: 'end_turn' }, 'finished'],
    [{ usage: {} }, undefined],
  ],
};

for (const [dialect, events] of Object.entries(EVENTS))
  test(`a stream of ${dialect} is finished from the end of its content on, and goes on with more of it`, () => {
    for (const [event, phase] of events)
      assert.equal(replyPhase(dialect as UpstreamDialect, event), phase, JSON.stringify(event));
  });

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chunksOf, clientContext, encodeStream } from '../../../../test/support/dialects/generate.ts';
import { unfold } from '../../hub/fold.ts';
import type { HubReply, HubStop } from '../../hub/types.ts';
import { FINISH_REASONS } from '../stop-reason.ts';
import { encodeReply } from './encode-reply.ts';
import { openEncoder } from './stream-encoder.ts';

const reply = (items: HubReply['items'], stop: HubStop = 'end', more: Partial<HubReply> = {}): HubReply => ({
  id: 'resp_abcdef',
  model: 'up',
  items,
  stop,
  usage: { input: 5, cacheRead: 0, cacheWrite: 0, output: 2 },
  ...more,
});

test('generate stream encoder writes no [DONE] marker, which the SDK would parse as JSON', () => {
  assert.doesNotMatch(encodeStream(unfold(reply([]))), /DONE/);
});

test('generate stream encoder writes an empty reply as one chunk with finish reason and usage', () => {
  const [only, ...more] = chunksOf(encodeStream(unfold(reply([]))));
  assert.equal(more.length, 0);
  assert.deepEqual(JSON.parse(only?.data ?? ''), {
    candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
    modelVersion: 'asked-for',
    responseId: 'abcdef',
  });
});

test('generate encoders send thoughts only on request, but always send their opaque value', () => {
  const opaque = { issuer: 'messages', kind: 'thinking', data: 'S' } as const;
  const item = { kind: 'reasoning', summary: ['secret'], opaque } as const;
  for (const thoughts of [true, false]) {
    const context = clientContext({ clientOptions: { thoughts } });
    const streamed = encodeStream(unfold(reply([item])), context);
    const whole = JSON.stringify(encodeReply(reply([item]), context));
    for (const text of [streamed, whole]) {
      assert.equal(text.includes('secret'), thoughts);
      assert.match(text, /"thoughtSignature":"gw1o/);
    }
  }
});

test('generate stream encoder writes a call in one chunk when it is complete', () => {
  const call = { kind: 'tool_call', callId: 'c1', name: 'f', form: 'function', args: '{"a":1}' } as const;
  const encoder = openEncoder(clientContext());
  encoder.push({ kind: 'start', id: 'resp_abcdef', model: 'm' });
  assert.equal(encoder.push({ kind: 'item', index: 0, item: { ...call, args: '' } }), '');
  assert.equal(encoder.push({ kind: 'args', index: 0, text: '{"a"' }), '');
  assert.equal(encoder.push({ kind: 'args', index: 0, text: ':1}' }), '');
  const [block] = chunksOf(encoder.push({ kind: 'item_end', index: 0, item: call }));
  const { candidates } = JSON.parse(block?.data ?? '{}');
  assert.deepEqual(candidates[0].content.parts, [{ functionCall: { id: 'c1', name: 'f', args: { a: 1 } } }]);
});

test('generate stream encoder writes a refusal as finishMessage, not as text', () => {
  const item = { kind: 'message', role: 'assistant', parts: [{ kind: 'refusal', text: 'No.' }] } as const;
  const last = chunksOf(encodeStream(unfold(reply([item], 'refusal')))).at(-1);
  const { candidates } = JSON.parse(last?.data ?? '{}');
  assert.equal(candidates[0].finishReason, 'SAFETY');
  assert.equal(candidates[0].finishMessage, 'No.');
  assert.deepEqual(candidates[0].content.parts, [{ text: '' }]);
});

test('generate stream encoder writes an error chunk and nothing after it', () => {
  const encoder = openEncoder(clientContext());
  const text = encoder.push({
    kind: 'error',
    error: { code: 'rate_limit_exceeded', message: 'Slow down.', retryAfterMs: 12_000 },
  });
  const [block] = chunksOf(text);
  const { error } = JSON.parse(block?.data ?? '{}');
  assert.equal(error.code, 429);
  assert.equal(error.status, 'RESOURCE_EXHAUSTED');
  assert.equal(error.message, 'Slow down. Please retry in 12s.');
  assert.deepEqual(error.details[1], { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12s' });
  assert.equal(encoder.push({ kind: 'text', index: 0, part: 0, text: 'late' }), '');
});

test('generate stream encoder writes heartbeats and pings as separate comments', () => {
  const encoder = openEncoder(clientContext());
  assert.equal(encoder.heartbeat(), ': hb\n\n');
  assert.equal(encoder.push({ kind: 'ping' }), ': hb\n\n');
});

test('every hub stop has a finish reason in upper case', () => {
  for (const reason of Object.values(FINISH_REASONS)) assert.match(reason, /^[A-Z_]+$/);
});

test('generate encoders show the sources of a reply as grounding metadata, by the bytes of the text', () => {
  const source = (url: string, start: number, end: number) => ({ url, title: url.slice(8), start, end });
  const [a, b] = ['https://a.example', 'https://b.example'];
  const text = 'Über Bäche [1][2], und mehr [1].';
  const annotations = [source(b, 14, 17), source(a, 11, 14), source(a, 28, 31), source(b, 28, 31)];
  const search = {
    kind: 'server_call',
    id: 'ws_1',
    tool: 'web_search',
    issuer: 'responses',
    status: 'completed',
    queries: ['brooks'],
  } as const;
  const message = { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text, annotations }] } as const;
  const replied = reply([search, message]);
  const expected = {
    webSearchQueries: ['brooks'],
    groundingChunks: [{ web: { uri: b, title: 'b.example' } }, { web: { uri: a, title: 'a.example' } }],
    groundingSupports: [
      { segment: { startIndex: 13, endIndex: 16, text: '[1]' }, groundingChunkIndices: [1] },
      { segment: { startIndex: 16, endIndex: 19, text: '[2]' }, groundingChunkIndices: [0] },
      { segment: { startIndex: 30, endIndex: 33, text: '[1]' }, groundingChunkIndices: [1, 0] },
    ],
  };
  const chunks = chunksOf(encodeStream(unfold(replied))).map(({ data }) => JSON.parse(data));
  assert.deepEqual(chunks.at(-1).candidates[0].groundingMetadata, expected);
  const [candidate] = (encodeReply(replied, clientContext()) as { candidates: { groundingMetadata?: unknown }[] })
    .candidates;
  assert.deepEqual(candidate?.groundingMetadata, expected);
});

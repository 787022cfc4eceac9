/**
 * Every row of `src/rules/tolerances.ts`, with a reply like the one that was seen. A new row does not compile without
 * its test.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTEXT, decodeAll, type WireEvent } from '../../test/support/dialects/codecs.ts';
import { TOLERANCES, type ToleranceName } from '../rules/index.ts';
import { decodeReply as decodeChatReply, openDecoder as openChat } from './chat/upstream/stream-decoder.ts';
import { readUsage as readChatUsage } from './chat/usage.ts';
import { openDecoder as openGenerate } from './generate/upstream/stream-decoder.ts';
import { readUsage as readGenerateUsage } from './generate/usage.ts';
import { fold } from './hub/fold.ts';
import type { HubEvent, HubReply } from './hub/types.ts';
import { openDecoder as openMessages } from './messages/upstream/stream-decoder.ts';
import { decodeUsage as decodeResponsesUsage } from './responses/usage.ts';

const EXAMPLES: Readonly<Record<ToleranceName, () => void>> = {
  emptyMembers() {
    const empty = {
      role: 'assistant',
      annotations: null,
      audio: { data: '', expires_at: 0, id: '', transcript: '' },
      function_call: { arguments: '', name: '' },
      refusal: '',
      tool_calls: null,
    };
    const text = [{ kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: '4' }] }];
    const whole = decodeChatReply(
      { id: '', choices: [{ index: 0, message: { ...empty, content: '4' }, finish_reason: 'stop' }] },
      CONTEXT,
    );
    assert.deepEqual([whole.items, whole.stop], [text, 'end']);
    const streamed = chatStream({ ...empty, content: '4' }, { ...empty, content: '' }, 'stop');
    assert.deepEqual([streamed.items, streamed.stop], [text, 'end']);
    const unused = { custom: { name: '', input: '' } };
    const call = { id: 'c1', type: 'function', function: { name: 'find', arguments: '{}' }, ...unused };
    const called = chatStream({ ...empty, content: '', tool_calls: [{ index: 0, ...call }] }, empty, 'tool_calls');
    assert.deepEqual([called.items.map(({ kind }) => kind), called.stop], [['tool_call'], 'tool']);
  },
  noFinishReason() {
    const call = { index: 0, id: 'c1', function: { name: 'find', arguments: '{}' } };
    const message = { role: 'assistant', content: '', tool_calls: [call] };
    assert.equal(decodeChatReply({ choices: [{ message, finish_reason: '' }] }, CONTEXT).stop, 'tool');
    assert.equal(chatStream({ content: '4' }, {}).stop, 'end');
    assert.equal(chatStream({ tool_calls: [call] }, {}).stop, 'tool');
    const cut = decodeAll(openChat(CONTEXT), [chunk({ choices: [{ delta: { content: '4' } }] }), USAGE]);
    assert.equal(cut.at(-1)?.kind, 'error', 'the connection closed before the end mark');
  },
  noTerminalEvent() {
    const finish = chunk({ choices: [{ index: 0, delta: { content: '4' }, finish_reason: 'stop' }] });
    for (const events of [[finish], [finish, USAGE]])
      assert.equal(replyOf(decodeAll(openChat(CONTEXT), events)).stop, 'end');
  },
  earlyAnnotations() {
    const cite = (url: string) => ({
      type: 'url_citation',
      url_citation: { url, title: 'T', start_index: 0, end_index: 0 },
    });
    const first = { content: '', annotations: [cite('https://a.test/'), cite('https://b.test/')] };
    const [item] = chatStream(first, { content: 'Found.' }, 'stop').items;
    const part = item?.kind === 'message' ? item.parts[0] : undefined;
    const urls = part?.kind === 'text' ? part.annotations?.map(({ url }) => url) : undefined;
    assert.deepEqual(urls, ['https://a.test/', 'https://b.test/']);
  },
  repeatedStart() {
    const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
    const text = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } };
    const end = [
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ];
    for (const events of [
      [startOf('m1'), startOf('m1'), block, text, ...end],
      [startOf('m1'), block, text, startOf('m1'), ...end],
      [startOf('m1'), startOf('m2'), block, text, ...end],
    ])
      assert.deepEqual(replyOf(messagesEvents(events)).usage.input, 17);
    const spliced = messagesEvents([startOf('m1'), block, text, startOf('m2'), block, text, ...end]);
    assert.equal(spliced.at(-1)?.kind, 'error');
  },
  repeatedEnd() {
    const call = { functionCall: { name: 'find', args: { a: 1 } } };
    const end = generateChunk([call], 'STOP', 4);
    assert.equal(generateReply(end, end).items.length, 1);
    const known = { functionCall: { id: 'c1', name: 'find', args: { a: 1 } } };
    assert.equal(generateReply(generateChunk([known], 'STOP', 4), generateChunk([known], 'STOP', 5)).items.length, 1);
    const begun = { functionCall: { id: 'c1', name: 'find', willContinue: true } };
    const ended = generateChunk([{ functionCall: {} }], 'STOP', 4);
    assert.equal(generateReply(generateChunk([begun]), ended, ended).items.length, 1);
    const text = generateChunk([{ text: 'ha' }], 'STOP', 4);
    assert.deepEqual(textOf(generateReply(text, text)), 'ha');
    const twice = generateReply(
      generateChunk([call], 'STOP', 4),
      generateChunk([{ functionCall: { name: 'find', args: { a: 2 } } }], 'STOP', 8),
    );
    assert.equal(twice.items.length, 2, 'another call');
  },
  earlyEnd() {
    const decoder = openGenerate(CONTEXT);
    assert.deepEqual([decoder.push(String(generateChunk([], 'STOP').data)).length, decoder.isComplete], [1, false]);
    const pieces = ['ha', 'ha', '!'].map((text, n) => generateChunk([{ text }], 'STOP', n + 1));
    assert.equal(textOf(generateReply(generateChunk([], 'STOP'), ...pieces)), 'haha!');
    const reply = generateReply(generateChunk([{ text: 'Hi' }], 'STOP', 1), generateChunk([{ text: ' there' }]));
    assert.deepEqual([textOf(reply), reply.stop], ['Hi there', 'end']);
  },
  overlappingCache() {
    const chat = readChatUsage({
      prompt_tokens: 2_168,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 2_161, cache_write_tokens: 2_161 },
    });
    assert.deepEqual([chat?.input, chat?.cacheRead, chat?.cacheWrite], [2_168, 2_161, 7]);
    const details = { cached_tokens: 50, cache_write_tokens: 60 };
    const usage = { input_tokens: 40, output_tokens: 1, input_tokens_details: details };
    const responses = decodeResponsesUsage({ usage }, []);
    assert.deepEqual([responses.input, responses.cacheRead, responses.cacheWrite], [40, 40, 0]);
    const generate = readGenerateUsage({ promptTokenCount: 10, cachedContentTokenCount: 12 });
    assert.deepEqual([generate?.input, generate?.cacheRead], [10, 10]);
  },
};

for (const name of Object.keys(TOLERANCES) as ToleranceName[])
  test(`decoders read ${name}: ${TOLERANCES[name].readAs}`, () => EXAMPLES[name]());

const chunk = (data: object): WireEvent => ({ data: JSON.stringify({ id: 'c', model: 'm', ...data }) });
const USAGE = chunk({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } });

/** Without a finish reason, the stream ends as Snowflake's do. */
function chatStream(first: object, second: object, reason?: string): HubReply {
  const finish = reason === undefined ? {} : { finish_reason: reason };
  const deltas = [
    chunk({ choices: [{ index: 0, delta: first }] }),
    chunk({ choices: [{ index: 0, delta: second, ...finish }] }),
  ];
  return replyOf(decodeAll(openChat(CONTEXT), [...deltas, USAGE, { data: '[DONE]' }]));
}

const startOf = (id: string): object => ({
  type: 'message_start',
  message: { id, role: 'assistant', content: [], model: 'm', usage: { input_tokens: 17, output_tokens: 1 } },
});
const messagesEvents = (events: readonly object[]): HubEvent[] =>
  decodeAll(
    openMessages(CONTEXT),
    events.map((event) => ({ data: JSON.stringify(event) })),
  );

function replyOf(events: readonly HubEvent[]): HubReply {
  const folded = fold(events);
  assert.ok('reply' in folded, JSON.stringify(events.at(-1)));
  return folded.reply;
}

const generateChunk = (parts: readonly object[], finishReason?: string, output?: number): WireEvent =>
  chunk({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...(finishReason && { finishReason }) }],
    ...(output && { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: output } }),
  });
const generateReply = (...chunks: readonly WireEvent[]): HubReply => replyOf(decodeAll(openGenerate(CONTEXT), chunks));
const textOf = ({ items }: HubReply): string =>
  items
    .flatMap((item) => (item.kind === 'message' ? item.parts : []))
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('');

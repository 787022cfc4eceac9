/** What clients that leave pay, in examples with large inputs, hidden reasoning and long replies. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { estimateTokens } from '../../src/core/index.ts';
import { type Dialect, READ_ON_BYTES, type UpstreamDialect } from '../../src/rules/index.ts';
import { RATES, runExchange } from '../support/exchange.ts';
import { DIALECT_PAIRS } from './dialect-pairs.ts';

const sse = (event: object): string =>
  `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;

const PICTURE = 'iVBORw0KGgo'.padEnd(3_000_000, 'A');
const TEXT = 'Describe this picture.';
const WITH_PICTURE: Readonly<Record<Dialect, object>> = {
  messages: {
    model: 'm',
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: TEXT },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } },
        ],
      },
    ],
  },
  chat: {
    model: 'm',
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: TEXT },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } },
        ],
      },
    ],
  },
  responses: {
    model: 'm',
    max_output_tokens: 100,
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: TEXT },
          { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}` },
        ],
      },
    ],
  },
  generate: {
    generationConfig: { maxOutputTokens: 100 },
    contents: [{ role: 'user', parts: [{ text: TEXT }, { inlineData: { mimeType: 'image/png', data: PICTURE } }] }],
  },
};
/** What a provider reports for such a picture. */
const PICTURE_TOKENS = 1_500;

describe('a client that leaves a call with a picture of 3 MB pays for a picture, not for its encoding', () => {
  for (const [client, upstream] of [
    ['messages', 'messages'],
    ['chat', 'chat'],
    ['responses', 'responses'],
    ['generate', 'generate'],
    ['messages', 'responses'],
    ['chat', 'generate'],
  ] as const)
    test(`${client} over ${upstream}`, async () => {
      const body = WITH_PICTURE[client];
      const { record, reserved } = await runExchange({
        client,
        upstream,
        body,
        isStream: true,
        chunks: [],
        leavesAfter: 0,
      });
      const tokens = record?.usage.input ?? 0;
      assert.ok(tokens > PICTURE_TOKENS / 2 && tokens < PICTURE_TOKENS * 2, `${tokens} tokens`);
      assert.ok((record?.charge ?? 0n) <= reserved);
      assert.equal(record?.estimated, true);
    });
});

const BODIES: Readonly<Record<Dialect, object>> = {
  messages: { model: 'm', max_tokens: 9_000, messages: [{ role: 'user', content: 'hi' }] },
  chat: { model: 'm', max_tokens: 9_000, messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: 'm', max_output_tokens: 9_000, input: 'hi' },
  generate: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
};
const WORDS = 'The answer is forty-two. ';
const RESPONSE = { id: 'resp_1', object: 'response', model: 'm', output: [] };
const AT = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const ITEM = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: WORDS, annotations: [] }],
};
/** 3,000 tokens of input, a few visible ones and 8,000 of reasoning, which only the report shows. */
const REPLIES: Readonly<Record<'messages' | 'chat' | 'responses', readonly object[]>> = {
  messages: [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        role: 'assistant',
        model: 'm',
        content: [],
        usage: { input_tokens: 3_000, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: WORDS } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 8_060 } },
    { type: 'message_stop' },
  ],
  chat: [
    { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: WORDS }, finish_reason: null }] },
    { id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { id: 'c', model: 'm', choices: [], usage: { prompt_tokens: 3_000, completion_tokens: 8_060 } },
  ],
  responses: [
    { type: 'response.created', response: { ...RESPONSE, status: 'in_progress' } },
    { type: 'response.output_item.added', output_index: 0, item: { ...ITEM, status: 'in_progress', content: [] } },
    { type: 'response.output_text.delta', ...AT, delta: WORDS },
    { type: 'response.output_text.done', ...AT, text: WORDS },
    { type: 'response.output_item.done', output_index: 0, item: ITEM },
    {
      type: 'response.completed',
      response: {
        ...RESPONSE,
        status: 'completed',
        output: [ITEM],
        usage: { input_tokens: 3_000, output_tokens: 8_060 },
      },
    },
  ],
};
const REAL = 3_000n * RATES.input + 8_060n * RATES.output;

describe('a client that leaves after the text and before the report pays what the provider reports', () => {
  for (const [client, upstream, cut] of [
    ['chat', 'chat', 2],
    ['messages', 'chat', 2],
    ['messages', 'messages', 4],
    ['chat', 'messages', 4],
    ['responses', 'responses', 4],
    ['responses', 'responses', 5],
    ['messages', 'responses', 4],
  ] as const)
    test(`${client} over ${upstream}, after event ${cut}`, async () => {
      const chunks = REPLIES[upstream].map(sse);
      const exchange = { client, upstream, body: BODIES[client], isStream: true, chunks, leavesAfter: cut };
      const { record, sent } = await runExchange(exchange);
      assert.deepEqual([record?.charge, record?.estimated], [REAL, false]);
      assert.ok(sent > cut, 'the provider is read on');
    });

  test('and the provider is stopped when it goes on with much more content', async () => {
    const [start, open, delta, stop] = REPLIES.messages.map(sse);
    const block = [open ?? '', delta ?? '', stop ?? ''];
    const chunks = [start ?? '', ...Array.from({ length: 500 }, () => block).flat()];
    const exchange = { client: 'messages', upstream: 'messages', body: BODIES.messages, isStream: true } as const;
    const { record, sent } = await runExchange({ ...exchange, chunks, leavesAfter: 4 });
    const unread = chunks.slice(4, sent).join('').length;
    assert.ok(unread > READ_ON_BYTES && unread < 2 * READ_ON_BYTES, `${unread} bytes`);
    const arrived = chunks.slice(0, sent).filter((chunk) => chunk === delta).length;
    assert.deepEqual([record?.usage.input, record?.usage.output], [3_000, estimateTokens(WORDS.repeat(arrived))]);
  });
});

/** 100 visible tokens and 4,000 of hidden reasoning, in six text deltas. */
const PARTS = Array.from({ length: 6 }, (_, n) => `${WORDS}${n} `.repeat(3));
const HIDDEN = { input: 3_000, output: 4_100 };
const CHEAP = BigInt(HIDDEN.input) * RATES.input + BigInt(HIDDEN.output) * RATES.output;
const streamsOf = (parts: readonly string[]): Readonly<Record<UpstreamDialect, readonly object[]>> => {
  const [start, open, , stop, , end] = REPLIES.messages;
  const [created, added, , done, itemDone, completed] = REPLIES.responses;
  const [, finish] = REPLIES.chat;
  const counts = { promptTokenCount: 3_000, candidatesTokenCount: 100, thoughtsTokenCount: 4_000 };
  const part = (text: string) => ({ content: { role: 'model', parts: [{ text }] }, index: 0 });
  return {
    messages: [
      start ?? {},
      open ?? {},
      ...parts.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
      stop ?? {},
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: HIDDEN.output } },
      end ?? {},
    ],
    chat: [
      ...parts.map((content) => ({
        id: 'c',
        model: 'm',
        choices: [{ index: 0, delta: { content }, finish_reason: null }],
      })),
      finish ?? {},
      { id: 'c', model: 'm', choices: [], usage: { prompt_tokens: HIDDEN.input, completion_tokens: HIDDEN.output } },
    ],
    responses: [
      created ?? {},
      added ?? {},
      ...parts.map((delta) => ({ type: 'response.output_text.delta', ...AT, delta })),
      done ?? {},
      itemDone ?? {},
      {
        ...completed,
        response: {
          ...RESPONSE,
          status: 'completed',
          output: [ITEM],
          usage: { input_tokens: HIDDEN.input, output_tokens: HIDDEN.output },
        },
      },
    ],
    generate: [
      ...parts.map((text) => ({ candidates: [part(text)] })),
      { candidates: [{ ...part(''), finishReason: 'STOP' }], usageMetadata: counts },
    ],
    converse: [
      { role: 'assistant' },
      ...parts.map((text) => ({ contentBlockIndex: 0, delta: { text } })),
      { contentBlockIndex: 0 },
      { stopReason: 'end_turn' },
      {
        usage: { inputTokens: HIDDEN.input, outputTokens: HIDDEN.output, totalTokens: 7_100 },
        metrics: { latencyMs: 1 },
      },
    ],
  };
};

/** Its events are named by their frames. */
const converseSse = (event: object): string => {
  const [first = ''] = Object.keys(event);
  const name = 'delta' in event ? 'contentBlockDelta' : CONVERSE_NAMES[first];
  return `event: ${name}\ndata: ${JSON.stringify(event)}\n\n`;
};
const CONVERSE_NAMES: Readonly<Record<string, string>> = {
  role: 'messageStart',
  contentBlockIndex: 'contentBlockStop',
  stopReason: 'messageStop',
  usage: 'metadata',
};

describe('a client that leaves in the text pays for the reasoning that only the report shows', () => {
  for (const { client, upstream } of [
    ...DIALECT_PAIRS.filter(({ isOffered }) => isOffered),
    ...(['messages', 'chat', 'responses', 'generate'] as const).map((one) => ({ client: one, upstream: one })),
  ])
    for (const left of ['the last text delta', 'the first text delta'] as const)
      test(`${client} over ${upstream}, at ${left}`, async () => {
        const events = streamsOf(PARTS)[upstream];
        const first = events.findIndex((event) => JSON.stringify(event).includes(WORDS.trim()));
        const leavesAfter = first + (left === 'the first text delta' ? 1 : PARTS.length);
        const chunks = events.map(upstream === 'converse' ? converseSse : sse);
        const exchange = { client, upstream, body: BODIES[client], isStream: true, chunks };
        const { record } = await runExchange({ ...exchange, leavesAfter });
        assert.deepEqual([record?.charge, record?.estimated], [CHEAP, false]);
      });
});

/** A chat stream of a reasoning model: 40 s of silence in a phase, and more text than the gateway reads on for. */
const LONG_PART = 'A sentence of the answer that goes on and on. '.repeat(40);
const LONG = Array.from({ length: 60 }, () => LONG_PART);
const SILENCE_MS = 40_000;
const PHASES = {
  'before the text': { silentAt: 0, leavesAfter: 2 },
  'between texts': { silentAt: 3, leavesAfter: 5 },
  'after the last text that the client has': { silentAt: 4, leavesAfter: 4 },
} as const;

describe('a client that leaves a long chat stream pays for silences by the pace of the text', () => {
  for (const client of ['chat', 'messages', 'responses'] as const)
    for (const [phase, { silentAt, leavesAfter }] of Object.entries(PHASES))
      test(`${client} over chat, silence ${phase}`, async () => {
        const chunks = streamsOf(LONG).chat.map(sse);
        const waits = chunks.map((_, n) => (n === silentAt ? SILENCE_MS : 500));
        const exchange = { client, upstream: 'chat', body: BODIES[client], isStream: true, chunks } as const;
        const { record, sent, reserved } = await runExchange({ ...exchange, waits, leavesAfter });
        assert.ok(sent < chunks.length && record?.estimated, `${sent} chunks were read`);
        const visible = estimateTokens(LONG_PART.repeat(sent));
        const hidden = (record?.usage.output ?? 0) - visible;
        // Where the gateway gives up after five seconds, what came later was not made.
        const unseen = silentAt === leavesAfter ? 5_000 - 2_000 : SILENCE_MS - 2_000;
        const least = unseen * 0.05 - visible;
        assert.ok(hidden >= least && hidden > 0, `${hidden} hidden tokens of at least ${least}, ${visible} visible`);
        assert.ok((record?.charge ?? 0n) <= reserved);
      });

  test('and nothing for them where the stream goes on at its usual pace', async () => {
    const chunks = streamsOf(LONG).chat.map(sse);
    const waits = chunks.map(() => 500);
    const exchange = { client: 'chat', upstream: 'chat', body: BODIES.chat, isStream: true, chunks } as const;
    const { record, sent } = await runExchange({ ...exchange, waits, leavesAfter: 4 });
    assert.equal(record?.usage.output, estimateTokens(LONG_PART.repeat(sent)));
  });
});

describe('reports that contradict themselves', () => {
  const pay = async (upstream: Dialect, events: readonly object[]) =>
    (await runExchange({ client: upstream, upstream, body: BODIES[upstream], isStream: true, chunks: events.map(sse) }))
      .record;
  const converted = async (client: Dialect, upstream: Dialect, events: readonly object[]) =>
    (await runExchange({ client, upstream, body: BODIES[client], isStream: true, chunks: events.map(sse) })).record;

  test('a later zero usage chunk does not overwrite a real one', async () => {
    const zero = { id: 'c', model: 'm', choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } };
    const events = [...REPLIES.chat, zero, zero];
    assert.equal((await pay('chat', events))?.charge, REAL);
    assert.equal((await converted('messages', 'chat', events))?.charge, REAL);
  });

  test('an input of zero in the last event does not overwrite that of the first', async () => {
    const events = REPLIES.messages.map((event) =>
      'delta' in event && 'usage' in event ? { ...event, usage: { input_tokens: 0, output_tokens: 8_060 } } : event,
    );
    assert.equal((await pay('messages', events))?.charge, REAL);
    assert.equal((await converted('chat', 'messages', events))?.charge, REAL);
  });

  test('cached and written tokens never exceed the prompt', async () => {
    const details = { cached_tokens: 2_154, cache_write_tokens: 2_154 };
    const usage = { prompt_tokens: 2_168, completion_tokens: 0, prompt_tokens_details: details };
    const record = await pay('chat', [...REPLIES.chat.slice(0, 2), { id: 'c', choices: [], usage }]);
    assert.equal(record?.charge, 2_168n * RATES.input);
  });
});

describe('the output of a long stream that reports nothing is estimated by samples', () => {
  const chunkSizes = { 'one event at a time': 1, 'hundreds of events at a time': 300 };
  for (const [about, size] of Object.entries(chunkSizes))
    for (const client of ['chat', 'messages'] as const)
      test(`${about}, chat for ${client}`, async () => {
        const words = Array.from({ length: 6_000 }, (_, n) => (n % 7 === 0 ? '你好世界，' : `word ${n} `));
        // A picture among the events is not output.
        const picture = {
          id: 'c',
          choices: [{ index: 0, delta: { images: ['A'.repeat(300_000)] }, finish_reason: null }],
        };
        const deltas = words.map((content): object => ({
          id: 'c',
          choices: [{ index: 0, delta: { content }, finish_reason: null }],
        }));
        const events = deltas.toSpliced(900, 0, picture);
        const chunks: string[] = [];
        for (let n = 0; n < events.length; n += size)
          chunks.push(
            events
              .slice(n, n + size)
              .map(sse)
              .join(''),
          );
        const exchange = { client, upstream: 'chat', body: BODIES[client], isStream: true, chunks } as const;
        const { record } = await runExchange({ ...exchange, leavesAfter: chunks.length });
        const tokens = estimateTokens(words.join(''));
        const share = (record?.usage.output ?? 0) / tokens;
        assert.ok(share > 0.9 && share < 1.1, `${record?.usage.output} of ${tokens} tokens`);
      });
});

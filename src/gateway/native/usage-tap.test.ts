import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { law } from '../../../test/laws/runs.ts';
import { growthOf, LINEAR_GROWTH } from '../../../test/support/cpu-time.ts';
import { codecOf } from '../../dialects/index.ts';
import type { Dialect } from '../../rules/index.ts';
import { StreamTap } from './stream-tap.ts';
import { UnaryTap } from './unary-tap.ts';
import type { TapResult } from './usage-tap.ts';

const STREAMS: Readonly<
  Record<Dialect, { events: readonly string[]; usage: object; id: string | undefined; sequence: number | undefined }>
> = {
  messages: {
    events: [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":7,"output_tokens":1,"cache_read_input_tokens":3}}}',
      'event: ping\ndata: {"type":"ping"}',
      'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"é😀 \\"usage"}}',
      'event: message_delta\ndata: {"type":"message_delta","usage":{"input_tokens":null,"output_tokens":5}}',
      'event: message_stop\ndata: {"type":"message_stop"}',
    ],
    usage: { input: 10, output: 5, cacheRead: 3 },
    id: 'msg_1',
    sequence: undefined,
  },
  chat: {
    events: [
      'data: {"id":"c1","choices":[{"delta":{"content":"é😀"}}],"usage":null}',
      'data: {"id":"c1","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}}',
      'data: [DONE]',
    ],
    usage: { input: 7, output: 5, cacheRead: 0 },
    id: 'c1',
    sequence: undefined,
  },
  responses: {
    events: [
      'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1","usage":null},"sequence_number":0}',
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"é😀","sequence_number":1}',
      'event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_1","usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":2},"output_tokens":5}},"sequence_number":2}',
    ],
    usage: { input: 7, output: 5, cacheRead: 2 },
    id: 'resp_1',
    sequence: 2,
  },
  generate: {
    events: [
      'data: {"candidates":[{"content":{"parts":[{"text":"é😀"}]}}],"responseId":"r1","usageMetadata":{"promptTokenCount":7}}',
      'data: {"candidates":[{"finishReason":"STOP"}],"responseId":"r1"}',
      'data: {"responseId":"r1","usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":5,"totalTokenCount":12}}',
    ],
    usage: { input: 7, output: 5, cacheRead: 0 },
    id: 'r1',
    sequence: undefined,
  },
};

function read(dialect: Dialect, bytes: Buffer, size: number): TapResult {
  const tap = new StreamTap(dialect);
  for (let at = 0; at < bytes.length; at += size) tap.push(bytes.subarray(at, at + size));
  return tap.end();
}

const numbers = ({ usage }: TapResult): object => ({
  input: usage?.input,
  output: usage?.output,
  cacheRead: usage?.cacheRead,
});

for (const [name, { events, usage, id, sequence }] of Object.entries(STREAMS)) {
  const dialect = name as Dialect;
  const textOf = (list: readonly string[], eol = '\n'): Buffer =>
    Buffer.from(list.map((event) => `${event}\n\n`.replaceAll('\n', eol)).join(''));

  describe(`usage tap on a ${dialect} stream`, () => {
    for (const eol of ['\n', '\r\n']) {
      test(`reads the same however the bytes are split (${JSON.stringify(eol)})`, () => {
        const bytes = textOf(events, eol);
        for (const size of [1, 2, 3, 5, 7, 64, 100, bytes.length]) {
          const result = read(dialect, bytes, size);
          assert.deepEqual(numbers(result), usage, `in pieces of ${size}`);
          assert.deepEqual([result.id, result.isComplete, result.sequence], [id, true, sequence]);
        }
      });
    }

    test('reports a truncated stream as incomplete', () => {
      for (const size of [1, 50, 10_000]) {
        const result = read(dialect, textOf(events.slice(0, 1)), size);
        assert.deepEqual([result.isComplete, result.id], [false, id]);
        assert.equal(read(dialect, textOf(events).subarray(0, 30), size).isComplete, false);
      }
      assert.equal(new StreamTap(dialect).end().isComplete, false);
    });

    test('ignores comments after the last event', () => {
      const result = read(dialect, Buffer.concat([textOf(events), Buffer.from(': bye\n\n: and again\n\n')]), 1);
      assert.deepEqual([result.isComplete, result.sequence, numbers(result)], [true, sequence, usage]);
      const broken = read(dialect, Buffer.concat([textOf(events.slice(0, 1)), Buffer.from(': still here\n\n')]), 1);
      assert.equal(broken.sequence, sequence === undefined ? undefined : 0);
    });

    test('accepts a last event without a blank line, and lines that end in CR', () => {
      const stream = textOf(events);
      assert.equal(read(dialect, stream.subarray(0, -2), 10).isComplete, true);
      const returned = Buffer.from(stream.toString('utf8').replaceAll('\n', '\r'));
      const result = read(dialect, returned, 10);
      assert.deepEqual([result.isComplete, numbers(result)], [true, usage]);
    });

    test('ignores events that are not JSON', () => {
      const malformed = [
        'data: {"x":',
        'data: 7',
        'data: null',
        'data:',
        'garbage',
        'event: ping\ndata: {"type":"ping"}',
      ];
      const result = read(
        dialect,
        textOf([...malformed, ...events.slice(0, -1), ...malformed, ...events.slice(-1)]),
        40,
      );
      assert.equal(result.id, dialect === 'messages' || dialect === 'responses' ? id : result.id);
      assert.deepEqual([result.isComplete, numbers(result)], [true, usage]);
    });
  });
}

test('usage tap takes an error event for the end of the stream', () => {
  for (const [dialect, event] of [
    ['messages', 'event: error\ndata: {"type":"error","error":{}}'],
    ['chat', 'data: {"error":{"message":"x"}}'],
    ['responses', 'event: response.failed\ndata: {"type":"response.failed"}'],
    ['responses', 'event: error\ndata: {"type":"error"}'],
    ['generate', 'data: {"error":{"code":503}}'],
    ['generate', 'data: {"promptFeedback":{"blockReason":"SAFETY"}}'],
  ] as const) {
    assert.equal(read(dialect, Buffer.from(`${event}\n\n`), 9).isComplete, true, event);
  }
});

test('usage tap reads an event of 16 MiB in linear time', () => {
  const growth = growthOf((size) => {
    const bytes = Buffer.from(
      `data: {"type":"response.completed","response":{"output":[{"result":"${'A'.repeat(size)}"}],"usage":{"input_tokens":1,"output_tokens":2}}}\n\n`,
    );
    return () => {
      const result = read('responses', bytes, 16 * 1024);
      assert.deepEqual([result.isComplete, result.usage?.output], [true, 2]);
    };
  }, 2 ** 20);
  assert.ok(growth < LINEAR_GROWTH, `${growth}`);
});

/** A finished response that generated an image, as the provider reports it. */
const DRAWN = {
  id: 'resp_1',
  output: [{ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'iVBORw0KGgo=' }],
  tool_usage: {
    image_gen: {
      input_tokens: 60,
      input_tokens_details: { text_tokens: 10, image_tokens: 50 },
      output_tokens: 1056,
      total_tokens: 1116,
    },
    web_search: { num_requests: 2 },
  },
  usage: { input_tokens: 7, output_tokens: 5, total_tokens: 12 },
};
const DRAWN_USAGE = {
  input: 67,
  cacheRead: 0,
  cacheWrite: 0,
  inputImage: 50,
  output: 1061,
  outputImage: 1056,
  searches: 2,
  models: [
    {
      model: 'image_generation',
      input: 60,
      inputImage: 50,
      output: 1056,
      outputImage: 1056,
      cacheRead: 0,
      cacheWrite: 0,
    },
  ],
};

test('usage tap adds the tokens of the image tool to those of a streamed response', () => {
  const started = { type: 'response.created', response: { ...DRAWN, usage: null, tool_usage: null } };
  const events = [started, { type: 'response.completed', response: DRAWN }];
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  for (const size of [1, 7, 1000]) assert.deepEqual(read('responses', Buffer.from(text), size).usage, DRAWN_USAGE);
});

test('usage tap rejects impossible counts of the image tool', () => {
  const tool_usage = { image_gen: { input_tokens: -1, output_tokens: 5 } };
  const event = { type: 'response.completed', response: { ...DRAWN, tool_usage } };
  const { usage } = read('responses', Buffer.from(`data: ${JSON.stringify(event)}\n\n`), 1000);
  assert.equal(usage?.invalid, 'input_tokens is -1');
});

describe('usage tap on a unary response', () => {
  const unary = (dialect: Dialect, text: string | Buffer): TapResult => {
    const tap = new UnaryTap(dialect);
    const bytes = Buffer.from(text as string);
    for (let at = 0; at < bytes.length; at += 1000) tap.push(bytes.subarray(at, at + 1000));
    return tap.end();
  };

  test('reads usage and id', () => {
    const result = unary('responses', '{"id":"resp_1","output":[1,2],"usage":{"input_tokens":7,"output_tokens":5}}');
    assert.deepEqual([result.id, result.usage?.input, result.isComplete], ['resp_1', 7, true]);
    assert.equal(unary('generate', '{"usageMetadata":{"promptTokenCount":4}}').usage?.input, 4);
  });

  test('adds the tokens of the image tool, also beside a large image', () => {
    assert.deepEqual(unary('responses', JSON.stringify(DRAWN)).usage, DRAWN_USAGE);
    const large = { ...DRAWN, output: [{ ...DRAWN.output[0], result: 'A'.repeat(2 ** 20) }] };
    assert.deepEqual(unary('responses', JSON.stringify(large)).usage, DRAWN_USAGE);
    const { usage, ...rest } = large;
    assert.deepEqual(unary('responses', JSON.stringify({ usage, ...rest })).usage, DRAWN_USAGE);
  });

  test('reads the usage that JSON.parse of the whole body finds, whatever else is named usage', () => {
    const name = fc.constantFrom('usage', 'a"usage', '"usage', 'usage"', '\\"usage', 'usage\\', '\\', 'a', '{"usage":');
    const usage = fc.record({ prompt_tokens: fc.nat(9), completion_tokens: fc.nat(9) });
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, usage, name, tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 3 }),
      object: fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map(Object.fromEntries),
    }));
    const bodies = fc.array(fc.tuple(name, value), { maxLength: 5 }).map(Object.fromEntries);
    law(bodies, (body: Record<string, unknown>) => {
      const whole = codecOf('chat').upstream.readUsage(body.usage);
      for (const space of [0, 1]) assert.deepEqual(unary('chat', JSON.stringify(body, null, space)).usage, whole);
    });
  });

  test('reads the last usage of a list of events', () => {
    const list = '[{"usageMetadata":{"promptTokenCount":4}},{"usageMetadata":{"promptTokenCount":9}},{}]';
    const result = unary('generate', list);
    assert.deepEqual([result.usage?.input, result.isComplete], [9, true]);
    assert.equal(unary('generate', list.slice(0, -1)).isComplete, false);
  });

  test('reports truncated JSON as incomplete, and unexpected JSON as complete', () => {
    const whole = '{"id":"x","usage":{"input_tokens":1},"list":[{"a":{}}]}';
    for (let end = 0; end < whole.length; end++) {
      assert.equal(unary('messages', whole.slice(0, end)).isComplete, false, whole.slice(0, end));
    }
    assert.equal(unary('messages', '<html></html>').isComplete, false);
    assert.equal(unary('messages', '{"id":"x","id":"y"}').isComplete, true);
  });

  test('reports a response that is too large to keep as complete', () => {
    const tap = new UnaryTap('responses');
    for (let n = 0; n < 33; n++) tap.push(Buffer.alloc(2 ** 20, ' '));
    assert.deepEqual(tap.end(), {
      usage: undefined,
      isComplete: true,
      isError: false,
      id: undefined,
      ownedIds: [],
      sequence: undefined,
    });
  });
});

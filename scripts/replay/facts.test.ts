/** What the replay reads from a response, and which losses it finds in a request. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareFacts } from './compare.ts';
import { factsOf } from './facts.ts';
import { foldRecording } from './fold.ts';
import { findLosses } from './losses.ts';
import type { JsonRecord, Recording } from './recording.ts';
import { rejectionIn } from './rejection.ts';

const stream = (dialect: Recording['dialect'], events: readonly JsonRecord[]): JsonRecord =>
  foldRecording({
    collection: 'c',
    file: 'f',
    dialect,
    request: undefined,
    status: 200,
    isStream: true,
    body: Buffer.alloc(0),
    events,
  });

test('the same reply in four dialects has the same facts', () => {
  const usage = { input_tokens: 7, output_tokens: 3 };
  const messages = stream('messages', [
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 7, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't', name: 'find', input: {} } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"b":1,' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '"a":2}' } },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } },
  ]);
  const chat = stream('chat', [
    { choices: [{ index: 0, delta: { reasoning_content: 'H' } }] },
    { choices: [{ index: 0, delta: { reasoning_content: 'm.' } }] },
    { choices: [{ delta: { tool_calls: [{ index: 0, id: 't', function: { name: 'find', arguments: '{"a":2,' } }] } }] },
    {
      choices: [
        { delta: { tool_calls: [{ index: 0, function: { arguments: '"b":1}' } }] }, finish_reason: 'tool_calls' },
      ],
    },
    { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } },
  ]);
  const output = [
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
    { type: 'function_call', name: 'find', arguments: '{"a":2,"b":1}' },
  ];
  const responses = stream('responses', [
    { type: 'response.completed', response: { status: 'completed', output, usage } },
  ]);
  const piece = (jsonPath: string, numberValue: number) => ({ jsonPath, numberValue });
  const generate = stream('generate', [
    { candidates: [{ content: { parts: [{ text: 'Hm.', thought: true }] } }] },
    { candidates: [{ content: { parts: [{ functionCall: { name: 'find', willContinue: true } }] } }] },
    { candidates: [{ content: { parts: [{ functionCall: { partialArgs: [piece('$.a', 2), piece('$.b', 1)] } }] } }] },
    { candidates: [{ finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3 } },
  ]);
  const expected = factsOf('messages', messages);
  assert.deepEqual(expected.calls, [{ name: 'find', args: '{"a":2,"b":1}' }]);
  assert.deepEqual([expected.stop, expected.thinking, expected.tokens?.output], ['tool', 'Hm.', 3]);
  for (const [dialect, whole] of [
    ['chat', chat],
    ['responses', responses],
    ['generate', generate],
  ] as const)
    assert.deepEqual(factsOf(dialect, whole), expected, dialect);
});

test('compareFacts names each fact that differs', () => {
  const facts = factsOf('chat', {
    choices: [{ message: { content: 'Yes' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1 },
  });
  assert.deepEqual(compareFacts(facts, facts), []);
  const other = { ...facts, text: 'No', stop: 'length' } as const;
  assert.deepEqual(
    compareFacts(facts, other).map(({ what }) => what),
    ['text', 'stop'],
  );
});

test('findLosses finds values that neither arrive nor are named', () => {
  const sent = {
    model: 'm',
    seed: 42,
    tool_choice: 'auto',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello there', cache_control: { ttl: '1h' } }] }],
  };
  const received = { input: [{ role: 'user', content: 'Say: Hello there' }] };
  const paths = (...dropped: string[]) => findLosses(sent, received, dropped).map(({ path }) => path);
  assert.deepEqual(paths(), ['seed', 'messages.content.cache_control.ttl']);
  assert.deepEqual(paths('seed', 'messages[0].content[0].cache_control'), []);
  assert.deepEqual(findLosses(sent, {}, ['seed', 'cache_control']), [
    { path: 'messages.content.text', value: 'Hello there' },
  ]);
});

test('findLosses accepts the type of an item as its name, and values that a converted request implies', () => {
  const sent = {
    reasoning_format: 'parsed',
    input: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] }],
    tools: [{ name: 'find', cache_control: { type: 'ephemeral', ttl: '5m' } }],
  };
  const paths = (...dropped: string[]) => findLosses(sent, { tools: ['find'] }, dropped).map(({ path }) => path);
  assert.deepEqual([paths('input.reasoning'), paths('input.message', 'reasoning')], [[], ['input.summary.text']]);
});

test('rejectionIn accepts errors that name a member of the request', () => {
  const body = (error: object): string => JSON.stringify({ error });
  assert.equal(rejectionIn(400, body({ message: 'seed: unknown.' })), 'seed: unknown.');
  assert.equal(rejectionIn(400, body({ message: 'Unknown.', param: 'seed' })), 'seed: Unknown.');
  assert.equal(rejectionIn(400, body({ message: "The tool 'mcp' is not supported." })), undefined);
  assert.equal(rejectionIn(502, body({ message: 'seed: unknown.' })), undefined);
});
